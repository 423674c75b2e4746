//! Why the memory of the node's PEs cannot be mapped.

use std::io;

use ferroshmem_platform::threads::StopError;

/// Why the windows could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The range for a window is taken: another layout may do.
    #[error("no room in the address space for the symmetric memory")]
    Taken,
    /// The globals do not fit beside the heap.
    #[error("{len} bytes of global variables do not fit in the {room} bytes that each PE has room for")]
    GlobalsTooLarge {
        /// Bytes of globals.
        len: u64,
        /// Bytes of room.
        room: u64,
    },
    /// Other threads could write globals while these are moved.
    #[error("{0}")]
    Threads(StopError),
    /// Anything else.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
}
