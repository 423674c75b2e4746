//! The connections between jobs of one `oshrun`, and with jobs of another one.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Acquire;

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::message::{receive, send};
use ferroshmem_core::job::service::ConnectedJob;
use ferroshmem_core::wait::rendezvous;
use ferroshmem_layout::{ConnectionState, MAX_PES, PeState};
use ferroshmem_platform::NodeCores;

use super::failure::Failure;
use super::job::Job;

/// A connection of two groups of PEs.
#[derive(Debug)]
pub(super) struct Connected {
    /// Its number: that of the job that was started for it, if it is none of jobs that have connected.
    pub number: u32,
    /// The memory by which the members synchronise.
    pub memory: File,
    /// The numbers of the jobs whose PEs the members of each group are, if they are of this `oshrun`.
    jobs: [Option<u32>; 2],
    /// Of jobs that have connected: the other one.
    pub peer: Option<PeerJob>,
    /// The memory of the job that was started: kept for PEs that come to be connected when it has ended already.
    pub started: Option<File>,
    control: Control,
}

/// The other job of two that have connected.
#[derive(Debug)]
pub(super) struct PeerJob {
    /// Its memory.
    pub memory: File,
    /// A socket to its `oshrun`.
    pub socket: OwnedFd,
}

/// A member that has left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The number of its job, if that is of this `oshrun`.
    job: Option<u32>,
    pe: usize,
    /// In which it has left.
    routine: String,
    ends_both: bool,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} of ", self.pe)?;
        match self.job {
            Some(job) => write!(f, "job {job}")?,
            None => write!(f, "the connected job")?,
        }
        let jobs = if self.ends_both { "jobs" } else { "job" };
        write!(
            f,
            ", which has left the group by {}; ended the {jobs} (all PEs of a group must call its collectives before \
                they leave it)",
            self.routine
        )
    }
}

/// What the `oshrun` of a connected job says, or does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PeerEvent {
    /// Nothing that matters.
    None,
    /// It ends its jobs with this status, and this line.
    Ends(u8, String),
    /// It has ended, with the connection or before both groups were connected.
    Over,
    /// It has ended before the connection.
    Gone,
}

impl Connected {
    /// The memory for `parents` PEs of job `parent` and the PEs of `job`, which has the number `number`.
    pub(super) fn new(job: &Job, number: u32, parent: u32, parents: usize, independent: bool) -> Result<Self, Failure> {
        let n_pes = job.n_pes();
        if parents.saturating_add(n_pes) > MAX_PES {
            return Err(Failure::usage(format!(
                "{parents} PEs cannot start {n_pes}: at most {MAX_PES} can be connected"
            )));
        }
        let cores: NodeCores = job.bindings.node_cores(&job.machine);
        let (memory, control) = Control::create_connection(number, [parents, n_pes], independent, cores, job.tuning)
            .map_err(|e| Failure::system(format!("cannot create a connection's memory: {e}")))?;
        Ok(Self { number, memory, jobs: [Some(parent), Some(number)], peer: None, started: None, control })
    }

    /// A job that PEs of job `job` connect with.
    pub(super) fn with_peer(peer: ConnectedJob, job: u32) -> std::io::Result<Self> {
        rustix::io::ioctl_fionbio(&peer.peer, true)?;
        let mut jobs = [None; 2];
        jobs[peer.group] = Some(job);
        Ok(Self {
            number: peer.number,
            control: Control::open(&peer.connection)?,
            memory: peer.connection,
            jobs,
            peer: Some(PeerJob { memory: peer.memory, socket: peer.peer }),
            started: None,
        })
    }

    /// Whether no PE uses it any more.
    pub(super) fn is_over(&self) -> bool {
        /// All members synchronise at the beginning, and at the end.
        const MEETINGS: u32 = 2;

        let header = self.control.header();
        header.start_epoch.load(Acquire) >= MEETINGS
    }

