//! This library's algorithms for reductions, each in both forms.

use std::process::Command;

use anyhow::{Context, Result};
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options, Outcome};
use pgas_microbench::Spread;
use pgas_microbench::implementation::Family;

use crate::reduction::sizes;
use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: [usize; 3] = [2, 4, 16];
const VARIABLE: &str = "SHMEM_REDUCE_ALGORITHM";
/// Values of the variable; the first is the library's own choice.
const CHOICES: [&str; 11] = [
    "auto", "eager", "slices", "flat:ptr", "flat:putget", "rd:ptr", "rd:putget", "bruck:ptr", "bruck:putget",
    "rsag:ptr", "rsag:putget",
];
/// Below this many bytes the library's choice must not be slower than recursive doubling.
const SMALL: usize = 4 << 10;
/// From this many bytes on it must not be slower than Rabenseifner's algorithm.
const LARGE: usize = 64 << 10;

/// Equally fast algorithms differ by this ratio between runs, because their memory lies elsewhere.
const MARGIN: f64 = 1.05;

/// A claim, and the points that it was checked at.
#[derive(Debug)]
struct Claim {
    text: &'static str,
    held: usize,
    /// The points at which it did not hold.
    missed: Vec<String>,
}

impl Claim {
    fn new(text: &'static str) -> Self {
        Self { text, held: 0, missed: Vec::new() }
    }

    /// The claim holds at a point if the 10th percentile of the ratio is at most [`MARGIN`].
    fn judge(&mut self, ratio: Option<Spread>, whose: &str) {
        match ratio {
            Some(spread) if spread.low <= MARGIN => self.held += 1,
            Some(spread) => {
                let Spread { low, median, .. } = spread;
                self.missed.push(format!("{whose}: {median:.2}, from {low:.2}"));
            }
            None => {}
        }
    }

    fn print(&self) {
        let all = self.held + self.missed.len();
        if all > 0 {
            println!("  {}: {} of {all}  {}", self.text, self.held, verdict(self.missed.is_empty()));
            self.missed.iter().for_each(|missed| println!("    {missed}"));
        }
    }
}

/// Measures all algorithms on all numbers of PEs, and checks the claims.
///
/// # Errors
/// If the library does not run at all.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let mut claims = [
        Claim::new("the direct form is no slower than put/get"),
        Claim::new("the library's choice is no slower than the best algorithm"),
        Claim::new("below 4 KiB it is no slower than recursive doubling"),
        Claim::new("from 64 KiB up it is no slower than Rabenseifner's algorithm"),
    ];
    for pes in PES {
        let wanted = options.wanted(&sizes(options.full), |bytes| item(pes, bytes));
        if wanted.is_empty() {
            continue;
        }
        if !has_variable(testbed)? {
            println!("\nalgorithms: this build of the library does not know {VARIABLE}");
            return Ok(());
        }
        table(testbed, options, pes, &wanted, &mut claims)?;
    }
    if claims.iter().any(|claim| claim.held + claim.missed.len() > 0) {
        println!("\nalgorithms (no slower: the 10%..90% range of the ratio reaches {MARGIN})");
        claims.iter().for_each(Claim::print);
    }
    Ok(())
}

/// Whether the installed library has the variable that chooses the algorithm.
fn has_variable(testbed: &Testbed) -> Result<bool> {
    let info = testbed.prefix.bin("oshmem_info");
    let output = Command::new(&info).output().with_context(|| info.display().to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).contains(VARIABLE))
}

fn item(pes: usize, bytes: usize) -> String {
    format!("forms/{pes}-PEs/{}", table::size(bytes))
}

fn table(testbed: &Testbed, options: &Options, pes: usize, sizes: &[usize], claims: &mut [Claim; 4]) -> Result<()> {
    let variants = CHOICES.map(|choice| Variant {
        variable: Some((VARIABLE, choice.to_owned())),
        ..Variant::new(choice, Family::FerroShmem)
    });
    let operation = "sum";
    let entries: Vec<_> = (0..CHOICES.len()).map(|job| Entry { job, operation }).collect();
    println!("\ndouble sum by each algorithm ({pes}): us per call");
    let table = LiveTable::new("", &CHOICES, "best");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let mut comparison = Comparison::new(testbed.start(&variants, pes, largest), &entries);
    for bytes in sizes {
        let name = item(pes, *bytes);
        let outcome = measure(&mut comparison, &name, *bytes, Testbed::effort(options, pes));
        let best = outcome.fastest(1..CHOICES.len());
        let best = best.map_or("", |entry| CHOICES[entry]);
        let rest = format!("{best}{}", table::disturbed(&outcome));
        table.line(&name, &outcome.medians(), &rest);
        judge(&outcome, &name, *bytes, claims);
    }
    report_failures(&comparison.into_jobs(), &variants)
}

fn judge(outcome: &Outcome, item: &str, bytes: usize, claims: &mut [Claim; 4]) {
    let entry = |choice: &str| CHOICES.iter().position(|c| *c == choice);
    let [forms, best, small, large] = claims;
    for (direct, choice) in CHOICES.iter().enumerate() {
        let name = choice.strip_suffix(":ptr");
        if let Some(put_get) = name.and_then(|name| entry(&format!("{name}:putget"))) {
            forms.judge(outcome.ratio(direct, put_get), &format!("{item} {choice}"));
        }
    }
    if let Some(other) = outcome.fastest(1..CHOICES.len()) {
        best.judge(outcome.ratio(0, other), &format!("{item} to {}", CHOICES[other]));
    }
    if bytes < SMALL {
        small.judge(entry("rd:ptr").and_then(|rd| outcome.ratio(0, rd)), item);
    }
    if bytes >= LARGE {
        large.judge(entry("rsag:ptr").and_then(|rsag| outcome.ratio(0, rsag)), item);
    }
}
