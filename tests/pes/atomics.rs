//! Atomics: every type and operator, contended by all PEs and their threads.

use std::fmt::Debug;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use ferroshmem::{Amo, AmoInt, Error, OutOfBounds, World};

programs!("atomics": every_operation, contended, bits, threads, message);

fn every_operation(world: &World) -> Result<(), Error> {
    macro_rules! integers {
        ($($t:ty),*) => {$(
            integer(world, [<$t>::MIN, <$t>::MAX, 0, 1, 5, 0x5a5a, (0 as $t).wrapping_sub(3)], [
                <$t>::wrapping_add, |a, b| a & b, |a, b| a | b, |a, b| a ^ b,
            ])?;
        )*};
    }
    integers!(i32, u32, i64, u64, isize, usize);
    number(world, [0.0f32, -0.0, 1.5, f32::MAX, f32::INFINITY])?;
    number(world, [0.0f64, -0.0, 1.5, f64::MIN_POSITIVE, -1e300])
}

/// Operations of all types.
fn number<T: Amo + PartialEq + Debug, const N: usize>(world: &World, values: [T; N]) -> Result<(), Error> {
    let (me, pe) = (world.my_pe(), world.my_pe().next());
    let atomics = world.atomics::<T>(3)?;
    let mut before = T::zeroed();
    for value in values {
        assert_eq!(atomics.fetch(pe, 1)?, before);
        atomics.set(pe, 1, value)?;
        assert_eq!(atomics.swap(pe, 1, value)?, value);
        before = value;
    }
    for index in [3, usize::MAX] {
        let error = OutOfBounds { start: index, len: 1, array: 3 };
        assert_eq!(atomics.fetch(me, index), Err(error));
        assert_eq!(atomics.set(me, index, before), Err(error));
        assert_eq!(atomics.swap(me, index, before), Err(error));
    }
    let array = atomics.into_inner();
    assert_eq!(array[..], [T::zeroed(), before, T::zeroed()]);
    Ok(())
}

fn integer<T: AmoInt + Debug, const N: usize>(
    world: &World,
    values: [T; N],
    [add, and, or, xor]: [fn(T, T) -> T; 4],
) -> Result<(), Error> {
    number(world, values)?;
    let pe = world.my_pe().next();
    let atomics = world.atomics::<T>(2)?;
    for a in values {
        for b in values {
            macro_rules! check {
                ($fetching:ident, $plain:ident, $result:expr) => {
                    atomics.set(pe, 1, a)?;
                    assert_eq!(atomics.$fetching(pe, 1, b)?, a);
                    assert_eq!(atomics.swap(pe, 1, a)?, $result);
                    atomics.$plain(pe, 1, b)?;
                    assert_eq!(atomics.fetch(pe, 1)?, $result);
                    assert!(atomics.$plain(pe, 2, b).is_err());
                    assert!(atomics.$fetching(pe, 2, b).is_err());
                };
            }
            check!(fetch_add, add, add(a, b));
            check!(fetch_and, and, and(a, b));
            check!(fetch_or, or, or(a, b));
            check!(fetch_xor, xor, xor(a, b));
            atomics.set(pe, 1, a)?;
            assert_eq!(atomics.compare_swap(pe, 1, b, b)?, a);
            assert_eq!(atomics.compare_swap(pe, 1, a, b)?, a);
            assert_eq!(atomics.fetch(pe, 1)?, b);
            assert!(atomics.compare_swap(pe, 2, a, b).is_err());
            assert_eq!(atomics.fetch(pe, 0)?, T::zeroed());
        }
    }
    assert_eq!(atomics.mine().len(), 2);
    assert!(format!("{atomics:?}").contains("len: 2"));
    Ok(())
}

fn contended(world: &World) -> Result<(), Error> {
    const TIMES: u64 = 500;
    let (n, home) = (world.n_pes() as u64, world.pe(0)?);
    let counters = world.atomics::<u64>(3)?;
    let mut tickets = Vec::new();
    for _ in 0..TIMES {
        tickets.push(counters.fetch_add(home, 0, 1)?);
        let mut seen = counters.fetch(home, 1)?;
        loop {
            match counters.compare_swap(home, 1, seen, seen + 3)? {
                was if was == seen => break,
                was => seen = was,
            }
        }
        for pe in world.pes() {
            counters.add(pe, 2, 1)?;
        }
    }
    world.barrier();
    assert_eq!(counters.fetch(home, 0)?, n * TIMES);
    assert_eq!(counters.fetch(home, 1)?, 3 * n * TIMES);
    assert_eq!(counters.mine()[2].load(SeqCst), n * TIMES);
    // Every ticket was drawn once.
    assert!(tickets.is_sorted());
    let drawn = world.atomics::<u32>((n * TIMES) as usize)?;
    for ticket in tickets {
        drawn.add(home, ticket as usize, 1)?;
    }
    let drawn = drawn.into_inner();
    assert!(home != world.my_pe() || drawn.iter().all(|times| *times == 1));
    Ok(())
}

/// Every PE changes its own bit of a common word.
fn bits(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let mine = 1u64 << me;
    let words = world.atomics::<u64>(1)?;
    for pe in world.others() {
        assert_eq!(words.fetch_or(pe, 0, mine)? & mine, 0);
        assert_ne!(words.fetch_and(pe, 0, !mine)? & mine, 0);
        assert_eq!(words.fetch_xor(pe, 0, mine)? & mine, 0);
    }
    world.barrier();
    assert_eq!(words.fetch(world.my_pe(), 0)?, ((1 << n) - 1) & !mine);
    Ok(())
}

fn threads(world: &World) -> Result<(), Error> {
    const TIMES: i32 = 300;
    let (n, pes) = (world.n_pes() as i32, world.pes());
    let sums = world.atomics::<i32>(2)?;
    let count = || {
        for pe in (0..TIMES).flat_map(|_| pes.clone()) {
            sums.add(pe, 0, 1).unwrap();
            sums.mine()[1].fetch_sub(1, SeqCst);
        }
    };
    thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(count));
        // Joined one by one: thread sanitizers see a join, but not the end of a scope.
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let sums = sums.into_inner();
    assert_eq!(sums[..], [3 * TIMES * n, -3 * TIMES * n]);
    Ok(())
}

/// A flag that is set after data makes the data visible; also a flag set by the standard library's atomics.
fn message(world: &World) -> Result<(), Error> {
    let next = world.my_pe().next();
    let window = world.alloc::<u64>(100)?.open();
    let flag = world.atomics::<u64>(1)?;
    for round in 1..200 {
        window.put(next, 0, &[round; 100])?;
        flag.set(next, 0, round)?;
        while flag.mine()[0].load(SeqCst) < round {
            thread::yield_now();
        }
        let mut seen = [0; 100];
        window.get(world.my_pe(), 0, &mut seen)?;
        assert!(seen.iter().all(|value| *value == round), "{seen:?}");
        world.barrier();
    }
    Ok(())
}
