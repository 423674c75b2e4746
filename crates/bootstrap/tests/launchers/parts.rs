//! What the processes of a test's job do.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::process::{ExitCode, exit};
use std::thread;
use std::time::Duration;

use ferroshmem_bootstrap::Placement;
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_bootstrap::secret::Secret;
use ferroshmem_bootstrap::{Bootstrap, Config, Protocol, detect, fdpass};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};

/// The argument before the part to run and the protocol to use. Not variables: some launchers
/// forward none to other hosts.
pub(crate) const RUN: &str = "--run";
/// What a process prints at its regular end.
pub(crate) const THROUGH: &str = "has come through";
/// What a process prints before a part that fails.
pub(crate) const THERE: &str = "is there";
/// The status with which a job is aborted.
pub(crate) const STATUS: i32 = 41;

const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn run(part: &str, protocol: &str) -> ExitCode {
    let protocol = match protocol {
        "pmi1" => Some(Protocol::Pmi1),
        "pmi2" => Some(Protocol::Pmi2),
        _ => None,
    };
    let config =
        Config { deadline: DEADLINE, protocol, library: (part == "lost").then(|| "/no/such/libpmix.so.2".into()) };
    if part == "lost" {
        return lost(&config);
    }
    let bootstrap = match detect(&config) {
        Ok(Some(bootstrap)) => bootstrap,
        other => {
            eprintln!("found {other:?}");
            return ExitCode::from(2);
        }
    };
    println!("{} of {} {THERE}", bootstrap.rank(), bootstrap.size());
    match part {
        "everything" => everything(&*bootstrap),
        "abort" => abort(&*bootstrap),
        "death" => death(&*bootstrap),
        other => panic!("{other}"),
    }
    println!("{} of {} {THROUGH}", bootstrap.rank(), bootstrap.size());
    ExitCode::SUCCESS
}

/// Without the library: an error, never a job of one.
fn lost(config: &Config) -> ExitCode {
    match detect(config) {
        Ok(None) => println!("alone {THROUGH}"),
        Ok(Some(found)) => panic!("{found:?}"),
        Err(e) => {
            println!("{THERE}: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Bytes that differ by rank and exchange.
fn blob(rank: usize, round: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + rank * 31 + round) as u8).collect()
}

fn everything(bootstrap: &dyn Bootstrap) {
    let (me, n) = (bootstrap.rank(), bootstrap.size());
    if me == 0 {
        println!("started by {}", bootstrap.launcher());
    }
    for (round, len) in [0, 1, 700, 5000, 65536].into_iter().enumerate() {
        // Rank 1 gives nothing, others something of a length of their own.
        let of = |rank: usize| blob(rank, round, if rank == 1 { 0 } else { len + rank });
        let all = bootstrap.exchange(&of(me)).unwrap();
        assert_eq!(all.len(), n);
        for (rank, got) in all.iter().enumerate() {
            assert_eq!(*got, of(rank), "rank {rank}, round {round}");
        }
        bootstrap.barrier().unwrap();
    }
    no_process_leaves_a_barrier_early(bootstrap);
    share_memory(bootstrap);
    bootstrap.barrier().unwrap();
    bootstrap.finalize();
}

/// By the clock that the hosts of a test share, being one machine.
fn no_process_leaves_a_barrier_early(bootstrap: &dyn Bootstrap) {
    let now = || Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap();
    let nanoseconds = || now().as_nanos().to_le_bytes();
    for late in 0..bootstrap.size() {
        if late == bootstrap.rank() {
            thread::sleep(Duration::from_millis(50));
        }
        let came = nanoseconds();
        bootstrap.barrier().unwrap();
        let left = nanoseconds();
        let all = bootstrap.exchange(&[came, left].concat()).unwrap();
        let time = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().unwrap());
        let last_came = all.iter().map(|t| time(&t[..16])).max().unwrap();
        let first_left = all.iter().map(|t| time(&t[16..])).min().unwrap();
        assert!(last_came <= first_left, "a process left before {late} came");
    }
}

/// The way in which the processes of a node get at one memory.
fn share_memory(bootstrap: &dyn Bootstrap) {
    let me = bootstrap.rank();
    let here = Identity::here().unwrap();
    let identities: Vec<Identity> = bootstrap
        .exchange(&here.to_bytes())
        .unwrap()
        .iter()
        .map(|bytes| Identity::from_bytes(bytes).unwrap())
        .collect();
    let placement = Placement::new(&identities, me);
    println!("{me} of {} nodes", placement.nodes());
    let secret = Secret::agree(bootstrap).unwrap();
    let here: Vec<usize> = placement.local_pes().iter().map(|pe| *pe as usize).collect();
    let leader = here[0];
    let server = (leader == me).then(|| fdpass::Server::open().unwrap());
    let name = server.as_ref().map_or(&[][..], |s| s.name());
    let names = bootstrap.exchange(name).unwrap();
    let greeting = format!("memory of node {}", placement.of(me).node);
    let mut file = match server {
        Some(server) => {
            let file = memory(&greeting);
            server.serve(&secret, &here[1..], &[file.as_fd()], DEADLINE).unwrap();
            file
        }
        None => {
            let name = &names[leader];
            let mut files = fdpass::fetch(name, &secret, me, 1, DEADLINE).unwrap();
            files.remove(0).into()
        }
    };
    // All read at the one position that they share.
    bootstrap.barrier().unwrap();
    for turn in 0..bootstrap.size() {
        if turn == me {
            let mut text = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, greeting);
        }
        bootstrap.barrier().unwrap();
    }
}

fn memory(text: &str) -> File {
    let memory = memfd_create(c"test", MemfdFlags::empty()).unwrap();
    let mut file = File::from(memory);
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    file
}

/// Rank 1 ends the job while the others, and a thread of its own, wait for an exchange.
fn abort(bootstrap: &dyn Bootstrap) {
    bootstrap.barrier().unwrap();
    if bootstrap.rank() != 1 {
        let _ = bootstrap.exchange(b"in vain");
        // Not by the error's way: that the launcher ends this process is what is tested.
        thread::sleep(Duration::from_secs(60));
        exit(0);
    }
    thread::scope(|scope| {
        scope.spawn(|| bootstrap.exchange(b"of rank 1"));
        thread::sleep(Duration::from_millis(300));
        exit({
            bootstrap.abort(STATUS, "the test ends the job");
            STATUS
        });
    });
}

/// Rank 1 is killed before an exchange: the launcher ends the others, or they get an error after the
/// deadline.
fn death(bootstrap: &dyn Bootstrap) {
    bootstrap.barrier().unwrap();
    if bootstrap.rank() == 1 {
        kill_process(getpid(), Signal::KILL).unwrap();
    }
    if let Err(e) = bootstrap.exchange(b"in vain") {
        eprintln!("{e}");
        exit(3);
    }
}
