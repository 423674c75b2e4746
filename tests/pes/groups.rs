//! `Team::spawn`, `Group`, `Exported`, `Imported`: jobs that grow. The programs start themselves again; the PEs that
//! were started know it by their parents.

mod kernels;

use std::env;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use bytemuck::{Pod, Zeroable};
use ferroshmem::{
    Atomics, Command, Compare, Error, ExportError, Group, ImportError, Max, OutOfBounds, PeOutOfRange, RawSymmetric,
    Shared, SignalUpdate, Signals, SpaceConfig, Sum, TeamError, Window, World,
};

use self::kernels::{independent, kernels};
use crate::PE;

programs!(
    "groups": memory, atomics, signals, collectives, what_is_imported, what_is_exported, commands, of_teams,
    generations, not_started, left_to_the_world, in_a_space, of_an_earlier_world(), returns_early, kernels,
    independent,
);

/// Those that a job can run which another launcher has started.
#[cfg(not(sanitized))]
pub(crate) const BY_LAUNCHER: [&str; 4] = ["groups/memory", "groups/atomics", "groups/signals", "groups/kernels"];

/// PEs of jobs that are started, one job after the other.
const CHILDREN: [usize; 3] = [1, 4, 3];

/// `n` PEs that run a program of this binary.
fn pes(program: &str, n: usize) -> Command {
    let this = env::current_exe().expect("a program that runs has a file");
    Command::new(this).args([PE, program]).pes(n)
}

