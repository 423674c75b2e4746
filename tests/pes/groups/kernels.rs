//! `kernel!`, `Group::call`, `Group::serve`: calls from one group to another, and groups that fail alone.

use std::sync::atomic::Ordering::Relaxed;

use bytemuck::{Pod, Zeroable};
use ferroshmem::{Atomics, Calls, Error, GroupFailed, GroupState, KernelContext, Sum, TeamError, World, kernel};

use super::{CHILDREN, pes};

/// A structure as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Point {
    x: f64,
    y: f64,
    name: [u8; 24],
}

const ORIGIN: Point = Point { x: 1.5, y: -2.5, name: *b"a point of twenty-four.." };

/// Adds to all PEs that have called.
fn note(context: &KernelContext<'_>, value: u64) {
    let parents = context.parents();
    let sum = parents.import::<Atomics<'_, u64>>("sum", 1);
    let sum = sum.expect("the callers have exported it");
    for pe in parents.pes() {
        sum.add(pe, 0, value).expect("it has one element");
    }
}

kernel! {
    /// Takes nothing.
    fn tick(context: &KernelContext<'_>) {
        note(context, 1);
    }
}

kernel! {
    fn values(context: &KernelContext<'_>, real: f64, small: i8, point: Point, wide: u128) {
        assert_eq!((real, small, wide), (0.25, -3, 1 << 100));
        assert_eq!(point, ORIGIN);
        note(context, 10);
    }
}

kernel! {
    fn slices(context: &KernelContext<'_>, seed: u32, numbers: &[u32], points: &[Point], none: &[u16]) {
        assert!(numbers.iter().zip(seed..).all(|(a, b)| *a == b));
        assert_eq!((points, none.len()), (&[ORIGIN; 3][..], 0));
        // All PEs of the group are here.
        let n = context.world().try_reduce_value(1u64, Sum);
        assert_eq!(n, Ok(context.world().n_pes() as u64));
        note(context, numbers.len() as u64);
    }
}

kernel! {
    fn in_order(context: &KernelContext<'_>, number: u64) {
        static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        assert_eq!(CALLS.fetch_add(1, Relaxed), number);
        if number.is_multiple_of(100) {
            note(context, 1);
        }
    }
}

/// Children that fail: the parents get errors, and go on.
pub(super) fn independent(world: &World) -> Result<(), Error> {
    if let Some(parents) = world.parents() {
        // Or an error, if the other child has failed before all of its messages were there.
        let _ = parents.team().try_reduce_value(1u64, Sum);
        if world.my_pe().number() == 1 {
            std::process::abort();
        }
        parents.serve(world);
        return Ok(());
    }
    for _ in 0..3 {
        let children = world.spawn(&pes("groups/independent", 2).independent())?;
        while children.team().try_reduce_value(1u64, Sum).is_ok() {}
        assert_eq!(children.state(), GroupState::Failed);
        let error = children.team().try_reduce_value(1u64, Sum).unwrap_err();
        assert_eq!(error, TeamError::GroupFailed);
        let request = children.call(in_order, (1,));
        assert_eq!(request.wait(), Err(GroupFailed));
        assert_eq!(request.is_complete(), Err(GroupFailed));
        children.disconnect();
        world.barrier();
    }
    Ok(())
}

/// Kernels find their arguments, on PEs of this program.
pub(super) fn kernels(world: &World) -> Result<(), Error> {
    if let Some(parents) = world.parents() {
        assert_eq!(parents.serve(world), 1006);
        assert_eq!(parents.serve(world), 0);
        return Ok(());
    }
    let sum = world.export("sum", world.atomics::<u64>(1)?)?;
    let me = world.my_pe();
    for n in CHILDREN {
        let children = world.spawn(&pes("groups/kernels", n))?;
        let expect = |each: u64| -> Result<(), Error> {
            assert_eq!(sum.fetch(me, 0)?, each * n as u64);
            world.barrier();
            sum.set(me, 0, 0)?;
            world.barrier();
            Ok(())
        };
        children.call(tick, ()).wait()?;
        expect(1)?;
        let request = children.call(values, (0.25, -3, ORIGIN, 1 << 100));
        while !request.is_complete()? {}
        expect(10)?;
        for len in [0, 5, 100_000] {
            let mut numbers: Vec<u32> = (7..7 + len).collect();
            let request = children.call(slices, (7, &numbers, &[ORIGIN; 3], &[]));
            numbers.fill(0);
            request.wait()?;
            expect(len.into())?;
        }
        let mut calls = Calls::new();
        for number in 0..1000 {
            calls.add(in_order, (number,));
        }
        let many = [7, 8];
        calls.add(slices, (7, &many, &[ORIGIN; 3], &[]));
        children.call_multiple(&calls).wait()?;
        expect(12)?;
        let copied = children.call_multiple(&Calls::new());
        assert!(format!("{copied:?} {calls:?} {:?}", tick()).contains("tick"));
    }
    Ok(())
}
