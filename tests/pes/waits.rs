//! Waits for elements of a PE's own part.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ferroshmem::{AmoInt, Compare, Counter, Error, Min, SignalUpdate, Sum, World};

programs!(
    "waits": every_type, sets, conditions, counted with &[("SHMEM_COUNTERS", "1")], changing, bounds, vectors,
    signals,
);

fn every_type(world: &World) -> Result<(), Error> {
    macro_rules! types {
        ($($t:ty),*) => {$(of_type::<$t>(world, [1, 2, 3, 4, 5, 6])?;)*};
    }
    types!(i32, u32, i64, u64, isize, usize);
    Ok(())
}

fn of_type<T: AmoInt>(world: &World, [a, b, c, d, e, f]: [T; 6]) -> Result<(), Error> {
    let next = world.my_pe().next();
    let words = world.atomics::<T>(1)?;
    for (value, compare) in
        [(a, Compare::Ne(T::zeroed())), (b, Compare::Eq(b)), (c, Compare::Gt(b)), (d, Compare::Ge(d))]
    {
        assert!(!words.test(0, compare)?);
        world.barrier();
        words.set(next, 0, value)?;
        assert!(words.wait_until(0, compare)? == value);
        assert!(words.test(0, compare)?);
        world.barrier();
    }
    words.set(next, 0, f)?;
    words.wait(0, |value| value == f)?;
    world.barrier();
    words.set(next, 0, a)?;
    words.wait_until(0, Compare::Lt(b))?;
    assert!(words.test(0, Compare::Le(a))? && !words.test(0, Compare::Ge(e))?);
    Ok(())
}

/// Every PE sets an element of every other.
fn sets(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let words = world.atomics::<u32>(n + 1)?;
    let all = Vec::from_iter(0..n);
    for pe in world.others().chain([world.my_pe()]) {
        words.set(pe, me, 1)?;
    }
    let mut left = all.clone();
    while let Some(index) = words.wait_until_any(&left, Compare::Ne(0))? {
        left.retain(|other| *other != index);
        let some = words.wait_until_some(&left, Compare::Ne(0))?;
        assert!(left.is_empty() || !some.is_empty());
        left.retain(|other| !some.contains(other));
    }
    assert!(left.is_empty());
    words.wait_until_all(&all, Compare::Eq(1))?;
    assert_eq!(words.wait_until_some(&all, Compare::Eq(1))?, all);
    assert_eq!(words.wait_until_any(&[n, n, 0], Compare::Gt(0))?, Some(0));
    // No elements.
    words.wait_until_all(&[], Compare::Eq(9))?;
    assert_eq!(words.wait_until_any(&[], Compare::Eq(9))?, None);
    assert!(words.wait_until_some(&[], Compare::Eq(9))?.is_empty());
    Ok(())
}

/// Conditions may call collectives, wait themselves, or unwind.
fn conditions(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let words = world.atomics::<usize>(2)?;
    let next = world.my_pe().next();
    words.add(next, 1, 1)?;
    let mut evaluated = 0;
    words.wait(0, |value| {
        evaluated += 1;
        assert_eq!(world.reduce_value(1, Sum), n);
        words.wait_until(1, Compare::Ge(1)).unwrap();
        value == 0 && evaluated == 3
    })?;
    let unwound = catch_unwind(AssertUnwindSafe(|| words.wait(0, |_| std::panic::resume_unwind(Box::new("expected")))));
    assert!(unwound.is_err());
    thread::scope(|scope| {
        let by_condition = scope.spawn(|| words.wait(0, |value| value == 8));
        let by_comparison = scope.spawn(|| words.wait_until(0, Compare::Eq(8)));
        words.set(next, 0, 8).unwrap();
        // Joined one by one: thread sanitizers see a join, but not the end of a scope.
        by_condition.join().unwrap().unwrap();
        by_comparison.join().unwrap().unwrap();
    });
    Ok(())
}

/// A wait is counted, with its time, whatever its condition calls.
fn counted(world: &World) -> Result<(), Error> {
    const LONG: Duration = Duration::from_millis(20);
    let words = world.atomics::<usize>(1)?;
    let begin = Instant::now();
    Counter::reset_all();
    words.wait(0, |_| {
        world.reduce_value(1, Sum);
        // The same on all PEs.
        world.reduce_value(u8::from(begin.elapsed() >= LONG), Min) == 1
    })?;
    let waits = Counter::Wait.read();
    assert!(waits.operations == 1 && waits.time >= LONG / 2, "{waits:?}");
    assert!(Counter::Collective.read().operations >= 2);
    Ok(())
}

