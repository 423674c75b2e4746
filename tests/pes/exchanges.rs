//! Broadcasts, collects and all-to-alls of arrays.

use ferroshmem::{Error, Plain, Sum, Team, TeamError, World};

use crate::data::{Particle, elements, same};

programs!(
    "exchanges": broadcast, fcollect, collect, collect_refused, alltoall, alltoalls, rooted, too_short,
    at_once,
);

const LENGTHS: [usize; 5] = [0, 1, 5, 1000, 20_000];

/// Numbers of the PEs of a team.
fn pes(team: &Team<'_>) -> Vec<usize> {
    let pe = |member| team.pe_of(member).expect("its own").number();
    team.members().map(pe).collect()
}

/// Runs `$body` for some types and the lengths, with the world and with a team of the first PEs.
macro_rules! each {
    ($world:ident, $body:ident) => {{
        let most = $world.n_pes().div_ceil(2);
        let team = $world.split_strided(0, 1, most)?;
        for len in LENGTHS {
            for team in [Some(&**$world), team.as_ref()] {
                $body::<u8>($world, team, len)?;
                $body::<[u16; 3]>($world, team, len)?;
                $body::<f64>($world, team, len)?;
            }
        }
        $body::<Particle>($world, Some($world), 100)
    }};
}

fn broadcast(world: &World) -> Result<(), Error> {
    fn of_type<T: Plain>(world: &World, team: Option<&Team<'_>>, len: usize) -> Result<(), Error> {
        let me = world.my_pe().number();
        let (mut dest, mut source) = (world.alloc::<T>(len + 1)?, world.alloc::<T>(len)?);
        let Some(team) = team else {
            return Ok(());
        };
        for (root, pe) in team.members().zip(pes(team)) {
            source.copy_from_slice(&elements(me, pe, len));
            team.broadcast(root, &mut dest, &source)?;
            // The broadcast has returned, so this PE may write its source.
            source.fill(T::zeroed());
            assert!(same(&dest[..len], &elements(pe, pe, len)), "root {root}");
            assert!(same(&dest[len..], &[T::zeroed()]));
            if len > 1000 && root.number() == 2 {
                break;
            }
        }
        Ok(())
    }
    each!(world, of_type)
}

fn fcollect(world: &World) -> Result<(), Error> {
    fn of_type<T: Plain>(world: &World, team: Option<&Team<'_>>, len: usize) -> Result<(), Error> {
        let (me, room) = (world.my_pe().number(), len * world.n_pes());
        let (mut dest, mut source) = (world.alloc::<T>(room)?, world.alloc::<T>(len)?);
        let Some(team) = team else {
            return Ok(());
        };
        source.copy_from_slice(&elements(me, 1, len));
        team.fcollect(&mut dest, &source)?;
        source.fill(T::zeroed());
        for (i, pe) in pes(team).into_iter().enumerate() {
            assert!(same(&dest[i * len..][..len], &elements(pe, 1, len)));
        }
        Ok(())
    }
    each!(world, of_type)
}

/// Different numbers of elements from each PE, 0 from some.
fn collect(world: &World) -> Result<(), Error> {
    fn of_type<T: Plain>(world: &World, team: Option<&Team<'_>>, len: usize) -> Result<(), Error> {
        let (me, room) = (world.my_pe().number(), len * world.n_pes());
        let (mut dest, mut source) = (world.alloc::<T>(room + 1)?, world.alloc::<T>(len)?);
        let Some(team) = team else {
            return Ok(());
        };
        let count = |pe: usize| len * (pe * 5 % 3) / 2;
        source.copy_from_slice(&elements(me, 1, len));
        let total = team.collect(&mut dest, &source, count(me))?;
        source.fill(T::zeroed());
        let mut rest = &dest[..total];
        for pe in pes(team) {
            let (first, others) = rest.split_at(count(pe));
            assert!(same(first, &elements::<T>(pe, 1, len)[..count(pe)]));
            rest = others;
        }
        assert!(rest.is_empty());
        assert!(same(&dest[total..], &vec![T::zeroed(); room + 1 - total]));
        Ok(())
    }
    each!(world, of_type)
}

/// A PE passes a count above its source's length, or `dest` is too short: an error on all PEs.
fn collect_refused(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let (mut dest, source) = (world.alloc::<u32>(10 * n)?, world.alloc::<u32>(10)?);
    let refused = |result| matches!(result, Err(TeamError::TooShort { .. }));
    for excess in [11, usize::MAX] {
        let count = if me == n - 1 { excess } else { 3 };
        assert!(refused(world.collect(&mut dest, &source, count)));
    }
    let little = dest.part_mut(..10 * n - 1)?;
    let needed = 10 * n;
    let error = TeamError::TooShort { needed, array: needed - 1 };
    assert_eq!(world.collect(little, &source, 10), Err(error));
    assert_eq!(world.collect(&mut dest, &source, 10), Ok(10 * n));
    Ok(())
}

fn alltoall(world: &World) -> Result<(), Error> {
    fn of_type<T: Plain>(world: &World, team: Option<&Team<'_>>, len: usize) -> Result<(), Error> {
        let (me, len) = (world.my_pe().number(), len / 10);
        let room = len * world.n_pes();
        let (mut dest, mut source) = (world.alloc::<T>(room)?, world.alloc::<T>(room)?);
        let Some(team) = team else {
            return Ok(());
        };
        // Elements after the last whole block are not sent.
        let all = len * team.n_members();
        let extra = usize::from(all < room && team.n_members() > 1);
        // The block for each member is of another round.
        let blocks = (0..).zip(source.chunks_mut(len.max(1)));
        blocks.for_each(|(to, block)| block.copy_from_slice(&elements(me, to, len)));
        team.alltoall(dest.part_mut(..all)?, source.part(..all + extra)?)?;
        source.fill(T::zeroed());
        for (i, pe) in pes(team).into_iter().enumerate() {
            let sent = elements::<T>(pe, team.my_member().number(), len);
            assert!(same(&dest[i * len..][..len], &sent));
        }
        assert!(same(&dest[all..], &vec![T::zeroed(); room - all]));
        Ok(())
    }
    each!(world, of_type)
}

