//! How a team gets the group of another job (extension): its root finds the job, and all members connect.

use std::ffi::c_int;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ferroshmem_core::connection::invitation::Invitation;
use ferroshmem_core::connection::{ConnectionError, Role};
use ferroshmem_core::constants::{GROUP_INVALID, TEAM_WORLD};
use ferroshmem_core::failure::fatal::{fatal, warn};
use ferroshmem_core::group::Group;
use ferroshmem_core::job;
use ferroshmem_core::job::service::{self, FIRST_REMOTE, StartedJob};
use ferroshmem_core::wait::record::Recorder;
use ferroshmem_layout::{Header, MAX_PES};
use ferroshmem_runtime::Runtime;
use ferroshmem_runtime::lifecycle::connections::{connect, join};

use super::handles::refuse_team_of_connection;

/// Why there is no group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// On the root: what has failed.
    #[error("{0}")]
    Refused(String),
    /// On the other members.
    #[error("it has failed on PE {0}, which knows why")]
    OnRoot(usize),
    /// There is no such team.
    #[error("there is no such team")]
    NoTeam,
}

/// Writes the group: 0, or -1 and `SHMEMX_GROUP_INVALID` if there is none, of which the root says why.
///
/// # Safety
/// `result` can be written.
pub(crate) unsafe fn return_group(name: &str, made: Result<usize, GroupError>, result: *mut usize) -> c_int {
    if let Err(GroupError::Refused(why)) = &made {
        warn(name, why);
    }
    let status = if made.is_ok() { 0 } else { -1 };
    // SAFETY: the caller promises that it can be written.
    unsafe { result.write(made.unwrap_or(GROUP_INVALID)) };
    status
}

/// How a team is connected with a job.
pub(crate) enum JobLocation {
    /// It is on this node.
    Local(StartedJob),
    /// It is on others.
    Remote {
        invitation: Invitation,
        /// The thread of the coordinator, at the PE that has it.
        coordinator: Option<JoinHandle<()>>,
        /// By which that knows that this PE lives, which has none.
        sign: Option<TcpStream>,
    },
}

/// A job that a root has found for its team.
pub(crate) struct Found {
    /// The job.
    pub location: JobLocation,
    /// The number of the first member of the connection.
    pub first: usize,
    /// The group of the team in the connection.
    pub group: usize,
}

/// The group that a team gets collectively. `request` is called on the root, with the number of members.
pub(crate) fn group_of(
    name: &'static str,
    rt: &'static Runtime,
    team: usize,
    root: c_int,
    request: impl FnOnce(usize) -> Result<Found, String>,
) -> Result<usize, GroupError> {
    connected(name, rt, (team, root), false, Box::new(request))
}

/// The group of the PEs that have started this job, which it gets collectively.
pub(crate) fn group_of_parents(
    name: &'static str,
    rt: &'static Runtime,
    request: impl FnOnce(usize) -> Result<Found, String>,
) -> Result<usize, GroupError> {
    connected(name, rt, (TEAM_WORLD, 0), true, Box::new(request))
}

/// How a root finds a job, for so many members.
type RequestJob<'a> = Box<dyn FnOnce(usize) -> Result<Found, String> + 'a>;

/// Once in the library, not for each way to find a job: it has kilobytes.
#[inline(never)]
fn connected(
    name: &'static str,
    rt: &'static Runtime,
    (team, root): (usize, c_int),
    is_started: bool,
    request: RequestJob<'_>,
) -> Result<usize, GroupError> {
    /// Where the group is in the word that the root publishes: numbers of PEs have 31 bits.
    const GROUP: u32 = 31;

    let team = rt.teams.find(name, team).ok_or(GroupError::NoTeam)?;
    refuse_team_of_connection(name, team);
    let group = Group::of_team(&rt.node, name, team);
    let root = match usize::try_from(root) {
        Ok(root) if root < group.size => root,
        _ => fatal(name, format_args!("PE_root = {root} is out of range: give 0 to {}", group.size - 1)),
    };
    let mut location = None;
    let mut refused = None;
    let mut word = 0;
    if group.me == root {
        let _shown = Recorder::start(&group.wait_for_another_job());
        match request(group.size) {
            Ok(found) => {
                let number = match &found.location {
                    JobLocation::Local(job) => job.job_number,
                    JobLocation::Remote { invitation, .. } => invitation.number,
                };
                let place = (found.group as u64) << GROUP | found.first as u64;
                word = u64::from(number) << 32 | place;
                location = Some(found.location);
            }
            Err(why) => refused = Some(why),
        }
    }
    let word = from_root(&group, root, word);
    if word == 0 {
        return Err(refused.map_or(GroupError::OnRoot(group.pe(root)), GroupError::Refused));
    }
    let (number, place) = ((word >> 32) as u32, word as u32);
    let is_local = |member| {
        let placement = &rt.node.job.placement;
        placement.local_index(group.pe(member)).is_some()
    };
    let role = Role {
        group: (place >> GROUP) as usize,
        index: group.me,
        first: (place & !(1 << GROUP)) as usize,
        reproducible: rt.node.settings.reproducible,
        is_started,
        is_leader: !(0..group.me).any(is_local),
    };
    let refusal = |why: ConnectionError| match group.me == root {
        true => GroupError::Refused(why.to_string()),
        false => GroupError::OnRoot(group.pe(root)),
    };
    if number < FIRST_REMOTE {
        let job = match location {
            Some(JobLocation::Local(job)) => job,
            _ => memory_of(name, rt, number),
        };
        return connect(name, rt, &job, role).map_err(refusal);
    }
    let (mut words, mut coordinator, mut alive) = ([0; Invitation::WORDS], None, None);
    if let Some(JobLocation::Remote { invitation, coordinator: thread, sign }) = location {
        (words, coordinator, alive) = (invitation.to_words(), thread, sign);
    }
    let words = words.map(|word| from_root(&group, root, word));
    let invitation = Invitation::from_words(number, words);
    let all = |has_connected| all_say(&group, has_connected);
    let made = join(name, rt, &invitation, role, coordinator, all);
    drop(alive);
    made.map_err(refusal)
}

