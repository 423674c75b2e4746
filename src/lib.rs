//! PGAS programming in Rust: N processes (*PEs*), each with *symmetric memory* that every other PE
//! can put to, get from and update atomically without its help. This is
//! [OpenSHMEM](https://openshmem.org) 1.6 with Rust's guarantees: safe code cannot read
//! uninitialised memory, write out of bounds, keep a reference to memory that is gone, or race.
//!
//! ```
//! use ferroshmem::{Sum, World};
//!
//! # fn main() -> Result<(), ferroshmem::Error> {
//! let world = World::init()?;
//! let mine = world.my_pe().number() as u64;
//! let sum = world.reduce_value(mine, Sum);
//! println!("PE {mine} of {}: all numbers add up to {sum}", world.n_pes());
//! # Ok(())
//! # }
//! ```
//!
//! `cargo run` runs this as one PE, `oshrun -n 4 target/debug/program` as four.
//!
//! # Kinds of symmetric memory
//!
//! Every array is allocated on all PEs at once, with the same length. Its type determines which PEs
//! may access which parts of it, and how; an array changes its type in a collective step, at which all
//! PEs give up their references.
//!
//! | Type | Access |
//! |---|---|
//! | [`Symmetric`] | each PE reads and writes its own part, as a slice; collectives |
//! | [`Shared`] | every PE reads all parts, as slices; no PE writes |
//! | [`Window`] | every PE puts to and gets from all parts; no references |
//! | [`Atomics`] | every PE updates elements of all parts atomically |
//! | [`Locked`] | the holder of the lock reads and writes |
//! | [`RawSymmetric`] | anything, with `unsafe` and pointers (`shmem_ptr`) |
//! | [`Distributed`] | as one of the first four, by global indices over all PEs |
//!
//! ```
//! use ferroshmem::World;
//!
//! # fn main() -> Result<(), ferroshmem::Error> {
//! let world = World::init()?;
//! let mut numbers = world.alloc::<u32>(8)?; // zeros, on every PE
//! numbers.fill(world.my_pe().number() as u32); // my own part is a slice
//!
//! let window = numbers.open(); // a barrier: from now on others may put to my part
//! let next = world.my_pe().next();
//! window.put(next, 4, &[7, 7, 7, 7])?;
//! let numbers = window.close(); // a barrier: all puts have arrived
//!
//! assert_eq!(numbers[4..], [7; 4]);
//! # Ok(())
//! # }
//! ```
//!
//! # Jobs that grow
//!
//! [`World::spawn`](Team::spawn) starts more PEs while a job runs. They are a job of their own, whose memory is reached
//! by arrays that one job exports by a name ([`World::export`]) and the other one imports ([`Group::import`]), as the
//! type that it was exported as.
//!
//! # Collective calls
//!
//! Allocating, freeing (dropping an array), changing an array's type, barriers and the collectives
//! of [`Team`] are collective: all PEs of the world or team make the same calls in the same order. If
//! PEs make different calls, or the same with other lengths, the job ends with a line that names two of
//! these PEs and their calls. Errors that concern one PE alone, such as a bad index, are a [`Result`].
//!
//! A PE that panics ends the job, with its message and exit status 101 (134 where panics abort). So
//! does a PE whose `main` returns an error while the others go on, after it has printed the error.

// The crate knows `api`, whose routines it calls with arguments that its types have made right, and of `core` the
// threads that are lent. It does no transfer and no wait by itself but what must be inlined: the loads, stores and
// atomics on PEs of the node (`memory`). All PEs agree on each collective call before it acts (`step`).
#![deny(unsafe_code)]

mod amo;
mod collective;
mod compare;
mod context;
mod counter;
mod distributed;
mod error;
mod group;
mod handle;
pub mod info;
pub mod kernels {
    //! Kernels: functions that PEs of another job call by name, declared by [`kernel!`](crate::kernel).

    pub use crate::group::kernel::*;
}
mod init;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod job;
mod lock;
mod memory;
mod message;
mod one_thread;
mod order;
mod pe;
mod pending;
mod plain;
mod region;
mod resilience;
mod scratch;
#[cfg(feature = "tracing")]
mod spans;
mod step;
mod stream;
mod team;
mod threads;
mod wait;
mod world;

