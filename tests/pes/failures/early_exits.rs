//! PEs that leave the job early, other than by a panic.

use std::{mem, process};

use ferroshmem::{Error, World};

use super::{Expect, Failure};

pub(super) const FAILURES: &[Failure] = &[
    Failure::new("early_exits/with_an_error", with_an_error, 5, Expect::Error("PE 99 is out of range")),
    Failure::new(
        "early_exits/with_an_error_and_arrays",
        with_an_error_and_arrays,
        5,
        Expect::Error("PE 99 is out of range"),
    ),
    Failure::new(
        "early_exits/without_the_others",
        without_the_others,
        5,
        Expect::Misuse("has dropped its World, as when its main returns early"),
    ),
    Failure::new("early_exits/by_exit", by_exit, 5, Expect::Status(3)),
    Failure::new("early_exits/by_global_exit", by_global_exit, 16, Expect::Status(7)),
    Failure::new("early_exits/world_forgotten", world_forgotten, 5, Expect::Status(1)),
    Failure::new("early_exits/world_leaked_by_all", world_leaked_by_all, 5, Expect::Status(0)),
];

fn is_last(world: &World) -> bool {
    world.my_pe().number() == world.n_pes() - 1
}

fn with_an_error() -> Result<(), Error> {
    let world = World::init()?;
    if is_last(&world) {
        world.pe(99)?;
    }
    world.barrier();
    Ok(())
}

fn with_an_error_and_arrays() -> Result<(), Error> {
    let world = World::init()?;
    let window = world.alloc::<u8>(10)?.open();
    if is_last(&world) {
        world.pe(99)?;
    }
    window.close();
    Ok(())
}

fn without_the_others() -> Result<(), Error> {
    let world = World::init()?;
    if !is_last(&world) {
        world.barrier();
    }
    Ok(())
}

fn by_exit() -> Result<(), Error> {
    let world = World::init()?;
    if is_last(&world) {
        process::exit(3);
    }
    world.barrier();
    Ok(())
}

fn by_global_exit() -> Result<(), Error> {
    let world = World::init()?;
    let _array = world.alloc::<u8>(10)?;
    if is_last(&world) {
        world.global_exit(7);
    }
    world.barrier();
    Ok(())
}

fn world_forgotten() -> Result<(), Error> {
    let world = World::init()?;
    if is_last(&world) {
        mem::forget(world);
    }
    Ok(())
}

fn world_leaked_by_all() -> Result<(), Error> {
    let world: &'static World = Box::leak(Box::new(World::init()?));
    let kept: &'static mut [u8] = world.alloc(1000)?.keep();
    kept.fill(1);
    mem::forget(world.alloc::<u8>(10)?);
    world.barrier();
    Ok(())
}
