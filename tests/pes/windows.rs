//! Windows: puts and gets of all lengths, their bounds, non-blocking ones, and signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use ferroshmem::{Compare, Error, OutOfBounds, Plain, SignalUpdate, World};

use crate::data::{Page, Particle, elements, same};

programs!("windows": every_length, long, bounds, threads, nonblocking, put_signal, signals);

fn every_length(world: &World) -> Result<(), Error> {
    of_type::<u8>(world)?;
    of_type::<[u8; 3]>(world)?;
    of_type::<u16>(world)?;
    of_type::<[u16; 3]>(world)?;
    of_type::<f32>(world)?;
    of_type::<i64>(world)?;
    of_type::<[u32; 3]>(world)?;
    of_type::<u128>(world)?;
    of_type::<[u64; 3]>(world)?;
    of_type::<Particle>(world)?;
    of_type::<[u8; 1000]>(world)?;
    of_type::<Page>(world)
}

/// Puts every length to the next PE, which verifies it and the bytes around it.
fn of_type<T: Plain>(world: &World) -> Result<(), Error> {
    let most = (300 / size_of::<T>()).clamp(2, 70);
    let (me, next, previous) = (world.my_pe(), world.my_pe().next(), world.my_pe().previous());
    let mut window = world.alloc::<T>(most + 2)?.open();
    for n in 0..=most {
        let start = n % 3;
        let start = if start + n > most + 2 { 0 } else { start };
        window.put(next, start, &elements(me.number(), n, n))?;
        world.barrier();
        for (pe, giver) in [(me, previous), (next, me)] {
            let mut all = vec![T::zeroed(); most + 2];
            all[start..][..n].copy_from_slice(&elements(giver.number(), n, n));
            let mut got = vec![T::zeroed(); most + 2];
            window.get(pe, 0, &mut got)?;
            assert!(same(&got, &all), "{n} elements at {start}");
            let mut some = vec![T::zeroed(); n];
            window.get(pe, start, &mut some)?;
            assert!(same(&some, &all[start..][..n]));
        }
        let mut array = window.close();
        array.fill(T::zeroed());
        window = array.open();
    }
    for index in 0..most + 2 {
        window.p(next, index, elements::<T>(me.number(), index, 1)[0])?;
        world.quiet();
        assert!(same(&[window.g(next, index)?], &elements::<T>(me.number(), index, 1)));
    }
    Ok(())
}

fn long(world: &World) -> Result<(), Error> {
    const LEN: usize = 300_001;
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let window = world.alloc::<u8>(LEN)?.open();
    for start in [0, 1, 77] {
        window.put(next, start, &elements(me.number(), start, LEN - start))?;
        world.barrier();
        let mut got = vec![0; LEN - start];
        window.get(me, start, &mut got)?;
        let giver = me.previous().number();
        assert!(same(&got, &elements(giver, start, LEN - start)));
        world.barrier();
    }
    Ok(())
}

fn bounds(world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let window = world.alloc::<u32>(10)?.open();
    let signals = world.signals(2)?;
    for (start, len) in [(0, 11), (10, 1), (11, 0), (9, 2), (usize::MAX, 2), (usize::MAX - 3, 4)] {
        let error = OutOfBounds { start, len, array: 10 };
        assert_eq!(window.put(pe, start, &vec![1; len]), Err(error));
        assert_eq!(window.get(pe, start, &mut vec![1; len]), Err(error));
        let put = window.put_signal(pe, start, &vec![1; len], &signals, 0, SignalUpdate::Add(1));
        assert_eq!(put, Err(error));
        let begun = window.nonblocking(|pending| pending.put(pe, start, &[1; 11][..len]));
        assert_eq!(begun, Err(error));
        assert!(error.to_string().contains("length 10"));
    }
    for start in [10, usize::MAX] {
        let error = OutOfBounds { start, len: 1, array: 10 };
        assert_eq!(window.p(pe, start, 1), Err(error));
        assert_eq!(window.g(pe, start), Err(error));
    }
    let no_signal = OutOfBounds { start: 2, len: 1, array: 2 };
    let put = window.put_signal(pe, 0, &[1], &signals, 2, SignalUpdate::Add(1));
    assert_eq!(put, Err(no_signal));
    // A refused put has written nothing.
    assert!(window.close().iter().all(|value| *value == 0));
    assert_eq!(signals.fetch(0)?, 0);
    Ok(())
}

