//! The cost model against measurement.

use std::fmt::Write;

use ferroshmem_tuning::{Choice, Collective, Costs, Parameters};

use super::analysis::{best, sizes, time};
use super::campaign::JobTimes;
use super::hockney;
use super::measure::Point;
use super::quantity::{bytes_shown, time_shown};
use super::statistics::geometric_mean;

/// Measured times of one number of PEs, and the model that they are held against.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    parameters: &'a Parameters,
    pes: usize,
    costs: Costs,
    times: &'a JobTimes,
}

impl<'a> Comparison<'a> {
    /// Holds the `times` of a job against the model with `parameters`.
    pub(super) fn new(parameters: &'a Parameters, cores: usize, times: &'a JobTimes) -> Self {
        let pes = times.shape.size;
        Self { parameters, pes, costs: Costs::new(*parameters, times.shape, cores, pes > cores, None), times }
    }

    /// The choice of the model.
    pub(super) fn expected(&self, collective: Collective, bytes: usize) -> Choice {
        self.costs.best(collective, bytes)
    }

    /// For each collective and size the fastest choice, or every one if `all`: its time
    /// measured, by the model of the literature where that covers it, and by the library's model.
    pub(super) fn table(&self, all: bool) -> String {
        let mut out = format!(
            "\n{} PEs\n{:<10} {:>8}  {:<14} {:>10} {:>10} {:>10} {:>6}\n",
            self.pes, "collective", "bytes", "choice", "measured", "hockney", "model", "ratio"
        );
        for collective in Collective::ALL {
            let points = self.times.of(collective);
            for bytes in sizes(&points) {
                let Some(best) = best(&points, bytes) else {
                    continue;
                };
                for p in points.iter().filter(|p| p.bytes == bytes) {
                    if all || p.choice == best.choice {
                        self.row(&mut out, p, p.choice == best.choice && all);
                    }
                }
            }
        }
        out
    }

    fn row(&self, out: &mut String, p: &Point, best: bool) {
        let model = self.costs.time(p.collective, p.choice, p.bytes);
        let hockney = (p.collective == Collective::Reduce)
            .then(|| hockney::reduction(self.parameters, p.choice, self.pes, p.bytes))
            .flatten();
        let _ = writeln!(
            out,
            "{:<10} {:>8}  {:<14} {:>10} {:>10} {:>10} {:>6.2}{}",
            p.collective.name(),
            bytes_shown(p.bytes),
            p.choice,
            time_shown(p.time),
            hockney.map_or_else(|| "-".to_owned(), time_shown),
            time_shown(model),
            p.time / model,
            if best { " *" } else { "" }
        );
    }

    /// One line: how far the model is off, and what relying on it would cost.
    pub(super) fn summary(&self) -> String {
        let ratios: Vec<f64> = (self.times.points.iter())
            .map(|p| p.time / self.costs.time(p.collective, p.choice, p.bytes))
            .filter(|r| r.is_finite() && *r > 0.0)
            .collect();
        let losses: Vec<f64> = Collective::ALL.into_iter().flat_map(|c| self.losses(c)).collect();
        let worst = losses.iter().copied().fold(1.0, f64::max);
        format!(
            "{} PEs: measured / model = {:.2} in the geometric mean of {} points; the model's choices \
             take {:.2} of the fastest's time, {worst:.2} at worst",
            self.pes,
            geometric_mean(&ratios),
            ratios.len(),
            geometric_mean(&losses),
        )
    }

    /// For each size: the time of the model's choice, as a multiple of the fastest one's.
    fn losses(&self, collective: Collective) -> Vec<f64> {
        let points = self.times.of(collective);
        let loss = |bytes| {
            let fastest = best(&points, bytes)?.time;
            let choice = self.expected(collective, bytes);
            // A choice that was not measured was much slower at smaller sizes.
            Some(time(&points, choice, bytes)? / fastest)
        };
        sizes(&points).into_iter().filter_map(loss).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_beside_the_models() {
        let parameters = Parameters::default_for(2);
        let point = |choice, time| Point {
            collective: Collective::Reduce,
            choice: Collective::Reduce.choice(choice).unwrap(),
            bytes: 65536,
            time,
        };
        let points = vec![point("flat", 50_000.0), point("slices", 25_000.0)];
        let times = JobTimes { shape: 4.into(), points };
        let comparison = Comparison::new(&parameters, 2, &times);
        let short = comparison.table(false);
        assert_eq!(short.lines().count(), 4, "{short}");
        assert!(short.contains("reduce       64 KiB  slices            25.0 us          - "));
        let long = comparison.table(true);
        let flat = long.lines().find(|l| l.contains("flat:ptr")).unwrap();
        assert_eq!(flat.split_whitespace().count(), 11, "{flat}");
        assert!(long.lines().last().unwrap().ends_with(" *"));
        let summary = comparison.summary();
        assert!(summary.starts_with("4 PEs: measured / model = "), "{summary}");
        assert!(summary.contains("of 2 points"));
    }
}
