use ferroshmem::{Error, World};

fn main() -> Result<(), Error> {
    let world = World::init()?;
    let number = user::neighbour(&world)?;
    println!(
        "PE {} of {} got {number}",
        world.my_pe().number(),
        world.n_pes()
    );
    Ok(())
}
