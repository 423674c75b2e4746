//! From rows to panels and findings: what the figures have in common.

use std::collections::BTreeMap;

use super::super::axis::{Axis, Scale, Unit};
use super::super::comparison::{self, Pair};
use super::super::figure::{Finding, Panel, Series};
use super::super::palette::{Stroke, Style};
use super::super::rows::{Rows, is_our_name};
use super::Data;
use crate::Spread;
use crate::measurement::Measurement;

/// A row's number of bytes.
pub(super) fn bytes(row: &Measurement) -> u64 {
    row.bytes
}

/// Makes an axis of a label and values.
type MakeAxis = fn(&str, Vec<f64>) -> Axis;

impl Data<'_> {
    /// A line or the bars of an implementation and a form.
    fn series(&self, (implementation, form): (&str, &str), points: Vec<(f64, Spread)>) -> Series {
        let style = Style { hue: self.palette.hue(implementation), stroke: Stroke::of(form) };
        Series { label: comparison::label(implementation, form), style, points }
    }

    /// A panel with a line for each implementation and form.
    fn lines(
        &self,
        rows: &Rows<'_>,
        title: &str,
        x: (MakeAxis, &str),
        value: fn(&Measurement) -> u64,
        label: &str,
    ) -> Option<Panel> {
        let line = |maker| self.series(maker, points(&rows.maker(maker), value));
        let lines = rows.makers().into_iter().map(line).collect();
        line_panel(title, x, (unit(rows)?, label), lines)
    }

    /// Lines over bytes.
    pub(super) fn by_bytes(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let x: (MakeAxis, _) = (Axis::bytes, "Bytes (log scale)");
        self.lines(rows, title, x, bytes, label)
    }

    /// Lines over numbers of PEs.
    pub(super) fn by_pes(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let x: (MakeAxis, _) = (Axis::counts, "PEs (log scale)");
        self.lines(rows, title, x, |row| row.pes.into(), label)
    }

    /// Lines over numbers of pairs.
    pub(super) fn by_pairs(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let x: (MakeAxis, _) = (Axis::counts, "Pairs of PEs (log scale)");
        self.lines(rows, title, x, |row| row.pairs.into(), label)
    }

    /// For each library with both forms, the speed of `call` divided by that of `ptr`, over bytes.
    pub(super) fn call_to_direct(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let line = |maker: (&str, &str)| {
            let pairs = matches(&rows.maker(maker), &rows.maker((maker.0, "ptr")));
            let points = pairs
                .iter()
                .filter(|pair| pair.ours.bytes > 0)
                .map(|pair| (pair.ours.bytes as f64, Spread::exactly(pair.speed().median)));
            self.series(maker, points.collect())
        };
        let lines = rows.forms(&["call"]).makers().into_iter().map(line);
        let x = (Axis::bytes as MakeAxis, "Bytes (log scale)");
        let mut panel = line_panel(title, x, (Unit::Ratio, label), lines.collect())?;
        // The axis includes the reference even if all values are above it.
        let values = panel.series.iter().flat_map(Series::values).chain([1.0]);
        panel.y = Axis::logarithmic(label, Unit::Ratio, values);
        panel.reference = Some(1.0);
        Some(panel)
    }

    /// Bars over names, or marks if the scale is logarithmic: one group per name, which is a column
    /// of the rows.
    pub(super) fn bars(
        &self,
        rows: &Rows<'_>,
        title: &str,
        (x_label, names): (&str, &[String]),
        name_of: impl Fn(&Measurement) -> String,
        (scale, y_label): (Scale, &str),
    ) -> Option<Panel> {
        let unit = unit(rows)?;
        let of_maker = |maker| {
            let rows = rows.maker(maker);
            let value = |(index, name): (usize, &String)| {
                let row = rows.filter(|m| name_of(m) == *name).last()?;
                Some((index as f64, Spread::from(row)))
            };
            let points = names.iter().enumerate().filter_map(value).collect();
            self.series(maker, points)
        };
        let series: Vec<_> = rows.makers().into_iter().map(of_maker).collect();
        let values: Vec<_> = series.iter().flat_map(Series::values).collect();
        let y = match scale {
            Scale::Log => Axis::logarithmic(y_label, unit, values),
            Scale::Linear | Scale::Names => Axis::from_zero(y_label, unit, values),
        };
        Some(Panel { title: title.to_owned(), x: Axis::names(x_label, names), y, series, reference: None })
    }

    /// Marks over the rows' operations.
    pub(super) fn by_operation(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let names = rows.values(|m| m.operation.clone());
        self.bars(rows, title, ("Operation", &names), |m| m.operation.clone(), (Scale::Log, label))
    }

    /// Bars over the rows' numbers of PEs.
    pub(super) fn bars_by_pes(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let names: Vec<String> = rows.values(|m| m.pes).iter().map(u32::to_string).collect();
        self.bars(rows, title, ("PEs", &names), |m| m.pes.to_string(), (Scale::Linear, label))
    }
}

/// A panel of the lines that have points, if there are any.
pub(super) fn line_panel(
    title: &str,
    (x, x_label): (MakeAxis, &str),
    (unit, y_label): (Unit, &str),
    mut lines: Vec<Series>,
) -> Option<Panel> {
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return None;
    }
    let points = lines.iter().flat_map(|line| &line.points);
    Some(Panel {
        title: title.to_owned(),
        x: x(x_label, points.map(|point| point.0).collect()),
        y: Axis::logarithmic(y_label, unit, lines.iter().flat_map(Series::values)),
        series: lines,
        reference: None,
    })
}

