//! Kernels: functions of a program that PEs of another job call by name.
//!
//! Only the PEs of group 0, which have started the others, call. Calls are collective over them and counted by each
//! of them; the first member alone sends them, as messages, to all members of group 1. A PE of those is in
//! [`server::serve`], and runs the kernels of message after message, so calls need no synchronisation of the
//! callers. The last PE that has run all kernels of a message says so to the callers.
//!
//! ```text
//! member 0's block   CallLines        where the first message is; messages sent; messages finished
//! behind the job     TABLE × members  the kernels that each member has (`registry`)
//! file's end         chunks           messages, each with the place of the next one
//! ```
//!
//! A message is in a chunk of the connection's file, whose size is a power of two and which begins at a multiple of
//! its size: so the place of a message says which chunk it is in. The caller makes the file longer when it needs a
//! chunk, and takes chunks again whose messages are finished. A PE reads the place of message m + 1 in message m,
//! after it has run its kernels: so a chunk is free once a message behind its last one is finished.
//!
//! Between nodes, messages are copied to each member ([`remote`]).

pub mod caller;
mod message;
mod registry;
pub(crate) mod remote;
pub mod served;
pub mod server;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use ferroshmem_platform::mapping::{self, MapAddress};

pub use registry::{Kernel, Parameter, Run, register};
pub use registry::{PublishError, TABLE, described, kinds, publish, write};
pub(super) use served::ServedCalls;

/// Bytes of the smallest chunk, as a power of two.
const MIN_CHUNK: u32 = 14;

/// Where a message is in the connection's file: a multiple of 64, plus the binary logarithm of the size of its
/// chunk. 0: nowhere, after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessagePlace(u64);

impl MessagePlace {
    const END: Self = Self(0);

    fn new(chunk: u64, log2_size: u32, offset: usize) -> Self {
        Self((chunk + offset as u64) | u64::from(log2_size))
    }

    fn log2_size(self) -> u32 {
        (self.0 & 63) as u32
    }

    /// Where its chunk begins.
    fn chunk(self) -> u64 {
        self.0 >> self.log2_size() << self.log2_size()
    }

    /// Where it is in its chunk.
    fn offset(self) -> usize {
        ((self.0 - self.chunk()) & !63) as usize
    }
}

/// A chunk, mapped.
#[derive(Debug)]
struct Chunk {
    start: u64,
    log2_size: u32,
    base: NonNull<u8>,
}

// SAFETY: a place in shared memory, which any thread may read and write in the order of messages.
unsafe impl Send for Chunk {}

impl Chunk {
    fn map(file: &File, start: u64, log2_size: u32) -> io::Result<Self> {
        // SAFETY: placed where there is room.
        let base = unsafe { mapping::map_shared(file.as_fd(), start, 1 << log2_size, MapAddress::Anywhere)? };
        let base = NonNull::new(base).expect("mmap does not return null");
        Ok(Self { start, log2_size, base })
    }

    fn size(&self) -> usize {
        1 << self.log2_size
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.base.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`; who has it refers to what is in it no more.
        unsafe { mapping::unmap(self.base.addr().get(), self.size()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_say_their_chunk() {
        for log2_size in [MIN_CHUNK, 20, 33] {
            for start in [0, 1, 5] {
                let start = start << log2_size;
                for offset in [0, 64, (1 << log2_size) - 64] {
                    let place = MessagePlace::new(start, log2_size, offset);
                    let read = (place.chunk(), place.log2_size(), place.offset());
                    assert_eq!(read, (start, log2_size, offset));
                }
            }
        }
    }
}
