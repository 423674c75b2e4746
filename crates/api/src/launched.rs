//! Jobs that grow by another launcher than `oshrun`: it starts the PEs, which find this job at a port that is opened
//! for them alone.
//!
//! The text of the port goes with the launcher's order, and comes back from it in the job that is started: so no other
//! process sees it.

use std::ffi::{OsStr, OsString};
use std::net::ToSocketAddrs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use std::{env, io};

use ferroshmem_bootstrap::Program;
use ferroshmem_config as config;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::job::service;
use ferroshmem_layout::MAX_PES;
use ferroshmem_port::port_error::PortError;
use ferroshmem_port::port_name::PortName;
use ferroshmem_port::started;
use ferroshmem_runtime::{self as runtime, Runtime};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::connecting::{Found, GroupError, group_of_parents};
use super::port::{Expected, accept_one, check_remote, connect_at, open_for};

/// Has the launcher of this job start a job of `n` PEs for `members`, `independent` of it or not.
pub(crate) fn start(
    name: &'static str,
    rt: &Runtime,
    members: usize,
    (programs, n): (&[service::Program], usize),
    independent: bool,
) -> Result<Found, String> {
    let launcher = rt.node.job.bootstrap();
    let launcher = launcher.ok_or("no launcher has started this job")?;
    if independent && launcher.ends_with_started() {
        return Err(format!(
            "independent is set, but {} ends all that it has started with one of them: start the jobs apart, and \
                connect them by shmemx_port_accept_independent",
            launcher.launcher()
        ));
    }
    if n > MAX_PES - members {
        let most = MAX_PES - members;
        return Err(format!("{n} PEs are asked for, and 1 to {most} can be"));
    }
    let files = programs.iter().map(locate).collect::<Result<Vec<_>, _>>()?;
    let variables: Vec<_> = programs.iter().map(service::Program::variables).collect();
    let orders = programs.iter().zip(&files).zip(&variables);
    let orders = orders.map(|((program, file), variables)| order(rt, program, file, variables));
    let orders = orders.collect::<Result<Vec<_>, _>>()?;
    check_remote(rt).map_err(|e| e.to_string())?;
    let port = open_for(rt).map_err(|e| e.to_string())?;
    if port.name().remote().is_none() {
        return Err("this host has no address at which other hosts reach it: set SHMEM_FABRIC_INTERFACE".to_owned());
    }
    let text = port.name().to_string();
    if launcher.loses_starts() {
        started::wait_for_end();
    }
    let command = launcher.start(&orders, &text).map_err(|e| e.to_string())?;
    let limit = rt.node.settings.spawn_timeout;
    let timer = limit.map(timer).transpose().map_err(|e| e.to_string())?;
    let end = either([&command, &timer]).map_err(|e| e.to_string())?;
    let accepted = accept_one(name, rt, &port, members, Expected::Started(independent), Some(end.as_fd()));
    match (accepted, limit) {
        (Err(PortError::SocketClosed), _) if command.is_some_and(|fd| is_readable(&fd)) => {
            Err("the launcher's command has ended before the PEs have called shmem_init: its output says why"
                .to_owned())
        }
        // Other launchers do not say whether PEs compute: so those that come late are ended with this job.
        (Err(PortError::SocketClosed), Some(limit)) => {
            let late = format!(
                "the {n} PEs of {:?} have not all called shmem_init within {} s ({})",
                programs[0].command,
                limit.as_secs(),
                config::SPAWN_TIMEOUT.name
            );
            match independent {
                true => Err(late),
                false => fatal(name, late),
            }
        }
        (accepted, _) => accepted.map_err(|e| e.to_string()),
    }
}

/// What is readable while one of the descriptors is.
fn either(all: [&Option<OwnedFd>; 2]) -> io::Result<OwnedFd> {
    let any = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for fd in all.into_iter().flatten() {
        epoll::add(&any, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok(any)
}

fn is_readable(fd: &OwnedFd) -> bool {
    let now = Timespec::default();
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll(&mut fds, Some(&now)).is_ok_and(|n| n > 0)
}

/// What is readable once the time has passed.
fn timer(limit: Duration) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let none = Timespec::default();
    let limit = Itimerspec { it_interval: none, it_value: Timespec { tv_sec: limit.as_secs() as i64, ..none } };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &limit)?;
    Ok(timer)
}

