//! What the library costs beside the bare hardware: criterion orders rounds of the programs in
//! `c/` and keeps their ratios; a table at the end holds them against the limits.
//!
//! `cargo bench -p ferroshmem-benches -- barrier` measures what has "barrier" in its name.

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, SamplingMode, Throughput};
use ferroshmem_benches::{
    Bar, Build, Compiler, Round, Session, Source, Spread, Start, Table, Workshop,
};

/// Criterion's unit of measurement here: the library's cost in units of the hardware's.
struct Ratios;

struct RatioFormatter;

impl ValueFormatter for RatioFormatter {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "x"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "x"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "x"
    }
}

impl Measurement for Ratios {
    type Intermediate = ();
    type Value = f64;

    fn start(&self) {}

    /// Never asked: every benchmark brings ratios that a program measured.
    fn end(&self, (): ()) -> f64 {
        0.0
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &RatioFormatter
    }
}

/// A program and what it measures.
struct Program {
    build: Build,
    pes: usize,
    options: &'static [&'static str],
    series: Vec<(String, Option<Bar>)>,
}

const PINNED: &[&str] = &["--bind-to", "core"];

/// Loops of 8-byte operations, by each compiler, with and without the test of the PE.
fn scalars(compiler: Compiler, native_only: bool) -> Program {
    let source = |file, element_wise| Source { file, element_wise };
    let mut build = Build::new("scalars.c").named(&format!("8-byte/{}", compiler.name()));
    build.sources = vec![
        source("scalars.c", false),
        source("kernels.c", false),
        source("bare.c", true),
    ];
    build.compiler = compiler;
    if native_only {
        build = build.flag("-DSHMEM_NATIVE_ONLY");
        build.name += "/native-only";
    }
    let bar = Bar::Time(if native_only { 1.1 } else { 2.0 });
    let series = ["heap", "global"].iter().flat_map(|place| {
        ["p", "g", "put", "get"].map(|routine| (format!("{routine}/{place}"), Some(bar)))
    });
    Program {
        build,
        pes: 2,
        options: PINNED,
        series: series.collect(),
    }
}

fn programs() -> Vec<Program> {
    let names = |names: &[&str], bar| -> Vec<_> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), Some(bar)))
            .collect()
    };
    let mut programs = Vec::new();
    for compiler in Compiler::installed() {
        for native_only in [false, true] {
            programs.push(scalars(compiler, native_only));
        }
    }
    let sizes = [4, 16, 64, 256, 1024, 4096, 8192];
    let blocks = sizes
        .iter()
        .flat_map(|kib| ["put", "get"].map(|call| format!("{call}/{kib}KiB")));
    programs.push(Program {
        build: Build::new("blocks.c"),
        pes: 2,
        options: PINNED,
        series: blocks
            .map(|name| (name, Some(Bar::Bandwidth(0.95))))
            .collect(),
    });
    let integers = [
        "fetch_add",
        "add",
        "inc",
        "compare_swap",
        "swap",
        "set",
        "fetch",
    ];
    let atomics = ["int", "long"]
        .iter()
        .flat_map(|kind| integers.map(|routine| format!("{routine}/{kind}")))
        .chain(["swap", "set", "fetch"].map(|routine| format!("{routine}/double")));
    programs.push(Program {
        build: Build::new("atomics.c"),
        pes: 2,
        options: PINNED,
        series: atomics.map(|name| (name, Some(Bar::Time(1.1)))).collect(),
    });
    programs.push(Program {
        build: Build::new("latency.c"),
        pes: 2,
        options: PINNED,
        series: vec![
            ("barrier_all".to_owned(), Some(Bar::Time(1.5))),
            ("p+wait_until".to_owned(), Some(Bar::Time(1.15))),
            ("lock+unlock".to_owned(), Some(Bar::Time(3.0))),
        ],
    });
    programs.push(Program {
        build: Build::new("crowd.c").named("64-PEs"),
        pes: 64,
        options: &[],
        series: names(&["barrier_all"], Bar::Time(2.0)),
    });
    programs
}

/// Has criterion order rounds from `measure`, and adds them to the table.
fn sample(
    group: &mut criterion::BenchmarkGroup<'_, Ratios>,
    table: &mut Table,
    item: (&str, &str),
    bar: Option<Bar>,
    mut measure: impl FnMut(usize) -> Result<Vec<Round>>,
) -> Result<()> {
    let (program, name) = item;
    let mut all = Vec::new();
    let mut failure = None;
    let limit = bar.unwrap_or(Bar::Time(f64::INFINITY));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            if failure.is_some() {
                return iterations as f64;
            }
            match measure(iterations as usize) {
                Ok(rounds) => {
                    // The median: a round in which another process had the core says nothing.
                    let ratio = Spread::of(rounds.iter().map(|round| limit.ratio(round)));
                    all.extend(rounds);
                    ratio.map_or(0.0, |ratio| ratio.median) * iterations as f64
                }
                Err(error) => {
                    failure = Some(error);
                    iterations as f64
                }
            }
        });
    });
    table.add(&format!("{program}/{name}"), bar, &all);
    failure.map_or(Ok(()), Err)
}

fn run(criterion: &mut Criterion<Ratios>, table: &mut Table) -> Result<()> {
    let workshop = Workshop::open(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    for Program {
        build,
        pes,
        options,
        series,
    } in programs()
    {
        let mut group = criterion.benchmark_group(&build.name);
        group.sampling_mode(SamplingMode::Flat);
        // Started when the first series passes the filter of the command line.
        let session: RefCell<Option<Session>> = RefCell::new(None);
        for (name, bar) in &series {
            sample(&mut group, table, (&build.name, name), *bar, |rounds| {
                let mut session = session.borrow_mut();
                if session.is_none() {
                    let program = workshop.program(&build)?;
                    *session = Some(Session::start(&workshop.prefix, &program, pes, options)?);
                }
                session
                    .as_mut()
                    .map_or_else(|| Ok(Vec::new()), |s| s.measure(name, rounds))
            })?;
        }
        group.finish();
    }

    let mut group = criterion.benchmark_group("64-PEs");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.measurement_time(Duration::from_secs(8));
    let start: RefCell<Option<Start>> = RefCell::new(None);
    sample(
        &mut group,
        table,
        ("64-PEs", "start-up"),
        Some(Bar::Time(2.0)),
        |rounds| {
            let mut start = start.borrow_mut();
            let start = match &mut *start {
                Some(start) => start,
                None => start.insert(Start::new(&workshop, 64)?),
            };
            (0..rounds)
                .map(|round| start.measure(round % 2 == 0))
                .collect()
        },
    )?;
    group.finish();
    Ok(())
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
    let result = run(&mut criterion, &mut table);
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
