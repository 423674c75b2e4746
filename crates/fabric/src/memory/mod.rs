//! Memory of this process: what peers reach ([`Segments`], [`Exposures`]), and what operations write from and
//! read into ([`Buffers`]).

mod buffers;
mod exposures;
mod region;
mod segments;

pub(crate) use buffers::{BufferGuard, Buffers, LocalBuffer};
pub(crate) use exposures::Exposures;
pub use exposures::{Exposed, Exposure};
pub(crate) use region::{Region, RmaAddress};
pub(crate) use segments::{CHUNKS, Division, SEGMENTS, SegmentKeys, Segments};
