//! Drawing figures: panels with their axes, the legend, and all on one sheet.

use std::ops::Range;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, Scale};
use super::figure::{Chart, Figure, Panel, Series};
use super::palette::{GRID, INK, MUTED, Mark, PAPER, Style};
use super::{bar_chart, line_chart};

/// A part of a picture. Its points are integers: sizes here are twice those seen, so that
/// lines are smooth.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The part of a panel between its axes.
pub(super) type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Size of a panel.
pub(super) const PANEL: (u32, u32) = (880, 620);

const TEXT: f64 = 25.0;
const HEADING: f64 = 38.0;
const MARGIN: i32 = 40;
const SWATCH: i32 = 76;

/// The picture of one panel.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn panel(panel: &Panel) -> Result<String> {
    picture(PANEL, |area| draw_panel(area, panel))
}

/// A short piece of a series' line with its mark, for a legend.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn swatch(series: &Series, bars: bool) -> Result<String> {
    picture((SWATCH as u32, 32), |area| {
        draw_swatch(area, (0, 16), series.style, bars)
    })
}

/// The picture of a whole figure: title, legend, panels.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn figure(figure: &Figure) -> Result<String> {
    let columns = figure.panels.len().clamp(1, 2) as u32;
    // One panel alone leaves room enough for the title.
    let width = PANEL.0 * columns.max(2) + 2 * MARGIN as u32;
    let inner = width as i32 - 2 * MARGIN;
    let title = wrap(
        &format!("Figure {}. {}", figure.number, figure.title),
        HEADING,
        inner,
    );
    let title_height = title.len() as i32 * 48 + 10;
    let (entries, legend_height) = place_legend(&figure.legend(), inner);
    let head = MARGIN + title_height + legend_height + 20;
    let rows = (figure.panels.len() as u32).div_ceil(columns);
    let size = (width, head as u32 + rows * PANEL.1 + MARGIN as u32);

    picture(size, |area| {
        area.fill(&PAPER)?;
        for (line, y) in title.iter().zip((MARGIN..).step_by(48)) {
            write_text(area, line, (MARGIN, y), &bold(HEADING, INK))?;
        }
        let bars = has_bars(figure);
        for (series, (x, y)) in figure.legend().into_iter().zip(entries) {
            let (x, y) = (x + MARGIN, y + MARGIN + title_height + 20);
            draw_swatch(area, (x, y), series.style, bars)?;
            let style = plain(TEXT, INK).pos(Pos::new(HPos::Left, VPos::Center));
            write_text(area, &series.label, (x + SWATCH + 12, y), &style)?;
        }
        for (index, panel) in figure.panels.iter().enumerate() {
            let (column, row) = (index as u32 % columns, index as u32 / columns);
            // A panel alone stands in the middle.
            let indent = (width - columns * PANEL.0) / 2;
            let x = (indent + column * PANEL.0) as i32;
            let y = head + (row * PANEL.1) as i32;
            let part = area.clone().shrink((x, y), PANEL);
            draw_panel(&part, panel)?;
        }
        Ok(())
    })
}

/// Whether a figure's legend shows bars instead of lines.
pub(super) fn has_bars(figure: &Figure) -> bool {
    let is_bars = |panel: &Panel| matches!(&panel.chart, Chart::Bars(chart) if chart.y.scale == Scale::Linear);
    figure.panels.iter().all(is_bars)
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
    let (x, y) = panel.chart.axes();
    let widest = y.ticks.iter().map(|tick| text_width(&tick.1, TEXT)).max();
    let left = widest.unwrap_or(0) + 34;
    let labels = tick_lines(x, PANEL.0 as i32 - left - RIGHT);
    let rows = labels.iter().map(Vec::len).max().unwrap_or(1) as i32;
    let bottom = 30 + rows * 30 + 50;
    let across = left..PANEL.0 as i32 - RIGHT;
    let down = TOP..PANEL.1 as i32 - bottom;

    write_text(area, &panel.title, (left, 16), &bold(TEXT + 3.0, INK))?;
    write_text(area, &y.label, (left, 56), &plain(TEXT, MUTED))?;
    let middle = i32::midpoint(across.start, across.end);
    let style = plain(TEXT, MUTED).pos(Pos::new(HPos::Center, VPos::Top));
    write_text(area, &x.label, (middle, down.end + 22 + rows * 30), &style)?;
    draw_axes(area, (x, y), &labels, (across.clone(), down.clone()))?;

    let size = (
        (across.end - across.start) as u32,
        (down.end - down.start) as u32,
    );
    let (from_x, from_y) = area.get_pixel_range();
    let (from_x, from_y) = (from_x.start + across.start, from_y.start + down.start);
    let plot = area
        .clone()
        .shrink((across.start, down.start), size)
        .apply_coord_spec(Cartesian2d::<Axis, Axis>::new(
            x.clone(),
            y.clone(),
            (
                from_x..from_x + size.0 as i32,
                from_y + size.1 as i32..from_y,
            ),
        ));
    match &panel.chart {
        Chart::Lines(chart) => line_chart::draw(&plot, chart),
        Chart::Bars(chart) => bar_chart::draw(&plot, chart),
    }
}

