//! What the PEs wait for, as they record it in the job's memory.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use ferroshmem_core::constants::{CMP_EQ, CMP_GE, CMP_GT, CMP_LE, CMP_LT, CMP_NE};
use ferroshmem_core::job::control::Control;
use ferroshmem_layout::{SHADOW, SIGNED, WaitKind, WaitRecord};
use ferroshmem_platform::atomic::{Std, read_unchanged};
use nix::time::{ClockId, clock_gettime};

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
    /// The block of the heap that the word waited for is in: its start and its bytes.
    pub block: Option<(u64, u64)>,
    /// What the word is to become.
    pub condition: Option<Condition>,
}

/// What a variable is waited to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    /// `SHMEM_CMP_*`.
    comparison: i32,
    /// Bytes of the variable.
    pub width: u32,
    has_sign: bool,
    value: u64,
}

impl Condition {
    fn read(record: &WaitRecord) -> Option<Self> {
        let comparison = record.comparison.load(Relaxed).checked_sub(1)? as i32;
        let width = record.width.load(Relaxed);
        Some(Self {
            comparison,
            width: width & !SIGNED,
            has_sign: width & SIGNED != 0,
            value: record.value.load(Relaxed),
        })
    }

    /// The condition in words, if the variable has the value `now`: ` to be >= 5 (it is 3)`.
    pub(super) fn words(&self, now: Option<u64>) -> String {
        let operator = match self.comparison {
            CMP_EQ => "",
            CMP_NE => "other than ",
            CMP_GT => "> ",
            CMP_GE => ">= ",
            CMP_LT => "< ",
            CMP_LE => "<= ",
            _ => return String::new(),
        };
        let now = now.map_or_else(String::new, |now| format!(" (it is {})", self.number(now)));
        format!(" to be {operator}{}{now}", self.number(self.value))
    }

    fn number(&self, word: u64) -> String {
        let unused = 64 - 8 * self.width.clamp(1, 8);
        match self.has_sign {
            true => (((word << unused) as i64) >> unused).to_string(),
            false => word.to_string(),
        }
    }
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
        /// The members, if they are no sequence; else none.
        listed: Vec<u32>,
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
    /// A message: the other PE's number, negative if it is any; whether it is to be received by that; its tag,
    /// negative: any.
    Message(i32, bool, i32),
    /// Items of a stream, or its end.
    Stream,
    /// Operations to complete: those to a PE of another node, or several.
    Remote(Option<i32>),
    /// A neighbour in a graph: its number.
    Neighbor(i32),
    /// All PEs that live, and replacements of the others.
    Replacement,
    /// A word of memory: the kind of object, and its address in the waiting PE.
    Object(&'static str, u64),
}

impl Wait {
    /// Reads PE `pe`'s record; `None` while the PE waits for nothing, or is changing the record.
    pub(super) fn read(control: &Control, pe: usize) -> Option<Self> {
        let record = &control.pe_block(pe).wait;
        read_unchanged::<Std, _>(&record.serial, |serial| Self::copy(record, serial, record.kind.load(Acquire)))
    }

    /// Reads a record of a wait of some kind; the number may change meanwhile.
    fn copy(record: &WaitRecord, serial: u32, kind: u32) -> Option<Self> {
        let team = record.team.load(Relaxed);
        let (stride, size) = (record.stride.load(Relaxed), record.size.load(Relaxed));
        let collective = |team| WaitReason::Collective {
            team,
            start: record.start.load(Relaxed),
            stride,
            size,
            listed: if stride == 0 && size > 1 { record.listed() } else { Vec::new() },
            sequence: record.sequence.load(Relaxed),
            work_array: record.address.load(Relaxed),
        };
        let object = |kind| WaitReason::Object(kind, record.address.load(Relaxed));
        let reason = match kind {
            k if k == WaitKind::Team as u32 => collective(Some(team)),
            k if k == WaitKind::ActiveSet as u32 => collective(None),
            k if k == WaitKind::Point as u32 => object("the variable"),
            k if k == WaitKind::Lock as u32 => object("the lock"),
            k if k == WaitKind::Signal as u32 => object("the signal"),
            k if k == WaitKind::Connection as u32 => WaitReason::Connection {
                number: team,
                sequence: record.sequence.load(Relaxed),
                members: (record.start.load(Relaxed), record.stride.load(Relaxed), record.size.load(Relaxed)),
            },
            k if k == WaitKind::Stream as u32 => WaitReason::Stream,
            k if k == WaitKind::Replacement as u32 => WaitReason::Replacement,
            k if k == WaitKind::Remote as u32 => WaitReason::Remote((size > 0).then(|| record.start.load(Relaxed))),
            k if k == WaitKind::Neighbor as u32 => WaitReason::Neighbor(record.start.load(Relaxed)),
            k if k == WaitKind::Message as u32 => WaitReason::Message(
                record.start.load(Relaxed),
                record.stride.load(Relaxed) != 0,
                record.sequence.load(Relaxed) as i32,
            ),
            _ => return None,
        };
        Some(Self {
            serial,
            routine: record.routine(),
            reason,
            since_ms: record.since_ms.load(Relaxed),
            block: Some(record.block.each_ref().map(|word| word.load(Relaxed)))
                .filter(|[_, len]| *len > 0)
                .map(|[start, len]| (start, len)),
            condition: Condition::read(record),
        })
    }

