//! The table of what transfers add to computing.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{Measurement, Quantity};

/// Samples of a row.
const SAMPLES: u32 = 15;

/// A row, as the program prints it.
#[derive(Debug, Deserialize)]
struct Row {
    quantity: String,
    bytes: u64,
    median: f64,
    low: f64,
    high: f64,
}

/// The times that puts and gets add to computing, without a last line that is not complete.
///
/// # Errors
/// If a line is something else than a row.
pub(super) fn read(text: &str) -> Result<Vec<Measurement>> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut reader = csv::Reader::from_reader(whole.as_bytes());
    let mut measurements = Vec::new();
    for row in reader.deserialize() {
        let row: Row = row.context("not a row of results")?;
        let Some(operation) = row.quantity.strip_suffix("_added") else {
            continue;
        };
        measurements.push(Measurement {
            operation: operation.to_owned(),
            bytes: row.bytes,
            samples: SAMPLES,
            median: row.median,
            low: row.low,
            high: row.high,
            ..Measurement::blank(Quantity::Latency, "us")
        });
    }
    Ok(measurements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_that_are_added_are_read() {
        let text = "quantity,bytes,median,low,high\n\
            put,4096,98.5,97.0,99.0\n\
            put_added,4096,1.500,1.250,2.000\n\
            caches,4096,1.0";
        let rows = read(text).unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.operation.as_str(), row.bytes), ("put", 4096));
        assert_eq!((row.median, row.low, row.high), (1.5, 1.25, 2.0));
        assert!(read("quantity,bytes\nput,1\n").is_err());
    }
}
