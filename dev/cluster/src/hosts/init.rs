//! The first processes of a host: one that holds its namespaces open, and PID 1 in them, which
//! starts the commands that it receives and reaps orphans.

use super::wire::{self, RemoteCommand};
use super::{NAMES, SHARED, network};
use anyhow::{Context, Result, ensure};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{self, SigHandler, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, sethostname, setsid};
use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Makes the namespaces of a host, waits for its link, and runs PID 1 there to its end.
/// `words`: number of hosts, number of this one, number of the first host's core if each has one.
pub(super) fn host(words: Vec<String>) -> Result<i32> {
    unshare(
        CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID,
    )
    .context("cannot make a host's namespaces")?;
    println!("made");
    ensure!(wire::line(stdin())? == "linked", "the cluster has ended");
    let mut init = Command::new("/proc/self/exe").arg0(wire::INIT).args(words).spawn()?;
    init.wait()?;
    Ok(0)
}

/// Has all processes of this host run on one of the cores that the cluster may use.
fn take_core(number: usize) -> Result<()> {
    let own = Pid::from_raw(0);
    let may = sched_getaffinity(own)?;
    let cores: Vec<usize> = (0..CpuSet::count()).filter(|core| may.is_set(*core) == Ok(true)).collect();
    let mut one = CpuSet::new();
    one.set(cores[number % cores.len()])?;
    Ok(sched_setaffinity(own, &one)?)
}

/// PID 1.
pub(super) fn run(words: &[String]) -> Result<i32> {
    let [hosts, host, core @ ..] = words else {
        anyhow::bail!("expected the number of hosts and this one's");
    };
    let (hosts, host): (usize, usize) = (hosts.parse()?, host.parse()?);
    if let [first] = core {
        take_core(first.parse::<usize>()? + host).context("cannot give a host a core")?;
    }
    let name = NAMES[host];
    sethostname(name)?;
    // PEs have large memory; programs that are made to crash must not fill the disk with it.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    arrange_files(name, hosts).context("cannot arrange the files of a host")?;
    network::configure(host)?;

    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGCHLD);
    wanted.thread_block()?;
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let listener = UnixListener::bind(format!("{SHARED}/{name}"))?;
    println!("up");
    stdout().flush()?;

    let mut running = HashMap::new();
    loop {
        let mut events =
            [PollFd::new(listener.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut events, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            result => result?,
        };
        let [requested, ended] = events.map(|e| e.any() == Some(true));
        if ended {
            while let Ok(Some(_)) = signals.read_signal() {}
            reap(&mut running)?;
        }
        if requested {
            let (client, _) = listener.accept()?;
            serve(client, &mut running);
        }
    }
}

/// Libfabric's verbs provider reads all of this file when it is loaded: 40 ms of each PE, for graphics cards.
const SYMBOLS: &str = "/proc/kallsyms";
const NO_SYMBOLS: &str = "/dev/null";

/// Hides the kernel's symbols from this process, which has one thread, and from those that it starts, as from those of
/// hosts.
///
/// # Errors
/// If this user may not do so.
pub fn hide_kernel_symbols() -> nix::Result<()> {
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some(NO_SYMBOLS), SYMBOLS, none, MsFlags::MS_BIND, none)
}

/// Own `/proc`, `/sys`, `/dev/shm` and `/run`, names of all hosts, and a boot id of its own.
fn arrange_files(name: &str, hosts: usize) -> Result<()> {
    let none: Option<&str> = None;
    let bind = |from: &str, to: &str| mount(Some(from), to, none, MsFlags::MS_BIND, none);
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none)?;
    let _ = bind(NO_SYMBOLS, SYMBOLS);
    // Hosts need none of the machine's devices; a container may forbid this mount.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none);
    mount(Some("shm"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))?;

    let own = format!("/run/hosts/{name}");
    for folder in ["run/cluster", "run/lock", "tmp"] {
        fs::create_dir_all(format!("{own}/{folder}"))?;
    }
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    for (file, text, place) in [
        ("hosts", network::hosts_file(hosts), "/etc/hosts"),
        ("hostname", format!("{name}\n"), "/etc/hostname"),
        ("boot_id", boot_id, "/proc/sys/kernel/random/boot_id"),
    ] {
        let file = format!("{own}/{file}");
        fs::write(&file, text)?;
        if Path::new(place).exists() {
            bind(&file, place).with_context(|| format!("cannot replace {place}"))?;
        }
    }
    bind(SHARED, &format!("{own}/run/cluster"))?;
    mount(Some(format!("{own}/run").as_str()), "/run", none, MsFlags::MS_BIND | MsFlags::MS_REC, none)?;
    Ok(())
}

/// Starts the command that a client sends, and reports its process id or the error to the client.
fn serve(client: UnixStream, running: &mut HashMap<Pid, UnixStream>) {
    let started = RemoteCommand::receive(&client).and_then(|(command, files)| start(command, files));
    let reply = match &started {
        Ok(pid) => format!("pid {pid}\n"),
        Err(error) => format!("error {error:#}\n"),
    };
    if (&client).write_all(reply.as_bytes()).is_ok()
        && let Ok(pid) = started
    {
        running.insert(pid, client);
    }
}

fn start(request: RemoteCommand, files: Vec<OwnedFd>) -> Result<Pid> {
    let [input, output, errors] = <[OwnedFd; 3]>::try_from(files).ok().context("expected three files")?;
    let (program, arguments) = request.words.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&request.folder).stdin(input).stdout(output).stderr(errors);
    if let Some(variables) = request.variables {
        command.env_clear().envs(variables);
    }
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            // What a shell starts in the background ignores these.
            for number in [Signal::SIGINT, Signal::SIGQUIT] {
                signal::signal(number, SigHandler::SigDfl)?;
            }
            SigSet::empty().thread_set_mask()?;
            Ok(())
        });
    }
    let child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// Collects all processes that have ended, and reports each to the client that started it.
fn reap(running: &mut HashMap<Pid, UnixStream>) -> Result<()> {
    loop {
        let status = match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Err(nix::errno::Errno::ECHILD) | Ok(WaitStatus::StillAlive) => return Ok(()),
            status => status?,
        };
        let (pid, raw) = match status {
            WaitStatus::Exited(pid, code) => (pid, code << 8),
            WaitStatus::Signaled(pid, signal, _) => (pid, signal as i32),
            _ => continue,
        };
        if let Some(client) = running.remove(&pid) {
            match (&client).write_all(format!("ended {raw}\n").as_bytes()) {
                // The client has ended.
                Err(e) if e.kind() == ErrorKind::BrokenPipe => (),
                result => result?,
            }
        }
    }
}
