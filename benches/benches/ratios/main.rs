//! What the library costs beside the bare hardware: criterion orders rounds of the programs in
//! `c/` and keeps their ratios; a table at the end holds them against the limits.
//!
//! `cargo bench -p ferroshmem-benches -- barrier` measures what has "barrier" in its name.

mod measurement;
mod programs;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use ferroshmem_benches::{Bar, Round, Session, Spread, Start, Table, Workshop};
use measurement::Ratios;
use programs::Program;

/// What is measured: its place in the table.
struct Item<'a> {
    group: &'a str,
    name: &'a str,
    bar: Option<Bar>,
}

/// Has criterion order rounds from `measure`, and adds them to the table. Asked for no rounds,
/// `measure` makes itself ready, which is not timed.
fn sample(
    group: &mut BenchmarkGroup<'_, Ratios>,
    table: &mut Table,
    item: &Item<'_>,
    mut measure: impl FnMut(usize) -> Result<Vec<Round>>,
) -> Result<()> {
    let limit = item.bar.unwrap_or(Bar::Time(f64::INFINITY));
    let mut all = Vec::new();
    let mut failure = None;
    let mut measure = |rounds| {
        if failure.is_some() {
            return Vec::new();
        }
        measure(rounds).unwrap_or_else(|error| {
            failure = Some(error);
            Vec::new()
        })
    };
    group.bench_function(item.name, |bencher| {
        measure(0);
        bencher.iter_custom(|iterations| {
            let rounds = measure(iterations as usize);
            // The median: a round in which another process had the core says nothing.
            let ratio = Spread::of(rounds.iter().map(|round| limit.ratio(round)));
            all.extend(rounds);
            ratio.map_or(1.0, |ratio| ratio.median) * iterations as f64
        });
    });
    table.add(&format!("{}/{}", item.group, item.name), item.bar, &all);
    failure.map_or(Ok(()), Err)
}

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
    let mut group = criterion.benchmark_group(&build.name);
    group.sampling_mode(SamplingMode::Flat);
    if *pes > 2 {
        // Rounds take long and differ much.
        group.warm_up_time(Duration::from_secs(1));
        group.measurement_time(Duration::from_secs(4));
    }
    let mut session = None;
    for (name, bar) in series {
        let item = Item {
            group: &build.name,
            name,
            bar: *bar,
        };
        sample(&mut group, table, &item, |rounds| {
            let session = match &mut session {
                Some(session) => session,
                None => {
                    let path = workshop.program(build)?;
                    session.insert(Session::start(&workshop.prefix, &path, *pes, options)?)
                }
            };
            session.measure(name, rounds)
        })?;
    }
    group.finish();
    Ok(())
}

/// Measures starting 64 PEs.
fn start(criterion: &mut Criterion<Ratios>, table: &mut Table, workshop: &Workshop) -> Result<()> {
    let mut group = criterion.benchmark_group("64-PEs");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.measurement_time(Duration::from_secs(8));
    let item = Item {
        group: "64-PEs",
        name: "start-up",
        bar: Some(Bar::Time(2.0)),
    };
    let mut start = None;
    sample(&mut group, table, &item, |rounds| {
        let start = match &mut start {
            Some(start) => start,
            None => start.insert(Start::new(workshop, 64)?),
        };
        (0..rounds)
            .map(|round| start.measure(round % 2 == 0))
            .collect()
    })?;
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
    let mut criterion = Criterion::default()
        .with_measurement(Ratios)
        .sample_size(20)
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
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
