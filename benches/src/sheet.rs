//! Printing: sizes, times, aligned columns.

use std::io::{IsTerminal, Write, stderr};

use crate::{Outcome, Spread};

/// A number of bytes in the unit that suits it.
pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{}MiB", b >> 20),
        b if b >= 1 << 10 => format!("{}KiB", b >> 10),
        b => format!("{b}B"),
    }
}

/// Nanoseconds as microseconds, three digits.
pub fn micros(nanoseconds: f64) -> String {
    let us = nanoseconds / 1e3;
    let digits = match us {
        _ if us < 9.995 => 2,
        _ if us < 99.95 => 1,
        _ => 0,
    };
    format!("{us:.digits$}")
}

/// A ratio and where its blocks lie.
pub fn ratio(spread: Spread) -> String {
    let Spread { low, median, high } = spread;
    format!("{median:>6.2}  {:>13}", format!("{low:.2}..{high:.2}"))
}

/// How a bar was kept.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// A word on what others did to a measurement.
pub fn disturbed(outcome: &Outcome) -> &'static str {
    if outcome.disturbed {
        "  (disturbed)"
    } else {
        ""
    }
}

/// A table that is printed line by line.
#[derive(Debug)]
pub struct Sheet {
    first: usize,
    widths: Vec<usize>,
}

impl Sheet {
    /// Begins a table: a wide first column, columns of times in microseconds, and more.
    pub fn new(first: &str, columns: &[&str], rest: &str) -> Self {
        let sheet = Self {
            first: 29,
            widths: columns.iter().map(|label| label.len().max(7)).collect(),
        };
        let cells = columns.iter().map(|label| (*label).to_owned());
        sheet.print(first, cells, rest);
        sheet
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

/// Says on the terminal, if there is one, what is being measured.
pub fn progress(what: &str) {
    if stderr().is_terminal() {
        clear();
        eprint!("{what} ...");
        let _ = stderr().flush();
    }
}

/// Takes the progress line away.
pub fn clear() {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
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
}