/// Lines and texts at the ticks of both axes around `across` and `down`.
fn draw_axes(
    area: &Area<'_>,
    (x, y): (&Axis, &Axis),
    labels: &[Vec<String>],
    (across, down): (Range<i32>, Range<i32>),
) -> Result<()> {
    let between = |range: &Range<i32>, place: f64| {
        range.start + (f64::from(range.end - range.start) * place).round() as i32
    };
    let thin = GRID.stroke_width(2);
    for (value, text) in &y.ticks {
        let at = between(&down, 1.0 - y.place(*value));
        area.draw(&PathElement::new(
            vec![(across.start, at), (across.end, at)],
            thin,
        ))?;
        let style = plain(TEXT, MUTED).pos(Pos::new(HPos::Right, VPos::Center));
        write_text(area, text, (across.start - 14, at), &style)?;
    }
    let named = x.scale == Scale::Linear;
    for ((value, _), lines) in x.ticks.iter().zip(labels) {
        let at = between(&across, x.place(*value));
        if !named {
            area.draw(&PathElement::new(
                vec![(at, down.start), (at, down.end)],
                thin,
            ))?;
        }
        let style = plain(TEXT, MUTED).pos(Pos::new(HPos::Center, VPos::Top));
        for (line, row) in lines.iter().zip(0..) {
            write_text(area, line, (at, down.end + 14 + row * 30), &style)?;
        }
    }
    let foot = vec![(across.start, down.end), (across.end, down.end)];
    area.draw(&PathElement::new(foot, MUTED.stroke_width(3)))?;
    Ok(())
}

/// The texts at the ticks of a horizontal axis of some length: those of names in several lines
/// if they are too wide for one.
fn tick_lines(axis: &Axis, length: i32) -> Vec<Vec<String>> {
    let room = length / axis.ticks.len().max(1) as i32;
    let fits = |text: &String| text_width(text, TEXT) <= room;
    let whole = axis.scale == Scale::Log || axis.ticks.iter().all(|tick| fits(&tick.1));
    let lines = |text: &String| {
        if whole {
            vec![text.clone()]
        } else {
            text.split_inclusive(['_', ' '])
                .map(|part| part.trim().to_owned())
                .collect()
        }
    };
    axis.ticks.iter().map(|tick| lines(&tick.1)).collect()
}

/// Where the entries of a legend go within some width, and how high it becomes.
fn place_legend(legend: &[&Series], width: i32) -> (Vec<(i32, i32)>, i32) {
    const ROW: i32 = 42;
    let (mut x, mut y) = (0, 0);
    let mut places = Vec::new();
    for series in legend {
        let length = SWATCH + 12 + text_width(&series.label, TEXT) + 40;
        if x > 0 && x + length > width {
            (x, y) = (0, y + ROW);
        }
        places.push((x, y));
        x += length;
    }
    (places, y + ROW)
}

fn draw_swatch(area: &Area<'_>, (x, y): (i32, i32), style: Style, bars: bool) -> Result<()> {
    if bars {
        let corners = [(x + 20, y - 13), (x + SWATCH - 20, y + 13)];
        return bar_chart::rectangle(area, corners, style);
    }
    let ends = vec![(x, y), (x + SWATCH, y)];
    line_chart::stroke(area, ends, style)?;
    draw_mark(area, (x + SWATCH / 2, y), style)
}

/// A mark of a series.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn draw_mark<C: CoordTranslate>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    at: C::From,
    style: Style,
) -> Result<()>
where
    C::From: Clone,
{
    let size = if style.is_dashed() { 6 } else { 9 };
    let colour = style.colour();
    let filled = colour.filled();
    let base = EmptyElement::at(at);
    let corners = |points: [(i32, i32); 4]| Polygon::new(points.to_vec(), filled);
    match style.mark() {
        Mark::Circle => area.draw(&(base + Circle::new((0, 0), size, filled)))?,
        Mark::Square => {
            let square = [(-size, -size), (size, -size), (size, size), (-size, size)];
            area.draw(&(base + corners(square)))?;
        }
        Mark::Triangle => {
            let triangle = [
                (0, -size - 2),
                (size + 2, size),
                (-size - 2, size),
                (0, -size - 2),
            ];
            area.draw(&(base + corners(triangle)))?;
        }
        Mark::Diamond => {
            let far = size + 3;
            area.draw(&(base + corners([(0, -far), (far, 0), (0, far), (-far, 0)])))?;
        }
        Mark::Cross => area.draw(&(base + Cross::new((0, 0), size, colour.stroke_width(4))))?,
    }
    Ok(())
}

fn write_text(area: &Area<'_>, text: &str, at: (i32, i32), style: &TextStyle<'_>) -> Result<()> {
    area.draw(&Text::new(text.to_owned(), at, style.clone()))?;
    Ok(())
}

fn plain(size: f64, colour: RGBColor) -> TextStyle<'static> {
    text_style(FontStyle::Normal, size, colour)
}

fn bold(size: f64, colour: RGBColor) -> TextStyle<'static> {
    text_style(FontStyle::Bold, size, colour)
}

fn text_style(weight: FontStyle, size: f64, colour: RGBColor) -> TextStyle<'static> {
    // The SVG backend divides sizes by this number.
    const DIVISOR: f64 = 1.24;
    let font = FontDesc::new(FontFamily::SansSerif, size * DIVISOR, weight);
    TextStyle {
        color: colour.to_backend_color(),
        ..TextStyle::from(font)
    }
}

/// About how wide a text is in a common sans serif font.
fn text_width(text: &str, size: f64) -> i32 {
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
