//! One-sided access to the memory of PEs on other nodes, through libfabric.
//!
//! A PE opens a [`Fabric`], [shares](Fabric::share) its segments of memory, and hands its
//! [ticket](Fabric::address) to the others, who [connect](Fabric::connect) with it. From then on
//! everybody reads and writes everybody's segments; a thread of the engine's own keeps things
//! moving while the program computes.
//!
//! An operation that fails for good does not return: [`Events::peer_failed`] ends the process.

mod atomic;
mod bell;
mod blocks;
mod completion;
mod config;
mod context;
mod desk;
pub mod discovery;
#[doc(hidden)]
pub mod endpoint;
mod engine;
mod error;
mod fabric;
mod gather;
mod helper;
mod idle;
mod info;
mod interface;
mod local;
mod operation;
mod peer;
mod question;
mod record;
pub mod registration;
mod segment;
mod slip;
mod source;
#[doc(hidden)]
pub mod sys;
mod tagged;
mod ticket;
mod transfer;

/// The library that is opened where no other is named: as the system's loader finds it.
pub const LIBFABRIC: &str = "libfabric.so.1";

pub use config::Config;
pub use context::Context;
pub use error::Error;
pub use fabric::{Events, Fabric};
pub use idle::yield_core;
pub use operation::{AtomicOp, Blocks, Op, Remote, Width};
pub use tagged::TaggedMessage;
