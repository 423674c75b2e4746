//! Local memory that comes and goes: where it must be registered, what was registered for
//! memory that is gone must not be used for what comes to its addresses.

use std::ptr;
use std::slice;

use ferroshmem_fabric::Context;

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("buffers_mapped_and_unmapped", 2, remapped).pinned(),
        Case::new("buffers_of_several_threads", 2, shared).pinned(),
    ]
}

/// A buffer of its own pages, often where one was before.
struct Buffer(*mut u8, usize);

impl Buffer {
    fn new(len: usize) -> Buffer {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Buffer(start.cast(), len)
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped, and borrowed as a whole.
        unsafe { slice::from_raw_parts_mut(self.0, self.1) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.0.cast(), self.1) };
    }
}

/// Puts what was not put before and gets it back into other new memory.
fn there_and_back(job: &Job, context: &Context, offset: usize, len: usize, mark: u64) {
    let at = job.at(job.next(), offset);
    let mut from = Buffer::new(len);
    for word in from.bytes().chunks_exact_mut(8) {
        word.copy_from_slice(&mark.to_ne_bytes());
    }
    // SAFETY: the buffers live until quiet.
    unsafe {
        job.fabric.put_nbi(context, at, from.0, len);
        job.fabric.quiet(context);
        drop(from);
        let mut to = Buffer::new(len);
        job.fabric.get_nbi(context, to.0, at, len);
        job.fabric.quiet(context);
        for word in to.bytes().chunks_exact(8) {
            assert_eq!(word, mark.to_ne_bytes(), "{len} bytes, round {mark}");
        }
    }
}

fn remapped(job: &Job) {
    for mark in 0..60 {
        let len = [32 << 10, 64 << 10, 256 << 10][mark as usize % 3];
        there_and_back(job, &job.context, 0, len, mark);
    }
}

fn shared(job: &Job) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let context = Context::default();
                for round in 0..40 {
                    there_and_back(job, &context, thread << 20, 64 << 10, (thread as u64) << 32 | round);
                }
            });
        }
    });
}