/// Gives panels of lines the same vertical axis, so that they can be compared.
pub(super) fn share_axis(panels: &mut [Panel]) {
    let series = panels.iter().flat_map(|panel| &panel.series);
    let values: Vec<f64> = series.flat_map(Series::values).collect();
    for panel in panels {
        panel.y = Axis::logarithmic(&panel.y.label, panel.y.unit, values.iter().copied());
    }
}

/// The points of a line; of two at one place, the later.
pub(super) fn points(rows: &Rows<'_>, x: fn(&Measurement) -> u64) -> Vec<(f64, Spread)> {
    let points: BTreeMap<_, Spread> = rows.iter().map(|row| (x(row), row.into())).collect();
    let drawable = points.into_iter().filter(|point| point.0 > 0);
    drawable.map(|(x, spread)| (x as f64, spread)).collect()
}

/// Pairs of rows that agree in operation, class, sizes and numbers of PEs.
pub(super) fn matches<'a>(ours: &Rows<'a>, others: &Rows<'a>) -> Vec<Pair<'a>> {
    let others: BTreeMap<_, _> = others.iter().map(|m| (point(m), m)).collect();
    let ours: BTreeMap<_, _> = ours.iter().map(|m| (point(m), m)).collect();
    let pair = |(key, ours)| others.get(&key).map(|other| Pair { ours, other });
    ours.into_iter().filter_map(pair).collect()
}

/// What rows have in common that can be compared.
fn point(m: &Measurement) -> (&str, &str, u32, u32, u64) {
    (&m.operation, &m.class, m.pes, m.pairs, m.bytes)
}

/// Each row of this library, with the best of the other libraries.
pub(super) fn beside_best<'a>(rows: &Rows<'a>) -> Vec<Pair<'a>> {
    let peers = rows.peers();
    let pair = |ours: &'a Measurement| {
        let other = peers.filter(|m| point(m) == point(ours)).best()?;
        Some(Pair { ours, other })
    };
    rows.ours().iter().filter_map(pair).collect()
}

/// This library's calls, or another of its forms, with its loads and stores.
pub(super) fn beside_direct<'a>(rows: &Rows<'a>, form: &str) -> Vec<Pair<'a>> {
    let ours = rows.ours();
    matches(&ours.forms(&[form]), &ours.forms(&["ptr"]))
}

/// The sizes in tables: those closest to 8 B, 4 KiB and 8 MiB.
pub(super) fn telling_sizes(rows: &Rows<'_>) -> Vec<u64> {
    let sizes = rows.values(bytes);
    let nearest = |wanted: f64| {
        let distance = |size: u64| (size.max(1) as f64 / wanted).ln().abs();
        let sizes = sizes.iter().copied();
        sizes.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
    };
    let wanted = [8.0, 4096.0, 8_388_608.0];
    let mut sizes: Vec<u64> = wanted.into_iter().filter_map(nearest).collect();
    sizes.dedup();
    sizes
}

/// Findings for each telling size: this library's calls compared with `direct` loads and stores, and
/// with the best of the other libraries.
pub(super) fn findings_by_size(rows: &Rows<'_>, place: &str, subject: &str, direct: &str) -> Vec<Finding> {
    let ours = rows.ours();
    let calls = ours.forms(&["call"]);
    let mut found = Vec::new();
    for size in telling_sizes(&calls) {
        let at = format!("{}, {place}", size_text(size));
        let direct_pairs = beside_direct(&ours.bytes(size), "call");
        found.extend(direct_pairs.iter().map(|pair| pair.finding(at.clone(), subject, direct)));
        let best = beside_best(&calls_and_peers(&rows.bytes(size)));
        found.extend(best.iter().map(|pair| pair.beside_maker(at.clone(), subject)));
    }
    found
}

/// This library's calls and those of the others, without loads and stores of either.
pub(super) fn calls_and_peers<'a>(rows: &Rows<'a>) -> Rows<'a> {
    let is_call = |m: &Measurement| m.form == "call" || !is_our_name(&m.implementation);
    rows.filter(|m| is_call(m) && m.form != "ptr")
}

/// Operation and number of PEs of a pair in words.
pub(super) fn operation_text(pair: &Pair<'_>) -> String {
    format!("{}, {}", pair.ours.operation, count_text(pair.ours.pes, "PE"))
}

/// A number of bytes in words.
pub(super) fn size_text(bytes: u64) -> String {
    Unit::Bytes.text(bytes as f64)
}

/// A number with its noun.
pub(super) fn count_text(number: u32, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The unit of some rows, if there are any.
fn unit(rows: &Rows<'_>) -> Option<Unit> {
    rows.iter().next().map(|row| Unit::of(row.quantity))
}

/// The rows of at most seven lines, which a panel can show: this library's two forms, the calls of
/// other OpenSHMEMs, and one form of each MPI.
pub(super) fn main_forms<'a>(rows: &Rows<'a>) -> Rows<'a> {
    const MOST: usize = 7;
    let main = rows.filter(|m| match m.form.as_str() {
        "ptr" => is_our_name(&m.implementation),
        "sendrecv" => false,
        _ => true,
    });
    let makers = main.makers();
    let kept = &makers[..makers.len().min(MOST)];
    main.filter(|m| kept.contains(&(m.implementation.as_str(), m.form.as_str())))
}
