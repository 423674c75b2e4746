//! Measuring which algorithms pay on a machine, and the file that remembers it.

mod file;
mod identity;
mod loaded;
mod location;
mod overview;

pub use file::{FileError, TuningFile};
pub use identity::Identity;
pub use loaded::{Loaded, Source};
pub use location::Location;
pub use overview::overview;
