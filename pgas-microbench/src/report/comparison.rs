//! Comparisons of two measurements, in numbers and in words.

use super::axis::{Unit, digits};
use super::figure::Finding;
use crate::Spread;
use crate::measurement::{Measurement, Quantity};

impl From<&Measurement> for Spread {
    /// The spread of a measurement, in which bounds that exclude the median are replaced by it.
    fn from(row: &Measurement) -> Self {
        let bound = |value: f64| if value.is_finite() { value } else { row.median };
        Self { median: row.median, low: bound(row.low).min(row.median), high: bound(row.high).max(row.median) }
    }
}

/// The same operation measured in two ways.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    /// The measurement that is compared.
    pub ours: &'a Measurement,
    /// The measurement that it is compared with.
    pub other: &'a Measurement,
}

impl Pair<'_> {
    /// How many times as fast ours is, by the medians, and by the ends of the samples' ranges: more than 1 is
    /// faster, for times as for rates.
    pub(super) fn speed(&self) -> Spread {
        let (ours, other) = (Spread::from(self.ours), Spread::from(self.other));
        match self.ours.quantity {
            Quantity::Latency => other.over(ours),
            Quantity::Bandwidth | Quantity::Rate => ours.over(other),
        }
    }

    fn is_disturbed(&self) -> bool {
        !(self.ours.disturbed.is_empty() && self.other.disturbed.is_empty())
    }

    /// A row of a figure's table: `subject` compared with `object` at the point `at`.
    pub(super) fn finding(&self, at: String, subject: &str, object: &str) -> Finding {
        let unit = Unit::of(self.ours.quantity);
        let speed = self.speed();
        let mut words = sentence(subject, speed.median, self.ours.quantity, object);
        words.push_str(&format!(" ({})", range(speed)));
        if Spread::from(self.ours).overlaps(self.other.into()) {
            words.push_str("; the samples overlap");
        }
        if self.is_disturbed() {
            words.push_str("; disturbed");
        }
        Finding {
            at,
            ours: unit.text(self.ours.median),
            other: format!("{}, {}", unit.text(self.other.median), name(self.other)),
            words,
        }
    }

    /// The same, in which the object is who made the other measurement.
    pub(super) fn beside_maker(&self, at: String, subject: &str) -> Finding {
        self.finding(at, subject, &maker(self.other))
    }
}

/// What this library is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The best of the other libraries, or threads.
    Others,
    /// Another way to do the same with this library: loads and stores, or another form.
    Itself,
}

/// All points of a figure compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// With what.
    pub beside: Beside,
    /// With what, in words.
    pub object: String,
    /// How many times as fast this library is: the median of the points, the lowest and the highest point; of a
    /// single point its median and the range of its samples.
    pub speed: Spread,
    /// Number of points.
    pub points: usize,
    /// Points of which a run was disturbed.
    pub disturbed: usize,
    /// The comparison as a sentence.
    pub words: String,
}

/// How far from 1 a factor is no more than noise.
const EVEN: f64 = 0.05;

/// Whether this library is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// By more than 5 %.
    Ahead,
    /// Within 5 %.
    Even,
    /// By more than 5 %.
    Behind,
}

