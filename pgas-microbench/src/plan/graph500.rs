//! Graph500's breadth-first search.

use std::time::Duration;

use super::{Request, Run, Suite};
use crate::implementation::Family;

/// Programs, and whether their PEs have threads.
const PROGRAMS: [(&str, &str, bool); 2] = [("graph500", "call", false), ("graph500-threads", "threads", true)];

pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    let (scales, searches): (&[u32], _) = match request.quick() {
        true => (&[16], 16),
        false => (&[14, 16, 18, 20], 64),
    };
    let mut numbers = vec![1, request.cores.max(2)];
    if !request.quick() {
        numbers.push(4 * request.cores);
    }
    numbers.dedup();
    let mut runs = Vec::new();
    for scale in scales {
        for pes in &numbers {
            for (program, form, has_threads) in PROGRAMS {
                // A PE with all cores, in place of a PE on each.
                if has_threads && *pes != 1 {
                    continue;
                }
                for index in request.indices(Family::is_shmem) {
                    let expected = 0.3 + f64::from(1_u32 << scale) * 16.0 * 4e-8 * f64::from(searches);
                    runs.push(Run {
                        suite: Suite::Graph500,
                        program: program.to_owned(),
                        implementation: index,
                        pes: *pes,
                        threads: if has_threads { request.cores } else { 1 },
                        arguments: arguments(*scale, searches),
                        variables: vec![("OMP_NUM_THREADS".to_owned(), request.cores.to_string())],
                        form,
                        algorithm: "",
                        class: None,
                        // Vertices and twice the average of neighbours, with the margin of the program.
                        heap: (600 << scale) / u64::from(*pes) + (64 << 20),
                        limit: Duration::from_secs_f64(20.0 + 30.0 * expected),
                        expected,
                    });
                }
            }
        }
    }
    runs
}

/// A few of the searches are validated: that takes longer than they do.
fn arguments(scale: u32, searches: u32) -> Vec<String> {
    ["-s", &scale.to_string(), "--searches", &searches.to_string(), "--validate", "4"].map(str::to_owned).to_vec()
}