pub use amo::{Amo, AmoInt};
pub use collective::{
    And, CollectiveRequest, Collectives, Max, Min, Operator, Or, Part, PartMut, Prod, Reducible, Sum, Xor,
};
pub use compare::Compare;
pub use context::{Context, ContextOptions, Session};
pub use counter::{Counted, Counter};
pub use distributed::{Blocks, Distributed};
pub use error::{
    AllocError, ConnectError, Error, ExportError, GroupFailed, ImportError, InitError, OutOfBounds, PeOutOfRange,
    Result, SpaceError, SpawnError, TeamError, Truncated,
};
pub use group::{Command, Exported, Group, GroupPe, GroupPes, GroupState, Imported, Port};
pub use handle::Handle;
pub use kernels::{Calls, Kernel, KernelContext, Request};
pub use lock::{Guard, Locked};
pub use memory::{
    Atomics, Lend, Memory, RawSymmetric, Shared, SignalUpdate, Signals, Space, SpaceConfig, Symmetric, Window,
};
pub use message::{Arrival, AsSource, Receiving, Sending};
pub use pe::{Pe, Pes};
pub use pending::{Fetches, Pending, Transfers};
pub use plain::Plain;
pub use region::Region;
pub use resilience::Agreement;
#[cfg(feature = "tracing")]
pub use spans::RegionLayer;
pub use stream::{Pace, Stream};
pub use team::{AsMember, Member, Members, Team, TeamKind};
pub use world::World;

pub use bytemuck;

/// Makes a function the program's `main`, with the world as its argument: it joins the job first, and leaves it last.
///
/// With `pes = N`, a program that no launcher has started starts itself by `oshrun` as N PEs, so `cargo run` is a job
/// of N PEs.
///
/// ```
/// use ferroshmem::{Error, Sum, World};
///
/// #[ferroshmem::main]
/// fn main(world: &World) -> Result<(), Error> {
///     let sum = world.reduce_value(world.my_pe().number(), Sum);
///     println!("{}: {sum}", world.my_pe());
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// #[ferroshmem::main]
/// fn main() {} // takes no world
/// ```
#[cfg(feature = "macros")]
pub use ferroshmem_macros::main;
/// Makes a `struct` of plain data one that symmetric memory holds: derives `Clone`, `Copy`, [`bytemuck::Pod`] and
/// [`bytemuck::Zeroable`], and lays it out as C does unless it has a `repr` of its own.
///
/// ```
/// # use ferroshmem::World;
/// #[ferroshmem::plain]
/// struct Particle {
///     position: [f64; 3],
///     charge: f32,
///     kind: u32,
/// }
///
/// # fn main() -> Result<(), ferroshmem::Error> {
/// # let world = World::init()?;
/// let particles = world.alloc::<Particle>(100)?;
/// assert_eq!(particles[0].charge, 0.0);
/// # Ok(())
/// # }
/// ```
///
/// All bytes of it are those of fields:
///
/// ```compile_fail,E0080
/// #[ferroshmem::plain]
/// struct Padded {
///     kind: u8,
///     charge: f32, // after 3 bytes of padding
/// }
/// ```
#[cfg(feature = "macros")]
pub use ferroshmem_macros::plain;
/// Makes a function a test that runs as a job of PEs of its own: `cargo test` and `cargo nextest` run it as any other
/// test, beside others, and each PE runs the function by the same program, started by the `oshrun` in `PATH`.
///
/// ```
/// use ferroshmem::{Sum, World};
///
/// #[ferroshmem::test(pes = 4)]
/// fn every_pe_is_counted(world: &World) {
///     assert_eq!(world.reduce_value(1, Sum), 4);
/// }
/// # fn main() {}
/// ```
///
/// `pes` is 1 without it. After `timeout = SECONDS`, 120 without it, the job ends with a report of what each PE waits
/// for. The function may return a `Result`, take no world if it makes one itself, and have `#[should_panic]` and
/// `#[ignore]`. What the PEs print is the test's output. Where the tests run in a job already, as with `oshrun` as
/// cargo's runner, its PEs run the function together.
///
/// ```compile_fail
/// #[ferroshmem::test(pes = 0)]
/// fn of_nothing(world: &ferroshmem::World) {}
/// # fn main() {}
/// ```
///
/// ```compile_fail
/// #[ferroshmem::test(size = 4)]
/// fn of_what(world: &ferroshmem::World) {}
/// # fn main() {}
/// ```
#[cfg(feature = "macros")]
pub use ferroshmem_macros::test;

/// The guide; its programs are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct Guide;
