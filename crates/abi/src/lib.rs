//! The one table behind the C ABI: types, families of routines, constants; and the generators of
//! the files made from it: headers, the exported Rust functions of `libshmem`, type-generic
//! routines, aliases, the Fortran interface, and the programs that call every prototype.
//!
//! It knows C's names and types, and for manual pages the environment variables (`config`); it does not
//! know what routines do. Developers and build scripts run it; no library has it.

pub mod constants;
pub mod emit;
pub mod families;
pub mod family;
#[cfg(feature = "variables")]
pub mod files;
#[cfg(feature = "variables")]
pub mod fortran;
pub mod generics;
pub mod peers;
pub mod reference;
pub mod roles;
pub mod table;
pub mod types;

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
