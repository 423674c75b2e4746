//! Selecting rows of results.

use crate::measurement::{Measurement, Quantity};

/// The name of this library in results.
const OURS: &str = "FerroSHMEM";

/// Rows in the order in which they were measured.
#[derive(Debug, Clone)]
pub(super) struct Rows<'a>(Vec<&'a Measurement>);

impl<'a> Rows<'a> {
    /// All rows that can be drawn: medians that are positive numbers.
    pub(super) fn new(measurements: &'a [Measurement]) -> Self {
        let drawable = |m: &&Measurement| m.median.is_finite() && m.median > 0.0;
        Self(measurements.iter().filter(drawable).collect())
    }

    /// The rows that meet a condition.
    pub(super) fn filter(&self, condition: impl Fn(&Measurement) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|m| condition(m)).collect())
    }

    /// The rows of one program and operation, in which the library chose the algorithm.
    pub(super) fn of(&self, program: &str, operation: &str, quantity: Quantity) -> Self {
        self.filter(|m| {
            m.program == program && m.operation == operation && m.quantity == quantity && m.algorithm.is_empty()
        })
    }

    /// The rows of one operation.
    pub(super) fn operation(&self, operation: &str) -> Self {
        self.filter(|m| m.operation == operation)
    }

    /// The rows of one number of pairs.
    pub(super) fn pairs(&self, pairs: u32) -> Self {
        self.filter(|m| m.pairs == pairs)
    }

    /// The rows of one number of PEs.
    pub(super) fn pes(&self, pes: u32) -> Self {
        self.filter(|m| m.pes == pes)
    }

    /// The rows of some bytes.
    pub(super) fn bytes(&self, bytes: u64) -> Self {
        self.filter(|m| m.bytes == bytes)
    }

    /// The rows of some forms.
    pub(super) fn forms(&self, forms: &[&str]) -> Self {
        self.filter(|m| forms.contains(&m.form.as_str()))
    }

    /// The rows of this library.
    pub(super) fn ours(&self) -> Self {
        self.filter(is_ours)
    }

    /// The rows of the other libraries.
    pub(super) fn peers(&self) -> Self {
        self.filter(|m| !is_ours(m))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a row is one of them.
    pub(super) fn has(&self, row: &Measurement) -> bool {
        self.0.iter().any(|m| std::ptr::eq(*m, row))
    }

    /// The rows themselves.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Measurement> {
        self.0.iter().copied()
    }

    /// The last row: a repeated measurement replaces the first one.
    pub(super) fn last(&self) -> Option<&'a Measurement> {
        self.0.last().copied()
    }

    /// The row of the shortest time or the highest rate.
    pub(super) fn best(&self) -> Option<&'a Measurement> {
        self.iter().min_by(|a, b| match a.quantity {
            Quantity::Latency => a.median.total_cmp(&b.median),
            Quantity::Bandwidth | Quantity::Rate => b.median.total_cmp(&a.median),
        })
    }

    /// The values of a column, ascending, each once.
    pub(super) fn values<T: Ord>(&self, column: impl Fn(&'a Measurement) -> T) -> Vec<T> {
        let mut values: Vec<T> = self.iter().map(column).collect();
        values.sort();
        values.dedup();
        values
    }

    /// Implementations and forms, each once: this library first, library calls before loads and
    /// stores.
    pub(super) fn makers(&self) -> Vec<(&'a str, &'a str)> {
        let mut makers: Vec<(&str, &str)> = Vec::new();
        for row in self.iter() {
            let maker = (row.implementation.as_str(), row.form.as_str());
            if !makers.contains(&maker) {
                makers.push(maker);
            }
        }
        let first_seen: Vec<&str> = makers.iter().map(|maker| maker.0).collect();
        makers.sort_by_key(|(implementation, form)| {
            let place = first_seen.iter().position(|name| name == implementation);
            (!is_our_name(implementation), place, *form == "ptr")
        });
        makers
    }

    /// The rows of one implementation and form.
    pub(super) fn maker(&self, (implementation, form): (&str, &str)) -> Self {
        self.filter(|m| m.implementation == implementation && m.form == form)
    }
}

/// Whether a row is of this library.
pub(super) fn is_ours(row: &Measurement) -> bool {
    is_our_name(&row.implementation)
}

/// Whether a name is this library's; a version may follow.
pub(super) fn is_our_name(implementation: &str) -> bool {
    implementation.starts_with(OURS)
}
