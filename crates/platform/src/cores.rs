//! Sets of cores: launchers bind PEs, so what a node's PEs may use is what any of them may.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// What a node's PEs may use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCores {
    /// Number of cores that they may be on at a time; under a quota, at most twice those whose time it gives:
    /// as many PEs are synchronised faster by polls, though they use up the time sooner.
    pub count: usize,
    /// A control group limits the time that may be used: polling takes from what computing needs.
    pub quota: bool,
}

impl From<usize> for NodeCores {
    fn from(count: usize) -> Self {
        let quota = false;
        Self { count, quota }
    }
}

impl NodeCores {
    /// Cores `mask`, as far as this process's control group lets them be used.
    pub fn new(mask: &Cores) -> Self {
        let mine = std::thread::available_parallelism().map_or(1, usize::from);
        let quota = mine < Cores::of_this_process().count();
        let count = if quota { mask.count().min(2 * mine) } else { mask.count() };
        Self { count, quota }
    }
}

/// A set of cores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cores([u64; Cores::WORDS]);

impl Cores {
    /// Cores that can be told apart: 1024, as in `cpu_set_t`.
    const WORDS: usize = 16;
    /// Bytes of [`to_bytes`](Self::to_bytes).
    pub const BYTES: usize = Self::WORDS * 8;

    /// Those in this process's affinity mask.
    pub fn of_this_process() -> Self {
        Self::of(None)
    }

    /// Those in a thread's affinity mask; None: that of the calling one. It is empty if the kernel does not say.
    pub fn of(thread: Option<Pid>) -> Self {
        let Ok(mask) = sched_getaffinity(thread) else {
            return Self::default();
        };
        let cores = (0..Self::WORDS * 64).filter(|core| mask.is_set(*core));
        cores.fold(Self::default(), Self::with)
    }

    /// Lets a thread run on these alone, if the kernel allows it; None: the calling one.
    pub fn bind(&self, thread: Option<Pid>) {
        let mut mask = CpuSet::new();
        self.iter().for_each(|core| mask.set(core));
        // A thread that stays where it was works as well, if later.
        let _ = sched_setaffinity(thread, &mask);
    }

    /// Whether `core` is one of them.
    pub fn contains(&self, core: usize) -> bool {
        let word = self.0.get(core / 64);
        word.is_some_and(|word| word >> (core % 64) & 1 == 1)
    }

    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..Self::WORDS * 64).filter(|core| self.contains(*core))
    }

    /// These and one more.
    pub fn with(mut self, core: usize) -> Self {
        if let Some(word) = self.0.get_mut(core / 64) {
            *word |= 1 << (core % 64);
        }
        self
    }

    /// Adds those of another set.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    /// How many; at least 1.
    pub fn count(&self) -> usize {
        let bits: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        bits.max(1) as usize
    }

    /// As bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |i: usize| {
            let chunk = bytes[8 * i..].first_chunk().expect("16 words of 8 bytes");
            u64::from_le_bytes(*chunk)
        };
        Self(std::array::from_fn(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_add_up() {
        let (mut a, mut b) = (Cores::default(), Cores::default());
        (a.0[0], b.0[0], b.0[15]) = (0b0110, 0b1100, 1);
        a.add(&b);
        assert_eq!(a.count(), 4);
        assert_eq!(Cores::from_bytes(&a.to_bytes()), a);
        assert!(Cores::of_this_process().count() >= 1);
        assert_eq!(a.iter().collect::<Vec<_>>(), [1, 2, 3, 960]);
        assert!(a.contains(960) && !a.contains(0) && !a.contains(1 << 20));
    }
}
