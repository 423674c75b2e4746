//! What the supervisor waits for: signals, output, requests, other jobs and readers of metrics.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, raise};
use nix::sys::signalfd::siginfo;
use nix::unistd::getppid;

use super::{Supervisor, counting};
use crate::launch::connected::PeerEvent;
use crate::launch::output::Transfer;
use crate::launch::running::RunningJob;
use crate::launch::shutdown::Shutdown;
use crate::launch::signals;

/// What the supervisor waits for.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A stream of output or input.
    Output(Transfer),
    /// A reader of metrics.
    Metrics,
    /// The `oshrun` of a job that the connection at this index is with.
    Peer(usize),
    /// The requests of PEs of the job at this index.
    Service(usize),
    /// The end of a program that was adopted.
    Adopted,
    Signals,
}

impl Supervisor {
    /// Waits for signals, output, and (while PEs live) the next deadline; handles signals and output.
    pub(super) fn wait(&mut self, deadlines: bool) {
        let timeout = self.next_deadline().filter(|_| deadlines).map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            // Rounded up, so as not to wake too early, and spin.
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let (sources, mut fds): (Vec<Source>, Vec<PollFd<'_>>) = self.sources().unzip();
        if poll(&mut fds, timeout.unwrap_or(PollTimeout::NONE)).is_err() {
            return;
        }
        let events = fds.iter().map(|fd| fd.revents().unwrap_or(PollFlags::all()));
        let ready = sources.into_iter().zip(events);
        let ready: Vec<_> = ready.filter(|(_, events)| !events.is_empty()).collect();
        let transfers = ready.iter().filter_map(|(source, _)| match source {
            Source::Output(transfer) => Some(*transfer),
            _ => None,
        });
        self.output.serve(transfers);
        for (source, events) in ready {
            self.handle(source, events);
        }
        self.take_signals();
    }

    /// What is waited for, in the order in which it is handled.
    fn sources(&self) -> impl Iterator<Item = (Source, PollFd<'_>)> {
        let reads = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let output = self.output.transfers();
        let output = output.map(|(transfer, fd, events)| (Source::Output(transfer), PollFd::new(fd, events)));
        let metrics = self.status_lines.listener();
        let metrics = metrics.map(|fd| (Source::Metrics, reads(fd)));
        let peers = self.connections.iter().enumerate();
        let peers = peers.filter_map(move |(index, connected)| {
            let peer = connected.peer.as_ref()?.socket.as_fd();
            Some((Source::Peer(index), reads(peer)))
        });
        let services = self.jobs.iter().enumerate();
        let services = services.filter_map(move |(index, job)| {
            let service = job.service.as_ref()?.as_fd();
            Some((Source::Service(index), reads(service)))
        });
        let adopted = self.adopted.as_ref();
        let adopted = adopted.map(|process| (Source::Adopted, reads(process.as_fd())));
        let signals = (Source::Signals, reads(self.incoming.as_fd()));
        let pes = peers.chain(services).chain(adopted);
        output.chain(metrics).chain(pes).chain([signals])
    }

    fn handle(&mut self, source: Source, events: PollFlags) {
        match source {
            // Output was served before, and signals are taken afterwards.
            Source::Output(_) | Source::Signals => {}
            Source::Metrics => self.status_lines.serve(&counting(&self.jobs)),
            Source::Peer(index) => self.handle_peer(index, events.contains(PollFlags::POLLHUP)),
            Source::Service(index) => {
                if events.contains(PollFlags::POLLIN) {
                    self.serve(index);
                }
                if is_over(events) {
                    self.jobs[index].service = None;
                }
            }
            Source::Adopted => self.adopted_has_ended(),
        }
    }

    /// Takes what the `oshrun` of a connected job says; `closed`: its end of the socket is closed.
    pub(super) fn handle_peer(&mut self, index: usize, closed: bool) {
        let (status, line) = match self.connections[index].peer_event(closed) {
            PeerEvent::None => return,
            PeerEvent::Over => {
                self.connections[index].peer = None;
                return;
            }
            PeerEvent::Ends(status, line) => (status, line),
            PeerEvent::Gone => {
                let why = "it is gone, without shmemx_group_disconnect or shmem_finalize";
                (1, format!("{why}; ended the job"))
            }
        };
        // A job that has been notified ends, too.
        self.connections[index].peer = None;
        if self.shutdown.is_none() {
            let job = self.connections[index].own_job();
            self.output.print_line(&format!("a connected job has failed: {line}"));
            self.end_job(job, Shutdown::now(status), &line);
        }
    }

    pub(super) fn take_signals(&mut self) {
        while let Ok(Some(info)) = self.incoming.read_signal() {
            match signals::signal_of(&info) {
                Some(Signal::SIGCHLD) => self.reap(),
                Some(signal) => self.take(signal, &info),
                None => {}
            }
        }
    }

    /// Handles a signal that the launcher passed on, or that came from the terminal: then the PEs
    /// have it already. Of signals from other senders, only those that end the job count, because
    /// a signal to the whole process group reaches the launcher as well.
    pub(super) fn take(&mut self, signal: Signal, info: &siginfo) {
        let launcher = self.launcher.map(|pid| pid.as_raw() as u32);
        let passed_on = launcher == Some(info.ssi_pid);
        let terminal = signals::from_terminal(info.ssi_code);
        match signal {
            signals::LAUNCHER_GONE if self.launcher.is_none_or(|pid| getppid() == pid) => {}
            signals::LAUNCHER_GONE => {
                let line = "oshrun was killed; ended the job";
                self.output.print_line(line);
                self.end(Shutdown::at_once(128 + Signal::SIGKILL as u8), line);
            }
            Signal::SIGTSTP | Signal::SIGCONT => {
                if passed_on {
                    self.signal_all(signal);
                }
                if signal == Signal::SIGTSTP && (passed_on || terminal) {
                    let _ = raise(Signal::SIGSTOP);
                }
                self.jobs.iter_mut().for_each(RunningJob::reset_deadlocks);
                self.hangs.reset();
            }
            _ if signals::ends_job(signal) => {
                let line = format!("got {}; ended the job", signal.as_str());
                if self.shutdown.is_none() {
                    let hangs = || self.jobs.iter().any(RunningJob::is_hanging);
                    if signal == Signal::SIGQUIT || signal == Signal::SIGINT && hangs() {
                        self.report();
                    }
                    if !terminal {
                        self.output.print_line(&line);
                        self.signal_all(signal);
                    }
                }
                self.end(Shutdown::after_signal(128 + signal as u8), &line);
            }
            Signal::SIGUSR1 if passed_on && self.print_counted() => {}
            _ if passed_on => self.signal_all(signal),
            _ => {}
        }
    }
}

/// Whether all PEs have closed their end of a service. The end is readable then, too: a read finds no more requests.
fn is_over(events: PollFlags) -> bool {
    events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)
}

#[cfg(test)]
mod tests {
    use ferroshmem_core::job::service;

    use super::*;

    #[test]
    fn a_service_ends_with_the_last_pe() {
        let (mine, of_pes) = service::open().unwrap();
        let other = of_pes.try_clone().unwrap();
        let is_over = || {
            let mut fds = [PollFd::new(mine.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap();
            is_over(fds[0].revents().unwrap())
        };
        assert!(!is_over());
        drop(of_pes);
        assert!(!is_over());
        drop(other);
        assert!(is_over());
        assert!(service::next(mine.as_fd()).unwrap().is_none());
    }
}