/// Threads put to adjacent elements, and read elements while others put to them.
fn threads(world: &World) -> Result<(), Error> {
    const EACH: usize = 700;
    let window = world.alloc::<u64>(3 * EACH)?.open();
    let next = world.my_pe().next();
    thread::scope(|scope| {
        let threads = [0, 1, 2].map(|thread| {
            let window = &window;
            scope.spawn(move || {
                for round in 1..50 {
                    let start = thread * EACH;
                    window.put(next, start, &[round; EACH]).unwrap();
                    let mut seen = [0; 9];
                    window.get(next, (start + EACH) % (3 * EACH), &mut seen).unwrap();
                    assert!(seen.iter().all(|value| *value < 50));
                }
            })
        });
        // Joined one by one: thread sanitizers see a join, but not the end of a scope.
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(window.close().iter().all(|value| *value == 49));
    Ok(())
}

fn nonblocking(world: &World) -> Result<(), Error> {
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let window = world.alloc::<u32>(100)?.open();
    let (first, second) = (elements(me.number(), 1, 50), elements(me.number(), 2, 50));
    let answer = window.nonblocking(|pending| {
        pending.put(next, 0, &first)?;
        thread::scope(|scope| scope.spawn(|| pending.put(next, 50, &second)).join().unwrap())?;
        Ok::<_, OutOfBounds>(42)
    });
    assert_eq!(answer, Ok(42));
    let (mut low, mut high) = (vec![0u32; 50], [0u32; 50]);
    window.nonblocking(|pending| {
        pending.get(next, 0, &mut low)?;
        pending.get(next, 50, &mut high)
    })?;
    assert!(same(&low, &first) && same(&high, &second));

    // Unwinding completes the operations, too.
    world.barrier();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        window.nonblocking(|pending| {
            pending.put(next, 99, &[7]).unwrap();
            std::panic::resume_unwind(Box::new("expected"));
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(window.close()[99], 7);
    Ok(())
}

/// Rings of growing messages: a PE that sees the signal sees what was put.
fn put_signal(world: &World) -> Result<(), Error> {
    let (me, next, previous) = (world.my_pe(), world.my_pe().next(), world.my_pe().previous());
    let window = world.alloc::<u16>(5000)?.open();
    let signals = world.signals(3)?;
    assert_eq!((signals.len(), signals.is_empty()), (3, false));
    for round in 1..80u64 {
        let n = (round * round) as usize % 5000;
        let data = elements::<u16>(me.number(), n, n);
        let (update, expected) = match round % 2 {
            0 => (SignalUpdate::Set(round * 3), round * 3),
            _ => (SignalUpdate::Add(3), (round - 1) * 3 + 3),
        };
        window.put_signal(next, 0, &data, &signals, 1, update)?;
        assert_eq!(signals.wait_until(1, Compare::Ge(expected))?, expected);
        let mut got = vec![0; n];
        window.get(me, 0, &mut got)?;
        assert!(same(&got, &elements::<u16>(previous.number(), n, n)));
        // The signal back: my part may be written again.
        signals.update(previous, 2, SignalUpdate::Set(round))?;
        signals.wait_until(2, Compare::Eq(round))?;
    }
    assert_eq!(signals.fetch(0)?, 0);
    Ok(())
}

fn signals(world: &World) -> Result<(), Error> {
    let n = world.n_pes() as u64;
    let signals = world.signals(2)?;
    for pe in world.pes() {
        signals.update(pe, 0, SignalUpdate::Add(2))?;
    }
    assert_eq!(signals.wait_until(0, Compare::Eq(2 * n))?, 2 * n);
    for holds in
        [Compare::Ne(0), Compare::Gt(2 * n - 1), Compare::Ge(2 * n), Compare::Lt(2 * n + 1), Compare::Le(2 * n)]
    {
        assert_eq!(signals.wait_until(0, holds)?, 2 * n);
    }
    world.barrier();
    signals.reset(0, 5)?;
    assert_eq!(signals.fetch(0)?, 5);
    assert!(signals.fetch(2).is_err() && signals.reset(2, 0).is_err());
    assert!(signals.wait_until(2, Compare::Ge(0)).is_err());
    let refused = signals.update(world.my_pe(), 2, SignalUpdate::Set(1));
    assert!(refused.is_err());
    // Another thread waits while this one updates the signal.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| signals.wait_until(1, Compare::Eq(9)).unwrap());
        signals.update(world.my_pe().next(), 1, SignalUpdate::Set(9)).unwrap();
        waiting.join().unwrap();
    });
    Ok(())
}