    /// Whether a group has ended, and all members of those jobs have left that are alive.
    pub(super) fn is_left(&self, is_alive: impl Fn(u32) -> bool) -> bool {
        let header = self.control.header();
        if !ConnectionState::is_over(header.connection.load(Acquire)) {
            return false;
        }
        let first = header.first_group.load(Acquire) as usize;
        let sizes = [first, self.control.n_pes() - first];
        let mut groups = header.left.iter().zip(sizes).zip(self.jobs);
        groups.all(|((left, size), job)| {
            let is_alive = job.is_some_and(&is_alive);
            !is_alive || left.load(Acquire) as usize >= size
        })
    }

    /// Whether the end of one group is not the other's.
    pub(super) fn is_independent(&self) -> bool {
        self.control.is_independent()
    }

    /// The end of job `job`, or of a PE of it, is the end of the connection alone, if that is independent.
    pub(super) fn fail(&self, job: u32) {
        if self.is_independent() && self.is_of(job) {
            rendezvous::end(&self.control.header().connection);
        }
    }

    /// The job of this `oshrun` whose PEs are members, of jobs that have connected.
    pub(super) fn own_job(&self) -> u32 {
        self.jobs.iter().copied().flatten().next().unwrap_or(0)
    }

    /// The job that ends with job `job`, by this connection.
    pub(super) fn bound_to(&self, job: u32) -> Option<u32> {
        let bound = match self.jobs {
            [Some(a), Some(b)] if a == job => b,
            [Some(a), Some(b)] if b == job => a,
            _ => return None,
        };
        (!self.is_independent() && !self.is_over()).then_some(bound)
    }

    /// Whether members are PEs of job `job`.
    pub(super) fn is_of(&self, job: u32) -> bool {
        self.jobs.contains(&Some(job))
    }

    /// Whether PE `pe` of job `job` is, or may become, a member.
    pub(super) fn needs(&self, job: u32, pe: usize) -> bool {
        let header = self.control.header();
        let (first, all) = (header.first_group.load(Acquire) as usize, self.control.n_pes());
        let is_member = |member: usize| {
            let block = self.control.pe_block(member);
            let is_here = PeState::from_word(block.state.load(Acquire)) != PeState::Started;
            !is_here || block.job_pe.load(Acquire) as usize == pe
        };
        let mut groups = self.jobs.iter().zip([0..first, first..all]);
        groups.any(|(of, mut members)| *of == Some(job) && members.any(is_member))
    }

    /// A member that PE `pe` of job `job` waits for in vain, in the collective `sequence` of all members, or with 0 in
    /// another routine: it has left before.
    pub(super) fn left(&self, job: u32, pe: usize, sequence: u32) -> Option<Left> {
        /// All members have synchronised once they are connected.
        const CONNECTED: u32 = 1;

        let header = self.control.header();
        if header.start_epoch.load(Acquire) < CONNECTED || ConnectionState::is_over(header.connection.load(Acquire)) {
            return None;
        }
        let first = header.first_group.load(Acquire) as usize;
        let all = self.control.n_pes();
        let has_left = |member: usize| {
            let state = self.control.pe_block(member).state.load(Acquire);
            PeState::from_word(state) == PeState::Finalized
        };
        let job_pe = |member: usize| self.control.pe_block(member).job_pe.load(Acquire) as usize;
        let groups = [0..first, first..all];
        let group = self.jobs.iter().position(|of| *of == Some(job))?;
        let waiting = groups[group].clone().find(|member| job_pe(*member) == pe)?;
        if has_left(waiting) {
            return None;
        }
        let left = if sequence == 0 {
            // Served by any of them.
            let mut others = groups[1 - group].clone();
            let first = others.start;
            others.all(has_left).then_some(first)
        } else {
            let has_entered = |member: usize| {
                let own = &self.control.team_slot(0, member).own;
                own.entered.load(Acquire).wrapping_sub(sequence) as i32 >= 0
            };
            (0..all).find(|member| has_left(*member) && !has_entered(*member))
        }?;
        Some(Left {
            job: self.jobs[usize::from(left >= first)],
            pe: job_pe(left),
            routine: self.control.pe_block(left).wait.routine(),
            ends_both: !self.is_independent(),
        })
    }

