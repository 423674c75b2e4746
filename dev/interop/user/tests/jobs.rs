use ferroshmem::{Sum, World};

#[test]
fn the_sum_of_all_pes() {
    let world = World::init().unwrap();
    let n = world.n_pes();
    assert_eq!(world.reduce_value(1u64, Sum), n as u64);
}

#[test]
fn c_puts_to_the_next_pe() {
    let world = World::init().unwrap();
    let previous = world.my_pe().previous().number();
    assert_eq!(user::neighbour(&world).unwrap(), previous as f64);
}
