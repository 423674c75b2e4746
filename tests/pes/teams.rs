//! Teams and their contexts.

use ferroshmem::{Error, Member, Sum, Team, TeamError, TeamKind, World};

use crate::data::{elements, same};

programs!("teams": strided, rows_and_columns, nested, of_others(), refused, colors, many, contexts);

/// Members have numbers, correspond to PEs, and make collective calls.
fn verify(world: &World, team: &Team<'_>, pes: &[usize]) -> Result<(), Error> {
    let me = world.my_pe();
    assert_eq!(team.n_members(), pes.len());
    assert!(team.members().map(Member::number).eq(0..pes.len()));
    for (member, number) in team.members().zip(pes) {
        let pe = world.pe(*number)?;
        assert_eq!(team.pe_of(member)?, pe);
        assert_eq!(team.member_of(pe), Some(member));
        assert_eq!(team.member(member.number())?, member);
    }
    let inside = world.pes().filter_map(|pe| team.member_of(pe));
    assert_eq!(inside.count(), pes.len());
    assert_eq!(team.pe_of(team.my_member())?, me);
    let error = team.member(pes.len()).unwrap_err();
    assert_eq!(error, TeamError::NoMember { number: pes.len(), n_members: pes.len() });
    let message = format!("member {} is out of range: the team has members 0 to {}", pes.len(), pes.len() - 1);
    assert!(error.to_string().ends_with(&message), "{error}");
    team.barrier();
    assert_eq!(team.gather_value(me.number()), pes);
    assert_eq!(team.reduce_value(1, Sum), pes.len());
    let last = team.member(pes.len() - 1)?;
    let root = pes[pes.len() - 1];
    assert_eq!(team.broadcast_value(last, me.number())?, root);
    team.fence();
    team.quiet();
    Ok(())
}

fn strided(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for (start, stride) in [(0, 1), (0, 2), (1, 2), (1, 1), (n / 2, 1), (n - 1, 5), (0, 0)] {
        let rest = n.saturating_sub(start);
        let size = match stride {
            0 => 1,
            _ => rest.div_ceil(stride),
        };
        if rest == 0 {
            continue;
        }
        let team = world.split_strided(start, stride, size)?;
        let pes = Vec::from_iter((0..size).map(|i| start + i * stride));
        assert_eq!(team.is_some(), pes.contains(&me), "{start} {stride} {size}");
        if let Some(team) = &team {
            verify(world, team, &pes)?;
            assert!(format!("{team:?}").contains(&format!("size: {size}")));
        }
    }
    Ok(())
}

fn rows_and_columns(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for width in [1, 2, 3, 4, n, n + 1] {
        let (row, column) = world.split_2d(width)?;
        let in_row = |pe: &usize| pe / width == me / width;
        verify(world, &row, &Vec::from_iter((0..n).filter(in_row)))?;
        let in_column = |pe: &usize| pe % width == me % width;
        verify(world, &column, &Vec::from_iter((0..n).filter(in_column)))?;
        // Arrays belong to the world; teams work on them at the same time.
        let mut sums = world.alloc::<u64>(10)?;
        sums.fill(1);
        row.reduce_in_place(&mut sums, Sum);
        column.reduce_in_place(&mut sums, Sum);
        if n.is_multiple_of(width) {
            assert_eq!(sums[..], [n as u64; 10]);
        }
    }
    Ok(())
}

fn nested(world: &World) -> Result<(), Error> {
    fn halves(world: &World, team: &Team<'_>, pes: &[usize]) -> Result<(), Error> {
        verify(world, team, pes)?;
        if pes.len() == 1 {
            return Ok(());
        }
        let (low, high) = pes.split_at(pes.len() / 2);
        let first = team.split_strided(0, 1, low.len())?;
        let second = team.split_strided(low.len(), 1, high.len())?;
        for (half, pes) in [(&first, low), (&second, high)] {
            if let Some(half) = half {
                halves(world, half, pes)?;
            }
        }
        verify(world, team, pes)
    }
    halves(world, world, &Vec::from_iter(0..world.n_pes()))
}

/// Members of another team are refused, also those of a dropped team or of an earlier world.
fn of_others() -> Result<(), Error> {
    let world = World::init()?;
    let n = world.n_pes();
    let other = TeamError::OtherTeam;
    let stale = {
        let team = world.split_strided(0, 1, n)?.expect("of all PEs");
        let stale = team.member(n - 1)?;
        assert_eq!(Team::pe_of(&world, stale), Err(other));
        assert_eq!(team.pe_of(world.my_member()), Err(other));
        assert_ne!(stale, world.member(n - 1)?);
        stale
    };
    let window = world.alloc::<u8>(4)?.open();
    let team = world.split_strided(0, 1, 1)?;
    if let Some(team) = &team {
        assert_eq!(team.pe_of(stale), Err(other));
        assert_eq!(team.broadcast_value(stale, 1), Err(other));
        assert_eq!(team.broadcast_slice(stale, &mut [1]), Err(other));
        let context = team.context()?;
        assert_eq!(context.put(&window, stale, 0, &[1]), Err(other.into()));
        assert_eq!(context.get(&window, stale, 0, &mut [1]), Err(other.into()));
    }
    let (mut dest, source) = (world.alloc::<u8>(4)?, window.close());
    assert_eq!(world.broadcast(stale, &mut dest, &source), Err(other));
    assert!(other.to_string().contains("member_of"));
    drop((team, dest, source));
    drop(world);

    let world = World::init()?;
    let team = world.split_strided(0, 1, 1)?;
    if let Some(team) = &team {
        assert_eq!(team.pe_of(stale), Err(other));
    }
    Ok(())
}

