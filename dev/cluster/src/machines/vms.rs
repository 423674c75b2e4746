//! Booted virtual machines, which run jobs.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::job::FOLDER;
use super::message::{Report, Request, Start, receive, send};
use super::qemu::Machine;
use super::{End, Ended, Job, Outcome, Setup, boot, needs};

/// A machine and its report; no report when it has ended.
type Event = (usize, Option<Report>);

/// Booted machines. They end when this is dropped, and with the thread that booted them.
pub struct Machines {
    machines: Vec<Machine>,
    ports: Vec<UnixStream>,
    events: Receiver<Event>,
    jobs: u64,
    folder: TempDir,
    /// How long booting took.
    pub boot_time: Duration,
}

impl Machines {
    /// Boots machines.
    ///
    /// # Errors
    /// If something needed is missing, or if a machine does not come up: with the last lines of
    /// its console.
    pub fn boot(setup: &Setup) -> Result<Self> {
        needs::check()?;
        let folder = tempfile::Builder::new().prefix("ferroshmem-machines").tempdir()?;
        fs::create_dir(folder.path().join(FOLDER))?;
        let started = Instant::now();
        let (sender, events) = channel();
        let mut all =
            Self { machines: Vec::new(), ports: Vec::new(), events, jobs: 0, folder, boot_time: Duration::ZERO };
        for (machine, port) in boot::start(setup, all.folder.path())? {
            listen(all.machines.len(), port.try_clone()?, sender.clone());
            all.machines.push(machine);
            all.ports.push(port);
        }
        for machine in 0..setup.machines {
            let machines = setup.machines;
            all.send(machine, &Request::Join { machine, machines })?;
        }
        all.wait_until_joined(started + setup.timeout)?;
        all.boot_time = started.elapsed();
        Ok(all)
    }

    fn wait_until_joined(&mut self, deadline: Instant) -> Result<()> {
        let mut waited_for: Vec<_> = (0..self.machines.len()).collect();
        while let Some(&first) = waited_for.first() {
            match self.next(deadline)? {
                Some((machine, Report::Joined)) => waited_for.retain(|m| *m != machine),
                Some(_) => {}
                None => bail!(
                    "machine {first} does not come up; the end of its console:\n{}",
                    self.machines[first].last_words()
                ),
            }
        }
        Ok(())
    }

    /// Runs a job. PEs that still run when another one ends badly are ended.
    ///
    /// # Errors
    /// If a machine is lost, or the job names machines that are not there.
    pub fn run(&mut self, job: &Job) -> Result<Outcome> {
        self.jobs += 1;
        let number = self.jobs;
        if let Some(pe) = job.pes.iter().find(|pe| pe.machine >= self.machines.len()) {
            bail!("there is no machine {}", pe.machine);
        }
        let size = job.pes.len();
        self.send(0, &Request::Serve { job: number, size })?;
        let port = self.wait_for_server(number)?;
        let folder = self.folder.path().join(FOLDER).join(number.to_string());
        fs::create_dir(&folder)?;
        let started = Instant::now();
        for machine in 0..self.machines.len() {
            let pes = starts(job, machine, port);
            self.send(machine, &Request::Start { job: number, pes })?;
        }
        let (ends, stopped) = self.wait_for_ends(number, size, started + job.timeout)?;
        let time = started.elapsed();
        let pes = ends
            .into_iter()
            .enumerate()
            .map(|(rank, end)| Ended {
                end,
                stdout: text(&folder.join(format!("{rank}.out"))),
                stderr: text(&folder.join(format!("{rank}.err"))),
            })
            .collect();
        Ok(Outcome { pes, stopped, time })
    }

    fn wait_for_server(&mut self, number: u64) -> Result<u16> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match self.next(deadline)? {
                Some((_, Report::Serving { job, port })) if job == number => return Ok(port),
                Some(_) => {}
                None => bail!("machine 0 does not reply\n{}", self.machines[0].last_words()),
            }
        }
    }

    /// How the PEs end, and why the cluster ended them, if it did.
    fn wait_for_ends(&mut self, number: u64, size: usize, deadline: Instant) -> Result<(Vec<End>, Option<String>)> {
        let mut ends = vec![None; size];
        let mut stopped = None;
        let mut deadline = deadline;
        while ends.iter().any(Option::is_none) {
            let reason = match self.next(deadline)? {
                Some((_, Report::Ended { job, rank, end })) if job == number => {
                    ends[rank] = Some(end);
                    (end != End::Exited(0)).then(|| format!("PE {rank} {end}"))
                }
                Some((_, Report::Aborted { job, rank, status })) if job == number => {
                    Some(format!("PE {rank} aborted it with status {status}"))
                }
                Some(_) => None,
                None if stopped.is_some() => bail!("PEs do not end"),
                None => Some("it took too long".to_owned()),
            };
            // The first reason counts.
            if let Some(reason) = reason
                && stopped.is_none()
            {
                stopped = Some(reason);
                deadline = Instant::now() + Duration::from_secs(30);
                self.send_all(&Request::Stop)?;
            }
        }
        Ok((ends.into_iter().flatten().collect(), stopped))
    }

    /// The next report; `None` after the deadline.
    fn next(&mut self, deadline: Instant) -> Result<Option<(usize, Report)>> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok((machine, Some(Report::Failed { what }))) => bail!("machine {machine}: {what}"),
            Ok((machine, Some(report))) => Ok(Some((machine, report))),
            Ok((machine, None)) => {
                bail!("machine {machine} has ended; the end of its console:\n{}", self.machines[machine].last_words())
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("all machines have ended"),
        }
    }

    fn send(&mut self, machine: usize, request: &Request) -> Result<()> {
        send(&mut self.ports[machine], request).with_context(|| {
            let words = self.machines[machine].last_words();
            format!("machine {machine} is lost; the end of its console:\n{words}")
        })
    }

    fn send_all(&mut self, request: &Request) -> Result<()> {
        (0..self.machines.len()).try_for_each(|machine| self.send(machine, request))
    }
}

/// The PEs of a machine, with the variables by which they find the server.
fn starts(job: &Job, machine: usize, port: u16) -> Vec<Start> {
    let server = super::guest::address(0);
    let start = |(rank, pe): (usize, &super::Pe)| {
        let mut environment = vec![
            ("PMI_PORT".into(), format!("{server}:{port}").into()),
            ("PMI_ID".into(), rank.to_string().into()),
            ("PMI_RANK".into(), rank.to_string().into()),
            ("PMI_SIZE".into(), job.pes.len().to_string().into()),
        ];
        environment.extend(pe.environment.iter().cloned());
        Start { rank, command: pe.command.clone(), environment }
    };
    let here = job.pes.iter().enumerate().filter(|(_, pe)| pe.machine == machine);
    here.map(start).collect()
}

fn listen(machine: usize, port: UnixStream, to: Sender<Event>) {
    thread::spawn(move || {
        let mut port = BufReader::new(port);
        loop {
            let report = match receive(&mut port) {
                Ok(report) => report,
                Err(error) => Some(Report::Failed { what: error.to_string() }),
            };
            let last = report.is_none();
            // No thread listens any more when the machines are dropped.
            if to.send((machine, report)).is_err() || last {
                return;
            }
        }
    });
}

/// What a PE printed: nothing if it could not be started.
fn text(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}
