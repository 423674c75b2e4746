//! STREAM's table.

use anyhow::{Context, Result, ensure};

use crate::{Measurement, Quantity};

const KERNELS: [&str; 4] = ["copy", "scale", "add", "triad"];

/// Rates from lines such as `Copy:  12345.6  0.1  0.1  0.2`: best rate in MB/s, then average,
/// least and greatest time in seconds.
pub(super) fn read(text: &str) -> Result<Vec<Measurement>> {
    ensure!(text.contains("Solution Validates"), "the results are not validated");
    KERNELS.iter().map(|kernel| row(text, kernel)).collect()
}

fn row(text: &str, kernel: &str) -> Result<Measurement> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let named = lines.find(|(name, _)| name.trim().eq_ignore_ascii_case(kernel));
    let (_, values) = named.with_context(|| format!("no line for {kernel}"))?;
    let values: Vec<f64> = values
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{kernel}: not numbers"))?;
    let &[best, average, least, greatest] = values.as_slice() else {
        anyhow::bail!("{kernel}: {} numbers", values.len());
    };
    // All repetitions move the same bytes, so that rates follow from times.
    Ok(Measurement {
        operation: kernel.to_owned(),
        median: best * least / average,
        low: best * least / greatest,
        high: best,
        ..Measurement::blank(Quantity::Bandwidth, "MB/s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Function    Best Rate MB/s  Avg time     Min time     Max time\n\
        Copy:           20000.0     0.020000     0.010000     0.040000\n\
        Scale:          20000.0     0.020000     0.010000     0.040000\n\
        Add:            20000.0     0.020000     0.010000     0.040000\n\
        Triad:          24000.0     0.020000     0.020000     0.020000\n";

    #[test]
    fn rates_follow_from_times() {
        let text = format!("{TABLE}Solution Validates: avg error less than 1e-13\n");
        let rows = read(&text).unwrap();
        assert_eq!(rows.len(), 4);
        let copy = &rows[0];
        assert_eq!((copy.low, copy.median, copy.high), (5000.0, 10000.0, 20000.0));
        assert_eq!(rows[3].operation, "triad");
        assert!(read(TABLE).is_err(), "not validated");
    }
}
