//! This library's own algorithms for reductions, each in its forms.

use std::process::Command;

use anyhow::{Context, Result, bail};
use ferroshmem_benches::contest::{Contest, Lane};
use ferroshmem_benches::sheet::{self, verdict};
use ferroshmem_benches::{Implementation, Options, Outcome, Sheet, Spread};

use crate::field::{Entrant, Field};
use crate::reduction::sizes;

const PES: [usize; 3] = [2, 4, 16];
const VARIABLE: &str = "SHMEM_REDUCE_ALGORITHM";
/// Values of the variable; the first is the library's own choice.
const CHOICES: [&str; 11] = [
    "auto",
    "eager",
    "slices",
    "flat:ptr",
    "flat:putget",
    "rd:ptr",
    "rd:putget",
    "bruck:ptr",
    "bruck:putget",
    "rsag:ptr",
    "rsag:putget",
];
/// Up to here the library's choice is to be no slower than recursive doubling.
const SMALL: usize = 4 << 10;
/// From here on it is to be no slower than Rabenseifner's algorithm.
const LARGE: usize = 64 << 10;

/// Two that are equally fast differ by so much from run to run, because of where their memory lies.
const MARGIN: f64 = 1.05;

/// What the tables say of one claim.
#[derive(Debug)]
struct Claim {
    text: &'static str,
    held: usize,
    /// Where it did not hold.
    missed: Vec<String>,
}

impl Claim {
    fn new(text: &'static str) -> Self {
        Self {
            text,
            held: 0,
            missed: Vec::new(),
        }
    }

    /// A ratio is held to be at most 1 if its range of 10% to 90% reaches 1, but for the margin.
    fn judge(&mut self, ratio: Option<Spread>, whose: &str) {
        match ratio {
            Some(spread) if spread.low <= MARGIN => self.held += 1,
            Some(spread) => {
                let Spread { low, median, .. } = spread;
                self.missed
                    .push(format!("{whose}: {median:.2}, from {low:.2}"));
            }
            None => {}
        }
    }

    fn print(&self) {
        let all = self.held + self.missed.len();
        if all > 0 {
            println!(
                "  {}: {} of {all}  {}",
                self.text,
                self.held,
                verdict(self.missed.is_empty())
            );
            self.missed
                .iter()
                .for_each(|missed| println!("    {missed}"));
        }
    }
}

/// Measures all algorithms on all numbers of PEs, and judges the forms and the choice.
///
/// # Errors
/// If the library does not run at all.
pub(crate) fn run(field: &Field, options: &Options) -> Result<()> {
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
        if !chooses(field)? {
            println!("\nalgorithms: this build of the library does not know {VARIABLE}");
            return Ok(());
        }
        table(field, options, pes, &wanted, &mut claims)?;
    }
    if claims
        .iter()
        .any(|claim| claim.held + claim.missed.len() > 0)
    {
        println!("\nalgorithms (no slower: the 10%..90% range of the ratio reaches {MARGIN})");
        claims.iter().for_each(Claim::print);
    }
    Ok(())
}

/// Whether the installed library can be told which algorithm to use.
fn chooses(field: &Field) -> Result<bool> {
    let info = field.prefix.bin("oshmem_info");
    let output = Command::new(&info)
        .output()
        .with_context(|| info.display().to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).contains(VARIABLE))
}

fn item(pes: usize, bytes: usize) -> String {
    format!("forms/{pes}-PEs/{}", sheet::size(bytes))
}

fn table(
    field: &Field,
    options: &Options,
    pes: usize,
    sizes: &[usize],
    claims: &mut [Claim; 4],
) -> Result<()> {
    let entrant = |choice: &str| Entrant {
        variable: Some((VARIABLE, choice.to_owned())),
        ..Entrant::new(choice, Implementation::FerroShmem)
    };
    let entrants = CHOICES.map(entrant);
    let lanes: Vec<_> = (0..CHOICES.len())
        .map(|job| Lane {
            job,
            operation: "sum",
        })
        .collect();
    println!("\ndouble sum by each algorithm ({pes}): us per call");
    let sheet = Sheet::new("", &CHOICES, "best");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let mut contest = Contest::new(field.start(&entrants, pes, largest), &lanes);
    for bytes in sizes {
        let name = item(pes, *bytes);
        let outcome = contest.run(*bytes, options.effort(Field::crowded(pes)), |block| {
            sheet::progress(&format!("{name} block {}", block + 1));
        });
        let best = outcome.fastest(1..CHOICES.len());
        let best = best.map_or("", |lane| CHOICES[lane]);
        let rest = format!("{best}{}", sheet::disturbed(&outcome));
        sheet.line(&name, &outcome.medians(), &rest);
        judge(&outcome, &name, *bytes, claims);
    }
    for (job, error) in contest.failures() {
        if job == 0 {
            bail!("{error:#}");
        }
        println!("{} is not measured: {error:#}", CHOICES[job]);
    }
    Ok(())
}

fn judge(outcome: &Outcome, item: &str, bytes: usize, claims: &mut [Claim; 4]) {
    let lane = |choice: &str| CHOICES.iter().position(|c| *c == choice);
    let [forms, best, small, large] = claims;
    for (direct, choice) in CHOICES.iter().enumerate() {
        let name = choice.strip_suffix(":ptr");
        if let Some(put_get) = name.and_then(|name| lane(&format!("{name}:putget"))) {
            forms.judge(outcome.ratio(direct, put_get), &format!("{item} {choice}"));
        }
    }
    if let Some(other) = outcome.fastest(1..CHOICES.len()) {
        best.judge(
            outcome.ratio(0, other),
            &format!("{item} to {}", CHOICES[other]),
        );
    }
    if bytes < SMALL {
        small.judge(lane("rd:ptr").and_then(|rd| outcome.ratio(0, rd)), item);
    }
    if bytes >= LARGE {
        large.judge(
            lane("rsag:ptr").and_then(|rsag| outcome.ratio(0, rsag)),
            item,
        );
    }
}
