//! Collectives that go on while the PE computes.

use ferroshmem::{CollectiveRequest, Error, Max, Sum, TeamError, World};

use crate::data::scramble;

programs!("nonblocking": each, several, panic, too_short);

/// From values that library memory holds to what workers execute.
const LENGTHS: [usize; 4] = [0, 1, 500, 20_000];

fn each(world: &World) -> Result<(), Error> {
    let (n, me) = (world.n_pes(), world.my_pe().number());
    for len in LENGTHS {
        let element = |pe, place| scramble(pe, len, place) >> 16;
        let (mut source, mut dest) = (world.alloc::<u64>(len)?, world.alloc::<u64>(len)?);
        let (mut blocks, mut all) = (world.alloc::<u64>(len * n)?, world.alloc::<u64>(len * n)?);
        source.iter_mut().enumerate().for_each(|(place, value)| *value = element(me, place));
        blocks.iter_mut().enumerate().for_each(|(place, value)| *value = element(me, place));
        let sum = |pes: usize, place| (0..pes).map(|pe| element(pe, place)).sum::<u64>();
        world.nonblocking(|collectives| {
            let request = collectives.broadcast(world.pe(n - 1)?, &mut dest, &source)?;
            while !request.is_complete() {}
            let dest = request.wait();
            assert!(dest.iter().copied().eq((0..len).map(|place| element(n - 1, place))));
            let dest = collectives.reduce(dest, &source, Sum)?.wait();
            assert!(dest.iter().copied().eq((0..len).map(|place| sum(n, place))));
            let dest = collectives.inclusive_scan(dest, &source)?.wait();
            assert!(dest.iter().copied().eq((0..len).map(|place| sum(me + 1, place))));
            let dest = collectives.exclusive_scan(dest, &source)?.wait();
            assert!(dest.iter().copied().eq((0..len).map(|place| sum(me, place))));
            let all = collectives.fcollect(&mut all, &source)?.wait();
            assert!(all.iter().copied().eq((0..n * len).map(|place| element(place / len, place % len))));
            let all = collectives.alltoall(all, &blocks)?.wait();
            assert!(all.iter().copied().eq((0..n * len).map(|i| element(i / len, me * len + i % len))));
            collectives.sync().wait();
            Ok::<(), Error>(())
        })?;
        world.nonblocking(|collectives| {
            collectives.reduce_in_place(&mut source, Max);
        });
        assert!(source.iter().enumerate().all(|(place, value)| (0..n).any(|pe| *value == element(pe, place))));
    }
    Ok(())
}

/// Several at once on two teams, beside a collective that waits, ended in another order on each PE.
fn several(world: &World) -> Result<(), Error> {
    let (n, me) = (world.n_pes(), world.my_pe().number());
    let reversed = world.split(Some(0), -(me as i64))?.expect("every PE has a color");
    let mut numbers = Vec::new();
    for i in 0..6 {
        let mut number = world.alloc::<usize>(1)?;
        number[0] = me + i;
        numbers.push(number);
    }
    let sum = |i| n * (n - 1) / 2 + n * i;
    let (first, second) = numbers.split_at_mut(3);
    world.nonblocking(|a| {
        reversed.nonblocking(|b| {
            let of_world = first.iter_mut().map(|number| a.reduce_in_place(number, Sum));
            let of_world = Vec::from_iter(of_world);
            let of_team = second.iter_mut().map(|number| b.reduce_in_place(number, Sum));
            let mut of_team = Vec::from_iter(of_team);
            assert_eq!(world.reduce_value(1, Sum), n as i32);
            if me % 2 == 0 {
                of_team.reverse();
            }
            let mut sums = Vec::new();
            while let Some(number) = CollectiveRequest::wait_any(&mut of_team) {
                sums.push(number[0]);
            }
            sums.sort_unstable();
            assert_eq!(sums, [sum(3), sum(4), sum(5)]);
            let numbers = CollectiveRequest::wait_all(of_world);
            assert!(numbers.iter().map(|number| number[0]).eq((0..3).map(sum)));
        });
    });
    Ok(())
}

/// The closure's end waits for a collective, also after a panic.
fn panic(world: &World) -> Result<(), Error> {
    let mut numbers = world.alloc::<u64>(20_000)?;
    for panics in [false, true] {
        numbers.fill(1);
        let closure = || {
            world.nonblocking(|collectives| {
                collectives.reduce_in_place(&mut numbers, Sum);
                if panics {
                    std::panic::resume_unwind(Box::new(()));
                }
            });
        };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(closure));
        assert_eq!(caught.is_err(), panics);
        assert!(numbers.iter().all(|number| *number == world.n_pes() as u64));
        world.barrier();
    }
    Ok(())
}

fn too_short(world: &World) -> Result<(), Error> {
    let (source, mut dest) = (world.alloc::<u64>(3)?, world.alloc::<u64>(2)?);
    world.nonblocking(|collectives| {
        let refused = collectives.reduce(&mut dest, &source, Sum).map(drop);
        assert_eq!(refused, Err(TeamError::TooShort { needed: 3, array: 2 }));
    });
    Ok(())
}