    /// Whether both groups are connected, so that the end of one is the other's.
    fn binds(&self) -> bool {
        self.control.is_agreed() && !self.is_over() && !self.is_independent()
    }

    /// Says to the `oshrun` of a connected job that this one ends, with this status and line.
    pub(super) fn notify_end(&self, status: u8, line: &str) {
        if let Some(peer) = self.peer.as_ref().filter(|_| self.binds()) {
            // If it has ended, too, it need not know.
            let _ = send(peer.socket.as_fd(), [0, status.into(), 0], line, &[]);
        }
    }

    /// What the `oshrun` of the connected job says; `closed`: its end of the socket is closed.
    pub(super) fn peer_event(&self, closed: bool) -> PeerEvent {
        let Some(peer) = &self.peer else {
            return PeerEvent::None;
        };
        match receive(peer.socket.as_fd()) {
            _ if closed && self.is_independent() => {
                rendezvous::end(&self.control.header().connection);
                PeerEvent::Over
            }
            _ if closed && !self.binds() => PeerEvent::Over,
            Ok(Some(([_, status, _], line, _))) if self.binds() => PeerEvent::Ends(status as u8, line),
            _ if closed => PeerEvent::Gone,
            _ => PeerEvent::None,
        }
    }

    /// Lets go of the memory.
    pub(super) fn end(self) {
        // SAFETY: nothing else refers to it: the object is dropped.
        unsafe { self.control.unmap() };
    }
}

#[cfg(test)]
mod tests {
    use ferroshmem_core::job::message::pair;
    use ferroshmem_tuning::Tuning;

    use super::*;

    /// Both groups of a connection, and its memory.
    fn groups() -> (Connected, Connected, Control) {
        let tuning = Tuning::default_for(2);
        let (file, control) = Control::create_connection(1 << 31, [1, 2], false, 2.into(), tuning).unwrap();
        let (one, other) = pair().unwrap();
        let mut ends = [one, other].into_iter().enumerate().map(|(group, peer)| {
            let job = ConnectedJob {
                number: 1 << 31,
                group,
                memory: file.try_clone().unwrap(),
                connection: file.try_clone().unwrap(),
                peer,
            };
            Connected::with_peer(job, 5 + group as u32).unwrap()
        });
        (ends.next().unwrap(), ends.next().unwrap(), control)
    }

    fn ends(line: &str) -> PeerEvent {
        PeerEvent::Ends(9, line.to_owned())
    }

    #[test]
    fn a_job_that_fails_ends_the_one_that_it_has_met() {
        let (mine, theirs, control) = groups();
        assert!(mine.is_of(5) && theirs.is_of(6) && !mine.is_of(6));
        // It has one member, PE 0 or another one that is not here yet.
        assert!(mine.needs(5, 3) && !mine.needs(6, 0));
        control.header().agreed.store(1, std::sync::atomic::Ordering::Release);
        assert_eq!(theirs.peer_event(false), PeerEvent::None);
        mine.notify_end(9, "why");
        drop(mine);
        assert_eq!(theirs.peer_event(true), ends("why"));
        assert_eq!(theirs.peer_event(true), PeerEvent::Gone);
    }

    #[test]
    fn the_end_of_a_job_is_of_no_matter_before_and_after_the_connection() {
        use std::sync::atomic::Ordering::Release;

        let (mine, theirs, control) = groups();
        let header = control.header();
        mine.notify_end(9, "before");
        assert_eq!(theirs.peer_event(false), PeerEvent::None);
        header.agreed.store(1, Release);
        mine.notify_end(9, "meanwhile");
        header.start_epoch.store(2, Release);
        mine.notify_end(9, "after");
        assert_eq!(theirs.peer_event(false), PeerEvent::None);
        drop(mine);
        assert_eq!(theirs.peer_event(true), PeerEvent::Over);
        let (mine, theirs, _control) = groups();
        drop(mine);
        assert_eq!(theirs.peer_event(true), PeerEvent::Over);
    }
}
