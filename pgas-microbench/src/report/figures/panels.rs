//! From rows to panels and findings: what the figures have in common.

use std::collections::BTreeMap;

use super::super::axis::{Axis, Unit};
use super::super::comparison::{self, Pair};
use super::super::figure::{BarChart, Bars, Chart, Finding, Line, LineChart, Panel, Series};
use super::super::palette::{Stroke, Style};
use super::super::rows::{Rows, is_our_name};
use super::Data;
use crate::Spread;
use crate::measurement::{Measurement, Quantity};

/// A row's number of bytes.
pub(super) fn bytes(row: &Measurement) -> u64 {
    row.bytes
}

/// A row's number of PEs.
pub(super) fn pes(row: &Measurement) -> u64 {
    row.pes.into()
}

/// A row's number of pairs.
pub(super) fn pairs(row: &Measurement) -> u64 {
    row.pairs.into()
}

impl Data<'_> {
    /// The legend's entry of a library and a form.
    pub(super) fn series(&self, (implementation, form): (&str, &str)) -> Series {
        Series {
            label: comparison::label(implementation, form),
            style: Style {
                hue: self.palette.hue(implementation),
                stroke: Stroke::of(form),
            },
        }
    }

    /// A line for each library and form.
    pub(super) fn lines(&self, rows: &Rows<'_>, x: impl Fn(&Measurement) -> u64) -> Vec<Line> {
        let line = |maker| Line {
            series: self.series(maker),
            points: points(&rows.maker(maker), &x),
        };
        let makers = rows.makers().into_iter().map(line);
        makers.filter(|line| !line.points.is_empty()).collect()
    }

    /// Lines over bytes.
    pub(super) fn by_bytes(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let unit = unit(rows)?;
        line_panel(
            title,
            Axis::bytes,
            "Bytes (log scale)",
            label,
            unit,
            self.lines(rows, bytes),
        )
    }

    /// Lines over numbers of PEs.
    pub(super) fn by_pes(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let unit = unit(rows)?;
        line_panel(
            title,
            counts,
            "PEs (log scale)",
            label,
            unit,
            self.lines(rows, pes),
        )
    }

    /// Lines over numbers of pairs.
    pub(super) fn by_pairs(&self, rows: &Rows<'_>, title: &str, label: &str) -> Option<Panel> {
        let unit = unit(rows)?;
        let x = "Pairs of PEs (log scale)";
        line_panel(title, counts, x, label, unit, self.lines(rows, pairs))
    }

    /// Of each library that has both forms, `call` divided by `direct`, over bytes.
    pub(super) fn call_to_direct(
        &self,
        rows: &Rows<'_>,
        title: &str,
        label: &str,
    ) -> Option<Panel> {
        let lines = rows
            .forms(&["call"])
            .makers()
            .into_iter()
            .filter_map(|maker| {
                let calls = rows.maker(maker);
                let direct = rows.maker((maker.0, "ptr"));
                let points: Vec<_> = matches(&calls, &direct)
                    .iter()
                    .filter(|pair| pair.ours.bytes > 0)
                    .map(|pair| (pair.ours.bytes as f64, Spread::exactly(pair.ratio())))
                    .collect();
                let series = self.series(maker);
                (!points.is_empty()).then_some(Line { series, points })
            });
        let x = "Bytes (log scale)";
        let mut panel = line_panel(title, Axis::bytes, x, label, Unit::Ratio, lines.collect())?;
        if let Chart::Lines(chart) = &mut panel.chart {
            let values = chart.lines.iter().flat_map(|line| &line.points);
            // The reference has a place even if all is above it.
            let values = values.map(|point| point.1.median).chain([1.0]);
            chart.y = Axis::logarithmic(label, Unit::Ratio, values);
            chart.reference = Some(1.0);
        }
        Some(panel)
    }

    /// Bars, or marks on a logarithmic axis, over names: one group per name, a column of the rows.
    pub(super) fn bars(
        &self,
        rows: &Rows<'_>,
        title: &str,
        (x_label, names): (&str, &[String]),
        name_of: impl Fn(&Measurement) -> String,
        y: impl Fn(Unit, &[f64]) -> Axis,
    ) -> Option<Panel> {
        let unit = unit(rows)?;
        let of_maker = |maker| {
            let rows = rows.maker(maker);
            let value = |name: &String| {
                rows.filter(|m| name_of(m) == *name)
                    .last()
                    .map(Spread::from)
            };
            Bars {
                series: self.series(maker),
                values: names.iter().map(value).collect(),
            }
        };
        let bars: Vec<Bars> = rows.makers().into_iter().map(of_maker).collect();
        let spreads = bars.iter().flat_map(|bars| bars.values.iter().flatten());
        let values: Vec<f64> = spreads.flat_map(|s| [s.median, s.low, s.high]).collect();
        (!values.is_empty()).then(|| Panel {
            title: title.to_owned(),
            chart: Chart::Bars(BarChart {
                x: Axis::names(x_label, names),
                y: y(unit, &values),
                bars,
            }),
        })
    }
}

