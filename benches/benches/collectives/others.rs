//! The collectives that are no reductions, beside all peers.

use anyhow::{Result, bail};
use ferroshmem_benches::contest::{Contest, Effort, Lane};
use ferroshmem_benches::{Implementation, Options, Sheet, sheet};

use crate::field::{Entrant, Field};

const PES: [usize; 3] = [2, 4, 16];
const OPERATIONS: [&str; 5] = ["broadcast", "fcollect", "collect", "alltoall", "scan"];
const SIZES: [usize; 4] = [8, 1 << 10, 64 << 10, 1 << 20];

/// Measures all of them on all numbers of PEs. There is no bar.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(field: &Field, options: &Options) -> Result<()> {
    for pes in PES {
        let wanted = |operation| options.wanted(&SIZES, |bytes| item(operation, pes, bytes));
        let all = OPERATIONS.map(|operation| (operation, wanted(operation)));
        if all.iter().any(|(_, sizes)| !sizes.is_empty()) {
            table(field, options, pes, &all)?;
        }
    }
    Ok(())
}

fn item(operation: &str, pes: usize, bytes: usize) -> String {
    format!("others/{operation}/{pes}-PEs/{}", sheet::size(bytes))
}

fn table(
    field: &Field,
    options: &Options,
    pes: usize,
    wanted: &[(&'static str, Vec<usize>)],
) -> Result<()> {
    let mut entrants = vec![Entrant::new("ours", Implementation::FerroShmem)];
    entrants.extend(field.peers(pes, &[]));
    let labels: Vec<_> = entrants.iter().map(|e| e.label.as_str()).collect();
    println!("\nother collectives ({pes}): us per call, fastest peer / ours");
    println!("sizes are those of one PE's block; MPI is told the sizes that collect finds out");
    let sheet = Sheet::new("", &labels, " ratio       10%..90%  to");
    let largest = wanted.iter().flat_map(|(_, sizes)| sizes).max();
    // The arrays have a block for each PE.
    let mut jobs = field.start(&entrants, pes, largest.unwrap_or(&0) * pes);
    for (operation, sizes) in wanted {
        // Version 1.4 of OpenSHMEM has no scan.
        let scans = |job: &usize| entrants[*job].implementation != Implementation::OpenShmem;
        let part: Vec<_> = (0..entrants.len())
            .filter(|job| *operation != "scan" || scans(job))
            .collect();
        let lanes: Vec<_> = part
            .iter()
            .map(|job| Lane {
                job: *job,
                operation,
            })
            .collect();
        let mut contest = Contest::new(jobs, &lanes);
        for bytes in sizes {
            let name = item(operation, pes, *bytes);
            let outcome = contest.run(*bytes, effort(options, pes), |block| {
                sheet::progress(&format!("{name} block {}", block + 1));
            });
            let column = |job| outcome.median(part.iter().position(|p| *p == job)?);
            let columns: Vec<_> = (0..entrants.len()).map(column).collect();
            let rest = outcome.fastest(1..lanes.len()).and_then(|lane| {
                let spread = outcome.ratio(lane, 0)?;
                let label = labels[part[lane]];
                let disturbed = sheet::disturbed(&outcome);
                Some(format!("{}  {label}{disturbed}", sheet::ratio(spread)))
            });
            sheet.line(&name, &columns, &rest.unwrap_or_default());
        }
        jobs = contest.into_jobs();
    }
    for (label, job) in labels.iter().zip(&jobs) {
        match job {
            Err(error) if *label == "ours" => bail!("{error:#}"),
            Err(error) => println!("{label} failed: {error:#}"),
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Nothing is judged: less than elsewhere.
fn effort(options: &Options, pes: usize) -> Effort {
    let effort = options.effort(Field::crowded(pes));
    Effort {
        blocks: effort.blocks * 2 / 3,
        ..effort
    }
}
