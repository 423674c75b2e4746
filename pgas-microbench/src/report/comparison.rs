//! Comparisons of two measurements, in numbers and in words.

use super::axis::{Unit, digits};
use super::figure::Finding;
use crate::Spread;
use crate::measurement::{Measurement, Quantity};

impl From<&Measurement> for Spread {
    /// The spread of a measurement, in which bounds that exclude the median are replaced by it.
    fn from(row: &Measurement) -> Self {
        let bound = |value: f64| if value.is_finite() { value } else { row.median };
        Self {
            median: row.median,
            low: bound(row.low).min(row.median),
            high: bound(row.high).max(row.median),
        }
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
    /// Our value divided by the other.
    pub(super) fn ratio(&self) -> f64 {
        self.ours.median / self.other.median
    }

    /// A row of a figure's table: `subject` compared with `object` at the point `at`.
    pub(super) fn finding(&self, at: String, subject: &str, object: &str) -> Finding {
        let unit = Unit::of(self.ours.quantity);
        let mut words = sentence(subject, self.ratio(), self.ours.quantity, object);
        if Spread::from(self.ours).overlaps(self.other.into()) {
            words.push_str("; the samples overlap");
        }
        Finding {
            at,
            ours: unit.text(self.ours.median),
            other: format!("{}, {}", unit.text(self.other.median), name(self.other)),
            words,
        }
    }
}

/// The message of many pairs: their median ratio; none without pairs.
pub(super) fn message(pairs: &[Pair<'_>], subject: &str, object: &str) -> Option<String> {
    let quantity = pairs.first()?.ours.quantity;
    let mut ratios: Vec<f64> = pairs.iter().map(Pair::ratio).collect();
    let words = sentence(subject, median(&mut ratios), quantity, object);
    Some(match pairs.len() {
        1 => words,
        points => format!("{words} (median of {points} points)"),
    })
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
        "threads" => "threads",
        _ => return implementation.to_owned(),
    };
    format!("{implementation}, {form}")
}

fn sentence(subject: &str, ratio: f64, quantity: Quantity, object: &str) -> String {
    let ratio = digits(ratio);
    match quantity {
        Quantity::Latency => format!("{subject} takes {ratio} times the time of {object}"),
        Quantity::Bandwidth => format!("{subject} reaches {ratio} times the bandwidth of {object}"),
        Quantity::Rate => format!("{subject} reaches {ratio} times the rate of {object}"),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
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
            algorithm: String::new(),
            class: String::new(),
            pes: 2,
            pairs: 1,
            bytes: 8,
            quantity,
            unit: String::new(),
            samples: 5,
            median,
            low: median * 0.95,
            high: median * 1.05,
        }
    }

    #[test]
    fn a_finding_says_how_many_times_and_whether_samples_overlap() {
        let (call, ptr) = (
            row("call", Quantity::Latency, 0.0051),
            row("ptr", Quantity::Latency, 0.005),
        );
        let pair = Pair {
            ours: &call,
            other: &ptr,
        };
        let finding = pair.finding("8 B".to_owned(), "shmem_put", "the store");
        assert_eq!(finding.ours, "5.1 ns");
        assert_eq!(finding.other, "5 ns, FerroSHMEM, shmem_ptr");
        assert_eq!(
            finding.words,
            "shmem_put takes 1.02 times the time of the store; the samples overlap"
        );
    }

    #[test]
    fn a_message_is_the_median_ratio() {
        let rows: Vec<_> = [30.0, 10.0, 20.0, 40.0]
            .map(|median| row("call", Quantity::Bandwidth, median))
            .into();
        let one = row("ptr", Quantity::Bandwidth, 10.0);
        let pair = |ours| Pair { ours, other: &one };
        let pairs: Vec<Pair<'_>> = rows.iter().map(pair).collect();
        let expected = "put reaches 2.5 times the bandwidth of stores (median of 4 points)";
        assert_eq!(message(&pairs, "put", "stores").as_deref(), Some(expected));
        assert_eq!(message(&[], "put", "stores"), None);
    }

    #[test]
    fn bounds_that_exclude_the_median_or_are_no_numbers_are_not_drawn() {
        let mut odd = row("call", Quantity::Latency, 2.0);
        (odd.low, odd.high) = (3.0, f64::NAN);
        assert_eq!(Spread::from(&odd), Spread::exactly(2.0));
    }
}