/// An axis of numbers of PEs or pairs.
fn counts(label: &str, values: Vec<f64>) -> Axis {
    Axis::counts(label, values)
}

/// A panel of lines, if there are any.
pub(super) fn line_panel(
    title: &str,
    x: impl Fn(&str, Vec<f64>) -> Axis,
    x_label: &str,
    y_label: &str,
    unit: Unit,
    lines: Vec<Line>,
) -> Option<Panel> {
    if lines.is_empty() {
        return None;
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let places = points().map(|point| point.0).collect();
    Some(Panel {
        title: title.to_owned(),
        chart: Chart::Lines(LineChart {
            x: x(x_label, places),
            y: Axis::logarithmic(y_label, unit, extremes(&lines)),
            lines,
            reference: None,
        }),
    })
}

/// Gives panels of lines one vertical axis, so that they can be compared.
pub(super) fn share_axis(panels: &mut [Panel]) {
    let values: Vec<f64> = panels
        .iter()
        .filter_map(|panel| match &panel.chart {
            Chart::Lines(chart) => Some(extremes(&chart.lines)),
            Chart::Bars(_) => None,
        })
        .flatten()
        .collect();
    for panel in panels {
        if let Chart::Lines(chart) = &mut panel.chart {
            chart.y = Axis::logarithmic(&chart.y.label, chart.y.unit, values.iter().copied());
        }
    }
}

/// All values of lines that an axis has to have a place for.
fn extremes(lines: &[Line]) -> Vec<f64> {
    let points = lines.iter().flat_map(|line| &line.points);
    points
        .flat_map(|(_, s)| [s.median, s.low, s.high])
        .collect()
}

/// The points of a line; of two at one place, the later.
pub(super) fn points(rows: &Rows<'_>, x: impl Fn(&Measurement) -> u64) -> Vec<(f64, Spread)> {
    let points: BTreeMap<u64, Spread> =
        rows.iter().map(|row| (x(row), Spread::from(row))).collect();
    let drawable = points.into_iter().filter(|point| point.0 > 0);
    drawable.map(|(x, spread)| (x as f64, spread)).collect()
}

/// What was measured twice, in two ways: the rows that agree in operation, class, sizes and numbers
/// of PEs.
pub(super) fn matches<'a>(ours: &Rows<'a>, others: &Rows<'a>) -> Vec<Pair<'a>> {
    let key = |m: &'a Measurement| (&m.operation, &m.class, m.pes, m.pairs, m.bytes);
    let others: BTreeMap<_, _> = others.iter().map(|m| (key(m), m)).collect();
    let ours: BTreeMap<_, _> = ours.iter().map(|m| (key(m), m)).collect();
    let pair = |(key, ours)| others.get(&key).map(|other| Pair { ours, other });
    ours.into_iter().filter_map(pair).collect()
}

/// Beside each row of this library the best of the other libraries.
pub(super) fn beside_best<'a>(rows: &Rows<'a>) -> Vec<Pair<'a>> {
    let best = |(operation, class, pes, pairs, bytes): (&str, &str, u32, u32, u64)| {
        let same = rows.peers().filter(|m| {
            m.operation == operation
                && m.class == class
                && (m.pes, m.pairs, m.bytes) == (pes, pairs, bytes)
        });
        same.best()
    };
    let pair = |ours: &'a Measurement| {
        let other = best((
            &ours.operation,
            &ours.class,
            ours.pes,
            ours.pairs,
            ours.bytes,
        ))?;
        Some(Pair { ours, other })
    };
    rows.ours().iter().filter_map(pair).collect()
}

/// The sizes that tables name: near 8 B, 4 KiB and 8 MiB.
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

/// Findings for each telling size: this library's rows of `form` beside those by `direct` loads and
/// stores, and beside the best of the others.
pub(super) fn findings_by_size(
    rows: &Rows<'_>,
    where_: &str,
    form: &str,
    subject: &str,
    direct: &str,
) -> Vec<Finding> {
    let ours = rows.ours();
    let calls = ours.forms(&[form]);
    let mut found = Vec::new();
    for size in telling_sizes(&calls) {
        let at = [size_text(size), where_.to_owned()].join(", ");
        for pair in matches(&calls.bytes(size), &ours.forms(&["ptr"])) {
            found.push(pair.finding(at.clone(), subject, direct));
        }
        let at_size = rows
            .bytes(size)
            .filter(|m| !is_our_name(&m.implementation) || m.form == form);
        for pair in beside_best(&at_size) {
            let object = comparison::maker(pair.other);
            found.push(pair.finding(at.clone(), subject, &object));
        }
    }
    found
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

/// At most the seven lines that matter most are in a panel: this library's two forms, the calls of
/// other OpenSHMEMs, and one way of each MPI.
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

/// The title of a figure whose rows allow no message.
pub(super) fn neutral(noun: &str, quantity: Quantity) -> String {
    let what = match quantity {
        Quantity::Latency => "Time",
        Quantity::Bandwidth => "Bandwidth",
        Quantity::Rate => "Rate",
    };
    format!("{what} of {noun}")
}
