//! What `oshmem_info --threads` prints.

use super::Config;
use super::helpers::workers_of;

/// Which threads would take part in the large copies of a PE of this configuration, why, and from which sizes on.
/// `past_caches` is in bytes.
pub fn overview(config: &Config, past_caches: usize) -> String {
    let (workers, why) = workers_of(config);
    let openmp = match config.openmp {
        true => {
            "those that wait, under LLVM's run-time; as many workers as auto starts, if that has another tool \
                (SHMEM_OPENMP)"
        }
        false => "none (SHMEM_OPENMP is not set)",
    };
    let sizes = [
        ("blocking copies are shared", config.shared_from(), "SHMEM_SHARE_THRESHOLD"),
        ("non-blocking copies go on after their calls", config.queued_from(), "SHMEM_OFFLOAD_THRESHOLD"),
        ("copies go past the caches", past_caches, "SHMEM_NON_TEMPORAL_THRESHOLD"),
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
