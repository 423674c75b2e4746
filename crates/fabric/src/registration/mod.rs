//! Local memory that a device may touch: what a program transfers from and into where that is
//! not symmetric memory.
//!
//! A device reaches memory only through a *region* that was registered with it, and
//! registering pins every page, which costs more than a short transfer. So
//!
//! - short transfers are copied through a [`Pool`] of buffers that are registered once;
//! - long ones use the program's memory where it is, in regions that a [`Cache`] keeps.
//!
//! A region refers to pages, not to addresses. When the program unmaps memory (`free` of a
//! large block does) and maps other memory there, a kept region still leads to the old pages,
//! and a transfer would silently move the wrong bytes. A [`Monitor`] notices it. The README
//! of this folder has the argument why no transfer uses a region that is out of date.

mod cache;
mod limits;
mod monitor;
mod pool;
mod region;
mod span;
mod table;

#[cfg(test)]
mod tests;

use std::io;

pub use cache::{Cache, Counts};
pub use limits::Limits;
pub use monitor::{Kind, Monitor};
pub use pool::{Pool, Shape, Slot};
pub use region::RegionRef;

/// What registers memory with a device. All threads may use it at once.
pub trait Registrar: Send + Sync {
    /// Memory that the device may touch, until this is dropped.
    type Region: Send + Sync;

    /// Registers the `len` bytes from address `start`, whole pages, for transfers from and
    /// into. `ENOMEM` is taken to mean that there is too much registered already; any other
    /// error, that this memory cannot be registered (read-only memory mostly cannot).
    fn register(&self, start: usize, len: usize) -> io::Result<Self::Region>;
}
