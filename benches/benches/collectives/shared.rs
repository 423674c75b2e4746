//! Collectives on cores that are not the job's alone: beside compute-bound processes, and in a control group that
//! limits the processor time.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::surroundings::Quota;
use ferroshmem_benches::table;
use ferroshmem_benches::{Job, LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: usize = 2;
/// How many times as fast as the fastest peer this library is to be.
const BAR: f64 = 1.0;
/// Bytes of an array, and microseconds of work before a call.
const SIZE: usize = 100;

/// What a job shares the machine with.
#[derive(Debug, Clone, Copy)]
enum Surroundings {
    /// So many compute-bound processes.
    Load(usize),
    /// A control group with the time of so many cores.
    Quota(f64),
}

/// Names of rows, what is around, and the operations as `c/collectives/measure.c` names them.
const ROWS: [(&str, Surroundings); 3] =
    [("load/1", Surroundings::Load(1)), ("load/2", Surroundings::Load(2)), ("quota/1", Surroundings::Quota(1.0))];
const OPERATIONS: [(&str, &str); 3] =
    [("barrier", "barrier"), ("uneven-barrier", "uneven/uniform/barrier"), ("uneven-sum", "uneven/uniform/sum")];

/// Measures each row beside all peers.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let item = |row: &str, name: &str| format!("shared/{row}/{name}");
    for (row, around) in ROWS {
        let wanted = options.wanted(&OPERATIONS, |(name, _)| item(row, name));
        if wanted.is_empty() {
            continue;
        }
        match around {
            Surroundings::Load(processes) => {
                println!("\ncollectives of {PES} PEs beside {processes} compute-bound processes: us");
            }
            Surroundings::Quota(cores) => {
                println!("\ncollectives of {PES} PEs in a control group with the time of {cores} cores: us");
            }
        }
        println!("uneven: work of {SIZE} us on average, time from the last arrival; ratio: fastest peer / ours");
        let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
        variants.extend(testbed.peers(PES, &[]));
        let start = || testbed.start(&variants, PES, SIZE);
        // Outlives the jobs in it.
        let quota;
        let (mut jobs, processes): (Vec<Result<Job>>, usize) = match around {
            Surroundings::Load(processes) => (start(), processes),
            Surroundings::Quota(cores) => match Quota::new(cores) {
                Ok(made) => {
                    quota = made;
                    (quota.around(start)?, 0)
                }
                Err(error) => {
                    println!("{row}: not measured: {error:#}");
                    continue;
                }
            },
        };
        let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
        let live = LiveTable::new("", &labels, " ratio       10%..90%      bar  to");
        for (name, operation) in wanted {
            let entries: Vec<_> = (0..variants.len()).map(|job| Entry { job, operation }).collect();
            let mut comparison = Comparison::new(jobs, &entries).beside(processes);
            let item = item(row, name);
            let outcome = measure(&mut comparison, &item, SIZE, Testbed::effort(options, PES));
            let rest = table::beside_fastest(&outcome, 1..entries.len(), &labels, BAR);
            live.line(&item, &outcome.medians(), &rest);
            jobs = comparison.into_jobs();
            report_failures(&jobs, &variants)?;
        }
    }
    Ok(())
}
