//! Memory of this process that peers may reach.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use super::region::{MakeRoom, Region, RmaAddress};
use crate::Error;
use crate::endpoint::Endpoint;
use crate::libfabric;
use crate::lock::lock;

/// Segments of a process at most.
pub(crate) const SEGMENTS: usize = 4;
/// Chunks of a segment at most: the last ends at 2^63 bytes.
pub(crate) const CHUNKS: usize = 40;
const FIRST: usize = 16 << 20;

/// How a segment is divided for registration. Where registering pins memory, only what is in
/// use is registered: in chunks, the first of 16 MiB, each further one as long as all before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Division {
    Whole,
    Chunks,
}

impl Division {
    /// The chunk of an offset.
    pub(crate) fn chunk(self, offset: usize) -> usize {
        match self {
            Division::Whole => 0,
            Division::Chunks => (usize::BITS - (offset / FIRST).leading_zeros()) as usize,
        }
    }

    /// The offset at which a chunk begins.
    pub(crate) fn start(chunk: usize) -> usize {
        if chunk == 0 { 0 } else { FIRST << (chunk - 1) }
    }

    /// The offset at which a chunk ends in a segment of `len` bytes.
    pub(crate) fn end(self, chunk: usize, len: usize) -> usize {
        match self {
            Division::Whole => len,
            Division::Chunks => (FIRST << chunk).min(len),
        }
    }
}

/// Keys of all chunks of all segments, in memory that peers read.
#[repr(C, align(4096))]
pub(crate) struct KeyTable([[AtomicU64; CHUNKS]; SEGMENTS]);

#[derive(Default)]
struct LocalSegment {
    base: usize,
    len: usize,
    regions: Vec<Region>,
}

/// Where a segment is, for threads that execute requests of peers.
#[derive(Default)]
struct Extent {
    base: AtomicUsize,
    len: AtomicUsize,
}

pub(crate) struct Segments {
    pub division: Division,
    /// Dropped before the table, which is deregistered before it is freed.
    table_region: Option<Region>,
    table: Box<KeyTable>,
    segments: Mutex<[LocalSegment; SEGMENTS]>,
    extents: [Extent; SEGMENTS],
}

/// What peers need to reach a segment.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct SegmentKeys {
    /// Address of the first byte in its process.
    pub base: u64,
    /// Length in bytes.
    pub len: u64,
    /// Keys of the chunks registered so far.
    pub keys: Vec<u64>,
}

impl Segments {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Segments, Error> {
        let division = if endpoint.pins { Division::Chunks } else { Division::Whole };
        let unknown = || [const { AtomicU64::new(libfabric::KEY_NOTAVAIL) }; CHUNKS];
        let table = Box::new(KeyTable(std::array::from_fn(|_| unknown())));
        let mut this =
            Segments { division, table_region: None, table, segments: Mutex::default(), extents: Default::default() };
        if division == Division::Chunks {
            let base = (&raw const *this.table).cast();
            // SAFETY: the table lives until its region is gone.
            let region = unsafe { Region::for_peers(endpoint, base, size_of::<KeyTable>(), false, &|_| false)? };
            this.table_region = Some(region);
        }
        Ok(this)
    }

    /// Address and key of the table of keys, for peers. None where there are no chunks.
    pub(crate) fn table(&self, endpoint: &Endpoint) -> Option<RmaAddress> {
        let region = self.table_region.as_ref()?;
        Some(RmaAddress { address: endpoint.address_of((&raw const *self.table).cast()), key: region.key() })
    }

    /// Bytes from the start of the table to a key.
    pub(crate) fn entry(segment: usize, chunk: usize) -> usize {
        (segment * CHUNKS + chunk) * size_of::<u64>()
    }

    /// Makes the `len` bytes at `base` segment `index`, of which the first `ready` are in use.
    ///
    /// # Safety
    /// The memory stays mapped as long as this.
    pub(crate) unsafe fn share(
        &self,
        endpoint: &Endpoint,
        index: usize,
        base: *mut u8,
        len: usize,
        ready: usize,
        make_room: MakeRoom,
    ) -> Result<(), Error> {
        {
            let mut segments = lock(&self.segments);
            let Some(segment) = segments.get_mut(index) else {
                return Err(Error::NoSuchSegment { segment: index, last: SEGMENTS - 1 });
            };
            segment.regions.clear();
            segment.base = base.expose_provenance();
            segment.len = len;
            let extent = &self.extents[index];
            extent.base.store(segment.base, Relaxed);
            extent.len.store(len, Release);
        }
        self.extend(endpoint, index, ready, make_room)
    }

    /// Registers a segment up to `ready` bytes at least.
    pub(crate) fn extend(
        &self,
        endpoint: &Endpoint,
        index: usize,
        ready: usize,
        make_room: MakeRoom,
    ) -> Result<(), Error> {
        let mut segments = lock(&self.segments);
        let segment = &mut segments[index];
        let ready = ready.min(segment.len);
        // The first chunk is registered anyway: its key is in the address blob.
        while segment.len > 0 {
            let chunk = segment.regions.len();
            let start = if chunk == 0 || self.division == Division::Chunks {
                Division::start(chunk)
            } else {
                break;
            };
            if chunk > 0 && start >= ready {
                break;
            }
            let end = self.division.end(chunk, segment.len);
            if start >= end {
                break;
            }
            let base = std::ptr::with_exposed_provenance(segment.base + start);
            // SAFETY: part of the memory that `share` was given, which stays mapped.
            let region = unsafe { Region::for_peers(endpoint, base, end - start, true, make_room)? };
            self.table.0[index][chunk].store(region.key(), Release);
            segment.regions.push(region);
        }
        Ok(())
    }

    /// What local operations name this memory by, if all of it lies in one registered chunk.
    pub(crate) fn desc(&self, base: *const u8, len: usize) -> Option<*mut c_void> {
        let address = base.addr();
        let segments = lock(&self.segments);
        let segment = segments.iter().find(|s| address >= s.base && address - s.base < s.len)?;
        let offset = address - segment.base;
        let chunk = self.division.chunk(offset);
        if len > self.division.end(chunk, segment.len) - offset {
            return None;
        }
        Some(segment.regions.get(chunk)?.desc())
    }

    /// The address of `len` bytes that peers may reach.
    #[inline]
    pub(crate) fn address(&self, index: usize, offset: usize, len: usize) -> Option<*mut u8> {
        let extent = self.extents.get(index)?;
        let end = offset.checked_add(len)?;
        let is_within = end <= extent.len.load(Acquire);
        let base = extent.base.load(Relaxed);
        is_within.then(|| std::ptr::with_exposed_provenance_mut(base + offset))
    }

    /// What peers need to reach the segments.
    pub(crate) fn describe(&self) -> Vec<SegmentKeys> {
        lock(&self.segments)
            .iter()
            .map(|s| SegmentKeys {
                base: s.base as u64,
                len: s.len as u64,
                keys: s.regions.iter().map(Region::key).collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_tile_a_segment() {
        let len = (1usize << 40) + 12345;
        let mut start = 0;
        let mut chunk = 0;
        while start < len {
            let end = Division::Chunks.end(chunk, len);
            assert_eq!(Division::start(chunk), start);
            assert_eq!(Division::Chunks.chunk(start), chunk);
            assert_eq!(Division::Chunks.chunk(end - 1), chunk);
            start = end;
            chunk += 1;
        }
        assert!(chunk < CHUNKS);
        assert_eq!(Division::Whole.chunk(len - 1), 0);
        assert_eq!(Division::Whole.end(0, len), len);
    }
}
