//! Memory of a PE of another node: the operations on it are the fabric's.

use ferroshmem_fabric::{AtomicOp, Blocks, Context, Fabric, Remote};

/// Memory of a PE of another node, and by what it is reached. Methods are out of line, once for all routines.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) context: &'a Context,
    pub(super) at: Remote,
}

impl Target<'_> {
    /// Copies from `source`, which may be changed on return.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes.
    #[inline(never)]
    pub(super) unsafe fn put(&self, source: *const u8, bytes: usize) {
        // SAFETY: the caller promises that `source` is readable for `bytes` bytes.
        unsafe { self.fabric.put(self.context, self.at, source, bytes) };
    }

    /// Copies from `source`, which stays as it is until a quiet.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes until then.
    #[inline(never)]
    pub(super) unsafe fn put_nbi(&self, source: *const u8, bytes: usize) {
        // SAFETY: the caller promises that `source` is readable for `bytes` bytes until a quiet.
        unsafe { self.fabric.put_nbi(self.context, self.at, source, bytes) };
    }

    /// As [`put`](Self::put), or if `is_nbi` as [`put_nbi`](Self::put_nbi), of bytes that a signal follows.
    ///
    /// # Safety
    /// As for these.
    pub(super) unsafe fn put_signalled(&self, source: *const u8, bytes: usize, is_nbi: bool) {
        // SAFETY: the caller promises that `source` is readable, and if `is_nbi` unchanged until a quiet.
        unsafe { self.fabric.put_signalled(self.context, self.at, source, bytes, is_nbi) };
    }

    /// Copies to `dest`, complete on return.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes.
    #[inline(never)]
    pub(super) unsafe fn get(&self, dest: *mut u8, bytes: usize) {
        // SAFETY: the caller promises that `dest` is writable for `bytes` bytes.
        unsafe { self.fabric.get(self.context, dest, self.at, bytes) };
    }

    /// Copies to `dest`, complete after a quiet.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes until then.
    #[inline(never)]
    pub(super) unsafe fn get_nbi(&self, dest: *mut u8, bytes: usize) {
        // SAFETY: the caller promises that `dest` is writable for `bytes` bytes until a quiet.
        unsafe { self.fabric.get_nbi(self.context, dest, self.at, bytes) };
    }

    /// Copies blocks from `source`.
    ///
    /// # Safety
    /// All blocks are readable at `source`.
    pub(super) unsafe fn put_blocks(&self, source: *const u8, blocks: Blocks) {
        // SAFETY: the caller promises that all blocks of `source` are readable.
        unsafe { self.fabric.put_blocks(self.context, self.at, source, blocks) };
    }

    /// Copies blocks to `dest`.
    ///
    /// # Safety
    /// All blocks are writable at `dest`.
    pub(super) unsafe fn get_blocks(&self, dest: *mut u8, blocks: Blocks) {
        // SAFETY: the caller promises that all blocks of `dest` are writable.
        unsafe { self.fabric.get_blocks(self.context, dest, self.at, blocks) };
    }

    /// Updates a word.
    #[inline(never)]
    pub(super) fn post(&self, operation: AtomicOp) {
        self.fabric.post(self.context, self.at, operation);
    }

    /// Updates a word after all that was put to that PE before.
    pub(super) fn post_in_order(&self, operation: AtomicOp) {
        self.fabric.fence(self.context);
        self.post(operation);
    }

    /// Updates a word; what it was.
    #[cold]
    #[inline(never)]
    pub(super) fn fetch(&self, operation: AtomicOp) -> u64 {
        self.fabric.fetch(self.context, self.at, operation)
    }

    /// Updates a word; what it was is at `result` after a quiet.
    ///
    /// # Safety
    /// `result` is writable until then.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn fetch_nbi(&self, operation: AtomicOp, result: *mut u8) {
        // SAFETY: the caller promises that `result` stays writable until a quiet of the context.
        unsafe { self.fabric.fetch_nbi(self.context, self.at, operation, result) };
    }
}
