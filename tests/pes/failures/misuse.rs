//! PEs that call different collectives, or the same with other arguments.

use std::mem;

use ferroshmem::{Error, Max, Min, Sum, World};

use super::{Expect, Failure};

macro_rules! misuse {
    ($($name:ident($pes:literal, $part:literal): |$world:ident, $odd:ident| $body:block)*) => {
        $(fn $name() -> Result<(), Error> {
            let $world = World::init()?;
            // The PE that is different from the others.
            let $odd = $world.my_pe().number() == $world.n_pes() - 1;
            $body
            $world.barrier();
            Ok(())
        })*

        pub(crate) const FAILURES: &[Failure] = &[
            $(Failure::new(concat!("misuse/", stringify!($name)), $name, $pes, Expect::Misuse($part))),*
        ];
    };
}

misuse! {
    lengths_of_arrays(2, "calls it with another length"): |world, odd| {
        world.alloc::<u8>(if odd { 100 } else { 1000 })?;
    }
    lengths_of_distributed_arrays(5, "calls it with another length"): |world, odd| {
        world.distributed::<u8>(if odd { 9 } else { 10 })?;
    }
    types_of_arrays(5, "allocation"): |world, odd| {
        match odd {
            true => drop(world.alloc::<u8>(8)?),
            false => drop(world.alloc::<u64>(1)?),
        }
    }
    impossible_on_one(5, "allocation"): |world, odd| {
        let _ = world.alloc::<u64>(if odd { usize::MAX } else { 1 });
    }
    barrier_or_allocation(16, "Team::barrier"): |world, odd| {
        if odd {
            world.barrier();
        }
        world.alloc::<u8>(1)?;
    }
    share_or_open(2, "Symmetric::"): |world, odd| {
        let array = world.alloc::<u8>(1)?;
        match odd {
            true => drop(array.share()),
            false => drop(array.open()),
        }
    }
    open_or_raw(2, "another way of sharing the array"): |world, odd| {
        let array = world.alloc::<u8>(1)?;
        match odd {
            true => drop(array.into_raw()),
            false => drop(array.open()),
        }
    }
    shares_of_different_arrays(5, "with another array"): |world, odd| {
        let mut arrays = [world.alloc::<u32>(9)?, world.alloc::<u32>(9)?];
        if odd {
            arrays.reverse();
        }
        let [first, _second] = arrays;
        let _ = first.share();
    }
    another_begun(2, "begins another collective of the team"): |world, odd| {
        let mut array = world.alloc::<u64>(9)?;
        world.nonblocking(|collectives| match odd {
            true => collectives.reduce_in_place(&mut array, Max).wait().len(),
            false => collectives.reduce_in_place(&mut array, Sum).wait().len(),
        });
    }
    drops_in_other_orders(5, "drop of an array"): |world, odd| {
        let (first, second) = (world.alloc::<u32>(9)?, world.alloc::<u32>(9)?);
        if odd {
            drop(second);
            drop(first);
        } else {
            drop(first);
            drop(second);
        }
    }
    forgotten_on_one(5, "drop of an array"): |world, odd| {
        let array = world.alloc::<u32>(9)?;
        match odd {
            true => mem::forget(array),
            false => drop(array),
        }
    }
    kept_on_one(2, "Symmetric::keep"): |world, odd| {
        let array = world.alloc::<u32>(9)?;
        if odd {
            array.keep();
        }
    }
    lengths_reduced(5, "with another length"): |world, odd| {
        let mut array = world.alloc::<f64>(100)?;
        world.reduce_in_place(array.part_mut(..if odd { 99 } else { 100 })?, Sum);
    }
    parts_reduced(5, "Team::reduce"): |world, odd| {
        let (mut dest, source) = (world.alloc::<f64>(100)?, world.alloc::<f64>(100)?);
        let start = usize::from(odd);
        world.reduce(&mut dest, source.part(start..start + 50)?, Sum)?;
    }
    arrays_reduced(5, "Team::reduce"): |world, odd| {
        let (mut first, mut second) = (world.alloc::<i32>(9)?, world.alloc::<i32>(9)?);
        match odd {
            true => world.reduce(&mut first, &second, Sum)?,
            false => world.reduce(&mut second, &first, Sum)?,
        }
    }
    in_place_or_not(2, "Team::reduce"): |world, odd| {
        let (mut dest, mut source) = (world.alloc::<i32>(9)?, world.alloc::<i32>(9)?);
        match odd {
            true => world.reduce(&mut dest, &source, Sum)?,
            false => world.reduce_in_place(&mut source, Sum),
        }
    }
    operators(
        5,
        "with another operator: all PEs must give the same; called at tests/pes/failures/misuse.rs:"
    ): |world, odd| {
        match odd {
            true => world.reduce_value(1, Max),
            false => world.reduce_value(1, Min),
        };
    }
    types_of_one_size(5, "Team::reduce"): |world, odd| {
        match odd {
            true => drop(world.reduce_value(1i64, Sum)),
            false => drop(world.reduce_value(1f64, Sum)),
        }
    }
    lengths_of_slices(16, "with another length"): |world, odd| {
        world.reduce_slice(&mut [1u64; 600][..if odd { 512 } else { 600 }], Sum);
    }
    nothing_or_something(5, "Team::"): |world, odd| {
        world.reduce_slice(&mut [1u64; 9][..if odd { 0 } else { 9 }], Sum);
    }
    scans(2, "Team::scan"): |world, odd| {
        match odd {
            true => world.inclusive_scan_value(1),
            false => world.exclusive_scan_value(1),
        };
    }
    roots(5, "with another root"): |world, odd| {
        world.broadcast_value(world.member(usize::from(odd))?, 1)?;
    }
    roots_of_arrays(5, "with another root"): |world, odd| {
        let (mut dest, source) = (world.alloc::<u8>(9)?, world.alloc::<u8>(9)?);
        world.broadcast(world.member(usize::from(odd))?, &mut dest, &source)?;
    }
    lengths_of_broadcasts(5, "with another length"): |world, odd| {
        world.broadcast_slice(world.member(0)?, &mut [1u8; 5000][..if odd { 4096 } else { 5000 }])?;
    }
    sizes_of_values(5, "Team::fcollect"): |world, odd| {
        match odd {
            true => drop(world.gather_value(1u8)),
            false => drop(world.gather_value(1u64)),
        }
    }
    strides(5, "Team::alltoalls"): |world, odd| {
        let (mut dest, source) = (world.alloc::<u8>(99)?, world.alloc::<u8>(99)?);
        world.alltoalls(&mut dest, &source, (1 + usize::from(odd), 1), 2)?;
    }
    gather_or_reduce(5, "Team::reduce"): |world, odd| {
        match odd {
            true => drop(world.gather_value(1u64)),
            false => drop(world.reduce_value(1u64, Sum)),
        }
    }
    splits(5, "Team::split_strided"): |world, odd| {
        world.split_strided(0, 1, 1 + usize::from(odd))?;
    }
    barriers_of_a_team(5, "Team::barrier"): |world, odd| {
        let team = world.split_strided(1, 1, 4)?;
        if let Some(team) = &team {
            match odd {
                true => drop(team.reduce_value(1, Sum)),
                false => team.barrier(),
            }
        }
    }
    team_dropped_by_one(5, "drop of a Team"): |world, odd| {
        let team = world.split_strided(0, 1, 5)?.expect("of all PEs");
        if odd {
            drop(team);
        } else {
            team.barrier();
        }
    }
    error_on_one(5, "Team::barrier"): |world, odd| {
        // An error that only one PE gets: it goes on, while the others are in the broadcast.
        let team = world.split_strided(0, 1, 5)?.expect("of all PEs");
        let root = if odd { team.member(0)? } else { world.member(0)? };
        let _ = world.broadcast_value(root, 1);
        world.barrier();
        drop(team);
    }
}
