//! Tests that start their own PEs. None of them passes in a job of other PEs.

use ferroshmem::{Error, Sum, World};

#[ferroshmem::plain]
struct Pair {
    a: u32,
    b: f32,
}

#[ferroshmem::test(pes = 4)]
fn four(world: &World) {
    assert_eq!(world.reduce_value(1, Sum), 4);
}

#[ferroshmem::test]
fn one(world: World) {
    assert_eq!(world.n_pes(), 1);
}

#[ferroshmem::test(pes = 2)]
fn without_a_world() {
    for _ in 0..2 {
        let world = World::init().unwrap();
        assert_eq!(world.n_pes(), 2);
    }
}

mod inner {
    use super::*;

    #[ferroshmem::test(pes = 3, timeout = 60)]
    fn returns_a_result(world: &World) -> Result<(), Error> {
        let pairs = world.alloc::<Pair>(4)?.open();
        let next = world.my_pe().next();
        pairs.p(next, 3, Pair { a: 1, b: 2.5 })?;
        let pairs = pairs.close();
        assert_eq!((pairs[3].a, pairs[3].b), (1, 2.5));
        Ok(())
    }
}

#[ferroshmem::test(pes = 2)]
#[should_panic(expected = "PE 1 is the odd one out")]
fn panics(world: &World) {
    assert!(world.my_pe().number() != 1, "{} is the odd one out", world.my_pe());
    world.barrier();
}

/// Beside it, a test of the harness.
#[test]
fn plain() {
    assert_eq!(size_of::<Pair>(), 8);
}