/// Whether all members say so.
fn all_say(group: &Group<'_>, so: bool) -> bool {
    if group.size == 1 {
        return so;
    }
    let epoch = group.epoch();
    epoch.publish(so.into());
    epoch.synchronise();
    (0..group.size).all(|member| epoch.published(member) != 0)
}

/// What the root gives to all members.
fn from_root(group: &Group<'_>, root: usize, word: u64) -> u64 {
    if group.size == 1 {
        return word;
    }
    let epoch = group.epoch();
    epoch.publish(word);
    epoch.synchronise();
    // No member publishes for the epoch after next before this PE has entered the next one.
    epoch.published(root)
}

/// Takes `n` numbers in a row for the members of a connection, the first of which is returned.
///
/// Inlined operations find a PE by the low 12 bits of its number: those of this job's PEs are left out. Each node of a
/// job has numbers of its own to give.
pub(crate) fn take_numbers(header: &Header, placement: &job::Placement, n: usize) -> Option<usize> {
    let (n, own) = (u32::try_from(n).ok()? as usize, placement.n_pes());
    let each = (i32::MAX as usize - own) / placement.nodes();
    let node = placement.of(placement.local_pes()[0] as usize).node as usize;
    let (begin, last) = (own + node * each, own + (node + 1) * each);
    let mut next = header.next_pe.load(Ordering::Relaxed);
    loop {
        let mut first = (next as usize).max(begin);
        let place = first % MAX_PES;
        if place < own && first >= MAX_PES {
            first += own - place;
        } else if place + n > MAX_PES {
            first += MAX_PES - place + own;
        }
        let end = u32::try_from(first + n).ok().filter(|end| *end as usize <= last)?;
        let taken = header.next_pe.compare_exchange(next, end, Ordering::Relaxed, Ordering::Relaxed);
        match taken {
            Ok(_) => return Some(first),
            Err(seen) => next = seen,
        }
    }
}

/// The memory of a job that another member has had started.
fn memory_of(name: &str, rt: &Runtime, job_number: u32) -> StartedJob {
    let service = rt.node.job.service();
    let service = service.unwrap_or_else(|why| fatal(name, why));
    service::memory(service, job_number).unwrap_or_else(|e| fatal(name, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_config::HeapSettings;
    use ferroshmem_core::job::control::Control;
    use ferroshmem_core::job::plan::Plan;
    use ferroshmem_platform::Machine;
    use ferroshmem_tuning::Tuning;

    #[test]
    fn numbers_leave_out_the_elements_of_the_job() {
        for own in [1, 3, 100, 4096] {
            let machine = Machine::here();
            let plan = Plan::new(own, &machine, HeapSettings { size: None }).unwrap();
            let tuning = Tuning::default_for(2);
            let (_file, control) = Control::create(&plan, own, own, 2, tuning, 0).unwrap();
            let placement = job::Placement::one_node(own);
            assert_eq!(take_numbers(control.header(), &placement, usize::MAX), None);
            let mut end = own;
            for n in [1, 7, 1500, 1500, 1500, 3, 4095] {
                let first = take_numbers(control.header(), &placement, n).unwrap();
                assert!(first >= end, "{own} {n}");
                end = first + n;
                if own + n <= MAX_PES {
                    let numbers = first..end;
                    assert!(numbers.clone().all(|pe| pe % MAX_PES >= own), "{own} {n}");
                }
            }
        }
    }
}
