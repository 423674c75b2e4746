//! Symmetric arrays, one type for each way to share them.

mod atomics;
mod block;
mod copy;
mod lend;
mod part;
mod prefetch;
mod raw;
mod remote;
mod shared;
mod signal;
mod space;
mod strided;
mod symmetric;
#[cfg(feature = "ndarray")]
mod views;
mod window;

pub use atomics::Atomics;
pub use lend::Lend;
pub use part::{Part, PartMut};
pub use raw::RawSymmetric;
pub use shared::Shared;
pub use signal::{SignalUpdate, Signals};
pub use space::{Memory, Space, SpaceConfig};
pub use symmetric::Symmetric;
pub use window::Window;

pub(crate) use block::{Block, within};
pub(crate) use copy::{load, store};
pub(crate) use lend::sealed;
pub(crate) use remote::{Location, Remote, Route};
pub(crate) use strided::Places;
