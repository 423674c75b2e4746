//! The numbers of a list of PEs, which each of them has for itself, or the PEs of a node share.
//!
//! The first member on a node writes shared tables to its [area for streams](StreamAreas), and then where they are to
//! its slot of the team: an id that its members have agreed on is a place that all of them know. A member that finds
//! nothing there, as after a failure, keeps the tables that it has made for itself. Each gives back what it reads when
//! its team ends, and the memory is used again when all have: a slow one reads on when fast ones have destroyed the
//! team. It is of the job, and outlives the PE that wrote it.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{NewTeam, Team};
use crate::job::StreamAreas;
use crate::node::Node;

/// What a slot counts by: a word has room for the pages of an area.
const PAGE: usize = 4096;

/// A list's table.
#[derive(Debug)]
pub(super) struct Table {
    words: NonNull<[u32]>,
    /// How many share the memory; None if it is of this PE alone.
    readers: Option<&'static AtomicU32>,
}

// SAFETY: no word changes while there is a table of it.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// One of this PE alone.
    pub(super) fn own(words: Vec<u32>) -> Self {
        Self { words: Box::leak(words.into_boxed_slice()).into(), readers: None }
    }
}

impl Deref for Table {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        // SAFETY: a leaked box that is freed below, or memory that is not used otherwise before that.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        match self.readers {
            // What was read is read before the owner sees the count.
            Some(readers) => drop(readers.fetch_sub(1, Ordering::Release)),
            // SAFETY: leaked by `own`, and nothing else has freed it.
            None => drop(unsafe { Box::from_raw(self.words.as_ptr()) }),
        }
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Table {}

/// Memory of tables that the members of a team on a node share.
#[derive(Debug)]
pub struct SharedTables {
    readers: &'static AtomicU32,
    next: NonNull<u32>,
}

impl SharedTables {
    /// Bytes before the first: how many tables of PEs are there, alone on its cache line.
    pub const HEAD: usize = 64;

    /// Most bytes of a team's tables that each PE has for itself, by `SHMEM_TEAM_TABLE`. To reach shared ones, a PE
    /// takes a page of the kernel's page tables.
    pub fn least(given: Option<u64>) -> usize {
        given.map_or(PAGE, |bytes| bytes as usize)
    }

    /// Those at `start`.
    ///
    /// # Safety
    /// There are the tables' bytes after [`HEAD`](Self::HEAD), at a multiple of 64, until the process ends, and nothing
    /// but shared tables uses them until the count is 0.
    pub unsafe fn at(start: NonNull<u8>) -> Self {
        // SAFETY: the caller promises that both are there.
        unsafe { Self { readers: start.cast().as_ref(), next: start.add(Self::HEAD).cast() } }
    }

    /// How many tables there are of them in all PEs.
    pub fn readers(&self) -> &'static AtomicU32 {
        self.readers
    }

    /// The place of the next `len` words.
    fn next(&mut self, len: usize) -> NonNull<[u32]> {
        let words = NonNull::slice_from_raw_parts(self.next, len);
        // SAFETY: the caller of `at` promised so many bytes.
        self.next = unsafe { self.next.add(len) };
        words
    }

    /// Writes a table, while no other PE knows of it.
    pub(super) fn write(&mut self, words: &[u32]) {
        // SAFETY: as in `next`; nobody else accesses them.
        unsafe { self.next(words.len()).as_mut() }.copy_from_slice(words);
    }

    /// The next table, of `len` words, which has been written.
    pub(super) fn read(&mut self, len: usize) -> Table {
        Table { words: self.next(len), readers: Some(self.readers) }
    }
}

impl Team {
    /// Whether a team of some of these members may have tables that are shared: then the PEs synchronise after
    /// [`NewTeam::write_tables`].
    pub fn may_share_tables(&self, node: &Node) -> bool {
        self.members.most_table_bytes() > SharedTables::least(node.settings.team_table)
    }
}

