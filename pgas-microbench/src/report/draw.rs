//! Drawing figures as SVG: title, legend and panels on one sheet.

use anyhow::Result;
use plotters::coord::{CoordTranslate, Shift};
use plotters::prelude::*;
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, Scale};
use super::figure::{Figure, Panel, Series};
use super::palette::{GRID, INK, MUTED, Mark, PAPER, Stroke, Style};
use crate::Spread;

/// A part of a picture. Its coordinates are integers: sizes are twice those on the screen, so that
/// lines are smooth.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The part of a panel between its axes.
type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Size of a panel.
const PANEL: (u32, u32) = (880, 620);
const TEXT: f64 = 25.0;
const TEXT_LINE: i32 = 30;
const HEADING: f64 = 38.0;
const HEADING_LINE: i32 = 48;
const MARGIN: i32 = 40;
/// Length of a sample line in a legend.
const SWATCH: i32 = 76;

/// The picture of one panel.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn panel(panel: &Panel) -> Result<String> {
    picture(PANEL, |area| draw_panel(area, panel))
}

/// A sample line or bar of a series, for a legend.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn swatch(style: Style, bars: bool) -> Result<String> {
    picture((SWATCH as u32, 32), |area| draw_swatch(area, (0, 16), style, bars))
}

/// Whether the legend of a figure shows bars instead of lines.
pub(super) fn has_bars(figure: &Figure) -> bool {
    let is_bars = |panel: &Panel| panel.x.scale == Scale::Names && panel.y.scale == Scale::Linear;
    figure.panels.iter().all(is_bars)
}

impl Figure {
    /// Its picture, on light paper.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        let columns = self.panels.len().clamp(1, 2) as u32;
        // The title needs the width of two panels.
        let width = 2 * PANEL.0 + 2 * MARGIN as u32;
        let inner = width as i32 - 2 * MARGIN;
        let title = format!("Figure {}. {}", self.number, self.title);
        let title = wrap(&title, HEADING, inner);
        let title_end = MARGIN + title.len() as i32 * HEADING_LINE;
        let (legend, legend_height) = layout(&self.legend(), inner);
        let head = title_end + legend_height + 30;
        let rows = (self.panels.len() as u32).div_ceil(columns);
        let size = (width, head as u32 + rows * PANEL.1 + MARGIN as u32);
        picture(size, |area| {
            area.fill(&PAPER)?;
            for (line, y) in title.iter().zip((MARGIN..).step_by(HEADING_LINE as usize)) {
                write(area, line, (MARGIN, y), &bold(HEADING, INK))?;
            }
            let centered = text(INK).pos(Pos::new(HPos::Left, VPos::Center));
            for ((label, style), (x, y)) in self.legend().into_iter().zip(legend) {
                let (x, y) = (x + MARGIN, y + title_end + 30);
                draw_swatch(area, (x, y), style, has_bars(self))?;
                write(area, label, (x + SWATCH + 12, y), &centered)?;
            }
            let indent = (width - columns * PANEL.0) / 2;
            for (index, panel) in (0..).zip(&self.panels) {
                let x = indent + index % columns * PANEL.0;
                let y = head as u32 + index / columns * PANEL.1;
                let part = area.clone().shrink((x as i32, y as i32), PANEL);
                draw_panel(&part, panel)?;
            }
            Ok(())
        })
    }
}

fn picture(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    draw(&area)?;
    area.present()?;
    drop(area);
    Ok(text)
}

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Result<()> {
    const TOP: i32 = 104;
    const RIGHT: i32 = 34;
    const GAP: i32 = 4;
    const BOTTOM: i32 = 28;
    let (x, y) = (&panel.x, &panel.y);
    let widest = y.ticks.iter().map(|tick| text_width(&tick.1, TEXT)).max();
    let left = widest.unwrap_or(0) + 34;
    // Half of the last number is beyond the axis.
    let last = if x.scale == Scale::Names { None } else { x.ticks.last() };
    let right = last.map_or(RIGHT, |tick| RIGHT.max(text_width(&tick.1, TEXT) / 2 + GAP));
    let names = name_lines(x, PANEL.0 as i32 - left - right);
    let rows = names.iter().map(Vec::len).max().unwrap_or(1) as i32;

    write(area, &panel.title, (left, 16), &bold(TEXT + 3.0, INK))?;
    write(area, &y.label, (left, 56), &text(MUTED))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(TOP)
        .margin_right(right)
        .margin_bottom(BOTTOM)
        .set_label_area_size(LabelAreaPosition::Left, left)
        .set_label_area_size(LabelAreaPosition::Bottom, 52 + rows * TEXT_LINE)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .x_desc(x.label.as_str())
        .label_style(text(MUTED))
        .bold_line_style(GRID.stroke_width(2))
        .light_line_style(TRANSPARENT)
        .axis_style(MUTED.stroke_width(3))
        .set_all_tick_mark_size(8)
        .draw()?;
    let plot = chart.plotting_area();
    let centered = text(MUTED).pos(Pos::new(HPos::Center, VPos::Top));
    for ((at, _), lines) in x.ticks.iter().zip(names) {
        for (line, row) in lines.into_iter().zip(0..) {
            let text = Text::new(line, (0, 14 + row * TEXT_LINE), centered.clone());
            plot.draw(&(EmptyElement::at((*at, y.range.start)) + text))?;
        }
    }
    if let Some(value) = panel.reference {
        let ends = vec![(x.range.start, value), (x.range.end, value)];
        plot.draw(&PathElement::new(ends, MUTED.stroke_width(3)))?;
    }
    match x.scale {
        Scale::Names => draw_bars(plot, panel),
        Scale::Log | Scale::Linear => draw_lines(plot, &panel.series),
    }
}

