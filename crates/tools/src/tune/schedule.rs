//! What is measured: numbers of PEs and sizes.

use ferroshmem_layout::{MAX_PES, RING_BYTES};
use ferroshmem_platform::socket;
use ferroshmem_tuning::{Algorithm, Choice, Collective, EAGER, Tuning};

/// How thorough a measurement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// A few sizes, to try things out.
    Quick,
    /// What a tuning file deserves.
    Full,
}

/// One comparison: a collective and a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// The collective.
    pub collective: Collective,
    /// Bytes as [`DecisionTable::choose`](ferroshmem_tuning::DecisionTable::choose) counts them.
    pub bytes: usize,
}

impl Unit {
    /// Bytes of each member's source and destination.
    pub(super) fn buffers(&self, members: usize) -> (usize, usize) {
        let n = self.bytes;
        match self.collective {
            Collective::Barrier => (0, 0),
            Collective::Reduce | Collective::Broadcast | Collective::Scan => (n, n),
            Collective::Collect | Collective::Fcollect => (n, n * members),
            Collective::Alltoall | Collective::Alltoalls => (n * members, n * members),
        }
    }

    /// The choices that exist at this size.
    pub(super) fn choices(&self, members: usize) -> impl Iterator<Item = Choice> + use<> {
        let eager = self.bytes <= self.collective.eager_limit(members);
        let choices = self.collective.choices().iter().copied();
        // PEs of a job are on several sockets only if the machine has several.
        let sockets = socket::has_several_nodes();
        choices.filter(move |c| match c.algorithm {
            Algorithm::Eager => eager,
            Algorithm::Sockets => sockets,
            _ => true,
        })
    }
}

impl Depth {
    /// Most bytes of a member's buffers.
    fn most(self) -> usize {
        match self {
            Self::Quick => 64 << 10,
            Self::Full => 4 << 20,
        }
    }

    /// What is measured with so many members, small sizes first.
    pub(super) fn units(self, members: usize) -> Vec<Unit> {
        let mut units = vec![Unit { collective: Collective::Barrier, bytes: 0 }];
        for collective in Collective::ALL.into_iter().skip(1) {
            let mut sizes: Vec<usize> = match self {
                Self::Quick => vec![8, EAGER, 64 << 10],
                Self::Full => {
                    vec![8, 64, 256, 1 << 10, EAGER, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]
                }
            };
            if self == Self::Full && collective == Collective::Broadcast {
                sizes.push(RING_BYTES);
            }
            // Whole elements, as all buffers hold numbers.
            sizes.push(collective.eager_limit(members) / 8 * 8);
            sizes.sort_unstable();
            sizes.dedup();
            let units_of = sizes.into_iter().map(|bytes| Unit { collective, bytes });
            units.extend(units_of.filter(|u| {
                let (source, dest) = u.buffers(members);
                u.bytes > 0 && source.max(dest) <= self.most()
            }));
        }
        units
    }

    /// Lengths of copies that are measured.
    pub(super) fn copies(self) -> Vec<usize> {
        let (least, most, factor) = match self {
            Self::Quick => (256 << 10, 4 << 20, 4),
            Self::Full => (64 << 10, 32 << 20, 2),
        };
        let next = |bytes: &usize| Some(bytes * factor);
        std::iter::successors(Some(least), next).take_while(|bytes| *bytes <= most).collect()
    }

    /// The numbers of PEs to measure on a machine with so many cores: pairs and powers of
    /// four, one PE on each core, and four on each. The tuning file has room for all.
    pub(super) fn counts(self, cores: usize) -> Vec<usize> {
        let mut counts = match self {
            Self::Quick => vec![2, 4],
            Self::Full => vec![2, 4, 16, 64, cores, 4 * cores],
        };
        counts.retain(|n| (2..=MAX_PES).contains(n));
        counts.sort_unstable();
        counts.dedup();
        debug_assert!(counts.len() <= Tuning::default_for(1).rules.len());
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_their_buffers() {
        for depth in [Depth::Quick, Depth::Full] {
            for members in [1, 2, 3, 16, 64, 300, 4096] {
                let units = depth.units(members);
                for unit in &units {
                    let (source, dest) = unit.buffers(members);
                    assert!(source.max(dest) <= depth.most());
                    assert_eq!(unit.bytes % 8, 0);
                    assert!(unit.choices(members).count() >= 2, "{unit:?}");
                }
                for c in Collective::ALL {
                    let sizes: Vec<_> = units.iter().filter(|u| u.collective == c).collect();
                    assert!(sizes.is_sorted_by(|a, b| a.bytes < b.bytes));
                    assert!(!sizes.is_empty() || members == 4096, "{c:?} {members}");
                }
            }
        }
    }

    #[test]
    fn counts_cover_few_and_many() {
        assert_eq!(Depth::Full.counts(2), [2, 4, 8, 16, 64]);
        assert_eq!(Depth::Full.counts(48), [2, 4, 16, 48, 64, 192]);
        assert_eq!(Depth::Full.counts(1), [2, 4, 16, 64]);
        assert_eq!(Depth::Quick.counts(48), [2, 4]);
    }
}
