//! A cluster of hosts, for the process that made it.

use super::network::Impairment;
use super::process::Command;
use super::{MOST_HOSTS, NAMES, supervisor, wire};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Attempts at killing processes that keep starting others, and the time that killed ones may take to end.
const SWEEPS: usize = 20;
const SWEEP: Duration = Duration::from_millis(200);

/// Between two looks at all processes of the machine, which take milliseconds.
const LOOK: Duration = Duration::from_millis(25);

/// Hosts on a network of their own. Dropping it removes all of them.
#[derive(Debug)]
pub struct Cluster {
    supervisor: Child,
    control: Option<UnixStream>,
    folder: File,
    hosts: Vec<Host>,
    /// Processes that belong to the cluster and not to a job: daemons.
    services: Mutex<BTreeSet<Pid>>,
}

#[derive(Debug)]
struct Host {
    name: &'static str,
    init: Pid,
    /// Its PID namespace, as `/proc` names it.
    namespace: PathBuf,
}

/// A process in a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProcess {
    /// Its id on this machine.
    pub pid: Pid,
    /// Its id in the host.
    pub pid_in_host: i32,
    /// Its command line, or its name if it has none.
    pub command: String,
}

impl Cluster {
    /// Makes hosts with the names `a`, `b`, ... and a network between them.
    ///
    /// # Errors
    /// If this user on this machine cannot have namespaces, or `ip` is missing.
    pub fn new(hosts: usize) -> Result<Self> {
        Self::make(hosts, None)
    }

    /// The same with one core for each host. Where two hosts share cores, PEs poll for each other and take each other's
    /// time.
    ///
    /// # Errors
    /// As [`Cluster::new`].
    pub fn with_cores(hosts: usize) -> Result<Self> {
        // Clusters begin with different cores: the first host has the launchers and the daemons, too.
        static FIRST: AtomicUsize = AtomicUsize::new(0);
        Self::make(hosts, Some(FIRST.fetch_add(1, Ordering::Relaxed)))
    }

    fn make(hosts: usize, first_core: Option<usize>) -> Result<Self> {
        ensure!((1..=MOST_HOSTS).contains(&hosts), "a cluster has 1 to {MOST_HOSTS} hosts, not {hosts}");
        let (control, theirs) = UnixStream::pair()?;
        let mut supervisor = std::process::Command::new("/proc/self/exe")
            .arg0(wire::START)
            .arg(hosts.to_string())
            .args(first_core.map(|core| core.to_string()))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn()?;
        let (files, length) = wire::receive_files(&control)?;
        let Some(folder) = files.into_iter().next() else {
            let mut text = vec![0; length];
            (&control).read_exact(&mut text)?;
            supervisor.wait()?;
            bail!("{}", String::from_utf8_lossy(&text));
        };
        let mut cluster = Self {
            supervisor,
            control: Some(control),
            folder: folder.into(),
            hosts: Vec::new(),
            services: Mutex::default(),
        };
        for name in &NAMES[..hosts] {
            // The credentials of the other side are those of the process that listens.
            let peer = getsockopt(&cluster.connect(name)?, PeerCredentials)?;
            let init = Pid::from_raw(peer.pid());
            cluster.hosts.push(Host { name, init, namespace: fs::read_link(format!("/proc/{init}/ns/pid"))? });
        }
        Ok(cluster)
    }