/// Draws spreads, lines and marks, in this order.
fn draw_lines(plot: &Plot<'_>, all: &[Series]) -> Result<()> {
    for series in all {
        draw_spread(plot, series)?;
    }
    // Dashed lines last: solid lines would hide them.
    for dashed in [false, true] {
        let some = all.iter().enumerate();
        for (index, series) in some.filter(|(_, series)| series.style.is_dashed() == dashed) {
            let points = series.points.iter().map(|(x, spread)| (*x, spread.median));
            draw_stroke(plot, points.clone().collect(), series.style)?;
            // A long line has few marks, at other points than the line before.
            let step = series.points.len().div_ceil(10);
            for point in points.skip(index % step).step_by(step) {
                draw_mark(plot, point, series.style)?;
            }
        }
    }
    Ok(())
}

/// A band from the low to the high ends, or a whisker if a line has only one point.
fn draw_spread(plot: &Plot<'_>, series: &Series) -> Result<()> {
    let colour = series.style.colour();
    if let [(x, spread)] = series.points[..] {
        return draw_whisker(plot, x, spread, colour);
    }
    let points = &series.points;
    if points.iter().any(|(_, spread)| spread.low < spread.high) {
        let lows = points.iter().map(|(x, spread)| (*x, spread.low));
        let highs = points.iter().rev().map(|(x, spread)| (*x, spread.high));
        let band: Vec<_> = lows.chain(highs).collect();
        plot.draw(&Polygon::new(band, colour.mix(0.13).filled()))?;
    }
    Ok(())
}

/// Draws bars with whiskers, or marks with whiskers on a logarithmic axis.
fn draw_bars(plot: &Plot<'_>, panel: &Panel) -> Result<()> {
    /// The part of the distance between names that bars fill.
    const FILLED: f64 = 0.8;
    let width = FILLED / panel.series.len().max(1) as f64;
    for (place, series) in panel.series.iter().enumerate() {
        for (name, spread) in &series.points {
            let left = name + (1.0 - FILLED) / 2.0 + place as f64 * width;
            let (middle, gap) = (left + width / 2.0, width * 0.06);
            if panel.y.scale == Scale::Log {
                draw_whisker(plot, middle, *spread, series.style.colour())?;
                draw_mark(plot, (middle, spread.median), series.style)?;
            } else {
                let corners = [(left + gap, spread.median), (left + width - gap, 0.0)];
                draw_bar(plot, corners, series.style)?;
                draw_whisker(plot, middle, *spread, MUTED)?;
            }
        }
    }
    Ok(())
}

fn draw_whisker(plot: &Plot<'_>, x: f64, spread: Spread, colour: RGBColor) -> Result<()> {
    if spread.low < spread.high {
        let ends = vec![(x, spread.low), (x, spread.high)];
        plot.draw(&PathElement::new(ends, colour.stroke_width(3)))?;
    }
    Ok(())
}

fn draw_swatch(area: &Area<'_>, (x, y): (i32, i32), style: Style, bars: bool) -> Result<()> {
    if bars {
        return draw_bar(area, [(x + 20, y - 13), (x + SWATCH - 20, y + 13)], style);
    }
    draw_stroke(area, vec![(x, y), (x + SWATCH, y)], style)?;
    draw_mark(area, (x + SWATCH / 2, y), style)
}

