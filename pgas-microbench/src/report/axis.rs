//! Axes: range, scale, ticks, and the units of what they carry.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::measurement::Quantity;

/// The unit of the numbers of an axis or a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, printed in powers of 1024.
    Bytes,
    /// Microseconds, printed from ps to s.
    Time,
    /// 10^6 bytes per second, printed from kB/s to TB/s.
    Bandwidth,
    /// Millions of operations per second.
    Rate,
    /// One value divided by another.
    Ratio,
    /// A number of PEs, pairs or the like.
    Count,
}

impl Unit {
    /// The unit of what was measured.
    pub fn of(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Latency => Self::Time,
            Quantity::Bandwidth => Self::Bandwidth,
            Quantity::Rate => Self::Rate,
        }
    }

    /// A value in words, to three digits.
    pub fn text(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        match self {
            Self::Bytes => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
            Self::Time => scaled(value * 1e6, 1000.0, &["ps", "ns", "µs", "ms", "s"]),
            Self::Bandwidth => scaled(value * 1e3, 1000.0, &["kB/s", "MB/s", "GB/s", "TB/s"]),
            Self::Rate => format!("{} Mop/s", digits(value)),
            Self::Ratio => format!("{}×", digits(value)),
            Self::Count => digits(value),
        }
    }
}

/// `value` in the largest of `units`, each `step` times the one before, that leaves at least 1.
fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut place = 0;
    // What would be rounded to 1000 belongs to the next unit.
    while place + 1 < units.len() && value >= step * 0.9995 {
        value /= step;
        place += 1;
    }
    format!("{} {}", digits(value), units[place])
}

/// A number to three digits, without zeros at the end of a fraction.
pub(super) fn digits(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let whole = value.log10().floor() as i32 + 1;
    let places = usize::try_from(3 - whole).unwrap_or(0).min(9);
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How values are placed on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal ratios have equal lengths.
    Log,
    /// Equal differences have equal lengths.
    Linear,
    /// Names at equal distances instead of values.
    Names,
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, in words.
    pub label: String,
    /// The unit of its values.
    pub unit: Unit,
    /// How values are placed.
    pub scale: Scale,
    /// The lowest and the highest value.
    pub range: Range<f64>,
    /// Values with a label, and their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Powers of two on a logarithmic axis, few enough to be readable.
    pub fn bytes(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        const MOST: i32 = 7;
        let (low, high) = extent(values);
        let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
        let step = (last - first) / MOST + 1;
        let ticks =
            (first..=last).filter(|exponent| (exponent - first) % step == 0).map(|exponent| f64::from(exponent).exp2());
        let range = padded(low, high, 1.15);
        Self::new(label, Unit::Bytes, Scale::Log, range, ticks.collect())
    }

    /// The numbers of PEs or pairs that occur, on a logarithmic axis.
    pub fn counts(label: &str, values: impl IntoIterator<Item = f64> + Clone) -> Self {
        let (low, high) = extent(values.clone());
        let mut ticks: Vec<f64> = values.into_iter().collect();
        ticks.sort_by(f64::total_cmp);
        // Labels of closer numbers would overlap.
        ticks.dedup_by(|next, before| *next < *before * 1.26);
        let range = padded(low, high, 1.15);
        Self::new(label, Unit::Count, Scale::Log, range, ticks)
    }

    /// A logarithmic axis of values, with ticks at powers of ten or at multiples of those.
    pub fn logarithmic(label: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values);
        let range = padded(low, high, 1.25);
        let ticks = log_ticks(&range);
        Self::new(label, unit, Scale::Log, range, ticks)
    }

    /// An axis that begins at 0.
    pub fn from_zero(label: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let (_, high) = extent(values);
        let range = 0.0..high * 1.05;
        let ticks = linear_ticks(&range, 6);
        Self::new(label, unit, Scale::Linear, range, ticks)
    }

    /// Names, each in the middle of a stretch of length 1.
    pub fn names(label: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate();
        Self {
            label: label.to_owned(),
            unit: Unit::Count,
            scale: Scale::Names,
            range: 0.0..names.len() as f64,
            ticks: ticks.map(|(i, name)| (i as f64 + 0.5, name.clone())).collect(),
        }
    }

    fn new(label: &str, unit: Unit, scale: Scale, range: Range<f64>, ticks: Vec<f64>) -> Self {
        let inside = |tick: &f64| range.contains(tick) || *tick == range.end;
        let ticks = ticks.into_iter().filter(inside);
        Self { label: label.to_owned(), unit, scale, ticks: ticks.map(|tick| (tick, unit.text(tick))).collect(), range }
    }

    /// The position of a value: 0 at the lowest, 1 at the highest.
    pub fn position(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        let position = match self.scale {
            Scale::Log => (value / start).ln() / (end / start).ln(),
            Scale::Linear | Scale::Names => (value - start) / (end - start),
        };
        position.clamp(0.0, 1.0)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let length = f64::from(limit.1 - limit.0);
        limit.0 + (length * self.position(*value)).round() as i32
    }

    /// The ticks, which have a grid line; names have none.
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Log | Scale::Linear => self.ticks.iter().map(|tick| tick.0).collect(),
            Scale::Names => Vec::new(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.unit.text(*value)
    }
}