fn alltoalls(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for (to, from, count) in [(1, 1, 1), (2, 1, 3), (1, 4, 10), (3, 7, 100), (5, 5, 0)] {
        let all = count * n;
        let room = |stride: usize| all * stride;
        let (mut dest, mut source) = (world.alloc::<u32>(room(to))?, world.alloc::<u32>(room(from))?);
        source.copy_from_slice(&elements(me, count, room(from)));
        world.alltoalls(&mut dest, &source, (to, from), count)?;
        let mut expected = vec![0; room(to)];
        for pe in 0..n {
            let sent = elements::<u32>(pe, count, room(from));
            for i in 0..count {
                expected[(pe * count + i) * to] = sent[(me * count + i) * from];
            }
        }
        assert_eq!(dest[..], expected, "strides {to} and {from}");
    }
    Ok(())
}

fn rooted(world: &World) -> Result<(), Error> {
    fn of_type<T: Plain>(world: &World, team: Option<&Team<'_>>, len: usize) -> Result<(), Error> {
        let (mut blocks, mut mine) = (world.alloc::<T>(len * world.n_pes())?, world.alloc::<T>(len)?);
        let Some(team) = team else {
            return Ok(());
        };
        let of_all = pes(team).into_iter().flat_map(|pe| elements::<T>(pe, 2, len)).collect::<Vec<_>>();
        for root in team.members().take(3) {
            let (place, is_root) = (team.my_member().number() * len, team.my_member() == root);
            mine.copy_from_slice(&of_all[place..][..len]);
            team.gather(root, &mut blocks, &mine)?;
            mine.fill(T::zeroed());
            assert!(!is_root || same(&blocks[..of_all.len()], &of_all), "root {root}");
            team.scatter(root, &mut mine, &blocks)?;
            blocks.fill(T::zeroed());
            assert!(same(&mine[..], &of_all[place..][..len]), "root {root}");
        }
        Ok(())
    }
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for len in [1, 7, 3000] {
        let (mut sums, mut numbers) = (world.alloc::<i64>(len * n)?, world.alloc::<i64>(len * n)?);
        numbers.iter_mut().enumerate().for_each(|(i, number)| *number = (i * (me + 1)) as i64);
        let sum = |i: usize| (i * n * (n + 1) / 2) as i64;
        for root in [0, n - 1] {
            world.reduce_root(world.pe(root)?, &mut sums, &numbers, Sum)?;
            let expected = |(i, value): (usize, &i64)| *value == if me == root { sum(i) } else { 0 };
            assert!(sums.iter().enumerate().all(expected), "root {root}");
            sums.fill(0);
        }
        world.reduce_scatter(sums.part_mut(..len)?, &numbers, Sum)?;
        assert!(sums[..len].iter().enumerate().all(|(i, value)| *value == sum(me * len + i)));
    }
    each!(world, of_type)
}

fn too_short(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let (mut dest, source) = (world.alloc::<u64>(4 * n - 1)?, world.alloc::<u64>(4 * n)?);
    let too_short = |needed, array| Err(TeamError::TooShort { needed, array });
    assert_eq!(world.alltoall(&mut dest, &source), too_short(4 * n, 4 * n - 1));
    let four = source.part(..4)?;
    assert_eq!(world.fcollect(&mut dest, four), too_short(4 * n, 4 * n - 1));
    let root = world.pe(0)?;
    assert_eq!(world.gather(root, &mut dest, four), too_short(4 * n, 4 * n - 1));
    assert_eq!(world.reduce_root(root, &mut dest, &source, Sum), too_short(4 * n, 4 * n - 1));
    if n > 1 {
        assert_eq!(world.scatter(root, &mut dest, four), too_short((4 * n - 1) * n, 4));
        assert_eq!(world.reduce_scatter(&mut dest, &source, Sum), too_short((4 * n - 1) * n, 4 * n));
    }
    assert!(world.alltoalls(&mut dest, &source, (1, 1), 4).is_err());
    assert!(world.alltoalls(&mut dest, &source, (4, 1), n).is_err() || n == 1);
    const HUGE: usize = usize::MAX;
    for (to, from, count) in [
        (0, 1, 1),
        (1, 0, 1),
        (0, 0, 0),
        (HUGE, 1, 1),
        (1, HUGE, 1),
        (HUGE / 2 + 1, 1, 0),
        (1, 1, HUGE),
        (1, 1, HUGE / n.max(2) + 1),
        (HUGE / 2, HUGE / 2, 3),
    ] {
        let strides = (to, from);
        let refused = world.alltoalls(&mut dest, &source, strides, count);
        assert!(refused.is_err(), "{strides:?} {count}");
    }
    assert!(dest.iter().all(|value| *value == 0));
    world.barrier();
    Ok(())
}

/// Collectives on the same arrays one after another, without barriers between them.
fn at_once(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let (mut many, mut one) = (world.alloc::<usize>(n)?, world.alloc::<usize>(1)?);
    for round in 0..200 {
        one[0] = me + round;
        world.fcollect(&mut many, &one)?;
        assert!(many.iter().zip(0..).all(|(value, pe)| *value == pe + round));
        many[0] = me + round;
        let root = world.member(round % n)?;
        world.broadcast(root, &mut one, many.part(..1)?)?;
        many[0] = 0;
        assert_eq!(one[0], round % n + round);
    }
    Ok(())
}