/// A bar: filled for library calls, a frame around a tint for loads and stores.
fn draw_bar<C: CoordTranslate<From: Clone>>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    corners: [C::From; 2],
    style: Style,
) -> Result<()> {
    let colour = style.base_colour();
    if style.is_dashed() {
        let tint = colour.mix(0.3).filled();
        area.draw(&Rectangle::new(corners.clone(), tint))?;
        area.draw(&Rectangle::new(corners, colour.stroke_width(4)))?;
    } else {
        area.draw(&Rectangle::new(corners, colour.filled()))?;
    }
    Ok(())
}

fn draw_stroke<C: CoordTranslate<From: Clone + 'static>>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    points: Vec<C::From>,
    style: Style,
) -> Result<()> {
    let colour = style.colour();
    let (dash, gap, width) = match style.stroke {
        Stroke::Solid => {
            area.draw(&PathElement::new(points, colour.stroke_width(5)))?;
            return Ok(());
        }
        Stroke::Dashed => (14, 10, 3),
        Stroke::Dotted => (5, 9, 5),
    };
    for piece in DashedLineSeries::new(points, dash, gap, colour.stroke_width(width)) {
        area.draw(&piece)?;
    }
    Ok(())
}

fn draw_mark<C: CoordTranslate<From: Clone>>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    at: C::From,
    style: Style,
) -> Result<()> {
    let size = if style.is_dashed() { 6 } else { 9 };
    let (wide, far) = (size + 2, size + 3);
    let colour = style.colour();
    let base = EmptyElement::at(at);
    let corners = match style.mark() {
        Mark::Circle => {
            area.draw(&(base + Circle::new((0, 0), size, colour.filled())))?;
            return Ok(());
        }
        Mark::Cross => {
            area.draw(&(base + Cross::new((0, 0), size, colour.stroke_width(4))))?;
            return Ok(());
        }
        Mark::Square => vec![(-size, -size), (size, -size), (size, size), (-size, size)],
        Mark::Triangle => vec![(0, -wide), (wide, size), (-wide, size)],
        Mark::Diamond => vec![(0, -far), (far, 0), (0, far), (-far, 0)],
    };
    area.draw(&(base + Polygon::new(corners, colour.filled())))?;
    Ok(())
}

/// The names at the ticks of a horizontal axis of some length, split into lines if they are too
/// wide; empty for an axis of numbers.
fn name_lines(axis: &Axis, length: i32) -> Vec<Vec<String>> {
    if axis.scale != Scale::Names {
        return Vec::new();
    }
    let room = length / axis.ticks.len().max(1) as i32;
    let fit = axis.ticks.iter().all(|tick| text_width(&tick.1, TEXT) <= room);
    let split = |name: &String| match fit {
        true => vec![name.clone()],
        false => name.split_inclusive(['_', ' ']).map(|part| part.trim().to_owned()).collect(),
    };
    axis.ticks.iter().map(|tick| split(&tick.1)).collect()
}

/// The positions of the entries of a legend within some width, and its height.
fn layout(legend: &[(&str, Style)], width: i32) -> (Vec<(i32, i32)>, i32) {
    const ROW: i32 = 42;
    let (mut x, mut y) = (0, 0);
    let mut positions = Vec::new();
    for (label, _) in legend {
        let length = SWATCH + 12 + text_width(label, TEXT) + 40;
        if x > 0 && x + length > width {
            (x, y) = (0, y + ROW);
        }
        positions.push((x, y));
        x += length;
    }
    (positions, y + ROW)
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), style: &TextStyle<'_>) -> Result<()> {
    area.draw(&Text::new(text.to_owned(), at, style.clone()))?;
    Ok(())
}

fn text(colour: RGBColor) -> TextStyle<'static> {
    text_style(FontStyle::Normal, TEXT, colour)
}

fn bold(size: f64, colour: RGBColor) -> TextStyle<'static> {
    text_style(FontStyle::Bold, size, colour)
}

fn text_style(weight: FontStyle, size: f64, colour: RGBColor) -> TextStyle<'static> {
    // The SVG backend divides sizes by this number.
    const DIVISOR: f64 = 1.24;
    let font = FontDesc::new(FontFamily::SansSerif, size * DIVISOR, weight);
    TextStyle { color: colour.to_backend_color(), ..TextStyle::from(font) }
}

/// The estimated width of a text in a common sans serif font.
pub(super) fn text_width(text: &str, size: f64) -> i32 {
    const WIDTH: f64 = 0.6;
    (text.chars().count() as f64 * size * WIDTH).ceil() as i32
}

fn wrap(text: &str, size: f64, width: i32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        let longer = format!("{line} {word}");
        if line.is_empty() {
            word.clone_into(line);
        } else if text_width(&longer, size) <= width {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
