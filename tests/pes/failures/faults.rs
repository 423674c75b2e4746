//! Faults of parts that are unsafe.

use std::hint::black_box;
use std::slice;

use ferroshmem::{Error, World};

use super::{Expect, Failure};

pub(super) const FAILURES: &[Failure] = &[
    Failure::new("faults/in_put", in_put, 2, Expect::Fault(Some("faults::in_put"))),
    Failure::new("faults/outside", outside, 2, Expect::Fault(None)),
    // The standard library says that the stack is full, and aborts.
    Failure::new("faults/full_stack", full_stack, 2, Expect::Status(134)),
];

/// PE 1 gives an operation a source that is not there.
fn in_put() -> Result<(), Error> {
    let world = World::init()?;
    let array = world.alloc::<u64>(1 << 16)?.open();
    if world.my_pe().number() == 1 {
        // SAFETY: none: this is the fault.
        let source = unsafe { slice::from_raw_parts(black_box(64 as *const u64), 1 << 16) };
        array.put(world.pe(0)?, 0, source)?;
    }
    world.barrier();
    Ok(())
}

/// PE 1 stores through a pointer that is not valid.
fn outside() -> Result<(), Error> {
    let world = World::init()?;
    if world.my_pe().number() == 1 {
        // SAFETY: none: this is the fault.
        unsafe { black_box(64 as *mut u64).write_volatile(1) };
    }
    world.barrier();
    Ok(())
}

/// PE 1 calls itself without an end.
fn full_stack() -> Result<(), Error> {
    #[expect(unconditional_recursion, reason = "this is the fault")]
    fn call(n: u64) -> u64 {
        black_box(call(black_box(n)) + n)
    }
    let world = World::init()?;
    if world.my_pe().number() == 1 {
        call(1);
    }
    world.barrier();
    Ok(())
}
