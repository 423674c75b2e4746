//! The table that sums a run up.

use std::fmt;

use crate::{Bar, Round, Spread};

/// One measured thing.
#[derive(Debug, Clone)]
struct Row {
    item: String,
    bar: Option<Bar>,
    bare: f64,
    ours: f64,
    ratio: Spread,
    rounds: usize,
}

/// All that was measured, in order.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds what `rounds` say of an item. Without bar the ratio is one of times.
    pub fn add(&mut self, item: &str, bar: Option<Bar>, rounds: &[Round]) {
        let bar_or_time = bar.unwrap_or(Bar::Time(f64::INFINITY));
        let median = |time: fn(&Round) -> f64| {
            Spread::of(rounds.iter().map(time)).map_or(f64::NAN, |spread| spread.median)
        };
        let Some(ratio) = Spread::of(rounds.iter().map(|r| bar_or_time.ratio(r))) else {
            return;
        };
        let (bare, ours) = (median(|r| r.bare), median(|r| r.ours));
        self.rows.push(Row {
            item: item.to_owned(),
            bar,
            bare,
            ours,
            ratio,
            rounds: rounds.len(),
        });
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A time with the unit that suits it.
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
        let widest = self
            .rows
            .iter()
            .map(|row| row.item.len())
            .max()
            .unwrap_or(0)
            .max(4);
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
    fn median_decides() {
        let mut table = Table::default();
        let round = |ours| Round { bare: 1000.0, ours };
        table.add(
            "a",
            Some(Bar::Time(2.0)),
            &[round(1500.0), round(9000.0), round(1600.0)],
        );
        table.add("b", Some(Bar::Bandwidth(0.9)), &[round(2000.0)]);
        table.add("nothing", None, &[]);
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[1].contains("1.60") && lines[1].ends_with("3  met"),
            "{text}"
        );
        assert!(
            lines[2].contains("2.00 us") && lines[2].ends_with("MISSED"),
            "{text}"
        );
    }
}
