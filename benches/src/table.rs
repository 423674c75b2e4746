//! Printing: sizes, times and tables.

use std::fmt;
use std::io::{IsTerminal, Write, stderr};

use pgas_microbench::Spread;
pub use pgas_microbench::progress::clear;

use crate::{Bar, Outcome, Round};

/// A number of bytes in B, KiB or MiB.
pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{}MiB", b >> 20),
        b if b >= 1 << 10 => format!("{}KiB", b >> 10),
        b => format!("{b}B"),
    }
}

/// Nanoseconds as microseconds, to three digits.
pub fn micros(nanoseconds: f64) -> String {
    let us = nanoseconds / 1e3;
    let digits = match us {
        _ if us < 9.995 => 2,
        _ if us < 99.95 => 1,
        _ => 0,
    };
    format!("{us:.digits$}")
}

/// A median ratio, and its 10th and 90th percentile.
pub fn ratio(spread: Spread) -> String {
    let Spread { low, median, high } = spread;
    format!("{median:>6.2}  {:>13}", format!("{low:.2}..{high:.2}"))
}

/// Whether a limit was met, in a word.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// A note if other processes disturbed a measurement.
pub fn disturbed(outcome: &Outcome) -> &'static str {
    if outcome.disturbed { "  (disturbed)" } else { "" }
}

/// How this library's entry, the first, compares with the fastest of `peers`: the ratio, whether it is at least
/// `bar`, and the name of that one; and whether the measurement was disturbed.
pub fn beside_fastest(outcome: &Outcome, peers: std::ops::Range<usize>, labels: &[&str], bar: f64) -> String {
    let mut line = String::new();
    if let Some(entry) = outcome.fastest(peers)
        && let Some(spread) = outcome.ratio(entry, 0)
    {
        let (ratio, label) = (ratio(spread), labels[entry]);
        let verdict = verdict(spread.median >= bar);
        line = format!("{ratio}  >= {bar:.2}  {verdict}  {label}");
    }
    line + disturbed(outcome)
}

/// A table that is printed line by line while it is measured.
#[derive(Debug)]
pub struct LiveTable {
    first: usize,
    widths: Vec<usize>,
}

impl LiveTable {
    /// Begins a table: a wide first column, columns of times in microseconds, and more.
    pub fn new(first: &str, columns: &[&str], rest: &str) -> Self {
        let table = Self { first: 29, widths: columns.iter().map(|label| label.len().max(7)).collect() };
        let cells = columns.iter().map(|label| (*label).to_owned());
        table.print(first, cells, rest);
        table
    }

    /// Prints a line: nanoseconds for each column, where known.
    pub fn line(&self, first: &str, times: &[Option<f64>], rest: &str) {
        let cell = |time: &Option<f64>| time.map_or("-".to_owned(), micros);
        self.print(first, times.iter().map(cell), rest);
    }

    fn print(&self, first: &str, cells: impl Iterator<Item = String>, rest: &str) {
        clear();
        let mut line = format!("{first:width$}", width = self.first);
        for (cell, width) in cells.zip(&self.widths) {
            line += &format!("  {cell:>width$}");
        }
        println!("{}", format!("{line}  {rest}").trim_end());
    }
}

/// Shows on the terminal, if there is one, what is being measured.
pub fn progress(what: &str) {
    if stderr().is_terminal() {
        clear();
        eprint!("{what} ...");
        let _ = stderr().flush();
    }
}

/// One measured item.
#[derive(Debug, Clone)]
struct Row {
    item: String,
    bar: Option<Bar>,
    bare: f64,
    ours: f64,
    ratio: Spread,
    rounds: usize,
}

/// The summary of a run: all items, in the order of measurement.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds the rounds of an item. Without limit the ratio is one of times.
    pub fn add(&mut self, item: &str, bar: Option<Bar>, rounds: &[Round]) {
        let bar_or_time = bar.unwrap_or(Bar::Time(f64::INFINITY));
        let median =
            |time: fn(&Round) -> f64| Spread::of(rounds.iter().map(time)).map_or(f64::NAN, |spread| spread.median);
        let Some(ratio) = Spread::of(rounds.iter().map(|r| bar_or_time.ratio(r))) else {
            return;
        };
        let (bare, ours) = (median(|r| r.bare), median(|r| r.ours));
        self.rows.push(Row { item: item.to_owned(), bar, bare, ours, ratio, rounds: rounds.len() });
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A time in ns, us or ms.
fn shown(nanoseconds: f64) -> String {
    let (scale, unit) = match nanoseconds {
        n if n < 1e3 => (1.0, "ns"),
        n if n < 1e6 => (1e3, "us"),
        _ => (1e6, "ms"),
    };
    let value = nanoseconds / scale;
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{value:.digits$} {unit}")
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.rows.iter().map(|row| row.item.len()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:widest$}  {:>9}  {:>9}  {:>6}  {:>13}  {:>7}  {:>6}",
            "item", "bare", "ours", "ratio", "10%..90%", "bar", "rounds"
        )?;
        for row in &self.rows {
            let Spread { low, median, high } = row.ratio;
            let bar = row.bar.map_or("-".to_owned(), |bar| bar.to_string());
            let verdict = match row.bar {
                Some(bar) if bar.met(median) => "met",
                Some(_) => "MISSED",
                None => "",
            };
            let line = format!(
                "{:widest$}  {:>9}  {:>9}  {median:>6.2}  {:>13}  {bar:>7}  {:>6}  {verdict}",
                row.item,
                shown(row.bare),
                shown(row.ours),
                format!("{low:.2}..{high:.2}"),
                row.rounds,
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        assert_eq!(micros(123.4), "0.12");
        assert_eq!(micros(9_996.0), "10.0");
        assert_eq!(micros(99_960.0), "100");
        assert_eq!([8, 4096, 2 << 20].map(size), ["8B", "4KiB", "2MiB"]);
    }

    #[test]
    fn median_decides() {
        let mut table = Table::default();
        let round = |ours| Round { bare: 1000.0, ours };
        table.add("a", Some(Bar::Time(2.0)), &[round(1500.0), round(9000.0), round(1600.0)]);
        table.add("b", Some(Bar::Bandwidth(0.9)), &[round(2000.0)]);
        table.add("nothing", None, &[]);
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("1.60") && lines[1].ends_with("3  met"), "{text}");
        assert!(lines[2].contains("2.00 us") && lines[2].ends_with("MISSED"), "{text}");
    }
}
