//! Latency, bandwidth, atomics, collectives, updates, the stencil, packing, many puts and the halo exchange.

use std::time::Duration;

use super::{Request, Run, Suite};
use crate::implementation::Family;

/// Algorithms of reductions and their forms, as `SHMEM_REDUCE_ALGORITHM` names them.
const ALGORITHMS: [&str; 4] = ["flat", "rd", "bruck", "rsag"];
const FORMS: [&str; 2] = ["putget", "ptr"];

/// In place of an algorithm: the library's workers take part.
pub(crate) const WORKERS: &str = "workers";

/// Pairs of PEs that communicate at once.
const PAIRS: [u32; 4] = [1, 2, 8, 64];

pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    for pairs in PAIRS {
        for program in ["latency", "bandwidth", "atomics", "updates"] {
            let has = |family: Family| family != Family::OpenMp && (program != "updates" || !family.is_mpi());
            for index in request.indices(has) {
                let ours = request.family(index) == Family::FerroShmem;
                if request.quick() && !ours && pairs != 1 && (pairs, program) != (8, "bandwidth") {
                    continue;
                }
                runs.push(point(request, program, index, 2 * pairs));
            }
        }
    }
    runs.extend(by_threads(request, "stencil"));
    runs.extend(packing(request));
    runs.extend(puts(request));
    runs.extend(by_threads(request, "halo"));
    let (pes, of_algorithms): (&[u32], &[u32]) =
        if request.quick() { (&[2, 4, 16], &[4]) } else { (&[2, 4, 16, 64], &[2, 4, 16]) };
    for pes in pes {
        for index in request.indices(|family| family != Family::OpenMp) {
            runs.push(point(request, "collectives", index, *pes));
        }
    }
    for pes in of_algorithms {
        for index in request.indices(|family| family == Family::FerroShmem) {
            for (algorithm, form) in ALGORITHMS.iter().flat_map(|a| FORMS.map(|f| (*a, f))) {
                let mut run = point(request, "collectives", index, *pes);
                run.arguments.push("reduce".to_owned());
                let choice = format!("{algorithm}:{form}");
                run.variables.push(("SHMEM_REDUCE_ALGORITHM".to_owned(), choice));
                (run.algorithm, run.form) = (algorithm, form);
                run.expected /= 8.0;
                runs.push(run);
            }
        }
    }
    runs
}

/// PEs alone, and as many threads as cores on fewer PEs.
fn by_threads(request: &Request<'_>, program: &str) -> Vec<Run> {
    let cores = request.cores.max(2);
    let mut numbers = vec![(1, 1), (2, 1), (cores, 1), (1, cores), (2, cores / 2)];
    numbers.retain(|(_, threads)| *threads > 0);
    numbers.sort_unstable();
    numbers.dedup();
    let mut runs = Vec::new();
    for (pes, threads) in numbers {
        for index in request.indices(|family| family != Family::OpenMp) {
            let mut run = point(request, program, index, pes);
            run.threads = threads;
            let threads = threads.to_string();
            run.variables.push(("OMP_NUM_THREADS".to_owned(), threads));
            runs.push(run);
        }
    }
    runs
}

/// What a PE alone, with the library's workers on the cores that idle, and two PEs take.
fn packing(request: &Request<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    for (pes, has_workers) in [(1, false), (1, true), (2, false)] {
        for index in request.indices(|family| family != Family::OpenMp) {
            if has_workers && request.family(index) != Family::FerroShmem {
                continue;
            }
            let mut run = point(request, "packing", index, pes);
            if has_workers {
                let workers = request.cores.saturating_sub(1).max(1);
                // PEs with several threads are not bound to a core.
                run.threads = 1 + workers;
                run.algorithm = WORKERS;
                run.variables.push(("SHMEM_WORKERS".to_owned(), workers.to_string()));
            }
            runs.push(run);
        }
    }
    runs
}

/// Nine PEs, as in Si et al.
fn puts(request: &Request<'_>) -> Vec<Run> {
    request
        .indices(|family| family != Family::OpenMp)
        .into_iter()
        .map(|index| point(request, "puts", index, 9))
        .collect()
}

fn point(request: &Request<'_>, program: &str, index: usize, pes: u32) -> Run {
    // Milliseconds for each point, samples, and the factor from one size to the next.
    let (time, samples, factor) = match request.quick() {
        true => (8, 9, 8),
        false => (50, 21, 2),
    };
    let steps = 23.0 / f64::from(factor).log2();
    let operations = match program {
        "latency" => 12.0,
        "bandwidth" => 10.0,
        "atomics" => 14.0 / steps,
        "updates" => 8.0 / steps,
        "stencil" | "puts" => 2.0 / steps,
        // A point takes some runs of milliseconds, whatever the time for it.
        "packing" | "halo" => 8.0,
        _ => 9.0,
    };
    let expected = 0.3 + operations * steps * f64::from(time) * 2e-3;
    let crowd = f64::from(pes.div_ceil(request.cores)).sqrt();
    let mpi = request.family(index).is_mpi();
    let mut arguments = vec![format!("-t{time}"), format!("-s{samples}"), format!("-f{factor}")];
    if request.quick() && pes > 4 * request.cores {
        // 8 MiB from each of many PEs take longer than all other sizes together.
        arguments.push("-M1048576".to_owned());
    }
    Run {
        suite: Suite::Microbench,
        program: format!("{}{program}", if mpi { "mpi-" } else { "" }),
        implementation: index,
        pes,
        threads: 1,
        arguments,
        variables: Vec::new(),
        form: "",
        algorithm: "",
        class: None,
        heap: if program == "collectives" { 640 << 20 } else { 128 << 20 },
        limit: Duration::from_secs(match (request.quick(), pes <= request.cores) {
            (true, true) => 20,
            // Libraries that never yield their cores would use up the time of the mode.
            (true, false) => 6,
            (false, _) => 600,
        }),
        expected: expected * crowd,
    }
}