    /// Names of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &'static str> {
        self.hosts.iter().map(|host| host.name)
    }

    /// The path by which this process reaches the cluster's folder, `/run/cluster` in the hosts.
    pub fn folder(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.folder.as_raw_fd()).into()
    }

    /// A command for a host.
    pub fn command<W: Into<OsString>>(&self, host: &str, words: impl IntoIterator<Item = W>) -> Command<'_> {
        let names = self.hosts().collect::<Vec<_>>().join(",");
        Command::new(self, host, words.into_iter().map(Into::into).collect())
            .env("CLUSTER_HOSTS", names)
            .env("TMPDIR", "/tmp")
            // Open MPI names files by host and process numbers, which other clusters have, too.
            .env("OMPI_MCA_orte_tmpdir_base", "/run")
    }

    pub(super) fn connect(&self, host: &str) -> Result<UnixStream> {
        let known = NAMES.contains(&host) && self.folder().join(host).exists();
        ensure!(known, "there is no host {host} in this cluster");
        UnixStream::connect(self.folder().join(host)).with_context(|| format!("host {host} has ended"))
    }

    fn host(&self, name: &str) -> Result<&Host> {
        let found = self.hosts.iter().find(|host| host.name == name);
        found.with_context(|| format!("there is no host {name} in this cluster"))
    }

    /// The processes in a host, but not its PID 1.
    ///
    /// # Errors
    /// If there is no such host.
    pub fn processes(&self, host: &str) -> Result<Vec<HostProcess>> {
        let host = slice::from_ref(self.host(host)?);
        Ok(inside(host)?.map(|(_, process)| process).collect())
    }

    /// Marks all processes that run now as services of the cluster, which belong to no job.
    ///
    /// # Errors
    /// If processes cannot be listed.
    pub fn mark_services(&self) -> Result<()> {
        let services = inside(&self.hosts)?.map(|(_, process)| process.pid).collect();
        *self.services.lock().unwrap_or_else(PoisonError::into_inner) = services;
        Ok(())
    }

    /// The processes of jobs in all hosts, as `host: command`, once there are
    /// none or `limit` has passed.
    ///
    /// # Errors
    /// If processes cannot be listed.
    pub fn remaining_after(&self, limit: Duration) -> Result<Vec<String>> {
        let start = Instant::now();
        loop {
            let left = self.job_processes()?;
            if left.is_empty() || start.elapsed() > limit {
                return Ok(left.iter().map(|(host, process)| format!("{host}: {}", process.command)).collect());
            }
            thread::sleep(LOOK);
        }
    }

    fn job_processes(&self) -> Result<Vec<(&'static str, HostProcess)>> {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inside(&self.hosts)?.filter(|(_, process)| !services.contains(&process.pid)).collect())
    }

    /// Kills all processes of jobs in all hosts, and waits until they are gone.
    ///
    /// # Errors
    /// If one cannot be killed.
    pub fn sweep(&self) -> Result<()> {
        let mut last = Vec::new();
        for _ in 0..SWEEPS {
            let found = self.job_processes()?;
            if found.is_empty() {
                return Ok(());
            }
            for (_, process) in found {
                // The process may have ended meanwhile.
                let _ = kill(process.pid, Signal::SIGKILL);
            }
            last = self.remaining_after(SWEEP)?;
            if last.is_empty() {
                return Ok(());
            }
        }
        bail!("cannot be killed: {}", last.join(", "));
    }

    /// Sends a signal to a process by its id in its host.
    ///
    /// # Errors
    /// If there is none.
    pub fn kill(&self, host: &str, pid_in_host: i32, signal: Signal) -> Result<()> {
        let processes = self.processes(host)?;
        let found = processes.iter().find(|p| p.pid_in_host == pid_in_host);
        let process = found.with_context(|| format!("host {host} has no process {pid_in_host}"))?;
        Ok(kill(process.pid, signal)?)
    }

    /// Turns a host off: its link goes down and all its processes are killed; no connection is closed.
    ///
    /// # Errors
    /// If it is off already.
    pub fn kill_host(&self, host: &str) -> Result<()> {
        self.link_down(host)?;
        Ok(kill(self.host(host)?.init, Signal::SIGKILL)?)
    }

    /// Cuts a host's link.
    ///
    /// # Errors
    /// If the host is off.
    pub fn link_down(&self, host: &str) -> Result<()> {
        supervisor::request(&self.folder(), &format!("{host} down"))
    }

    /// Restores a host's link.
    ///
    /// # Errors
    /// If the host is off.
    pub fn link_up(&self, host: &str) -> Result<()> {
        supervisor::request(&self.folder(), &format!("{host} up"))
    }

    /// Makes a host's link slow and lossy, in both directions.
    ///
    /// # Errors
    /// If the host is off.
    pub fn impair(&self, host: &str, how: Impairment) -> Result<()> {
        supervisor::request(&self.folder(), &format!("{host} {how}"))
    }

    /// Undoes [`Cluster::impair`].
    ///
    /// # Errors
    /// If the host is off.
    pub fn clear(&self, host: &str) -> Result<()> {
        supervisor::request(&self.folder(), &format!("{host} clear"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The supervisor ends; it is the first process of its namespace, so the kernel ends all others.
        drop(self.control.take());
        let _ = self.supervisor.wait();
    }
}

/// The processes in hosts, but not their PIDs 1, each with its host's name. It looks once at the machine's processes
/// for all hosts: there are hundreds, and the end of each job is waited for so.
fn inside(hosts: &[Host]) -> Result<impl Iterator<Item = (&'static str, HostProcess)>> {
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.map(Pid::from_raw).filter_map(|pid| {
        let namespace = fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
        let host = hosts.iter().find(|host| host.namespace == namespace && host.init != pid)?;
        Some((host.name, inspect(pid)?))
    }))
}

/// A process with its ids, unless it is gone or a zombie.
fn inspect(pid: Pid) -> Option<HostProcess> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
    if field("State:")?.starts_with('Z') {
        return None;
    }
    let pid_in_host = field("NSpid:")?.split_whitespace().last()?.parse().ok()?;
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    let command = match words.trim() {
        "" => field("Name:")?.to_owned(),
        words => words.to_owned(),
    };
    Some(HostProcess { pid, pid_in_host, command })
}
