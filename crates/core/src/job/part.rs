//! Where the parts of a job's file are mapped that are not windows of heaps and globals.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use ferroshmem_platform::mapping::{self, Advice};

/// Where the first part of the job's file goes: between the windows of heaps and globals. Where the kernel places
/// mappings, an address of the stack plus a multiple of the stride could be in it: with 1,024 PEs it takes 257 GiB of
/// the 1 TiB there, and a stray put would change it without a fault. Those of the jobs that are connected follow.
pub(super) const CONTROL_AT: usize = 50 << 40;
/// Where the areas of streams go, for the same reason.
pub(super) const STREAMS_AT: usize = 55 << 40;
/// Where the mailboxes go, for the same reason.
pub(super) const MAILBOXES_AT: usize = 60 << 40;

/// Maps `len` bytes of the job's file, from `offset`, at a part's place. Core files leave them out.
pub(super) fn map(file: &File, offset: u64, len: usize, place: usize) -> io::Result<NonNull<u8>> {
    let base = mapping::map_shared_near(file.as_fd(), offset, len, place)?;
    mapping::advise(base as usize, len, Advice::LinuxDontDump);
    Ok(NonNull::new(base).expect("mmap does not return null"))
}
