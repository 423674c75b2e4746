//! What `oshmem_info --threads` prints.

use super::Config;
use super::helpers::{Why, workers_of};

/// Which threads would take part in the large copies of a PE of this configuration, why, and from which sizes on.
/// `past_caches` is in bytes; unset, the program's copies show when, and it is `usually` so many.
pub fn overview(config: &Config, past_caches: Option<usize>, usually: usize) -> String {
    let (workers, why) = workers_of(config);
    let openmp = match config.openmp {
        Some(true) => {
            "those that wait, under LLVM's run-time; as many workers as auto starts, if that has another tool \
                (SHMEM_OPENMP)"
        }
        None if why == Why::CoresIdle => "those that wait, under LLVM's run-time, beside the workers",
        _ => "none (SHMEM_OPENMP)",
    };
    let past = match past_caches {
        Some(_) => "copies go past the caches",
        None => "copies go past the caches until the program's own show from 2 MiB on what is faster",
    };
    let sizes = [
        ("blocking copies are shared", config.shared_from(), "SHMEM_SHARE_THRESHOLD"),
        ("non-blocking copies go on after their calls", config.queued_from(), "SHMEM_OFFLOAD_THRESHOLD"),
        (past, past_caches.unwrap_or(usually), "SHMEM_NON_TEMPORAL_THRESHOLD"),
    ];
    let sizes: String = sizes
        .iter()
        .map(|(what, bytes, variable)| match *bytes {
            usize::MAX => format!("  never: {what} ({variable})\n"),
            bytes => format!("  {bytes:>10} bytes: {what} ({variable})\n"),
        })
        .collect();
    format!(
        "Threads that take part in the large copies of a PE that is alone on this node\n  \
         workers: {workers} ({why})\n  \
         lent by the program: those in shmemx_thread_lend, and pools in World::lend_pool\n  \
         of OpenMP: {openmp}\n\n\
         Sizes from which on\n{sizes}"
    )
}