    /// Whether PE `pe` is one of those that this wait needs.
    pub(super) fn needs(&self, pe: usize) -> bool {
        let (start, stride, size) = match &self.reason {
            WaitReason::Collective { listed, .. } if !listed.is_empty() => {
                return listed.iter().any(|listed| *listed as usize == pe);
            }
            WaitReason::Collective { start, stride, size, .. } => (*start, *stride, *size),
            WaitReason::Connection { members, .. } if members.2 > 0 => *members,
            WaitReason::Neighbor(pe) | WaitReason::Remote(Some(pe)) => (*pe, 0, 1),
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
    pub(super) fn place(&self) -> WaitPlace<'_> {
        WaitPlace(self)
    }

    /// How long it has lasted, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        now_ms().saturating_sub(self.since_ms) as f64 / 1000.0
    }
}

fn now_ms() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| t.tv_sec() as u64 * 1000 + t.tv_nsec() as u64 / 1_000_000)
}

/// Routine and object of a wait: `in shmem_team_sync on team 3 (start 0, stride 1, size 2)`.
pub(super) struct WaitPlace<'a>(&'a Wait);

impl fmt::Display for WaitPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}", self.0.routine)?;
        match &self.0.reason {
            // Non-blocking collectives wait on the team's shadow.
            WaitReason::Collective { team: Some(id), .. } if (*id as usize).is_multiple_of(SHADOW) => {
                write!(f, " on the world team")?;
            }
            WaitReason::Collective { team, start, stride, size, listed, work_array, .. } => {
                match team {
                    Some(id) => write!(f, " on team {}", *id as usize % SHADOW)?,
                    None => write!(f, " on an active set")?,
                }
                if listed.is_empty() {
                    write!(f, " (start {start}, stride {stride}, size {size})")?;
                } else {
                    write!(f, " (PEs {})", in_words(listed))?;
                }
                if *work_array != 0 {
                    write!(f, " by pSync at {work_array:#x}")?;
                }
            }
            WaitReason::Connection { .. } => write!(f, " for PEs of another job")?,
            WaitReason::Stream => write!(f, " for items of a stream")?,
            WaitReason::Replacement => write!(f, " for all other PEs to call it, and for replacements to start")?,
            WaitReason::Remote(Some(pe)) => write!(f, " for PE {pe} of another node")?,
            WaitReason::Remote(None) => write!(f, " for operations to complete")?,
            WaitReason::Neighbor(pe) => write!(f, " for neighbour PE {pe} to start")?,
            WaitReason::Message(pe, is_send, tag) => {
                match (pe, is_send) {
                    (..0, _) => write!(f, " for a message from any PE")?,
                    (_, false) => write!(f, " for a message from PE {pe}")?,
                    (_, true) => write!(f, " for PE {pe} to receive its message")?,
                }
                if *tag >= 0 {
                    write!(f, " with tag {tag}")?;
                }
            }
            WaitReason::Object(kind, address) => write!(f, " for {kind} at {address:#x}")?,
        }
        Ok(())
    }
}

/// The numbers of some PEs, at most a line of them: `0, 2, 5`.
fn in_words(pes: &[u32]) -> String {
    const SHOWN: usize = 16;
    let mut words: Vec<_> = pes.iter().take(SHOWN).map(u32::to_string).collect();
    if pes.len() > SHOWN {
        words.push(format!("... {} in all", pes.len()));
    }
    words.join(", ")
}

/// Whether some PE has waited for a second, in one wait.
pub(super) fn is_hanging(control: &Control, mut pes: impl Iterator<Item = usize>) -> bool {
    let seconds = |pe| Wait::read(control, pe).map_or(0.0, |wait| wait.seconds());
    pes.any(|pe| seconds(pe) >= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members() {
        let listed = Vec::new();
        let wait = |start, stride, size| Wait {
            serial: 0,
            routine: String::new(),
            reason: WaitReason::Collective {
                team: Some(1),
                start,
                stride,
                size,
                listed: listed.clone(),
                sequence: 0,
                work_array: 0,
            },
            since_ms: 0,
            block: None,
            condition: None,
        };
        let members = |w: Wait| (0..10).filter(|pe| w.needs(*pe)).collect::<Vec<_>>();
        assert_eq!(members(wait(1, 3, 3)), [1, 4, 7]);
        assert_eq!(members(wait(8, -2, 3)), [4, 6, 8]);
        assert_eq!(members(wait(5, 0, 1)), [5]);
        assert_eq!(members(wait(0, 1, 4)), [0, 1, 2, 3]);
    }
    #[test]
    fn conditions_in_words() {
        let condition =
            |comparison, width, has_sign, value: i64| Condition { comparison, width, has_sign, value: value as u64 };
        let words = condition(CMP_EQ, 4, true, -3).words(Some(0xffff_fffe));
        assert_eq!(words, " to be -3 (it is -2)");
        let words = condition(CMP_GE, 8, false, 7).words(None);
        assert_eq!(words, " to be >= 7");
        assert_eq!(condition(99, 8, false, 7).words(None), "");
    }
}
