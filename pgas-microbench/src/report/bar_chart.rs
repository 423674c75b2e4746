//! Drawing bars over names.

use anyhow::Result;
use plotters::coord::CoordTranslate;
use plotters::prelude::*;

use super::axis::Scale;
use super::figure::BarChart;
use super::palette::{MUTED, Style};
use super::sheet::{Plot, draw_mark};
use crate::Spread;

/// Draws a chart's bars, or marks in their places, and how far samples spread.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn draw(plot: &Plot<'_>, chart: &BarChart) -> Result<()> {
    /// The part of a name's stretch that its bars fill.
    const FILLED: f64 = 0.8;
    let width = FILLED / chart.bars.len().max(1) as f64;
    for (place, bars) in chart.bars.iter().enumerate() {
        for (name, value) in bars.values.iter().enumerate() {
            let Some(spread) = value else { continue };
            let left = name as f64 + (1.0 - FILLED) / 2.0 + place as f64 * width;
            let middle = left + width / 2.0;
            let style = bars.series.style;
            match chart.y.scale {
                Scale::Linear => {
                    let gap = width * 0.06;
                    let corners = [(left + gap, spread.median), (left + width - gap, 0.0)];
                    rectangle(plot, corners, style)?;
                    whisker(plot, middle, *spread, MUTED)?;
                }
                Scale::Log => {
                    whisker(plot, middle, *spread, style.colour())?;
                    draw_mark(plot, (middle, spread.median), style)?;
                }
            }
        }
    }
    Ok(())
}

/// The bar of a series: full for library calls, a frame around a tint for loads and stores.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn rectangle<C: CoordTranslate>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    corners: [C::From; 2],
    style: Style,
) -> Result<()>
where
    C::From: Clone,
{
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

fn whisker(plot: &Plot<'_>, x: f64, spread: Spread, colour: RGBColor) -> Result<()> {
    if spread.low < spread.high {
        let ends = vec![(x, spread.low), (x, spread.high)];
        plot.draw(&PathElement::new(ends, colour.stroke_width(3)))?;
    }
    Ok(())
}
