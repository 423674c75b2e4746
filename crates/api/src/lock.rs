//! Lock routines.

use std::ffi::{c_int, c_long};

use ferroshmem_runtime as runtime;

/// Takes the lock, waiting for it.
///
/// # Safety
/// For this and the functions below: `lock` is the symmetric address of a long that was
/// zero before its first use as a lock.
pub unsafe fn set(name: &'static str, lock: *mut c_long) {
    let rt = runtime::get(name);
    rt.locks.set(&rt.node.transport, name, lock);
}

/// Gives the lock back.
///
/// # Safety
/// As [`set`].
pub unsafe fn clear(name: &'static str, lock: *mut c_long) {
    let rt = runtime::get(name);
    rt.locks.clear(&rt.node.transport, name, lock);
}

/// Takes the lock if it is free: 0 if it did, 1 if the lock is held.
///
/// # Safety
/// As [`set`].
pub unsafe fn test(name: &'static str, lock: *mut c_long) -> c_int {
    let rt = runtime::get(name);
    let took = rt.locks.test(&rt.node.transport, name, lock);
    if !took && ferroshmem_core::wait::POLICY.oversubscribed() {
        // Programs call this in loops, which must not keep the core from the holder.
        std::thread::yield_now();
    }
    (!took).into()
}
