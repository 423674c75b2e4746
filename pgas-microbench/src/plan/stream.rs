//! STREAM on arrays of PEs and of threads.

use std::time::Duration;

use super::{Request, Run, Suite};
use crate::implementation::Family;

/// Programs, how their data move, and whether the source arrays are another PE's.
const PROGRAMS: [(&str, &str, bool); 4] = [
    ("stream-openmp", "threads", false),
    ("stream-local", "local", false),
    ("stream-remote-putget", "putget", true),
    ("stream-remote-ptr", "ptr", true),
];

/// MiB of all arrays together in quick mode. Rates of larger arrays differ little: these are
/// already a few times as large as a core's share of a last-level cache.
const QUICK_CAP: u32 = 1536;

pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    let arguments = match request.quick() {
        true => vec![format!("--cap={QUICK_CAP}")],
        false => Vec::new(),
    };
    // One, some, and as many as there are cores.
    let mut numbers = vec![1, 2, request.cores];
    numbers.retain(|n| *n <= request.cores.max(2));
    numbers.dedup();
    if request.quick() {
        numbers.retain(|n| *n == request.cores.max(2));
    }
    for pes in numbers {
        for (program, form, remote) in PROGRAMS {
            let wanted = |family: Family| match form {
                "threads" => family == Family::OpenMp,
                _ => family.is_shmem(),
            };
            for index in request.indices(wanted) {
                if remote && pes == 1 {
                    continue;
                }
                runs.push(Run {
                    suite: Suite::Stream,
                    program: program.to_owned(),
                    implementation: index,
                    pes,
                    threads: 1,
                    arguments: arguments.clone(),
                    variables: Vec::new(),
                    form,
                    algorithm: "",
                    class: None,
                    heap: (10 << 30) / u64::from(pes),
                    limit: Duration::from_secs(if request.quick() { 30 } else { 300 }),
                    expected: if request.quick() { 4.0 } else { 12.0 },
                });
            }
        }
    }
    runs
}
