//! The report of a NAS benchmark.

use anyhow::{Context, Result, ensure};

use super::blank;
use crate::{Measurement, Quantity};

pub(super) fn read(text: &str) -> Result<Measurement> {
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let mut named = lines.filter(|(left, _)| left.trim() == name);
        named.next().map(|(_, right)| right.trim().to_owned())
    };
    let verification = field("Verification").context("no report was printed")?;
    ensure!(verification == "SUCCESSFUL", "verification: {verification}");
    let rate = field("Mop/s total").context("the report has no rate")?;
    let rate: f64 = rate.parse().with_context(|| format!("no rate: {rate}"))?;
    Ok(Measurement {
        median: rate,
        low: rate,
        high: rate,
        ..blank(Quantity::Rate, "Mop/s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = " IS Benchmark Completed\n Class           =     A\n \
        Mop/s total     =    271.83\n Verification    =    SUCCESSFUL\n";

    #[test]
    fn the_rate_of_a_verified_run_is_read() {
        assert_eq!(read(REPORT).unwrap().median, 271.83);
        let wrong = REPORT.replace("SUCCESSFUL", "UNSUCCESSFUL");
        assert!(
            read(&wrong)
                .unwrap_err()
                .to_string()
                .contains("UNSUCCESSFUL")
        );
        assert!(read("").is_err());
    }
}
