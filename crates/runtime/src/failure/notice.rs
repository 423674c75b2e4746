//! Failure notices: which PE has failed and why, in one word that PEs write to each other.

use std::fmt;

/// Why a PE counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Cause {
    /// Its process ended without `shmem_finalize`.
    Ended = 1,
    /// Its node gave no sign of life.
    Silent = 2,
    /// An operation to it failed.
    Unreachable = 3,
    /// It has called `shmem_global_exit`.
    GlobalExit = 4,
    /// Its process is stopped by a signal or by a debugger.
    Stopped = 5,
    /// Its process ended, and a PE of its node has said why.
    Reported = 6,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "has ended without shmem_finalize",
            Self::Silent => "is not heard of any more: it has ended, or the network is cut",
            Self::Unreachable => "cannot be reached any more",
            Self::GlobalExit => "has called shmem_global_exit",
            Self::Stopped => "is stopped, by SIGSTOP or a debugger (SHMEM_FABRIC_TIMEOUT=0 lets a job wait for it)",
            Self::Reported => "has ended, for the reason that is said",
        })
    }
}

/// A PE that has failed, or has called `shmem_global_exit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeFailure {
    /// Its world number.
    pub pe: u32,
    /// Why.
    pub cause: Cause,
    /// What it gave to `shmem_global_exit`, 8 bits as of every exit status; else 0.
    pub status: u8,
}

impl PeFailure {
    /// As the word of a status area; never 0.
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.pe) << 32 | u64::from(self.status) << 8 | self.cause as u64
    }

    /// From the word of a status area; None for 0.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let cause = match word as u8 {
            0 => return None,
            1 => Cause::Ended,
            2 => Cause::Silent,
            4 => Cause::GlobalExit,
            5 => Cause::Stopped,
            6 => Cause::Reported,
            _ => Cause::Unreachable,
        };
        Some(Self { pe: (word >> 32) as u32, cause, status: (word >> 8) as u8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        assert_eq!(PeFailure::from_word(0), None);
        let ends = [Cause::Ended, Cause::GlobalExit, Cause::Stopped, Cause::Reported];
        for cause in ends.into_iter().chain([Cause::Silent, Cause::Unreachable]) {
            for pe in [0, 7, u32::MAX] {
                let failure = PeFailure { pe, cause, status: 41 };
                assert_eq!(PeFailure::from_word(failure.to_word()), Some(failure));
            }
        }
    }
}
