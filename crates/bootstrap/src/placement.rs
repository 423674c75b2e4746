//! Which PE is on which node. Launchers number nodes each in a way of its own; here they are
//! numbered by their first PEs.

use std::collections::HashMap;
use std::hash::Hash;
use std::iter;

/// Where a PE is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRank {
    /// Its node; nodes are numbered by their first PE.
    pub node: u32,
    /// Its number among the PEs of the node, in the order of their world numbers.
    pub index: u32,
}

/// The nodes of a job, as one of its PEs sees them.
#[derive(Debug, Clone)]
pub struct Placement {
    n_pes: usize,
    /// This node.
    node: u32,
    /// World numbers of the PEs, node by node.
    by_node: Box<[u32]>,
    /// Where the PEs of each node begin there, and the end.
    begin: Box<[u32]>,
    /// Where each PE is; empty if all are local.
    all: Box<[NodeRank]>,
    /// World number of the first PE of each node.
    first: Box<[u32]>,
    largest: usize,
}

impl Placement {
    /// All of `n_pes` PEs on this node.
    pub fn one_node(n_pes: usize) -> Self {
        Self {
            n_pes,
            node: 0,
            by_node: (0..n_pes as u32).collect(),
            begin: [0, n_pes as u32].into(),
            all: Box::default(),
            first: [0].into(),
            largest: n_pes,
        }
    }

    /// PEs on the nodes that `node_of` names, by names of any kind; PE `me` is local.
    ///
    /// # Panics
    /// If `me` is not one of them.
    pub fn new<N: Eq + Hash>(node_of: &[N], me: usize) -> Self {
        assert!(me < node_of.len(), "PE {me} of {}", node_of.len());
        let mut numbers = HashMap::new();
        let mut pes: Vec<Vec<u32>> = Vec::new();
        let mut all = Vec::with_capacity(node_of.len());
        for (pe, name) in node_of.iter().enumerate() {
            let node = *numbers.entry(name).or_insert_with(|| {
                pes.push(Vec::new());
                pes.len() - 1
            });
            all.push(NodeRank { node: node as u32, index: pes[node].len() as u32 });
            pes[node].push(pe as u32);
        }
        if pes.len() == 1 {
            return Self::one_node(node_of.len());
        }
        let ends = pes.iter().scan(0, |end, pes| {
            *end += pes.len() as u32;
            Some(*end)
        });
        Self {
            n_pes: node_of.len(),
            node: all[me].node,
            begin: iter::once(0).chain(ends).collect(),
            by_node: pes.concat().into(),
            first: pes.iter().map(|pes| pes[0]).collect(),
            largest: pes.iter().map(Vec::len).max().unwrap_or(0),
            all: all.into(),
        }
    }

    /// Number of PEs of the job.
    #[inline]
    pub fn n_pes(&self) -> usize {
        self.n_pes
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.first.len()
    }

    /// World number of the first PE of each node.
    pub fn first_of_nodes(&self) -> &[u32] {
        &self.first
    }

    /// Whether there are PEs on other nodes.
    #[inline]
    pub fn spans_nodes(&self) -> bool {
        !self.all.is_empty()
    }

    /// World numbers of the PEs of this node.
    pub fn local_pes(&self) -> &[u32] {
        self.pes_of(self.node)
    }

    /// World numbers of the PEs of a node.
    pub fn pes_of(&self, node: u32) -> &[u32] {
        let [begin, end] = [0, 1].map(|next| self.begin[node as usize + next] as usize);
        &self.by_node[begin..end]
    }

    /// PEs of the node that has most.
    pub fn largest_node(&self) -> usize {
        self.largest
    }

    /// The number among this node's PEs of world PE `pe`, None if it is on another node.
    #[inline]
    pub fn local_index(&self, pe: usize) -> Option<usize> {
        if self.all.is_empty() {
            return Some(pe);
        }
        let place = self.all[pe];
        (place.node == self.node).then_some(place.index as usize)
    }

    /// Where world PE `pe` is.
    pub fn of(&self, pe: usize) -> NodeRank {
        self.all.get(pe).copied().unwrap_or(NodeRank { node: 0, index: pe as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_all_here() {
        for p in [Placement::one_node(3), Placement::new(&["host", "host", "host"], 1)] {
            assert!(!p.spans_nodes());
            assert_eq!((p.local_pes(), p.largest_node()), ([0, 1, 2].as_slice(), 3));
            assert_eq!(p.local_index(2), Some(2));
        }
    }

    #[test]
    fn ranks_need_not_be_consecutive() {
        let p = Placement::new(&["b", "a", "b", "c", "a", "b"], 4);
        assert!(p.spans_nodes());
        assert_eq!((p.nodes(), p.largest_node()), (3, 3));
        assert_eq!((p.local_pes(), p.first_of_nodes()), (&[1, 4][..], &[0, 1, 3][..]));
        assert_eq!([0, 1, 2].map(|node| p.pes_of(node)), [&[0, 2, 5][..], &[1, 4], &[3]]);
        assert_eq!(p.local_index(4), Some(1));
        assert_eq!(p.local_index(0), None);
        assert_eq!(p.of(5), NodeRank { node: 0, index: 2 });
        assert_eq!(p.of(3), NodeRank { node: 2, index: 0 });
    }
}
