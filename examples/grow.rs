//! The smallest job that grows, as in docs/spawn.md: PE 0's program starts three PEs, which add to its counter.
//!
//!     cargo build --release --example grow && oshrun -n 1 target/release/examples/grow

use ferroshmem::{Atomics, Command, Error, World};

fn main() -> Result<(), Error> {
    let world = World::init()?;
    if let Some(parents) = world.parents() {
        let tiles = parents.import::<Atomics<u64>>("tiles", 1)?;
        tiles.add(parents.pe(0)?, 0, 10)?;
        return Ok(());
    }
    let tiles = world.export("tiles", world.atomics::<u64>(1)?)?;
    let this = std::env::current_exe().expect("a program that runs has a file");
    let children = world.spawn(&Command::new(this).pes(3))?;
    let n = children.n_pes();
    children.disconnect(); // waits for them
    println!("{n} PEs have done {} tiles", tiles.fetch(world.pe(0)?, 0)?);
    Ok(())
}
