//! Figures and page of synthetic measurements.

mod figures;
mod page;
mod sample;
