//! Values with locks.

use std::mem;
use std::thread;

use ferroshmem::{Counter, Error, SignalUpdate, Sum, World};

use crate::data::Particle;

programs!("locks": contended, threads, try_lock, several, counted with &[("SHMEM_COUNTERS", "1")]);

fn contended(world: &World) -> Result<(), Error> {
    const TIMES: u64 = 100;
    let me = world.my_pe().number();
    // The lock protects PE 0's value.
    let total = world.locked([me as u64; 5])?;
    for _ in 0..TIMES {
        let mut values = total.lock();
        assert!(values.iter().all(|value| *value == values[0]));
        for value in values.iter_mut() {
            *value += 1;
        }
    }
    world.barrier();
    assert_eq!(*total.lock(), [TIMES * world.n_pes() as u64; 5]);
    assert!(format!("{total:?} {:?}", total.lock()).starts_with("Locked"));
    Ok(())
}

fn threads(world: &World) -> Result<(), Error> {
    const TIMES: usize = 50;
    let total = world.locked(0usize)?;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let mut value = total.lock();
                    let before = *value;
                    thread::yield_now();
                    *value = before + 1;
                }
            });
        }
    });
    world.barrier();
    assert_eq!(*total.lock(), 3 * TIMES * world.n_pes());
    Ok(())
}

fn try_lock(world: &World) -> Result<(), Error> {
    let place = world.locked(0u8)?;
    let guard = place.try_lock();
    let holders = world.reduce_value(u32::from(guard.is_some()), Sum);
    assert_eq!(holders, 1);
    if guard.is_some() {
        assert!(place.try_lock().is_none());
    }
    world.barrier();
    drop(guard);
    let mut got = 0;
    while got < 20 {
        if let Some(mut value) = place.try_lock() {
            *value = value.wrapping_add(1);
            got += 1;
        }
    }
    world.barrier();
    assert_eq!(*place.lock(), (20 * world.n_pes()) as u8);
    world.barrier();
    // A forgotten guard keeps the lock, so no PE gets it.
    if world.my_pe().number() == world.n_pes() - 1 {
        mem::forget(place.lock());
    }
    world.barrier();
    assert!(place.try_lock().is_none());
    Ok(())
}

fn several(world: &World) -> Result<(), Error> {
    let particle = Particle { position: [1.0, 2.0, 3.0], charge: -1.0, kind: 7, serial: 0 };
    let (first, second) = (world.locked(particle)?, world.locked(0i32)?);
    for _ in 0..30 {
        let mut outer = first.lock();
        let mut inner = second.lock();
        outer.serial += 1;
        *inner -= 1;
        assert_eq!(outer.serial as i32, -*inner);
        // Released in the order in which they were taken.
        drop(outer);
        drop(inner);
    }
    world.barrier();
    let serial = 30 * world.n_pes() as u64;
    assert_eq!(*first.lock(), Particle { serial, ..particle });
    Ok(())
}

/// Locks, messages, fences, quiets and signals are counted as those of C are.
fn counted(world: &World) -> Result<(), Error> {
    let (me, locked) = (world.my_pe(), world.locked(0)?);
    Counter::reset_all();
    *locked.lock() += 1;
    assert_eq!(Counter::Lock.read().operations, 2, "taken and released");
    let sending = world.begin_send(me.next(), 0, vec![1; 3])?;
    world.probe(None, Some(0))?;
    world.receive(None, Some(0), &mut [0; 3])?;
    sending.wait();
    let receiving = world.begin_receive(None, Some(1), vec![0; 4])?;
    world.send(me.next(), 1, &[2; 4])?;
    assert_eq!(receiving.wait()?.0, [2; 4]);
    let messages = Counter::Message.read();
    assert_eq!((messages.operations, messages.bytes), (6, 4 * (3 + 3 + 4)));
    let context = world.context()?;
    world.fence();
    world.quiet();
    world.handle().quiet_pes(&[me]);
    context.quiet();
    assert_eq!(Counter::Quiet.read().operations, 4);
    let signals = world.signals(1)?;
    signals.update(me, 0, SignalUpdate::Set(1))?;
    context.update(&signals, me, 0, SignalUpdate::Set(1))?;
    assert_eq!(Counter::Signal.read().operations, 2);
    Ok(())
}
