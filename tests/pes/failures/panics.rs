//! A PE that panics ends the job, wherever it and the others are.

use std::thread;

use ferroshmem::{Command, Error, KernelContext, Sum, World, kernel};

use super::{Expect, Failure, MESSAGE};
use crate::PE;

const THROWN: &str = "kernel fails(u32) has thrown: panic: as the test demands";

macro_rules! panics {
    ($($name:ident: |$world:ident, $odd:ident| $body:block)*) => {
        $(fn $name() -> Result<(), Error> {
            let $world = World::init()?;
            let $odd = $world.my_pe().number() == 1;
            $body
            $world.barrier();
            Ok(())
        })*

        pub(crate) const FAILURES: &[Failure] = &[
            Failure::new("panics/before_init", before_init, 5, Expect::Panic),
            Failure::new("panics/in_a_kernel", in_a_kernel, 2, Expect::Error(THROWN)),
            $(Failure::new(concat!("panics/", stringify!($name)), $name, 5, Expect::Panic)),*
        ];
    };
}

/// One PE panics before it has joined the job, while the others wait for it.
fn before_init() -> Result<(), Error> {
    // The PE's number, which `World` gives only after initialisation.
    let job = std::env::var(ferroshmem_config::JOB.name).unwrap_or_default();
    assert!(!job.ends_with(":1"), "{MESSAGE}");
    World::init()?.barrier();
    Ok(())
}

kernel! {
    fn fails(_context: &KernelContext<'_>, number: u32) {
        assert!(number != 3, "{MESSAGE}");
    }
}

/// A kernel panics on the PEs that were started, while those that have called it wait.
fn in_a_kernel() -> Result<(), Error> {
    let world = World::init()?;
    if let Some(parents) = world.parents() {
        parents.serve(&world);
        return Ok(());
    }
    let this = std::env::current_exe().expect("a program that runs has a file");
    let command = Command::new(this).args([PE, "panics/in_a_kernel"]).pes(2);
    let children = world.spawn(&command)?;
    let _ = children.call(fails, (2,)).wait();
    let _ = children.call(fails, (3,)).wait();
    Ok(())
}

panics! {
    in_a_barrier_of_others: |world, odd| {
        assert!(!odd, "{MESSAGE}");
    }
    in_a_reduction_of_others: |world, odd| {
        let mut array = world.alloc::<f64>(100_000)?;
        world.reduce_in_place(&mut array, Sum);
        assert!(!odd, "{MESSAGE}");
        world.reduce_in_place(&mut array, Sum);
    }
    with_all_that_there_is: |world, odd| {
        let _shared = world.alloc::<u8>(9)?.share();
        let _window = world.alloc::<u8>(9)?.open();
        let _signals = world.signals(3)?;
        let team = world.split_strided(0, 1, 5)?.expect("of all PEs");
        let _context = team.context()?;
        let locked = world.locked(1)?;
        let _guard = odd.then(|| locked.lock());
        assert!(!odd, "{MESSAGE}");
    }
    while_others_want_its_lock: |world, odd| {
        let locked = world.locked(1)?;
        let guard = odd.then(|| locked.lock());
        world.barrier();
        assert!(guard.is_none(), "{MESSAGE}");
        *locked.lock() += 1;
    }
    in_a_scope_of_puts: |world, odd| {
        let window = world.alloc::<u64>(100)?.open();
        let data = [1; 100];
        window.nonblocking(|pending| {
            pending.put(world.my_pe().next(), 0, &data).unwrap();
            assert!(!odd, "{MESSAGE}");
        });
        drop(window);
    }
    in_a_condition: |world, odd| {
        let words = world.atomics::<u32>(1)?;
        words.wait(0, |_| {
            assert!(!odd, "{MESSAGE}");
            // The others wait for an update that this PE never makes.
            false
        })?;
    }
    while_others_wait_for_its_signal: |world, odd| {
        let signals = world.signals(1)?;
        assert!(!odd, "{MESSAGE}");
        signals.wait_until(0, ferroshmem::Compare::Ne(0))?;
    }
    after_some_arrays_were_dropped: |world, odd| {
        let (first, second) = (world.alloc::<u8>(9)?, world.alloc::<u8>(9)?);
        drop(first);
        assert!(!odd, "{MESSAGE}");
        drop(second);
    }
    and_catches_itself: |world, odd| {
        // Unwinding dropped the array without a step, so the next step of the others reports it.
        let caught = std::panic::catch_unwind(|| assert!(!odd, "{MESSAGE}"));
        if caught.is_err() {
            thread::scope(|scope| {
                scope.spawn(|| std::panic::resume_unwind(Box::new("on"))).join()
            })
            .unwrap_or_else(|error| std::panic::resume_unwind(error));
        }
    }
}
