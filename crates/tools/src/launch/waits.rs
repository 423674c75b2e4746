//! What the PEs wait for, as they record it in the job's memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::region::{PeState, WaitKind};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use super::activity::{self, Activity};

/// One PE's wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait {
    /// Differs between two waits of the PE.
    pub serial: u32,
    /// C name of the routine.
    pub routine: String,
    /// What the PE waits for.
    pub reason: WaitReason,
    /// Start, in milliseconds of `CLOCK_MONOTONIC`.
    pub since_ms: u64,
}

/// What a PE waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// The others in a collective.
    Collective {
        /// Id of the team, if it is one and not an active set.
        team: Option<u32>,
        /// First world PE.
        start: i32,
        /// Distance between members.
        stride: i32,
        /// Number of members.
        size: u32,
        /// The collective's number on the team.
        sequence: u32,
        /// Where the work array is, if the active set still synchronises by it; else 0.
        work_array: u64,
    },
    /// PEs of another job.
    Connection {
        /// The number of the connection with them, 0 as long as there is none.
        number: u32,
        /// The collective's number, if it is one of all members; else 0.
        sequence: u32,
        /// The members, as of a collective: of the team that waits as long as there is no connection.
        members: (i32, i32, u32),
    },
    /// A message: the other PE's number, negative if it is any; whether it is to be received by that; its tag, negative: any.
    Message(i32, bool, i32),
    /// A word of memory: the kind of object, and its address in the waiting PE.
    Object(&'static str, u64),
}

impl Wait {
    /// Reads PE `pe`'s record; `None` while the PE waits for nothing, or is changing the record.
    pub(super) fn read(control: &Control, pe: usize) -> Option<Self> {
        let record = &control.pe_block(pe).wait;
        let serial = record.serial.load(Acquire);
        let team = record.team.load(Relaxed);
        let collective = |team| WaitReason::Collective {
            team,
            start: record.start.load(Relaxed),
            stride: record.stride.load(Relaxed),
            size: record.size.load(Relaxed),
            sequence: record.sequence.load(Relaxed),
            work_array: record.address.load(Relaxed),
        };
        let object = |kind| WaitReason::Object(kind, record.address.load(Relaxed));
        let reason = match record.kind.load(Acquire) {
            k if k == WaitKind::Team as u32 => collective(Some(team)),
            k if k == WaitKind::ActiveSet as u32 => collective(None),
            k if k == WaitKind::Point as u32 => object("the variable"),
            k if k == WaitKind::Lock as u32 => object("the lock"),
            k if k == WaitKind::Signal as u32 => object("the signal"),
            k if k == WaitKind::Connection as u32 => WaitReason::Connection {
                number: team,
                sequence: record.sequence.load(Relaxed),
                members: (
                    record.start.load(Relaxed),
                    record.stride.load(Relaxed),
                    record.size.load(Relaxed),
                ),
            },
            k if k == WaitKind::Message as u32 => WaitReason::Message(
                record.start.load(Relaxed),
                record.stride.load(Relaxed) != 0,
                record.sequence.load(Relaxed) as i32,
            ),
            _ => return None,
        };
        let wait = Self {
            serial,
            routine: record.routine(),
            reason,
            since_ms: record.since_ms.load(Relaxed),
        };
        (record.serial.load(Acquire) == serial).then_some(wait)
    }

    /// Whether PE `pe` is one of those that this wait needs.
    pub(super) fn needs(&self, pe: usize) -> bool {
        let (start, stride, size) = match self.reason {
            WaitReason::Collective {
                start,
                stride,
                size,
                ..
            } => (start, stride, size),
            WaitReason::Connection { members, .. } if members.2 > 0 => members,
            _ => return false,
        };
        let distance = pe as i64 - i64::from(start);
        let stride = i64::from(stride);
        let index = match stride {
            0 => return distance == 0,
            _ if distance % stride != 0 => return false,
            _ => distance / stride,
        };
        (0..i64::from(size)).contains(&index)
    }

    /// Whether the PE has called `shmem_finalize`, or has dropped its `World`.
    pub(super) fn finalizes(&self) -> bool {
        ["shmem_finalize", "drop of World"].contains(&&*self.routine)
    }

    /// What the PE waits for, and where.
    pub(super) fn place(&self) -> Place<'_> {
        Place(self)
    }

    /// How long it has lasted, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        now_ms().saturating_sub(self.since_ms) as f64 / 1000.0
    }
}

fn now_ms() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| {
        t.tv_sec() as u64 * 1000 + t.tv_nsec() as u64 / 1_000_000
    })
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits {} since {:.1} s", self.place(), self.seconds())
    }
}

/// Routine and object of a wait: `in shmem_team_sync on team 3 (start 0, stride 1, size 2)`.
pub(super) struct Place<'a>(&'a Wait);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}", self.0.routine)?;
        match self.0.reason {
            WaitReason::Collective { team: Some(0), .. } => write!(f, " on the world team")?,
            WaitReason::Collective {
                team,
                start,
                stride,
                size,
                work_array,
                ..
            } => {
                match team {
                    Some(id) => write!(f, " on team {id}")?,
                    None => write!(f, " on an active set")?,
                }
                write!(f, " (start {start}, stride {stride}, size {size})")?;
                if work_array != 0 {
                    write!(f, " by pSync at {work_array:#x}")?;
                }
            }
            WaitReason::Connection { .. } => write!(f, " for PEs of another job")?,
            WaitReason::Message(pe, is_send, tag) => {
                match (pe, is_send) {
                    (..0, _) => write!(f, " for a message from any PE")?,
                    (_, false) => write!(f, " for a message from PE {pe}")?,
                    (_, true) => write!(f, " for PE {pe} to receive its message")?,
                }
                if tag >= 0 {
                    write!(f, " with tag {tag}")?;
                }
            }
            WaitReason::Object(kind, address) => write!(f, " for {kind} at {address:#x}")?,
        }
        Ok(())
    }
}