impl NewTeam {
    /// Writes tables for the members on the node if these take [so many](SharedTables::least) bytes that they are
    /// shared, and this PE is the first.
    #[cold]
    #[inline(never)]
    pub fn write_tables(&mut self, node: &Node) {
        let table_bytes = self.placement.table_bytes();
        let least = SharedTables::least(node.settings.team_table);
        if table_bytes <= least || self.placement.local_index > 0 {
            return;
        }
        let Ok(areas) = StreamAreas::of(node.job) else { return };
        let bytes = SharedTables::HEAD + table_bytes;
        let Some((offset, _)) = areas.take(bytes) else { return };
        let start = areas.of_pe(node.job.index).wrapping_add(offset);
        // SAFETY: this PE has taken the bytes for it, which are mapped for good, and begin with a page.
        let mut tables = unsafe { SharedTables::at(NonNull::new_unchecked(start)) };
        let readers = tables.readers();
        self.placement.write_tables(&mut tables);
        areas.lend(offset, bytes, readers);
        let page = &node.job.control.team_slot(self.id, node.job.index).table.page;
        page.store((offset / PAGE + 1) as u32, Ordering::Release);
    }

    /// Uses the shared tables, if there are any, instead of its own.
    #[cold]
    #[inline(never)]
    pub fn share_tables(&mut self, node: &Node) {
        let first = self.placement.local.pe(0);
        let page = node.job.control.team_slot(self.id, first).table.page.load(Ordering::Acquire);
        let (Some(page), Ok(areas)) = (page.checked_sub(1), StreamAreas::of(node.job)) else { return };
        let start = areas.of_pe(first).wrapping_add(page as usize * PAGE);
        // SAFETY: the first member has taken the bytes for it, and uses them again when this PE has dropped its tables.
        let mut tables = unsafe { SharedTables::at(NonNull::new_unchecked(start)) };
        self.placement.share_tables(&mut tables);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Members, TeamPlacement};
    use super::*;
    use crate::job::{Localities, Placement};
    use ferroshmem_platform::socket::Locality;

    #[repr(align(64))]
    struct Memory([u8; 4096]);

    #[test]
    fn tables_are_read_until_the_last_pe_drops_them() {
        let list = Members::world(12).pick([3, 4, 0, 9, 7, 11]);
        let sockets = Localities::new((0..12).map(|pe| Locality::new(pe / 8, pe / 8)));
        // On one node, of the first socket's members 0, 1, 2 and 4 there is a list, too. On two nodes, the first node
        // group is one, and the other has equal distances.
        for (nodes, tables) in [(vec![0; 12], 2), (vec![0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1], 2)] {
            let placement: &Placement = Box::leak(Box::new(Placement::new(&nodes, 0)));
            let memory = NonNull::from(&mut Box::leak(Box::new(Memory([0xff; _]))).0).cast();
            // SAFETY: leaked, aligned, and longer than the tables.
            let shared = || unsafe { SharedTables::at(memory) };
            let of = |pe| TeamPlacement::new(&list, pe, placement, &sockets);
            let [own, mut first, mut second] = [0, 3, 7].map(of);
            let readers = shared().readers();
            let users = || readers.load(Ordering::Relaxed);
            let here = own.local.size as u32;
            first.write_tables(&mut shared());
            assert_eq!(users(), here * tables);
            first.share_tables(&mut shared());
            second.share_tables(&mut shared());
            for pe in [&first, &second] {
                assert_eq!((pe.groups.members(), pe.groups.all()), (own.groups.members(), own.groups.all()));
                assert_eq!((&*pe.local, pe.local.shape()), (&*own.local, own.local.shape()));
                for member in 0..6 {
                    let (group, index) = pe.groups.of(member);
                    assert_eq!(pe.groups.member(group, index), member);
                    assert_eq!(pe.members().index_of(list.pe(member)), Some(member));
                }
                assert_eq!(pe.members().index_of(5), None);
            }
            let kept = first.clone();
            drop(first);
            assert_eq!(users(), here * tables);
            drop(kept);
            assert_eq!(users(), (here - 1) * tables);
            drop(second);
            assert_eq!(users(), (here - 2) * tables);
        }
    }
}
