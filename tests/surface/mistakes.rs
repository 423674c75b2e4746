//! Mistakes, and what the compiler says of them: `surface.rs` compiles this file.

use ferroshmem::{Atomics, Error, Locked, Pace, Pe, Symmetric, Window, World, Xor};
use rayon::prelude::*;

fn moved_window(window: Window<'_, u64>, pe: Pe) {
    (0..8).into_par_iter().for_each(move |i| window.p(pe, i, 1).unwrap()); //~ `Window<'_, u64>` stays on the thread
}

fn world_in_a_closure(world: &World, window: &Window<'_, u64>) {
    (0..8).into_par_iter().for_each(|i| window.p(world.my_pe(), i, 1).unwrap()); //~ `World` stays on the thread
}

fn array_in_a_closure(array: Symmetric<'_, u64>) {
    (0..8).into_par_iter().for_each(|i| assert_eq!(array[i], 0)); //~ `Symmetric<'_, u64>` stays on the thread
}

fn moved_to_threads(world: World, counter: Atomics<'_, u64>, total: Locked<'_, f64>) -> Result<(), Error> {
    let stream = world.split(Some(0), 0)?.unwrap();
    let mut items = stream.stream::<u32>(Pace::Bursty)?;
    std::thread::scope(|scope| {
        scope.spawn(move || counter.len()); //~ `Atomics<'_, u64>` stays on the thread
        scope.spawn(move || *total.lock() += 1.0); //~ `Locked<'_, f64>` stays on the thread
        scope.spawn(move || items.pull()); //~ `Stream<'_, u32>` stays on the thread
        scope.spawn(|| stream.barrier()); //~ `Team<'_>` stays on the thread
    });
    Ok(())
}

fn borrowed_by_threads(world: &World, window: &Window<'_, u64>, array: &mut Symmetric<'_, u64>) {
    let job = world.handle();
    (0..8).into_par_iter().for_each(move |i| window.p(job.my_pe(), i, 1).unwrap());
    array.par_iter_mut().for_each(|element| *element += 1);
}

#[ferroshmem::plain]
struct Reference<'a> {
    count: u64,
    name: &'a str, //~ `&'a str` is not plain data
}

#[ferroshmem::plain]
struct Flag {
    is_set: bool, //~ `bool` is not plain data
}

#[ferroshmem::plain] //~ some follows the field `kind` of `Gap`
struct Gap {
    kind: u8,
    charge: f32,
}

#[ferroshmem::plain] //~ some follows the field `1` of `Tail`
struct Tail(u64, u8);

#[ferroshmem::plain]
struct Particle {
    position: [f64; 3],
    charge: f32,
    kind: u8,
    padding: [u8; 3],
}

fn elements(world: &World) -> Result<(), Error> {
    let particles = world.alloc::<Particle>(1)?;
    let _ = world.export("particles", particles); //~ `Symmetric<'_, Particle>` cannot be lent
    let _ = world.alloc::<String>(1); //~ `String` is not plain data
    let _ = world.reduce_value(1.5, Xor); //~ `Xor` does not reduce elements of type `{float}`
    Ok(())
}

fn messages(world: &World) {
    let _ = world.send(1, 0, &[1.0]); //~ `{integer}` names no member of a team
    let _ = world.receive(Some(world.my_pe()), None, &mut [0.0]); //~ `Option<Pe>` names no sender of a message
}

fn main() {}
