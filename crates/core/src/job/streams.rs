//! The memory of streams and graphs: an area of the job's file for each PE of the node, which its owner gives to its
//! ends of them, and to tables of teams.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Attachment;
use super::part;
use ferroshmem_layout::{Offsets, STREAM_AREA};

/// Bytes of which each part is a multiple: streams tell their options in the low bits of where their parts begin.
const UNIT: usize = 4096;

/// The mapped areas of the node's PEs. Live until the process ends.
#[derive(Debug)]
pub struct StreamAreas {
    first: NonNull<u8>,
    n_pes: usize,
    own: Mutex<Own>,
    /// Where a process that takes this PE's number finds how much is used.
    used: &'static AtomicU32,
}

// SAFETY: the areas are accessed by raw pointers, in the order that the streams in them give.
unsafe impl Send for StreamAreas {}
// SAFETY: as above.
unsafe impl Sync for StreamAreas {}

/// What of the own area is in use.
#[derive(Debug, Default)]
struct Own {
    /// Bytes that some stream or graph has used.
    used: usize,
    /// Parts of them that none uses: offsets and bytes.
    free: Vec<(usize, usize)>,
    /// Parts that none uses once a count is 0.
    lent: Vec<(usize, usize, &'static AtomicU32)>,
}

impl Own {
    fn give_back(&mut self, offset: usize, bytes: usize) {
        let at = self.free.partition_point(|(before, _)| *before < offset);
        self.free.insert(at, (offset, bytes));
        // Neighbours are one.
        self.free.dedup_by(|next, before| {
            let follows = before.0 + before.1 == next.0;
            if follows {
                before.1 += next.1;
            }
            follows
        });
    }
}

impl StreamAreas {
    /// Those of a job, mapped by the first call.
    pub fn of(job: &'static Attachment) -> io::Result<&'static Self> {
        static AREAS: OnceLock<StreamAreas> = OnceLock::new();
        if let Some(areas) = AREAS.get() {
            return Ok(areas);
        }
        let new = Self::map(&job.file, job.control.offsets(), job.control.n_pes(), &job.block().streams_used)?;
        // A thread that is as early maps them twice, in vain.
        Ok(AREAS.get_or_init(|| new))
    }

    fn map(file: &File, offsets: Offsets, n_pes: usize, used: &'static AtomicU32) -> io::Result<Self> {
        let len = n_pes * STREAM_AREA;
        let first = part::map(file, offsets.streams(0), len, part::STREAMS_AT)?;
        let own = Own { used: used.load(Ordering::Relaxed) as usize, ..Own::default() };
        Ok(Self { first, n_pes, own: Mutex::new(own), used })
    }

    /// The area of PE `index` of the node.
    pub fn of_pe(&self, index: usize) -> *mut u8 {
        assert!(index < self.n_pes);
        self.first.as_ptr().wrapping_add(index * STREAM_AREA)
    }

    /// Takes bytes of the own area: their offset, and how many bytes of the area are in use then.
    pub(crate) fn take(&self, bytes: usize) -> Option<(usize, usize)> {
        let bytes = bytes.next_multiple_of(UNIT);
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(at) = own.lent.iter().position(|(_, _, users)| users.load(Ordering::Acquire) == 0) {
            let (offset, bytes, _) = own.lent.swap_remove(at);
            own.give_back(offset, bytes);
        }
        if let Some(at) = own.free.iter().position(|(_, free)| *free >= bytes) {
            let (offset, free) = own.free[at];
            own.free[at] = (offset + bytes, free - bytes);
            own.free.retain(|(_, free)| *free > 0);
            return Some((offset, own.used));
        }
        let offset = own.used;
        let used = offset.checked_add(bytes).filter(|used| *used <= STREAM_AREA)?;
        own.used = used;
        self.used.store(used as u32, Ordering::Relaxed);
        Some((offset, used))
    }

    /// Gives bytes back that no PE accesses any more. Those of a stream or graph of a team that has failed stay in use:
    /// a member may not know yet that it has ended, and writes.
    pub fn give_back(&self, offset: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(UNIT);
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.give_back(offset, bytes);
    }

    /// Gives bytes that this PE has taken back once `users` is 0, for other PEs count it down.
    pub(crate) fn lend(&self, offset: usize, bytes: usize, users: &'static AtomicU32) {
        let part = (offset, bytes.next_multiple_of(UNIT), users);
        self.own.lock().unwrap_or_else(PoisonError::into_inner).lent.push(part);
    }
}