/// Whether some PE has waited for a second, in one wait.
pub(super) fn is_hanging(control: &Control, mut pes: impl Iterator<Item = usize>) -> bool {
    let seconds = |pe| Wait::read(control, pe).map_or(0.0, |wait| wait.seconds());
    pes.any(|pe| seconds(pe) >= 1.0)
}

/// The wait report: a line for each of the `living` PEs that waits, and one for those that do the same.
pub(super) fn report(control: &Control, living: &[(usize, Pid)]) -> Vec<String> {
    let (waiting, others): (Vec<_>, Vec<_>) = living
        .iter()
        .partition(|(pe, _)| Wait::read(control, *pe).is_some());
    let pids: Vec<Pid> = others.iter().map(|(_, pid)| *pid).collect();
    let activities = others.iter().zip(activity::observe(&pids));
    let activities: Vec<(usize, Activity)> = activities.map(|((pe, _), a)| (*pe, a)).collect();
    let mut lines = Vec::new();
    let mut groups: BTreeMap<Doing, Vec<usize>> = BTreeMap::new();
    let pes = waiting.iter().map(|(pe, _)| (*pe, Activity::Runs));
    for (pe, activity) in pes.chain(activities) {
        // Those that did not wait may do so now, and the reverse.
        match Wait::read(control, pe) {
            Some(wait) => lines.push((pe, format!("PE {pe} {wait}"))),
            None => {
                let state = PeState::from_word(control.pe_block(pe).state.load(Acquire));
                groups
                    .entry(Doing::of(state, activity))
                    .or_default()
                    .push(pe);
            }
        }
    }
    lines.sort_unstable();
    let groups = groups.iter().map(|(doing, pes)| doing.line(pes));
    lines
        .into_iter()
        .map(|(_, line)| line)
        .chain(groups)
        .collect()
}

/// What a PE does that waits in no routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Computes,
    Sleeps,
    Stopped,
    Outside,
    Starts,
    Leaves,
}

impl Doing {
    fn of(state: PeState, activity: Activity) -> Self {
        match (state, activity) {
            (_, Activity::Stopped) => Self::Stopped,
            (PeState::Started, _) => Self::Starts,
            (PeState::Finalized, _) => Self::Leaves,
            (_, Activity::Runs) => Self::Computes,
            (_, Activity::Sleeps) => Self::Sleeps,
            (_, Activity::Gone) => Self::Outside,
        }
    }

    /// The line for these PEs.
    fn line(self, pes: &[usize]) -> String {
        let (one, several) = match self {
            Self::Computes => (
                "computes, or polls memory in the program",
                "compute, or poll memory in the program",
            ),
            Self::Sleeps => (
                "sleeps in the program, or waits there for input, output or a lock",
                "sleep in the program, or wait there for input, output or a lock",
            ),
            Self::Stopped => (
                "is stopped, by a signal or a debugger",
                "are stopped, by a signal or a debugger",
            ),
            Self::Outside => (
                "was in the program, in no routine that waits",
                "were in the program, in no routine that waits",
            ),
            Self::Starts => ("is not in shmem_init yet", "are not in shmem_init yet"),
            Self::Leaves => (
                "is past shmem_finalize, and has not ended",
                "are past shmem_finalize, and have not ended",
            ),
        };
        let what = if pes.len() == 1 { one } else { several };
        format!("{} {what}", subject(pes))
    }
}

/// `PE 3`, or `PEs 0-2, 5`.
fn subject(pes: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &pe in pes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == pe => *last = pe,
            _ => ranges.push((pe, pe)),
        }
    }
    let shown = ranges.iter().map(|(a, b)| {
        if a == b {
            a.to_string()
        } else {
            format!("{a}-{b}")
        }
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if pes.len() == 1 {
        format!("PE {shown}")
    } else {
        format!("PEs {shown}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members() {
        let wait = |start, stride, size| Wait {
            serial: 0,
            routine: String::new(),
            reason: WaitReason::Collective {
                team: Some(1),
                start,
                stride,
                size,
                sequence: 0,
                work_array: 0,
            },
            since_ms: 0,
        };
        let members = |w: Wait| (0..10).filter(|pe| w.needs(*pe)).collect::<Vec<_>>();
        assert_eq!(members(wait(1, 3, 3)), [1, 4, 7]);
        assert_eq!(members(wait(8, -2, 3)), [4, 6, 8]);
        assert_eq!(members(wait(5, 0, 1)), [5]);
        assert_eq!(members(wait(0, 1, 4)), [0, 1, 2, 3]);
    }

    #[test]
    fn subjects() {
        assert_eq!(subject(&[3]), "PE 3");
        assert_eq!(subject(&[0, 1, 2, 5, 7, 8]), "PEs 0-2, 5, 7-8");
        let line = Doing::of(PeState::Initialized, Activity::Runs).line(&[2]);
        assert_eq!(line, "PE 2 computes, or polls memory in the program");
        let line = Doing::of(PeState::Started, Activity::Stopped).line(&[1, 2]);
        assert_eq!(line, "PEs 1-2 are stopped, by a signal or a debugger");
    }
}
