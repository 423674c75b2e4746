//! The report of a NAS benchmark.

use anyhow::{Context, Result, ensure};

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
    let number: f64 = rate.parse().with_context(|| format!("no rate: {rate}"))?;
    // Rust reads "inf", which C prints where a clock of whole seconds measured none.
    ensure!(number.is_finite() && number > 0.0, "a rate of {rate}: the program's clock is too coarse for this class");
    let rate = number;
    Ok(Measurement { median: rate, low: rate, high: rate, ..Measurement::blank(Quantity::Rate, "Mop/s") })
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
        assert!(read(&wrong).unwrap_err().to_string().contains("UNSUCCESSFUL"));
        assert!(read("").is_err());
        for nonsense in ["inf", "nan", "0.00"] {
            let error = read(&REPORT.replace("271.83", nonsense)).unwrap_err();
            assert!(error.to_string().contains("too coarse"), "{error}");
        }
    }
}
