//! Where the node's PEs run.

use ferroshmem_platform::socket::Locality;

/// Where the node's PEs run, by their numbers on the node; the same on all of them. Empty: that is of no matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Localities(Vec<Locality>);

impl Localities {
    /// Those that each PE has said.
    pub fn new(localities: impl IntoIterator<Item = Locality>) -> Self {
        Self(localities.into_iter().collect())
    }

    /// Whether none are known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of a PE of the node, if it is known.
    pub fn of(&self, index: usize) -> Option<Locality> {
        self.0.get(index).copied()
    }
}
