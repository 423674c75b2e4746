//! Graphs of neighbours: which members of a team each one sends to and receives from.
//!
//! Every edge is an entry of two lists: of its start's `dests` and of its end's `sources`. Each end knows the place of
//! the edge in the other's list, so that both mean the same by it, whatever the order of the lists.

use std::sync::atomic::AtomicUsize;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::internode::Internode;
use ferroshmem_core::job::StreamAreas;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Team;
use ferroshmem_fabric::Remote;

/// What stands for no neighbour in a list.
pub const NO_NEIGHBOR: i32 = -1;

/// The other end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// Its number in the team.
    pub member: usize,
    /// Place of the edge in its list.
    pub(crate) index: usize,
    /// How many sources it lists.
    pub(crate) sources: usize,
}

/// The edges of this PE, in the order of its lists; None where a list has no neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    /// From where it receives.
    pub sources: Vec<Option<Neighbor>>,
    /// To where it sends.
    pub dests: Vec<Option<Neighbor>>,
}

/// A graph over a team.
#[derive(Debug)]
pub struct Graph {
    pub(crate) handle: usize,
    /// The handle of its team.
    pub team: usize,
    /// The team's count of failures when the graph was made.
    pub(crate) since: usize,
    /// This PE's part of it.
    pub edges: Edges,
    /// Requests that are not freed.
    pub(crate) requests: AtomicUsize,
}

/// Where something of the library's is on another PE.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// In memory that this process has mapped.
    Local(*mut u8),
    /// On another node.
    Remote(Remote),
}

impl Place {
    /// The byte at `offset` of the area of a PE.
    pub(crate) fn of(node: &Node, areas: &StreamAreas, pe: usize, offset: usize) -> Self {
        match node.job.placement.local_index(pe) {
            Some(index) => Self::Local(areas.of_pe(index).wrapping_add(offset)),
            None => Self::Remote(Internode::streams(pe, offset)),
        }
    }

    /// The place some bytes after it.
    pub(crate) fn after(self, bytes: usize) -> Self {
        match self {
            Self::Local(at) => Self::Local(at.wrapping_add(bytes)),
            Self::Remote(at) => Self::Remote(Remote { offset: at.offset + bytes, ..at }),
        }
    }
}

/// The memory of graphs, mapped.
pub(crate) fn areas(node: &Node, name: &str) -> &'static StreamAreas {
    StreamAreas::of(node.job).unwrap_or_else(|e| {
        fatal(name, format_args!("cannot map the memory of graphs: {e}: raise the limit of address space (ulimit -v)"))
    })
}

/// Takes memory of this PE's area; all of it is zero.
pub(crate) fn take(node: &Node, name: &str, bytes: usize) -> usize {
    let areas = areas(node, name);
    let Some(offset) = node.take_stream_memory(areas, bytes) else {
        fatal(name, format_args!("no room for {bytes} bytes in the memory of graphs: destroy some"));
    };
    // SAFETY: the bytes were given to this call alone, and no member knows of them yet.
    unsafe { areas.of_pe(node.job.index).add(offset).write_bytes(0, bytes) };
    offset
}

impl Edges {
    /// Finds the other ends of the edges that the members list; None if a member has failed. Collective.
    pub fn of_lists(node: &Node, name: &'static str, team: &Team, sources: &[i32], dests: &[i32]) -> Option<Self> {
        let size = team.members.size;
        for (list, what) in [(sources, "sources"), (dests, "dests")] {
            let is_wrong = |member: &i32| *member != NO_NEIGHBOR && !(0..size as i32).contains(member);
            if let Some(i) = list.iter().position(is_wrong) {
                let last = size - 1;
                fatal(name, format_args!("{what}[{i}] is {}: give PEs from 0 to {last}, or -1 for none", list[i]));
            }
        }
        let mine: Vec<i32> =
            [&[sources.len() as i32, dests.len() as i32], sources, dests].into_iter().flatten().copied().collect();
        let bytes = size_of_val(mine.as_slice()).next_multiple_of(64);
        let (areas, offset) = (areas(node, name), take(node, name, bytes));
        // SAFETY: so many bytes, which no member knows of yet.
        unsafe {
            let own = areas.of_pe(node.job.index).add(offset);
            own.cast::<i32>().copy_from_nonoverlapping(mine.as_ptr(), mine.len());
        }
        let group = Group::of_team(node, name, team);
        let epoch = group.epoch();
        epoch.publish(offset as u64);
        epoch.synchronise();
        if group.has_failed() {
            areas.give_back(offset, bytes);
            return None;
        }
        let lists_of = |member: usize| -> [Vec<i32>; 2] {
            let pe = team.members.pe(member);
            let at = Place::of(node, areas, pe, epoch.published(member) as usize);
            let mut counts = [0; 2];
            // SAFETY: what the member has written before it synchronised.
            unsafe { read(node, at, &mut counts) };
            let [mut sources, mut dests] = counts.map(|count| vec![0; count as usize]);
            // SAFETY: as above.
            unsafe {
                read(node, at.after(size_of_val(&counts)), &mut sources);
                read(node, at.after(size_of_val(&counts) + size_of_val(sources.as_slice())), &mut dests);
            }
            [sources, dests]
        };
        // Of one member after the other, however often it is listed.
        let find = |list: &[i32], theirs: usize| -> Vec<Option<Neighbor>> {
            let mut found = vec![None; list.len()];
            for (i, member) in list.iter().enumerate() {
                if *member == NO_NEIGHBOR || list[..i].contains(member) {
                    continue;
                }
                let lists = lists_of(*member as usize);
                let mut there = (0..lists[theirs].len()).filter(|at| lists[theirs][*at] == team.index as i32);
                for (at, _) in list.iter().enumerate().filter(|(_, other)| *other == member) {
                    let index = there.next().unwrap_or_else(|| refuse(name, theirs, at, *member, team.index));
                    let sources = lists[0].len();
                    found[at] = Some(Neighbor { member: *member as usize, index, sources });
                }
                if there.next().is_some() {
                    refuse(name, 1 - theirs, list.len(), *member, team.index);
                }
            }
            found
        };
        let edges = Self { sources: find(sources, 1), dests: find(dests, 0) };
        group.sync();
        areas.give_back(offset, bytes);
        Some(edges)
    }

