//! The output of the microbenchmarks: rows of CSV, among comments.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{Measurement, Quantity};

/// A row, as the C programs print it.
#[derive(Debug, Deserialize)]
struct Row {
    operation: String,
    form: String,
    quantity: Quantity,
    pes: u32,
    pairs: u32,
    bytes: u64,
    samples: u32,
    median: f64,
    low: f64,
    high: f64,
    unit: String,
}

/// The rows in a program's output, without the last one if it is not complete.
///
/// # Errors
/// If a line is something else.
pub fn read(text: &str) -> Result<Vec<Measurement>> {
    // A program that was ended may have left an incomplete line.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(whole.as_bytes());
    let rows = reader.deserialize().map(|row| {
        let row: Row = row.context("not a row of results")?;
        Ok(Measurement {
            operation: row.operation,
            form: row.form,
            pes: row.pes,
            pairs: row.pairs,
            bytes: row.bytes,
            samples: row.samples,
            median: row.median,
            low: row.low,
            high: row.high,
            ..Measurement::blank(row.quantity, &row.unit)
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_among_comments() {
        let text = "# put: then quiet\n\
            operation,form,quantity,pes,pairs,bytes,samples,median,low,high,unit\n\
            put,call,latency,2,1,8,21,0.01,0.009,0.012,us\n\
            # get\n\
            get,ptr,latency,2,1,8,2";
        let rows = read(text).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].operation.as_str(), rows[0].bytes), ("put", 8));
        assert_eq!(rows[0].quantity, Quantity::Latency);
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn other_text_is_refused() {
        assert!(read("operation,form\nput,call\n").is_err());
    }
}