fn refused(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let refused = |start, stride, size| {
        let split = world.split_strided(start, stride, size);
        assert_eq!(split.err(), Some(TeamError::Split), "{start} {stride} {size}");
    };
    refused(0, 1, 0);
    refused(0, 1, n + 1);
    refused(n, 1, 1);
    refused(0, n, 2);
    refused(0, 0, 2);
    refused(usize::MAX, 1, 1);
    refused(0, usize::MAX, 2);
    refused(0, 1 << 32, 2);
    refused(1 << 32, 1, 1);
    refused(0, 1, (1 << 32) + 1);
    assert_eq!(world.split_2d(0).err(), Some(TeamError::Split));
    assert_eq!(world.split_2d(1 << 32).err(), Some(TeamError::Split));
    world.barrier();
    Ok(())
}

fn colors(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    // By remainder, in both orders; by halves; by PE; all but the first PE.
    for parts in [1, 2, 3, n] {
        let of_color = Vec::from_iter((me % parts..n).step_by(parts));
        let team = world.split(Some(me % parts), 7)?.expect("a color");
        verify(world, &team, &of_color)?;
        let reversed = Vec::from_iter(of_color.into_iter().rev());
        let team = world.split(Some(me % parts), -(me as i64))?.expect("a color");
        verify(world, &team, &reversed)?;
    }
    let is_high = me >= n / 2;
    let half = world.split(Some(usize::MAX - usize::from(is_high)), 0)?.expect("a color");
    let pes = if is_high { n / 2..n } else { 0..n / 2 };
    verify(world, &half, &Vec::from_iter(pes.clone()))?;
    // A team of a team, while the other half makes its own.
    let quarter = half.split(Some(half.my_member().number() % 2), 0)?.expect("a color");
    verify(world, &quarter, &Vec::from_iter((pes.start + (me - pes.start) % 2..pes.end).step_by(2)))?;
    let rest = world.split((me > 0).then_some(0), 0)?;
    assert_eq!(rest.is_some(), me > 0);
    if let Some(rest) = &rest {
        verify(world, rest, &Vec::from_iter(1..n))?;
    }
    assert!(world.split(None, 0)?.is_none());
    // Members that do not lie a stride apart, in an order of their own; of those, every second one, and rows.
    let list = Vec::from_iter([3, 0, 1, 6, 2].into_iter().filter(|pe| *pe < n));
    let place = list.iter().position(|pe| *pe == me);
    let team = world.split(place.map(|_| 4), place.unwrap_or(0) as i64)?;
    assert_eq!(team.is_some(), place.is_some());
    if let (Some(team), Some(place)) = (team, place) {
        verify(world, &team, &list)?;
        if let Some(half) = team.split_strided(0, 2, list.len().div_ceil(2))? {
            verify(world, &half, &Vec::from_iter(list.iter().copied().step_by(2)))?;
        }
        let (row, column) = team.split_2d(2)?;
        verify(world, &row, list.chunks(2).nth(place / 2).expect("a row"))?;
        verify(world, &column, &Vec::from_iter(list.iter().copied().skip(place % 2).step_by(2)))?;
    }
    let node = world.split_by_kind(TeamKind::Node)?;
    let here = Vec::from_iter(world.pes().filter(|pe| world.is_here(*pe)).map(|pe| pe.number()));
    verify(world, &node, &here)?;
    for kind in [TeamKind::Socket, TeamKind::Numa, TeamKind::Cache] {
        let part = node.split_by_kind(kind)?;
        let pes = part.members().map(|member| part.pe_of(member).map(|pe| pe.number()));
        verify(world, &part, &pes.collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

/// As many teams as a job can have, twice.
fn many(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let mut most = 0;
    for _ in 0..2 {
        let mut teams = Vec::new();
        let error = loop {
            match world.split_strided(0, 1, n) {
                Ok(team) => teams.push(team.expect("of all PEs")),
                Err(error) => break error,
            }
        };
        assert_eq!(error, TeamError::Split);
        assert!(teams.len() > 10 && (most == 0 || teams.len() == most));
        most = teams.len();
        for team in teams.iter().step_by(7) {
            assert_eq!(team.reduce_value(1, Sum), n);
        }
    }
    Ok(())
}

fn contexts(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let window = world.alloc::<u32>(20)?.open();
    let team = world.split_strided(0, 2, n.div_ceil(2))?;
    if let Some(team) = &team {
        let (first, second) = (team.context()?, team.context()?);
        let next = team.member((team.my_member().number() + 1) % team.n_members())?;
        first.put(&window, next, 0, &elements(me.number(), 0, 10))?;
        first.fence();
        second.put(&window, next, 10, &elements(me.number(), 1, 10))?;
        second.quiet();
        first.quiet();
        let mut got = vec![0; 20];
        first.get(&window, next, 0, &mut got)?;
        assert!(same(&got[..10], &elements(me.number(), 0, 10)));
        assert!(same(&got[10..], &elements(me.number(), 1, 10)));
        assert!(first.put(&window, next, 15, &[0; 6]).is_err());
        assert!(first.get(&window, next, 21, &mut []).is_err());
        assert!(format!("{first:?}").contains("Team"));
    }
    // Closing the window completes the context's operations.
    world.barrier();
    let context = world.context()?;
    let next = world.member((me.number() + 1) % n)?;
    context.put(&window, next, 5, &[7; 10])?;
    assert_eq!(window.close()[5..15], [7; 10]);
    for _ in 0..100 {
        let contexts = (0..50).map(|_| world.context());
        assert!(contexts.collect::<Result<Vec<_>, _>>()?.len() == 50);
    }
    Ok(())
}