/// What the launcher is to start, which places PEs itself: on hosts, if these are given.
fn order<'a>(
    rt: &Runtime,
    program: &'a service::Program,
    file: &'a Path,
    variables: &'a [OsString],
) -> Result<Program<'a>, String> {
    let mut hosts = None;
    for option in &program.placement {
        match option.as_bytes().strip_prefix(b"host=") {
            Some(given) => {
                check_hosts(rt, given)?;
                hosts = Some(OsStr::from_bytes(given));
            }
            None => {
                return Err(format!(
                    "{option:?}: the launcher of this job places PEs itself: give host alone, or start the job by \
                        oshrun on one node"
                ));
            }
        }
    }
    Ok(Program {
        file,
        arguments: &program.arguments,
        variables,
        directory: directory(program),
        processes: program.n_pes,
        hosts,
    })
}

/// That hosts, with or without a number of PEs, are of this job or have an address: Hydra waits for others for ever.
fn check_hosts(rt: &Runtime, hosts: &[u8]) -> Result<(), String> {
    let hosts = String::from_utf8_lossy(hosts);
    let is_known = |host: &str| {
        (0..rt.node.job.n_pes()).any(|pe| rt.node.job.host_of(pe) == host) || (host, 0).to_socket_addrs().is_ok()
    };
    let names = hosts.split(',').map(|host| host.split(':').next().unwrap_or_default());
    match names.into_iter().find(|host| !is_known(host)) {
        None => Ok(()),
        Some(host) => Err(format!(
            "host is {host:?}, which has no address: give hosts of this job, or others that the launcher reaches"
        )),
    }
}

fn directory(program: &service::Program) -> &Path {
    program.directory.as_deref().unwrap_or(Path::new("."))
}

/// The file of a program, as `execvp` finds it on this host: a launcher would end the job over one that does not exist.
fn locate(program: &service::Program) -> Result<PathBuf, String> {
    let command = &program.command;
    let cannot = |why: &str| Err(format!("cannot run {command:?}: {why}"));
    let directory = directory(program);
    if !directory.is_dir() {
        return Err(format!("cannot run in {directory:?}: no such directory"));
    }
    let folders = match command.as_bytes().contains(&b'/') {
        true => vec![PathBuf::new()],
        false => env::split_paths(&config::search_path().unwrap_or_default()).collect(),
    };
    let mut denied = false;
    for folder in folders {
        let file = directory.join(folder).join(command);
        match (file.is_file(), access(&file, Access::EXEC_OK)) {
            (true, Ok(())) => return Ok(file),
            (true, Err(Errno::ACCESS)) => denied = true,
            _ => {}
        }
    }
    match denied {
        true => cannot("permission denied: is it executable?"),
        false => cannot("no such file, nor a program in PATH"),
    }
}

/// Whether PEs that another launcher starts need a variable from this PE: it knows all others than this library's.
pub(crate) fn is_handed_on(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"SHMEM_")
}

/// Connects this PE with the PEs that have had the launcher start its job, if there are such. Collective.
pub(crate) fn connect_with_parents(name: &'static str) {
    /// Time in which PE 0 says why not, and the launcher ends the others.
    const REPORT: Duration = Duration::from_secs(5);
    static IS_DONE: AtomicBool = AtomicBool::new(false);

    let rt = runtime::get(name);
    let parents = rt.node.job.bootstrap().and_then(|launcher| {
        let is_first = !IS_DONE.swap(true, Ordering::Relaxed);
        is_first.then(|| launcher.parents())?
    });
    let Some(text) = parents else {
        return;
    };
    let made = group_of_parents(name, rt, |members| {
        let port = PortName::parse(&text);
        let found = port.and_then(|port| connect_at(rt, &port, members, false));
        found.map_err(|why| why.to_string())
    });
    let why = match made {
        Ok(group) => return rt.parents.store(group, Ordering::Relaxed),
        Err(GroupError::Refused(why)) => why,
        Err(why) => {
            thread::sleep(REPORT);
            why.to_string()
        }
    };
    fatal(name, format_args!("the PEs that have started this job cannot be reached: {why}"))
}
