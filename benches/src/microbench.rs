//! What the programs of `pgas-microbench/` print.

use anyhow::{Context, Result};

/// What a program measured of an operation at a size.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name of the operation.
    pub operation: String,
    /// What was measured of it: its latency, bandwidth or rate.
    pub quantity: String,
    /// Bytes of a message.
    pub bytes: usize,
    /// Median of the samples, in `unit`.
    pub median: f64,
    /// Microseconds (`us`), 10^6 bytes per second (`MB/s`) or 10^6 operations (`Mop/s`).
    pub unit: String,
}

impl Point {
    /// Nanoseconds of an operation.
    pub fn nanoseconds(&self) -> f64 {
        match self.unit.as_str() {
            "MB/s" => self.bytes as f64 * 1e3 / self.median,
            "Mop/s" => 1e3 / self.median,
            _ => self.median * 1e3,
        }
    }
}

/// Reads the points of operations that are made by calls from a program's output.
///
/// # Errors
/// If a line is something else.
pub fn points(output: &str) -> Result<Vec<Point>> {
    let lines = output.lines().filter(|line| !line.starts_with('#'));
    let point = |line: &str| {
        let fields: Vec<_> = line.split(',').collect();
        let [
            operation,
            form,
            quantity,
            _,
            _,
            bytes,
            _,
            median,
            _,
            _,
            unit,
        ] = fields[..]
        else {
            return None;
        };
        let point = Point {
            operation: operation.to_owned(),
            quantity: quantity.to_owned(),
            bytes: bytes.parse().ok()?,
            median: median.parse().ok()?,
            unit: unit.to_owned(),
        };
        Some((form == "call").then_some(point))
    };
    let rows = lines.skip(1).filter(|line| !line.is_empty());
    let points = rows.map(|line| point(line).with_context(|| format!("no point: {line:?}")));
    points.filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# latency: time\n\
        operation,form,quantity,pes,pairs,bytes,samples,median,low,high,unit\n";

    #[test]
    fn calls_are_read() {
        let text = format!(
            "{HEAD}put,call,latency,2,1,8,7,26.5,25.5,50.5,us\n# put,ptr: left out\n\
             put,ptr,latency,2,1,8,7,1.5,1.5,1.5,us\nget,call,bandwidth,2,1,8,7,2,1,3,MB/s\n"
        );
        let points = points(&text).unwrap();
        assert_eq!(points.len(), 2);
        let times = points.iter().map(Point::nanoseconds);
        assert_eq!(Vec::from_iter(times), [26500.0, 4000.0]);
        assert_eq!(points[1].quantity, "bandwidth");
    }

    #[test]
    fn other_lines_are_errors() {
        let error = points(&format!("{HEAD}mpirun: warning\n")).unwrap_err();
        assert!(error.to_string().contains("mpirun: warning"), "{error}");
        assert_eq!(points(HEAD).unwrap(), []);
    }
}
