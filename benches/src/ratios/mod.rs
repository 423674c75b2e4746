//! Criterion benchmarks whose samples are ratios of rounds.

mod measurement;

use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, SamplingMode};

use pgas_microbench::Spread;

use crate::{Bar, Round};

pub use measurement::Ratios;

/// Criterion with a few samples, which ratios need, and the options of the command line.
pub fn criterion() -> Criterion<Ratios> {
    Criterion::default()
        .with_measurement(Ratios)
        .sample_size(20)
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args()
}

/// A group whose samples all have the same number of rounds.
pub fn group<'c>(criterion: &'c mut Criterion<Ratios>, name: &str) -> BenchmarkGroup<'c, Ratios> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// Lets criterion choose the numbers of rounds that `measure` measures; returns all rounds. Called
/// with 0 rounds, `measure` prepares itself, which is not timed. Without limit the ratio is one of
/// times.
///
/// # Errors
/// The first error of `measure`, which is not called again.
pub fn sample<E>(
    group: &mut BenchmarkGroup<'_, Ratios>,
    name: &str,
    bar: Option<Bar>,
    mut measure: impl FnMut(usize) -> Result<Vec<Round>, E>,
) -> Result<Vec<Round>, E> {
    let limit = bar.unwrap_or(Bar::Time(f64::INFINITY));
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
    group.bench_function(name, |bencher| {
        measure(0);
        bencher.iter_custom(|iterations| {
            let rounds = measure(iterations as usize);
            // The median ignores rounds in which another process had the core.
            let ratio = Spread::of(rounds.iter().map(|round| limit.ratio(round)));
            all.extend(rounds);
            ratio.map_or(1.0, |ratio| ratio.median) * iterations as f64
        });
    });
    failure.map_or(Ok(all), Err)
}