/// Elements that compare so for moments alone: a wait for one of them still names one.
fn changing(world: &World) -> Result<(), Error> {
    let (me, words) = (world.my_pe(), world.atomics::<u32>(2)?);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                words.fetch_xor(me, 1, 1).unwrap();
            }
        });
        for _ in 0..20_000 {
            let found = words.wait_until_any(&[0, 1], Compare::Ne(0));
            if found != Ok(Some(1)) {
                done.store(true, Relaxed);
            }
            assert_eq!(found, Ok(Some(1)));
        }
        done.store(true, Relaxed);
    });
    Ok(())
}

fn bounds(world: &World) -> Result<(), Error> {
    let words = world.atomics::<i64>(2)?;
    let compare = Compare::Eq(0);
    for index in [2, usize::MAX] {
        assert!(words.wait_until(index, compare).is_err());
        assert!(words.wait(index, |_| true).is_err());
        assert!(words.test(index, compare).is_err());
        assert!(words.wait_until_all(&[0, index], compare).is_err());
        assert!(words.wait_until_any(&[0, index], compare).is_err());
        assert!(words.wait_until_some(&[0, index], compare).is_err());
    }
    Ok(())
}

/// Elements with comparisons of their own, which the previous PE fulfils one by one.
fn vectors(world: &World) -> Result<(), Error> {
    let words = world.atomics::<i64>(5)?;
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let conditions = [(0, Compare::Eq(7)), (3, Compare::Lt(0)), (4, Compare::Ge(2))];
    assert!(!words.test_all_vector(&conditions)?);
    assert_eq!(words.test_any_vector(&conditions)?, None);
    assert!(words.test_some_vector(&conditions)?.is_empty());
    world.barrier();
    words.set(next, 3, -1)?;
    assert_eq!(words.wait_until_any_vector(&conditions)?, Some(3));
    assert_eq!(words.wait_until_some_vector(&conditions)?, [3]);
    world.barrier();
    words.set(next, 4, 2)?;
    words.set(next, 0, 7)?;
    words.wait_until_all_vector(&conditions)?;
    assert!(words.test_all_vector(&conditions)?);
    assert_eq!(words.test_some_vector(&conditions)?, [0, 3, 4]);
    assert_eq!(words.test_some(&[1, 2, 4], Compare::Eq(2))?, [4]);
    assert_eq!(words.test_any(&[1, 2], Compare::Eq(0))?, Some(1));
    assert!(words.test_all(&[1, 2], Compare::Eq(0))?);
    words.wait_until_all_vector(&[])?;
    assert_eq!(words.wait_until_any_vector(&[])?, None);
    assert!(words.wait_until_any_vector(&[(0, Compare::Eq(7)), (5, Compare::Eq(0))]).is_err());
    assert!(words.test_some_vector(&[(5, Compare::Eq(0))]).is_err());
    assert_eq!(words.fetch(me, 0)?, 7);
    Ok(())
}

fn signals(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let signals = world.signals(n)?;
    let all = Vec::from_iter(0..n);
    for pe in world.pes() {
        signals.update(pe, world.my_pe().number(), SignalUpdate::Add(1))?;
    }
    let first = signals.wait_until_any(&all, Compare::Eq(1))?.expect("there is one");
    assert!(first < n && signals.test_any(&[first], Compare::Eq(1))?.is_some());
    assert!(!signals.wait_until_some(&all, Compare::Eq(1))?.is_empty());
    signals.wait_until_all(&all, Compare::Eq(1))?;
    assert!(signals.test_all(&all, Compare::Eq(1))?);
    assert_eq!(signals.test_some(&all, Compare::Ge(1))?, all);
    let each = Vec::from_iter(all.iter().map(|i| (*i, Compare::Ne(*i as u64 + 2))));
    signals.wait_until_all_vector(&each)?;
    assert!(signals.wait_until_all(&[n], Compare::Eq(1)).is_err());
    Ok(())
}