impl Comparison {
    /// Compares `subject` with `object` at all points; none without points.
    pub(super) fn new(pairs: &[Pair<'_>], subject: &str, beside: Beside, object: &str) -> Option<Self> {
        let quantity = pairs.first()?.ours.quantity;
        let speeds: Vec<Spread> = pairs.iter().map(Pair::speed).collect();
        let mut medians: Vec<f64> = speeds.iter().map(|speed| speed.median).collect();
        let middle = median(&mut medians);
        let speed = match speeds.as_slice() {
            [only] => *only,
            _ => Spread { low: medians[0], median: middle, high: medians[medians.len() - 1] },
        };
        let disturbed = pairs.iter().filter(|pair| pair.is_disturbed()).count();
        let statistic = match pairs.len() {
            1 => "medians of the samples".to_owned(),
            points => format!("median of {points} points"),
        };
        let mut words = sentence(subject, speed.median, quantity, object);
        words.push_str(&format!(" ({statistic}, {}", range(speed)));
        if disturbed > 0 {
            words.push_str(&format!("; {disturbed} disturbed"));
        }
        words.push(')');
        Some(Self { beside, object: object.to_owned(), speed, points: pairs.len(), disturbed, words })
    }

    /// Whether this library is ahead, by the median.
    pub fn standing(&self) -> Standing {
        match self.speed.median {
            speed if speed > 1.0 + EVEN => Standing::Ahead,
            speed if speed < 1.0 / (1.0 + EVEN) => Standing::Behind,
            _ => Standing::Even,
        }
    }
}

fn range(speed: Spread) -> String {
    format!("{} to {}", digits(speed.low), digits(speed.high))
}

/// The implementation and the form of a measurement.
pub(super) fn name(row: &Measurement) -> String {
    label(&row.implementation, &row.form)
}

/// The same within a sentence, where calls need no mention.
pub(super) fn maker(row: &Measurement) -> String {
    match row.form.as_str() {
        "call" => row.implementation.clone(),
        _ => name(row).replacen(", ", " by ", 1),
    }
}

/// The label of an implementation and a form.
pub(super) fn label(implementation: &str, form: &str) -> String {
    let form = match form {
        "call" => "call",
        "ptr" => "shmem_ptr",
        "putget" => "put/get",
        "sendrecv" => "send and receive",
        "python" => "shmem4py",
        "view" => "NumPy's view",
        "threads" => "threads",
        _ => return implementation.to_owned(),
    };
    format!("{implementation}, {form}")
}

/// A sentence in which more than 1 is better, whatever is measured.
fn sentence(subject: &str, speed: f64, quantity: Quantity, object: &str) -> String {
    let speed = digits(speed);
    match quantity {
        Quantity::Latency => format!("{subject} is {speed} times as fast as {object}"),
        Quantity::Bandwidth => format!("{subject} has {speed} times the bandwidth of {object}"),
        Quantity::Rate => format!("{subject} has {speed} times the rate of {object}"),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(form: &str, quantity: Quantity, median: f64) -> Measurement {
        Measurement {
            program: "latency".to_owned(),
            implementation: "FerroSHMEM".to_owned(),
            operation: "put".to_owned(),
            form: form.to_owned(),
            pes: 2,
            pairs: 1,
            bytes: 8,
            samples: 5,
            median,
            low: median * 0.95,
            high: median * 1.05,
            ..Measurement::blank(quantity, "")
        }
    }

    #[test]
    fn a_finding_says_how_many_times_and_whether_samples_overlap() {
        let (mut call, ptr) = (row("call", Quantity::Latency, 0.0051), row("ptr", Quantity::Latency, 0.005));
        let finding = |call: &Measurement| {
            let pair = Pair { ours: call, other: &ptr };
            pair.finding("8 B".to_owned(), "shmem_put", "the store")
        };
        let plain = finding(&call);
        assert_eq!(plain.ours, "5.1 ns");
        assert_eq!(plain.other, "5 ns, FerroSHMEM, shmem_ptr");
        let words = "shmem_put is 0.98 times as fast as the store (0.887 to 1.08); the samples overlap";
        assert_eq!(plain.words, words);
        call.disturbed = "other processes".to_owned();
        assert_eq!(finding(&call).words, format!("{words}; disturbed"));
    }

    #[test]
    fn more_than_1_is_ahead_for_times_and_for_rates() {
        for (quantity, ours, other) in
            [(Quantity::Latency, 1.0, 2.0), (Quantity::Bandwidth, 2.0, 1.0), (Quantity::Rate, 2.0, 1.0)]
        {
            let (fast, slow) = (row("call", quantity, ours), row("ptr", quantity, other));
            let compared =
                |ours, other| Comparison::new(&[Pair { ours, other }], "put", Beside::Others, "others").unwrap();
            let ahead = compared(&fast, &slow);
            assert_eq!((ahead.speed.median, ahead.standing()), (2.0, Standing::Ahead));
            assert!(ahead.speed.low < 2.0 && ahead.speed.high > 2.0);
            assert!(ahead.words.contains(" 2 times "), "{}", ahead.words);
            let behind = compared(&slow, &fast);
            assert_eq!((behind.speed.median, behind.standing()), (0.5, Standing::Behind));
            assert!(behind.words.contains(" 0.5 times "), "{}", behind.words);
            assert_eq!(compared(&fast, &fast).standing(), Standing::Even);
        }
    }

    #[test]
    fn a_headline_is_the_median_of_its_points_and_names_their_range() {
        let mut rows: Vec<_> = [30.0, 10.0, 20.0, 40.0].map(|median| row("call", Quantity::Bandwidth, median)).into();
        rows[1].disturbed = "the hypervisor".to_owned();
        let one = row("ptr", Quantity::Bandwidth, 10.0);
        let pair = |ours| Pair { ours, other: &one };
        let pairs: Vec<Pair<'_>> = rows.iter().map(pair).collect();
        let all = Comparison::new(&pairs, "put", Beside::Itself, "stores").unwrap();
        let expected = "put has 2.5 times the bandwidth of stores (median of 4 points, 1 to 4; 1 disturbed)";
        assert_eq!(all.words, expected);
        assert_eq!((all.points, all.disturbed), (4, 1));
        assert_eq!(Comparison::new(&[], "put", Beside::Itself, "stores"), None);
    }

    #[test]
    fn bounds_that_exclude_the_median_or_are_no_numbers_are_not_drawn() {
        let mut odd = row("call", Quantity::Latency, 2.0);
        (odd.low, odd.high) = (3.0, f64::NAN);
        assert_eq!(Spread::from(&odd), Spread::exactly(2.0));
    }
}
