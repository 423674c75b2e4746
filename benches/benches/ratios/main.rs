//! What the library costs beside the bare hardware: criterion orders rounds of the programs in
//! `c/` and keeps their ratios; a table at the end holds them against the limits.
//!
//! `cargo bench -p ferroshmem-benches -- barrier` measures what has "barrier" in its name.

mod programs;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use criterion::Criterion;
use ferroshmem_benches::ratios::{self, Ratios};
use ferroshmem_benches::{Bar, Session, Start, Table, Workshop};
use programs::Program;

/// Measures all series of a program; starts it with the first that the command line asks for.
fn run(
    criterion: &mut Criterion<Ratios>,
    table: &mut Table,
    workshop: &Workshop,
    program: &Program,
) -> Result<()> {
    let Program {
        build,
        pes,
        options,
        series,
    } = program;
    let mut group = ratios::group(criterion, &build.name);
    if *pes > 2 {
        // Rounds take long and differ much.
        group.warm_up_time(Duration::from_secs(1));
        group.measurement_time(Duration::from_secs(4));
    }
    let mut session = None;
    for (name, bar) in series {
        let rounds = ratios::sample(&mut group, name, *bar, |rounds| {
            let session = match &mut session {
                Some(session) => session,
                None => {
                    let path = workshop.program(build)?;
                    session.insert(Session::start(&workshop.prefix, &path, *pes, options)?)
                }
            };
            session.measure(name, rounds)
        })?;
        table.add(&format!("{}/{name}", build.name), *bar, &rounds);
    }
    group.finish();
    Ok(())
}

/// Measures starting 64 PEs.
fn start(criterion: &mut Criterion<Ratios>, table: &mut Table, workshop: &Workshop) -> Result<()> {
    let bar = Some(Bar::Time(2.0));
    let mut group = ratios::group(criterion, "64-PEs");
    group.sample_size(10);
    group.measurement_time(Duration::from_secs(8));
    let mut start = None;
    let rounds = ratios::sample(&mut group, "start-up", bar, |rounds| {
        let start = match &mut start {
            Some(start) => start,
            None => start.insert(Start::new(workshop, 64)?),
        };
        (0..rounds)
            .map(|round| start.measure(round % 2 == 0))
            .collect()
    })?;
    table.add("64-PEs/start-up", bar, &rounds);
    group.finish();
    Ok(())
}

fn run_all(criterion: &mut Criterion<Ratios>, table: &mut Table) -> Result<()> {
    let workshop = Workshop::open(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    for program in programs::all() {
        run(criterion, table, &workshop, &program)?;
    }
    start(criterion, table, &workshop)
}

fn main() -> ExitCode {
    let mut criterion = ratios::criterion();
    let mut table = Table::default();
    let result = run_all(&mut criterion, &mut table);
    criterion.final_summary();
    if !table.is_empty() {
        println!("\n{table}");
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratios: {error:#}");
            ExitCode::FAILURE
        }
    }
}
