//! Threads of the program that help the library (extension).

use std::ffi::c_int;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

use ferroshmem_core::offload;
use ferroshmem_runtime as runtime;

unsafe extern "C" {
    safe fn pthread_setcancelstate(state: c_int, old: Option<&mut c_int>) -> c_int;
}

/// Lends the calling thread until `*until` is not 0, for `milliseconds` at most, without limit if that is negative; how
/// many chunks of copies it has made. A thread that is cancelled meanwhile ends at its next cancellation point.
///
/// # Safety
/// `until` is null or valid.
pub unsafe fn lend(name: &'static str, until: *const c_int, milliseconds: c_int) -> c_int {
    const DISABLE: c_int = 1;

    runtime::get(name);
    let mut old = 0;
    // A chunk that its thread has taken must be finished, also of one that may be cancelled at any point.
    let is_disabled = pthread_setcancelstate(DISABLE, Some(&mut old)) == 0;
    // SAFETY: the caller promises that it is null or valid.
    let until = unsafe { until.cast::<AtomicI32>().as_ref() };
    let time = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    let chunks = offload::lend(until, time);
    if is_disabled {
        pthread_setcancelstate(old, None);
    }
    c_int::try_from(chunks).unwrap_or(c_int::MAX)
}
