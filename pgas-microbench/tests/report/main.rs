//! Figures and page from made-up measurements.

mod figures;
mod page;
mod sample;
