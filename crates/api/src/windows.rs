//! Where the heaps are, for callers that load and store in those of their node themselves.

use std::sync::OnceLock;

use ferroshmem_core::wait::POLICY;
use ferroshmem_profiling as profiling;
use ferroshmem_runtime::{self as runtime, Runtime};

use super::checker;

/// Where the heaps of this node's PEs are: the copy of an object of the heap that number i of the
/// node has is at the address of this PE's copy plus `(i - index) << log2_stride`.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    /// This PE's number in the world.
    pub me: usize,
    /// This PE's number among those of its node.
    pub index: usize,
    /// Number of PEs of the world.
    pub n_pes: usize,
    /// Address of this PE's heap.
    pub heap: usize,
    /// log2 of the bytes from one heap to the next.
    pub log2_stride: u32,
    /// Whose memory this process loads and stores: all that it may, but its own alone where calls are recorded, and
    /// none where they are checked.
    pub memory: Reach,
    /// Whose memory it may load and store.
    pub views: Reach,
    /// The PEs whose words it may update by CPU atomics: none where the fabric's atomics are not atomic
    /// with a CPU's. Where PEs outnumber cores all but this one, so that the library sees the program poll.
    pub atomics: Reach,
}

/// The PEs that are reached by loads and stores, of which each has a number among those of the node.
#[derive(Debug, Clone, Copy)]
pub struct Reach(Option<&'static Indices>);

/// The number of each PE of the world among those of this node.
#[derive(Debug)]
struct Indices(Box<[u32]>);

/// The number of a PE that is not reached so.
const ELSEWHERE: u32 = u32::MAX;

impl Reach {
    fn of(indices: impl Iterator<Item = Option<usize>>) -> Indices {
        Indices(indices.map(|i| i.map_or(ELSEWHERE, |i| i as u32)).collect())
    }

    /// The number of PE `pe` among those of this node; None if it is not reached by loads and stores.
    /// One comparison where all PEs are.
    #[inline]
    pub fn index(self, pe: usize) -> Option<usize> {
        match self.0 {
            None => Some(pe),
            Some(indices) => {
                let index = indices.0.get(pe).copied();
                index.filter(|i| *i != ELSEWHERE).map(|i| i as usize)
            }
        }
    }

    /// Whether that is so of any PE, and then of this one.
    #[inline]
    pub fn is_any(self) -> bool {
        self.0.is_none_or(|indices| !indices.0.is_empty())
    }

    /// Whether that is so of all PEs.
    #[inline]
    pub fn is_all(self) -> bool {
        self.0.is_none()
    }
}

/// Where the heaps are.
pub fn windows(name: &'static str) -> Windows {
    let rt = runtime::get(name);
    Windows {
        me: rt.node.me,
        index: rt.node.job.index,
        n_pes: rt.node.n_pes,
        heap: rt.node.transport.memory.space.heap_base(),
        log2_stride: rt.node.transport.memory.space.log2_stride(),
        memory: memory(rt),
        views: views(rt),
        atomics: atomics(rt),
    }
}

// What is where does not change while the process lives, so that each is made once.

fn memory(rt: &Runtime) -> Reach {
    static OWN: OnceLock<Indices> = OnceLock::new();
    if !profiling::is_on() {
        return views(rt);
    }
    let index = |pe| (pe == rt.node.me && !checker::is_on()).then_some(rt.node.job.index);
    Reach(Some(OWN.get_or_init(|| Reach::of((0..rt.node.n_pes).map(index)))))
}

fn views(rt: &Runtime) -> Reach {
    static INDICES: OnceLock<Indices> = OnceLock::new();
    let placement = &rt.node.job.placement;
    let find = || Reach::of((0..rt.node.n_pes).map(|pe| placement.local_index(pe)));
    Reach(placement.spans_nodes().then(|| INDICES.get_or_init(find)))
}

fn atomics(rt: &Runtime) -> Reach {
    static NOBODY: OnceLock<Indices> = OnceLock::new();
    static OTHERS: OnceLock<Indices> = OnceLock::new();
    if rt.node.transport.atomics_by_fabric() {
        Reach(Some(NOBODY.get_or_init(|| Indices(Box::default()))))
    } else if POLICY.oversubscribed() && !checker::is_on() {
        let placement = &rt.node.job.placement;
        let index = |pe| placement.local_index(pe).filter(|_| pe != rt.node.me);
        let find = || Reach::of((0..rt.node.n_pes).map(index));
        Reach(Some(OTHERS.get_or_init(find)))
    } else {
        memory(rt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_reached() {
        assert_eq!(Reach(None).index(7), Some(7));
        let some = Reach::of([Some(0), None, Some(1)].into_iter());
        let some = Reach(Some(Box::leak(Box::new(some))));
        let reached = [0, 1, 2, 3].map(|pe| some.index(pe));
        assert_eq!(reached, [Some(0), None, Some(1), None]);
        assert!(Reach(None).is_all() && !some.is_all());
        assert!(Reach(None).is_any() && some.is_any());
    }
}
