//! `Port`, and `Team::accept`, `Team::connect` and `Team::join`: two teams of one job meet, as two jobs do.

use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::time::Duration;

use ferroshmem::{Atomics, Error, Group, GroupState, Team, World};

programs!("ports": names, meet, join, refused);

/// A name that no other job has, the same on all PEs.
fn name_of_job(world: &World, what: &str) -> Result<String, Error> {
    let id = world.broadcast_value(world.member(0)?, process::id())?;
    Ok(format!("{what} {id}"))
}

/// Every PE publishes ports of its own, and finds those of the others.
fn names(world: &World) -> Result<(), Error> {
    let name = |pe: usize| Ok::<_, Error>(format!("{} {pe}", name_of_job(world, "names")?));
    let all: Vec<String> = (0..world.n_pes()).map(name).collect::<Result<_, _>>()?;
    let mine = &all[world.my_pe().number()];
    let (port, other) = (world.open_port()?, world.open_port()?);
    assert_ne!(port.text(), other.text());
    port.publish(mine)?;
    let taken = other.publish(mine).unwrap_err();
    assert!(taken.to_string().contains("the name is taken"), "{taken}");
    for name in &all {
        let found = world.look_up_port(name, None)?.expect("it waits");
        assert_eq!(found == port.text(), name == mine);
    }
    world.barrier();
    drop(port);
    world.barrier();
    for name in &all {
        assert_eq!(world.look_up_port(name, Some(Duration::ZERO))?, None);
    }
    world.barrier();
    other.publish(mine)?;
    let found = world.look_up_port(mine, Some(Duration::from_secs(60)))?;
    assert_eq!(found.as_deref(), Some(other.text()));
    assert!(!format!("{other:?}").contains(other.text()));
    Ok(())
}

/// The two halves of the world, of which the first has one PE more where their number is odd; None of one PE.
fn half(world: &World) -> Result<Option<(Team<'_>, bool)>, Error> {
    let (n, low) = (world.n_pes(), world.n_pes().div_ceil(2));
    if n == 1 {
        return Ok(None);
    }
    let first = world.split_strided(0, 1, low)?;
    let second = world.split_strided(low, 1, n - low)?;
    let is_first = first.is_some();
    Ok(first.or(second).map(|team| (team, is_first)))
}

/// Each group adds to the other's elements.
fn exchange(group: &Group<'_>, team: &Team<'_>, world: &World, is_first: bool) -> Result<(), Error> {
    let theirs = group.import::<Atomics<'_, u64>>("sums", 2)?;
    assert_eq!(group.n_pes() + team.n_members(), world.n_pes());
    assert_eq!(group.team().n_members(), world.n_pes());
    let first_of_theirs = group.member_of(group.pe(0)?)?.number();
    assert_eq!(first_of_theirs, if is_first { team.n_members() } else { 0 });
    for pe in group.pes() {
        theirs.add(pe, usize::from(is_first), 1)?;
    }
    group.team().barrier();
    Ok(())
}

fn meet(world: &World) -> Result<(), Error> {
    const ROUNDS: u64 = 3;

    let sums = world.export("sums", world.atomics::<u64>(2)?)?;
    let name = name_of_job(world, "meet")?;
    let Some((team, is_first)) = half(world)? else {
        return Ok(());
    };
    let is_root = team.my_member().number() == 0;
    let port = (is_first && is_root).then(|| world.open_port()).transpose()?;
    for round in 0..ROUNDS {
        if let Some(port) = port.as_ref().filter(|_| round == 0) {
            port.publish(&name)?;
        }
        let text = match is_root && !is_first {
            true => world.look_up_port(&name, None)?.unwrap_or_default(),
            false => String::new(),
        };
        let group = match (is_first, round) {
            (true, 1) => team.accept_independent(port.as_ref())?,
            (true, _) => team.accept(port.as_ref())?,
            (false, 1) => team.connect_independent(&text)?,
            (false, _) => team.connect(&text)?,
        };
        assert_eq!(group.state(), GroupState::Connected);
        exchange(&group, &team, world, is_first)?;
        group.disconnect();
    }
    let others = (world.n_pes() - team.n_members()) as u64;
    let got = sums.fetch(world.my_pe(), usize::from(!is_first))?;
    assert_eq!(got, ROUNDS * others);
    world.barrier();
    Ok(())
}

fn join(world: &World) -> Result<(), Error> {
    let _sums = world.export("sums", world.atomics::<u64>(2)?)?;
    let name = name_of_job(world, "join")?;
    let address = SocketAddr::from_abstract_name(name).expect("a name for a socket");
    let Some((team, is_first)) = half(world)? else {
        return Ok(());
    };
    let is_root = team.my_member().number() == 0;
    let listener = (is_first && is_root).then(|| UnixListener::bind_addr(&address));
    world.barrier();
    let socket = match listener {
        Some(listener) => Some(listener.and_then(|l| l.accept()).expect("it connects").0),
        None if is_root => Some(UnixStream::connect_addr(&address).expect("it listens")),
        None => None,
    };
    for _ in 0..2 {
        let group = team.join(socket.as_ref().map(UnixStream::as_fd))?;
        // Who accepts is not known beforehand.
        let is_first = group.member_of(group.pe(0)?)?.number() != 0;
        exchange(&group, &team, world, is_first)?;
    }
    world.barrier();
    Ok(())
}

/// All members get an error, of which the first one's says why.
fn refused(world: &World) -> Result<(), Error> {
    let says = |error: String, words: &str| {
        let words = if world.my_pe().number() == 0 { words } else { "has failed on PE 0" };
        assert!(error.contains(words), "{error}");
    };
    says(world.connect("no port").unwrap_err().to_string(), "is not the text of a port");
    says(world.accept(None).unwrap_err().to_string(), "is not the text of a port");
    says(world.join(None).unwrap_err().to_string(), "is not that of a socket");
    let port = world.open_port()?;
    let text = port.text().to_owned();
    // No time is too long to wait.
    let name = format!("{} waits", process::id());
    port.publish(&name)?;
    assert_eq!(world.look_up_port(&name, Some(Duration::MAX))?.as_deref(), Some(&*text));
    drop(port);
    says(world.connect(&text).unwrap_err().to_string(), "the port is closed");
    let long = "x".repeat(65);
    assert!(world.look_up_port(&long, None).is_err() && world.look_up_port("", None).is_err());
    world.barrier();
    Ok(())
}
