//! Measuring which algorithms pay on a machine, and the file that remembers it.
//!
//! ```text
//! oshtune   command ─ options
//!             ├─ campaign ─ schedule     one job after the other, by oshrun
//!             │    └─ measure            what the PEs of those jobs do
//!             │    └─ quietness          which of them were disturbed
//!             ├─ analysis                from times to rules
//!             ├─ copy_sizes              from times to the sizes of copies
//!             ├─ comparison, prediction  the cost model in tables
//!             ├─ report                  the page of --report
//!             └─ file ─ document, identity   what is written
//! oshrun    loaded                       what is read
//! ```

mod analysis;
mod campaign;
mod command;
mod comparison;
mod copy_sizes;
mod distance;
mod document;
mod file;
mod hockney;
mod identity;
mod loaded;
mod measure;
mod options;
mod overview;
mod prediction;
mod quantity;
mod quietness;
mod report;
mod schedule;
mod statistics;

pub use command::main;
pub use document::FileError;
pub use file::TuningFile;
pub use identity::Identity;
pub use loaded::{Loaded, TuningSource};
pub use overview::{copies, overview};