/// Calls `body` with the other group: of the parents in a job that was started, else of several jobs in
/// turn.
fn with_groups(world: &World, program: &str, body: impl Fn(&Group<'_>) -> Result<(), Error>) -> Result<(), Error> {
    if let Some(parents) = world.parents() {
        assert!(world.parents().is_none(), "a group has one owner");
        return body(&parents);
    }
    for n in CHILDREN {
        let children = world.spawn(&pes(program, n))?;
        assert_eq!(children.n_pes(), n);
        body(&children)?;
        // Other launchers take half a second for each.
        if children.is_remote() && n > 1 {
            break;
        }
    }
    Ok(())
}

/// Both groups put to and get from each other's windows, and read each other's tables.
fn memory(world: &World) -> Result<(), Error> {
    const LEN: usize = 1000;
    let me = world.my_pe().number();
    let window = world.export("window", world.alloc::<u32>(LEN)?.open())?;
    let mut table = world.alloc::<u64>(3)?;
    table.fill(me as u64 + 1);
    let table = world.export("table", table.share())?;
    let raw = world.export("raw", world.alloc::<u8>(5)?.into_raw())?;
    with_groups(world, "groups/memory", |group| {
        group.barrier()?;
        let theirs = group.import::<Window<'_, u32>>("window", LEN)?;
        assert_eq!((theirs.len(), theirs.is_empty()), (LEN, false));
        // Each PE has places of its own, 20 elements, in every part of the other group.
        let place = 20 * me;
        let values: Vec<u32> = (0..20).map(|i| (100 * me + i) as u32).collect();
        for pe in group.pes() {
            theirs.put(pe, place, &values[..19])?;
            theirs.p(pe, place + 19, values[19])?;
        }
        group.barrier()?;
        let mut got = [0; 20];
        for pe in group.pes() {
            theirs.get(pe, place, &mut got)?;
            assert_eq!(got, *values);
            assert_eq!(theirs.g(pe, place + 7)?, values[7]);
        }
        // What the other group has put here is what it says.
        for other in 0..group.n_pes() {
            window.get(world.my_pe(), 20 * other, &mut got)?;
            assert!(got.iter().zip(100 * other..).all(|(a, b)| *a == b as u32));
        }
        let table = group.import::<Shared<'_, u64>>("table", 3);
        let raw = group.import::<RawSymmetric<'_, u8>>("raw", 5);
        if group.is_remote() {
            assert!(matches!(table, Err(ImportError::NotShared { .. })));
            assert!(matches!(raw, Err(ImportError::NotShared { .. })));
        } else {
            let (table, raw) = (table?, raw?);
            for pe in group.pes() {
                assert_eq!(table.on(pe)?, [pe.number() as u64 + 1; 3]);
            }
            let parts = group.pes().map(|pe| raw.remote(pe));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            assert!(parts.windows(2).all(|two| two[0] != two[1]));
        }
        assert!(format!("{theirs:?} {group:?}").contains("len: 1000"));
        // No PE goes on to the next group before all have looked.
        group.barrier()?;
        Ok(())
    })?;
    assert_eq!(table.on(world.my_pe())[0], me as u64 + 1);
    assert_eq!(raw.len(), 5);
    // All groups are gone: the arrays are this job's alone again.
    let window = window.unexport()?.close();
    assert_eq!(window.len(), LEN);
    Ok(())
}

/// Both groups update each other's elements, from several threads.
fn atomics(world: &World) -> Result<(), Error> {
    const TIMES: u64 = 50;
    let counts = world.export("counts", world.atomics::<u64>(6)?)?;
    let float = world.export("float", world.atomics::<f64>(1)?)?;
    with_groups(world, "groups/atomics", |group| {
        let own = world.pe(0)?;
        for i in 0..6 {
            counts.set(world.my_pe(), i, 0)?;
        }
        group.barrier()?;
        let theirs = group.import::<Atomics<'_, u64>>("counts", 6)?;
        let first = group.pe(0)?;
        let add = || (0..TIMES).try_for_each(|_| theirs.add(first, 0, 1));
        thread::scope(|scope| {
            let threads = [scope.spawn(add), scope.spawn(add)];
            threads.map(|thread| thread.join().expect("it does not panic"))
        })
        .into_iter()
        .collect::<Result<(), _>>()?;
        let bit = 1 << (world.my_pe().number() % 64);
        theirs.or(first, 1, bit)?;
        theirs.xor(first, 2, 1)?;
        theirs.fetch_add(first, 3, 2)?;
        // One PE of this group comes first.
        let won = theirs.compare_swap(first, 4, 0, 7)? == 0;
        assert_eq!(group_sum(world, won)?, 1);
        theirs.set(first, 5, u64::MAX)?;
        group.import::<Atomics<'_, f64>>("float", 1)?.swap(first, 0, 0.5)?;
        group.barrier()?;
        let theirs_are = group.n_pes() as u64;
        assert_eq!(counts.fetch(own, 0)?, 2 * TIMES * theirs_are);
        let bits = u64::MAX >> (64 - group.n_pes().min(64));
        assert_eq!(counts.fetch(own, 1)?, bits);
        assert_eq!(counts.fetch(own, 2)?, theirs_are % 2);
        assert_eq!(counts.fetch(own, 3)?, 2 * theirs_are);
        assert_eq!(counts.fetch(own, 4)?, 7);
        assert_eq!(counts.fetch(own, 5)?, u64::MAX);
        assert_eq!(float.fetch(own, 0)?, 0.5);
        assert_eq!(theirs.fetch(first, 4)?, 7);
        group.barrier()?;
        Ok(())
    })
}

fn group_sum(world: &World, one: bool) -> Result<u32, TeamError> {
    world.try_reduce_value(u32::from(one), Sum)
}

/// Both groups put and signal, and sleep until the other group has.
fn signals(world: &World) -> Result<(), Error> {
    let me = world.my_pe().number();
    let window = world.export("data", world.alloc::<u64>(64)?.open())?;
    let signals = world.export("arrived", world.signals(2)?)?;
    let own = world.export("turn", world.atomics::<u32>(1)?)?;
    with_groups(world, "groups/signals", |group| {
        signals.reset(0, 0)?;
        signals.reset(1, 0)?;
        own.mine()[0].store(0, Relaxed);
        group.barrier()?;
        let data = group.import::<Window<'_, u64>>("data", 64)?;
        let arrived = group.import::<Signals<'_>>("arrived", 2)?;
        let turn = group.import::<Atomics<'_, u32>>("turn", 1)?;
        for pe in group.pes() {
            let add = SignalUpdate::Add(1);
            data.put_signal(pe, me, &[me as u64 + 9], &arrived, 0, add)?;
            arrived.update(pe, 1, SignalUpdate::Set(5))?;
            turn.add(pe, 0, 1)?;
        }
        let n = group.n_pes();
        signals.wait_until(0, Compare::Eq(n as u64))?;
        signals.wait_until(1, Compare::Eq(5))?;
        own.wait_until(0, Compare::Eq(n as u32))?;
        for other in 0..n {
            assert_eq!(window.g(world.my_pe(), other)?, other as u64 + 9);
        }
        let none = data.put_signal(group.pe(0)?, 0, &[1], &arrived, 2, SignalUpdate::Set(1));
        assert!(matches!(none, Err(Error::Bounds(_))));
        group.barrier()?;
        Ok(())
    })
}

/// Collectives of values, of all PEs of both groups.
fn collectives(world: &World) -> Result<(), Error> {
    let is_child = env::args().nth(3).is_some();
    let mut array = world.alloc::<u64>(100)?;
    let with = |group: &Group<'_>| -> Result<(), Error> {
        let team = group.team();
        let n = world.n_pes() + group.n_pes();
        assert_eq!(team.n_members(), n);
        // The parents are first.
        let before = if is_child { group.n_pes() } else { 0 };
        let me = before + world.my_pe().number();
        assert_eq!(team.my_member().number(), me);
        assert_eq!(team.reduce_value(me, Sum), n * (n - 1) / 2);
        assert_eq!(team.reduce_value(me as u64, Max), n as u64 - 1);
        assert_eq!(team.inclusive_scan_value(1), me + 1);
        assert_eq!(team.gather_value(me), Vec::from_iter(0..n));
        // More than the smaller group's scratch has room for at once.
        let large = team.gather_value([me as u32; 1500]);
        assert!(large.iter().enumerate().all(|(i, a)| *a == [i as u32; 1500]));
        for root in team.members() {
            let mut values = vec![me as u32; 3000];
            team.broadcast_slice(root, &mut values)?;
            assert!(values.iter().all(|value| *value == root.number() as u32));
        }
        for pe in group.pes() {
            let member = group.member_of(pe)?;
            assert_eq!(member.number(), if is_child { 0 } else { world.n_pes() } + pe.number());
            assert_eq!(team.pe_of(member), Err(TeamError::OtherJob));
        }
        assert_eq!(team.pe_of(team.my_member())?, world.my_pe());
        assert_eq!(team.member_of(world.my_pe()), Some(team.my_member()));
        assert_eq!(team.split_strided(0, 1, 1).unwrap_err(), TeamError::OtherJob);
        assert_eq!(team.split_2d(1).unwrap_err(), TeamError::OtherJob);
        let spawned = team.spawn(&Command::new("true"));
        assert!(spawned.unwrap_err().to_string().contains("PEs of two jobs"));
        Ok(())
    };
    if let Some(parents) = world.parents() {
        with(&parents)?;
        if parents.n_pes() != world.n_pes() {
            return Ok(());
        }
        // The first arrays of two jobs with as many PEs are at the same place.
        let source = world.alloc::<u64>(100)?;
        let root = parents.team().member(0)?;
        parents.team().broadcast(root, &mut array, &source)?;
        assert_eq!(array[..], [3; 100]);
        return Ok(());
    }
    for n in CHILDREN.into_iter().chain([world.n_pes().min(5)]) {
        let children = world.spawn(&pes("groups/collectives", n).arg("child"))?;
        with(&children)?;
        if n != world.n_pes() {
            continue;
        }
        let mut source = world.alloc::<u64>(100)?;
        source.fill(3);
        let root = children.team().member(0)?;
        children.team().broadcast(root, &mut array, &source)?;
        array.fill(0);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Pair(u32, u32);

/// Names, lengths, types, and what PEs may do: all are compared.
fn what_is_imported(world: &World) -> Result<(), Error> {
    let _window = world.export("window", world.alloc::<u64>(8)?.open())?;
    let _pairs = world.export("pairs", world.alloc::<Pair>(2)?.open())?;
    let _atomics = world.export("atomics", world.atomics::<u64>(8)?)?;
    with_groups(world, "groups/what_is_imported", |group| {
        group.team().barrier();
        let missing = group.import::<Window<'_, u64>>("windows", 8).unwrap_err();
        assert!(missing.to_string().contains("no array \"windows\""), "{missing}");
        for len in [0, 7, 9, usize::MAX] {
            let error = group.import::<Window<'_, u64>>("window", len).unwrap_err();
            assert!(matches!(&error, ImportError::Length { name, bytes: 64, .. } if name == "window"), "{error}");
        }
        let is_type = |error: ImportError| matches!(error, ImportError::Type { .. });
        assert!(is_type(group.import::<Window<'_, i64>>("window", 8).unwrap_err()));
        assert!(is_type(group.import::<Window<'_, u32>>("window", 16).unwrap_err()));
        assert!(is_type(group.import::<Window<'_, Pair>>("window", 8).unwrap_err()));
        assert!(is_type(group.import::<Atomics<'_, u64>>("window", 8).unwrap_err()));
        assert!(is_type(group.import::<Shared<'_, u64>>("window", 8).unwrap_err()));
        assert!(is_type(group.import::<RawSymmetric<'_, u64>>("window", 8).unwrap_err()));
        assert!(is_type(group.import::<Window<'_, u64>>("atomics", 8).unwrap_err()));
        assert!(is_type(group.import::<Signals<'_>>("atomics", 8).unwrap_err()));
        let pairs = group.import::<Window<'_, Pair>>("pairs", 2)?;
        let pe = group.pe(0)?;
        pairs.p(pe, 1, Pair(1, 2))?;
        let outside = |start, len| Err(Error::Bounds(OutOfBounds { start, len, array: 2 }));
        assert_eq!(pairs.put(pe, 1, &[Pair(0, 0); 2]), outside(1, 2));
        assert_eq!(pairs.get(pe, usize::MAX, &mut []), outside(usize::MAX, 0));
        assert_eq!(pairs.put(pe, 2, &[]), Ok(()));
        let n_pes = group.n_pes();
        let number = n_pes;
        assert_eq!(group.pe(number), Err(PeOutOfRange { number, n_pes }));
        group.team().barrier();
        Ok(())
    })
}

/// An export ends once no group is left, on any PE.
fn what_is_exported(world: &World) -> Result<(), Error> {
    let long = "x".repeat(41);
    for (name, error) in [("", ExportError::Name), (&long, ExportError::Name)] {
        let made = world.export(name, world.atomics::<u64>(1)?);
        assert_eq!(made.map(drop), Err(error));
    }
    let empty = world.export("empty", world.atomics::<u64>(0)?);
    assert_eq!(empty.map(drop), Err(ExportError::Empty));
    if let Some(parents) = world.parents() {
        let kept = world.export("kept", world.atomics::<u64>(1)?)?;
        assert_eq!(kept.unexport().map(drop), Err(ExportError::InUse));
        parents.team().barrier();
        // The name is no longer theirs, but the memory is there.
        let missing = parents.import::<Atomics<'_, u64>>("ended", 1).unwrap_err();
        assert!(matches!(missing, ImportError::Missing { .. }));
        let late = parents.import::<Atomics<'_, u64>>("late", 1)?;
        parents.team().barrier();
        for pe in parents.pes() {
            late.add(pe, 0, 1)?;
        }
        return Ok(());
    }
    let name = &long[1..];
    let export = world.export(name, world.atomics::<u64>(1)?)?;
    let taken = world.export(name, world.atomics::<u64>(1)?);
    assert_eq!(taken.map(drop), Err(ExportError::Taken));
    let ended = world.export("ended", world.atomics::<u64>(1)?)?;
    let late = world.export("late", world.atomics::<u64>(1)?)?;
    // Of the first member alone: the others have no group.
    let team = world.split_strided(0, 1, 1)?;
    let group = match &team {
        Some(team) => Some(team.spawn(&pes("groups/what_is_exported", 2))?),
        None => None,
    };
    assert_eq!(ended.unexport().map(drop), Err(ExportError::InUse));
    if let Some(group) = &group {
        group.team().barrier();
        group.team().barrier();
    }
    drop(group);
    let late = late.unexport()?;
    let has_child = u64::from(team.is_some());
    assert_eq!(late.fetch(world.my_pe(), 0)?, 2 * has_child);
    drop(late);
    drop(export);
    // The name and the memory are free again.
    let place = || -> Result<_, Error> {
        let array = world.alloc::<u8>(1 << 20)?.into_raw();
        Ok(world.export(name, array)?.local())
    };
    assert_eq!(place()?, place()?);
    Ok(())
}

/// Arguments, variables, directory, heap, several programs.
fn commands(world: &World) -> Result<(), Error> {
    let arguments: Vec<String> = env::args().skip(3).collect();
    if let Some(parents) = world.parents() {
        let me = world.my_pe().number();
        let sum = parents.team().reduce_value(me as u32, Sum);
        assert_eq!((world.n_pes(), sum), (3, 3));
        let which = usize::from(me > 0);
        assert_eq!(arguments, [["first", "a b"], ["second", ""]][which]);
        assert_eq!(env::var("WHICH").ok().as_deref(), [Some("1"), None][which]);
        assert_eq!(env::var("EVERY").ok().as_deref(), [None, Some("x=y")][which]);
        let at_root = env::current_dir().is_ok_and(|folder| folder.as_os_str() == "/");
        assert_eq!(at_root, which == 1);
        return Ok(());
    }
    // The first member's commands count.
    let none = [Command::new("/no/such/program")];
    let programs = [
        pes("groups/commands", 1).arg("first").arg("a b").env("WHICH", "1"),
        pes("groups/commands", 2).args(["second", ""]).env("EVERY", "x=y").current_dir("/"),
    ];
    let root = world.my_pe().number() == 0;
    let group = world.spawn_multiple(if root { &programs } else { &none })?;
    assert_eq!(group.n_pes(), 3);
    assert_eq!(group.team().reduce_value(0u32, Sum), 3);
    Ok(())
}

/// Teams have groups of their own beside that of the world.
fn of_teams(world: &World) -> Result<(), Error> {
    let count = world.export("count", world.atomics::<u32>(1)?)?;
    if let Some(parents) = world.parents() {
        let count = parents.import::<Atomics<'_, u32>>("count", 1)?;
        for pe in parents.pes() {
            count.add(pe, 0, 1)?;
        }
        parents.team().barrier();
        return Ok(());
    }
    let (half, _column) = world.split_2d(world.n_pes().div_ceil(2))?;
    let ours = half.spawn(&pes("groups/of_teams", 2))?;
    let all = world.spawn(&pes("groups/of_teams", 1).heap_size(1 << 22))?;
    assert_eq!((ours.n_pes(), ours.team().n_members()), (2, half.n_members() + 2));
    let theirs = ours.import::<Atomics<'_, u32>>("count", 1);
    // The children may not have exported it yet.
    all.team().barrier();
    ours.team().barrier();
    drop(theirs);
    let theirs = ours.import::<Atomics<'_, u32>>("count", 1)?;
    let other = theirs.add(all.pe(0)?, 0, 1);
    assert_eq!(other, Err(Error::Team(TeamError::OtherGroup)));
    assert_eq!(ours.member_of(all.pe(0)?), Err(TeamError::OtherGroup));
    ours.disconnect();
    assert_eq!(count.fetch(world.my_pe(), 0)?, 3);
    Ok(())
}

/// PEs that were started start PEs.
fn generations(world: &World) -> Result<(), Error> {
    let left: u64 = env::args().nth(3).map_or(3, |n| n.parse().expect("a number"));
    let total = world.export("total", world.atomics::<u64>(1)?)?;
    let parents = world.parents();
    if left > 0 {
        let next = pes("groups/generations", 2).arg((left - 1).to_string());
        drop(world.spawn(&next)?);
    }
    let mine = 1 + total.fetch(world.my_pe(), 0)?;
    if let Some(parents) = parents {
        let total = parents.import::<Atomics<'_, u64>>("total", 1)?;
        total.add(parents.pe(0)?, 0, mine)?;
    } else if world.my_pe().number() == 0 {
        // 2 children, of which the first gets the sum of its own 2, and so on.
        assert_eq!(mine, 1 + 2 * 3);
    }
    Ok(())
}

/// What cannot be started is an error on all members, and the job goes on.
fn not_started(world: &World) -> Result<(), Error> {
    let is_root = world.my_pe().number() == 0;
    let refused = |command: Command, why: &str| {
        let error = world.spawn(&command).map(drop).unwrap_err().to_string();
        let message = if is_root { why } else { "it has failed on PE 0" };
        assert!(error.contains(message), "{error}");
    };
    refused(Command::new("./no-such-program"), "no such file");
    refused(Command::new("/tmp"), "directory");
    refused(pes("groups/not_started", 0), "1 or more");
    refused(pes("groups/not_started", 100_000), "4096");
    refused(pes("groups/not_started", 1).current_dir("/no/such/folder"), "no such directory");
    refused(pes("groups/not_started", 1).arg("a\0b"), "NUL");
    refused(pes("groups/not_started", 1).env("A\0", "b"), "NUL");
    assert!(world.spawn_multiple(&[]).is_err());
    assert_eq!(world.reduce_value(1, Sum), world.n_pes());
    Ok(())
}

/// A group that is forgotten ends with the world.
fn left_to_the_world(world: &World) -> Result<(), Error> {
    let window = world.export("window", world.alloc::<u64>(1)?.open())?;
    if let Some(parents) = world.parents() {
        let theirs = parents.import::<Window<'_, u64>>("window", 1)?;
        theirs.p(parents.pe(0)?, 0, 6)?;
        parents.team().barrier();
        return Ok(());
    }
    let children = world.spawn(&pes("groups/left_to_the_world", 2))?;
    children.team().barrier();
    std::mem::forget(children);
    let is_first = world.my_pe().number() == 0;
    assert_eq!(window.g(world.my_pe(), 0)?, if is_first { 6 } else { 0 });
    assert_eq!(window.unexport().map(drop), Err(ExportError::InUse));
    Ok(())
}

/// PEs of both groups return while the others disconnect.
fn returns_early(world: &World) -> Result<(), Error> {
    let me = world.my_pe().number();
    match world.parents() {
        Some(parents) if me == 1 => std::mem::forget(parents),
        Some(parents) => parents.disconnect(),
        None => {
            let children = world.spawn(&pes("groups/returns_early", 3))?;
            match me {
                0 => std::mem::forget(children),
                _ => children.disconnect(),
            }
        }
    }
    Ok(())
}

/// Memory of a space that the other group may still use is not given to other arrays.
fn in_a_space(world: &World) -> Result<(), Error> {
    const LEN: usize = 1000;
    if let Some(parents) = world.parents() {
        let theirs = parents.import::<Window<'_, u64>>("window", LEN)?;
        for _ in 0..2 {
            parents.barrier()?;
            for pe in parents.pes() {
                theirs.put(pe, 0, &[u64::MAX; LEN])?;
            }
            parents.barrier()?;
        }
        return Ok(());
    }
    for is_forgotten in [false, true] {
        let space = world.space(SpaceConfig::new(8 * LEN))?;
        let window = world.export("window", space.alloc::<u64>(LEN)?.open())?;
        let children = world.spawn(&pes("groups/in_a_space", 1))?;
        children.barrier()?;
        children.barrier()?;
        assert_eq!(window.g(world.my_pe(), LEN - 1)?, u64::MAX);
        match is_forgotten {
            false => drop(window),
            true => std::mem::forget(window),
        }
        drop(space);
        // In more bytes than those of the huge page that may lie before the space.
        let others = Vec::from_iter((0..4).map(|_| world.alloc::<u64>(1 << 17)));
        children.barrier()?;
        children.barrier()?;
        for array in others {
            assert!(array?.iter().all(|value| *value == 0));
        }
    }
    // One that no other job uses is given back.
    let mut places = Vec::new();
    for _ in 0..2 {
        let space = world.space(SpaceConfig::new(8 * LEN))?;
        let array = space.alloc::<u64>(LEN)?;
        places.push(array.as_ptr());
        drop(world.export("another", array.open())?);
    }
    assert_eq!(places[0], places[1]);
    Ok(())
}

/// An export that is forgotten ends with its world: another array may have its memory in the next one.
fn of_an_earlier_world() -> Result<(), Error> {
    let world = World::init()?;
    std::mem::forget(world.export("forgotten", world.alloc::<u64>(8)?.open())?);
    drop(world);
    let world = World::init()?;
    drop(world.export("forgotten", world.atomics::<u32>(3)?)?);
    Ok(())
}