    /// Those of a grid, whose last dimension has neighbouring numbers: before and after in each dimension.
    pub fn of_grid(me: usize, dims: &[usize], periods: &[bool]) -> Self {
        let mut stride: usize = dims.iter().product();
        let mut edges = Self { sources: Vec::new(), dests: Vec::new() };
        let count = 2 * dims.len();
        for (d, (extent, is_periodic)) in dims.iter().copied().zip(periods).enumerate() {
            stride /= extent;
            let at = me / stride % extent;
            for (side, step) in [extent - 1, 1].into_iter().enumerate() {
                let is_outside = if side == 0 { at == 0 } else { at + 1 == extent };
                let there = (at + step) % extent;
                // What goes to the one before comes from the one after.
                let neighbor = (!is_outside || *is_periodic).then_some(Neighbor {
                    member: me - at * stride + there * stride,
                    index: 2 * d + 1 - side,
                    sources: count,
                });
                edges.sources.push(neighbor);
                edges.dests.push(neighbor);
            }
        }
        edges
    }
}

/// Ends the job, as two lists do not agree: entry `at` of this PE's, or none, is one too many for the member's.
#[cold]
fn refuse(name: &str, theirs: usize, at: usize, member: i32, me: usize) -> ! {
    let [other, own] = if theirs == 0 { ["sources", "dests"] } else { ["dests", "sources"] };
    fatal(
        name,
        format_args!(
            "{own} of PE {me} of the team and {other} of PE {member} name each other a different number of times \
                (here entry {at}): list each edge at both of its ends"
        ),
    )
}

/// Reads numbers that another PE has written.
///
/// # Safety
/// They are there.
unsafe fn read(node: &Node, at: Place, to: &mut [i32]) {
    // SAFETY: the caller promises that the numbers are there.
    unsafe {
        match at {
            Place::Local(at) => to.as_mut_ptr().copy_from_nonoverlapping(at.cast(), to.len()),
            Place::Remote(at) => {
                let internode = node.transport.remote();
                internode.fabric().get(&internode.context, to.as_mut_ptr().cast(), at, size_of_val(to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(edges: &[Option<Neighbor>]) -> Vec<i32> {
        edges.iter().map(|edge| edge.map_or(NO_NEIGHBOR, |edge| edge.member as i32)).collect()
    }

    #[test]
    fn a_grid_has_neighbours_in_each_dimension() {
        let grid = |me, dims: &[usize], periods: &[bool]| members(&Edges::of_grid(me, dims, periods).dests);
        assert_eq!(grid(0, &[4], &[false]), [-1, 1]);
        assert_eq!(grid(3, &[4], &[true]), [2, 0]);
        assert_eq!(grid(4, &[3, 3], &[false, false]), [1, 7, 3, 5]);
        assert_eq!(grid(0, &[3, 3], &[true, false]), [6, 3, -1, 1]);
        assert_eq!(grid(5, &[2, 3, 2], &[false, false, true]), [-1, 11, 3, -1, 4, 4]);
        assert_eq!(grid(0, &[1], &[true]), [0, 0]);
    }

    /// Also where two edges have the same ends.
    #[test]
    fn both_ends_of_an_edge_of_a_grid_agree() {
        for (dims, periods) in [
            (vec![5], vec![true]),
            (vec![2, 1], vec![true, true]),
            (vec![3, 2, 4], vec![true, true, false]),
            (vec![1, 1, 1], vec![true, false, true]),
        ] {
            let all: Vec<_> = (0..dims.iter().product()).map(|me| Edges::of_grid(me, &dims, &periods)).collect();
            for (me, edges) in all.iter().enumerate() {
                for (at, dest) in edges.dests.iter().enumerate() {
                    if let Some(dest) = dest {
                        let back = all[dest.member].sources[dest.index].unwrap();
                        assert_eq!((back.member, back.index), (me, at), "{dims:?}");
                    }
                }
            }
        }
    }
}