/// The lowest and the highest of some values.
fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, 0.0_f64);
    let (low, high) = values
        .into_iter()
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold(start, |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (1.0, 1.0) }
}

/// A range with a margin at both ends, which is never empty.
fn padded(low: f64, high: f64, factor: f64) -> Range<f64> {
    let factor = if low < high { factor } else { factor.max(1.5) };
    low / factor..high * factor
}

fn log_ticks(range: &Range<f64>) -> Vec<f64> {
    const FEWEST: usize = 3;
    let within = |multiples: &[f64], every: i32| -> Vec<f64> {
        let (first, last) = (range.start.log10().floor(), range.end.log10().ceil());
        (first as i32..=last as i32)
            .filter(|exponent| exponent % every == 0)
            // Parsing gives the closest number to a power of ten.
            .filter_map(|exponent| format!("1e{exponent}").parse::<f64>().ok())
            .flat_map(|power| multiples.iter().map(move |multiple| multiple * power))
            .filter(|tick| range.contains(tick))
            .collect()
    };
    let decades = (range.end / range.start).log10();
    if decades > 8.0 {
        return within(&[1.0], 2);
    }
    let tries: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];
    tries
        .iter()
        .map(|multiples| within(multiples, 1))
        .find(|ticks| ticks.len() >= FEWEST)
        .unwrap_or_else(|| linear_ticks(range, 5))
}

/// Round numbers at equal distances.
fn linear_ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let rough = (range.end - range.start) / most as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|multiple| multiple * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(power * 10.0);
    let first = (range.start / step).ceil() as i64;
    let last = (range.end / step).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    #[test]
    fn values_have_three_digits_and_a_suitable_unit() {
        for (unit, value, text) in [
            (Unit::Time, 0.000_45, "450 ps"),
            (Unit::Time, 0.0123, "12.3 ns"),
            (Unit::Time, 999.96, "1 ms"),
            (Unit::Time, 3_210_000.0, "3.21 s"),
            (Unit::Bandwidth, 13_900.0, "13.9 GB/s"),
            (Unit::Bandwidth, 0.5, "500 kB/s"),
            (Unit::Bytes, 8.0, "8 B"),
            (Unit::Bytes, 8_388_608.0, "8 MiB"),
            (Unit::Bytes, 1_536.0, "1.5 KiB"),
            (Unit::Rate, 1234.4, "1234 Mop/s"),
            (Unit::Ratio, 1.0, "1×"),
            (Unit::Count, 64.0, "64"),
            (Unit::Bandwidth, 0.0, "0"),
        ] {
            assert_eq!(unit.text(value), text);
        }
    }

    #[test]
    fn bytes_are_labelled_at_powers_of_two() {
        let axis = Axis::bytes("bytes", (0..24).map(|i| f64::from(i).exp2()));
        assert_eq!(texts(&axis), ["1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"]);
        let axis = Axis::bytes("bytes", [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(texts(&axis), ["1 B", "2 B", "4 B", "8 B"]);
    }

    #[test]
    fn narrow_and_wide_ranges_have_distinct_ticks() {
        let ranges = [(1.0, 1.0), (0.98, 1.02), (1.0, 3.0), (0.3, 700.0), (1e-3, 1e7)];
        for (low, high) in ranges {
            let axis = Axis::logarithmic("time", Unit::Time, [low, high]);
            let ticks = texts(&axis);
            assert!((2..=9).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            let mut distinct = ticks.clone();
            distinct.dedup();
            assert_eq!(ticks, distinct);
            assert!(axis.position(low) > 0.0 && axis.position(high) < 1.0, "{low} to {high}");
        }
    }

    #[test]
    fn positions_follow_the_scale() {
        let axis = Axis::logarithmic("time", Unit::Time, [1.0, 100.0]);
        let middle = axis.position(10.0);
        assert!((middle - 0.5).abs() < 1e-9, "{middle}");
        let axis = Axis::from_zero("rate", Unit::Rate, [100.0]);
        assert_eq!(axis.position(0.0), 0.0);
        assert!((axis.position(52.5) - 0.5).abs() < 1e-9);
    }
}
