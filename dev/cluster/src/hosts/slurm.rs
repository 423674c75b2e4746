//! Slurm in a cluster: its controller on the first host, a daemon on each, and what they trust each
//! other by, all without systemd and in the cluster's own folder.

use super::process::Process;
use super::{Cluster, Launcher, SHARED};
use anyhow::{Context, Result, bail, ensure};
use nix::unistd::Uid;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

/// The configuration's path in the hosts, for the variable `SLURM_CONF`.
pub const CONFIGURATION: &str = "/run/cluster/slurm/slurm.conf";

/// How long the daemons may take to find each other.
const START: Duration = Duration::from_secs(30);

/// CPUs that a host says it has: PEs may outnumber the machine's.
const CPUS: usize = 16;

/// Slurm that runs; it ends with the cluster.
#[derive(Debug)]
pub struct Slurm {
    /// The daemons, whose output is kept for reports of errors.
    daemons: Vec<Process>,
}

impl Slurm {
    /// Starts the daemons and waits until all hosts can have jobs.
    ///
    /// # Errors
    /// If it is not installed, or the daemons do not find each other.
    pub fn start(cluster: &Cluster) -> Result<Self> {
        Launcher::SlurmPmi2.check()?;
        ensure!(Uid::effective().is_root(), "Slurm's daemons drop groups, which only a superuser can: run as root");
        let folder = cluster.folder().join("slurm");
        fs::create_dir(&folder)?;
        fs::write(folder.join("slurm.conf"), configuration(cluster))?;
        fs::write(folder.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
        for host in cluster.hosts() {
            fs::create_dir(folder.join(format!("spool-{host}")))?;
        }
        let mut key = [0; 128];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        fs::write(folder.join("key"), key)?;
        fs::set_permissions(folder.join("key"), Permissions::from_mode(0o600))?;

        let first = cluster.hosts().next().context("a cluster has hosts")?;
        let mut slurm = Self { daemons: Vec::new() };
        let own = format!("{SHARED}/slurm");
        let munge = [
            "/usr/sbin/munged".to_owned(),
            "--foreground".into(),
            "--force".into(),
            format!("--key-file={own}/key"),
            format!("--socket={own}/munge.socket"),
            format!("--pid-file={own}/munge.pid"),
            format!("--seed-file={own}/munge.seed"),
            format!("--log-file={own}/munge.log"),
        ];
        slurm.daemons.push(cluster.command(first, munge).spawn()?);
        slurm.wait_until("munged", || folder.join("munge.socket").exists())?;
        let controller = ["/usr/sbin/slurmctld", "-D", "-i", "-f", CONFIGURATION];
        slurm.daemons.push(cluster.command(first, controller).spawn()?);
        for host in cluster.hosts() {
            let daemon = ["/usr/sbin/slurmd", "-D", "-N", host, "-f", CONFIGURATION];
            slurm.daemons.push(cluster.command(host, daemon).spawn()?);
        }
        slurm.wait_until("the hosts", || hosts_are_idle(cluster, first).unwrap_or(false))?;
        cluster.mark_services()?;
        Ok(slurm)
    }

    fn wait_until(&mut self, whom: &str, done: impl Fn() -> bool) -> Result<()> {
        let start = Instant::now();
        while !done() {
            for daemon in &mut self.daemons {
                if let Some(status) = daemon.wait(Duration::ZERO)? {
                    bail!("a daemon of Slurm has ended: {status}\n{daemon}");
                }
            }
            if start.elapsed() > START {
                let printed: String = self.daemons.iter().map(ToString::to_string).collect();
                bail!("Slurm waits for {whom} for {START:?}\n{printed}");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

fn hosts_are_idle(cluster: &Cluster, first: &str) -> Result<bool> {
    let mut states = cluster
        .command(first, ["sinfo", "--noheader", "--format=%T", "--Node"])
        .env("SLURM_CONF", CONFIGURATION)
        .spawn()?;
    states.wait(START)?;
    let states = states.stdout();
    Ok(states.lines().count() == cluster.hosts().count() && states.lines().all(|s| s.trim() == "idle"))
}

/// Slurm as root without cgroups, which hosts made of namespaces do not have.
fn configuration(cluster: &Cluster) -> String {
    let mut text = format!(
        "ClusterName=cluster
SlurmctldHost=a
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={SHARED}/slurm/munge.socket
CredType=cred/munge
StateSaveLocation={SHARED}/slurm/state
SlurmctldPidFile={SHARED}/slurm/slurmctld.pid
SlurmdSpoolDir={SHARED}/slurm/spool-%n
SlurmdPidFile=/run/slurmd-%n.pid
TmpFS=/run/lock
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
PropagateResourceLimits=CORE
"
    );
    for (number, host) in cluster.hosts().enumerate() {
        let address = super::network::address(number);
        let _ = writeln!(text, "NodeName={host} NodeAddr={address} CPUs={CPUS} State=UNKNOWN");
    }
    text.push_str("PartitionName=cluster Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
    text
}
