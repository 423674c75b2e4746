//! Messages.

use bytemuck::Zeroable as _;
use ferroshmem::{Error, Member, Receiving, Team, Truncated, World};

use crate::data::{Particle, elements, same};

programs!("messages": every_length, matching, teams, dropped);

/// The member that comes `distance` after this PE.
fn after(team: &Team<'_>, distance: usize) -> Result<Member, Error> {
    Ok(team.member((team.my_member().number() + distance) % team.n_members())?)
}

/// Messages are for the PEs of a node.
fn is_on_one_node(world: &World) -> bool {
    world.pes().all(|pe| world.is_here(pe))
}

fn every_length(world: &World) -> Result<(), Error> {
    if !is_on_one_node(world) {
        return Ok(());
    }
    let n = world.n_members();
    for len in [0, 1, 100, 3000, 60_000] {
        // More than 2 MiB, which idle threads share. To make and compare them takes long without optimisation.
        let distances = if len > 10_000 { n.min(3) } else { n };
        for distance in 0..distances {
            let (to, from) = (after(world, distance)?, after(world, n - distance)?);
            let mine: Vec<Particle> = elements(world.my_member().number(), len, len);
            let mut sending = world.begin_send(to, len as u32, mine.clone())?;
            let receiving: Receiving<'_, Particle> =
                world.begin_receive(Some(from), Some(len as u32), vec![Particle::zeroed(); len + 1])?;
            let (theirs, arrival) = receiving.wait()?;
            assert_eq!((arrival.from, arrival.tag), (from, len as u32));
            assert_eq!(arrival.elements::<Particle>(), len);
            let expected: Vec<Particle> = elements(from.number(), len, len);
            assert!(same(&theirs[..len], &expected));
            assert_eq!(theirs.len(), len + 1);
            while !sending.is_complete() {}
            assert!(same(&sending.wait(), &mine));
        }
    }
    // Blocking, round the ring.
    let next = after(world, 1)?;
    let mut token = [0_u64];
    if world.my_member().number() == 0 {
        world.send(next, 0, &[1_u64])?;
        world.receive(None, Some(0), &mut token)?;
        assert_eq!(token[0], world.n_members() as u64);
    } else {
        world.receive(None, None, &mut token)?;
        world.send(next, 0, &[token[0] + 1])?;
    }
    Ok(())
}

fn matching(world: &World) -> Result<(), Error> {
    if !is_on_one_node(world) {
        return Ok(());
    }
    let me = world.my_member();
    assert_eq!(world.try_probe(None, None)?, None);
    for tag in [3, 1, 2] {
        world.send(me, tag, &[tag, tag])?;
    }
    let first = world.probe(world.my_pe(), None)?;
    assert_eq!((first.tag, first.elements::<u32>()), (3, 2));
    for (asked, tag) in [(Some(2), 2), (None, 3), (None, 1)] {
        let mut buffer = [0_u32; 2];
        assert_eq!(world.receive(Some(me), asked, &mut buffer)?.tag, tag);
        assert_eq!(buffer, [tag; 2]);
    }
    // Too short, at once and later.
    world.send(me, 4, &[5_u16; 10])?;
    let mut buffer = [0_u16; 4];
    let error = world.receive(None, Some(4), &mut buffer).unwrap_err();
    let truncated = Truncated { bytes: 20, room: 8 };
    assert_eq!((error, buffer), (Error::Message(truncated), [5; 4]));
    let receiving = world.begin_receive::<u16>(None, Some(4), vec![0; 4])?;
    world.send(me, 4, &[5_u16; 10])?;
    assert_eq!(receiving.wait().unwrap_err(), truncated);
    // Cancelled, unless a message has come.
    let receiving = world.begin_receive(Some(me), Some(5), vec![7_u8; 3])?;
    assert_eq!(receiving.cancel().expect("no message was sent"), [7; 3]);
    let receiving = world.begin_receive(Some(me), Some(5), vec![7_u8; 3])?;
    world.send(me, 5, &[8_u8; 3])?;
    let receiving = receiving.cancel().expect_err("a message was sent");
    assert_eq!(receiving.wait()?.0, [8; 3]);
    Ok(())
}

fn teams(world: &World) -> Result<(), Error> {
    if !is_on_one_node(world) {
        return Ok(());
    }
    let n = world.n_members();
    let half = world.my_member().number() % 2;
    let teams = [0, 1].map(|first| match (n - first).div_ceil(2) {
        0 => Ok(None),
        size => world.split_strided(first, 2, size),
    });
    for (i, team) in teams.into_iter().enumerate() {
        let Some(team) = team? else {
            continue;
        };
        assert_eq!(i, half);
        let others = world.send(team.my_member(), 0, &[1_u8]);
        assert!(others.is_err(), "a member of another team");
        let sending = team.begin_send(after(&team, 1)?, 1, vec![team.my_member().number()])?;
        assert_eq!(world.try_probe(None, None)?, None);
        let mut number = [n];
        let arrival = team.receive(None, None, &mut number)?;
        assert_eq!(arrival.from.number(), number[0]);
        sending.wait();
    }
    Ok(())
}

/// Sends are completed, and receives cancelled or completed.
fn dropped(world: &World) -> Result<(), Error> {
    if !is_on_one_node(world) {
        return Ok(());
    }
    let next = after(world, 1)?;
    let unmatched = world.begin_receive(None, Some(9), vec![0_u8; 10])?;
    drop(unmatched);
    let matched = world.begin_receive(None, Some(1), vec![0_u64; 50_000])?;
    let sending = world.begin_send(next, 1, vec![1_u64; 50_000])?;
    drop(matched.cancel());
    world.barrier();
    // A PE whose receive was cancelled in time has the message yet.
    if world.try_probe(None, Some(1))?.is_some() {
        world.receive(None, Some(1), &mut [0_u64; 50_000])?;
    }
    drop(sending);
    // Its buffer is leaked, and its message is received.
    std::mem::forget(world.begin_send(next, 2, vec![2_u64; 50_000])?);
    let mut buffer = vec![0_u64; 50_000];
    world.receive(None, Some(2), &mut buffer)?;
    assert_eq!(buffer, [2; 50_000]);
    world.barrier();
    Ok(())
}
