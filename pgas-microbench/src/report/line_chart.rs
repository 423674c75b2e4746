//! Drawing lines over numbers.

use anyhow::Result;
use plotters::coord::CoordTranslate;
use plotters::prelude::*;
use plotters::series::DashedLineSeries;

use super::figure::{Line, LineChart};
use super::palette::{MUTED, Stroke, Style};
use super::sheet::{Plot, draw_mark};

/// Draws a chart's reference, spreads, lines and marks, in this order.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn draw(plot: &Plot<'_>, chart: &LineChart) -> Result<()> {
    if let Some(value) = chart.reference {
        let ends = vec![(chart.x.range.start, value), (chart.x.range.end, value)];
        plot.draw(&PathElement::new(ends, MUTED.stroke_width(3)))?;
    }
    for line in &chart.lines {
        draw_spread(plot, line)?;
    }
    // Dashes last: solid lines would hide them.
    let (dashed, solid): (Vec<_>, Vec<_>) = chart
        .lines
        .iter()
        .enumerate()
        .partition(|(_, line)| line.series.style.is_dashed());
    for (place, line) in solid.into_iter().chain(dashed) {
        let style = line.series.style;
        let points = line.points.iter().map(|(x, spread)| (*x, spread.median));
        stroke(plot, points.clone().collect(), style)?;
        for (_, point) in points
            .enumerate()
            .filter(|(i, _)| is_marked(*i, place, line))
        {
            draw_mark(plot, point, style)?;
        }
    }
    Ok(())
}

/// Draws the line of a series.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn stroke<C: CoordTranslate>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    points: Vec<C::From>,
    style: Style,
) -> Result<()>
where
    C::From: Clone + 'static,
{
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

/// A band from the low to the high ends, or a whisker where a line is but a point.
fn draw_spread(plot: &Plot<'_>, line: &Line) -> Result<()> {
    let colour = line.series.style.colour();
    if let [(x, spread)] = line.points[..] {
        let ends = vec![(x, spread.low), (x, spread.high)];
        plot.draw(&PathElement::new(ends, colour.stroke_width(3)))?;
        return Ok(());
    }
    let lows = line.points.iter().map(|(x, spread)| (*x, spread.low));
    let highs = line
        .points
        .iter()
        .rev()
        .map(|(x, spread)| (*x, spread.high));
    if line
        .points
        .iter()
        .any(|(_, spread)| spread.low < spread.high)
    {
        let band = lows.chain(highs).collect::<Vec<_>>();
        plot.draw(&Polygon::new(band, colour.mix(0.13).filled()))?;
    }
    Ok(())
}

/// Long lines have a mark at some points only, and not at the same as the line before.
fn is_marked(index: usize, place: usize, line: &Line) -> bool {
    const MOST: usize = 10;
    let step = line.points.len().div_ceil(MOST);
    index % step == place % step
}
