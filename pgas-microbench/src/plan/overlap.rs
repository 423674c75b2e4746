//! What transfers add to computing, by a PE alone, with the library's workers on the cores that idle and without.

use std::time::Duration;

use super::{Request, Run, Suite, WORKERS};
use crate::implementation::Family;

pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    let most: u64 = if request.quick() { 4 << 20 } else { 16 << 20 };
    let mut runs = Vec::new();
    for index in request.indices(|family| family != Family::OpenMp) {
        let family = request.family(index);
        let (program, form) = match family.is_mpi() {
            true => ("mpi-overlap", "rma"),
            false => ("overlap", "call"),
        };
        for has_workers in [false, true] {
            if has_workers && family != Family::FerroShmem {
                continue;
            }
            let workers = match has_workers {
                true => request.cores.saturating_sub(1).max(1),
                false => 0,
            };
            runs.push(Run {
                suite: Suite::Overlap,
                program: program.to_owned(),
                implementation: index,
                pes: 1,
                // PEs with several threads are not bound to a core.
                threads: request.cores.max(2),
                arguments: vec![most.to_string()],
                variables: vec![("SHMEM_WORKERS".to_owned(), workers.to_string())],
                form,
                algorithm: if has_workers { WORKERS } else { "" },
                class: None,
                heap: 128 << 20,
                limit: Duration::from_secs(60),
                expected: 3.0,
            });
        }
    }
    runs
}
