//! Ratios as criterion's unit of measurement.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};

/// Ratios that programs measure themselves.
#[derive(Debug)]
pub struct Ratios;

impl Measurement for Ratios {
    type Intermediate = ();
    type Value = f64;

    fn start(&self) {}

    /// Not called: benchmarks measure by `iter_custom`.
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
        &Times
    }
}

/// Prints ratios with the unit "x".
struct Times;

impl ValueFormatter for Times {
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
