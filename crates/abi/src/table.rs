//! All of the C API: every family, in the order of the standard's chapters.

use crate::families;
use crate::family::{Family, Symbol};

/// A chapter: the families that share a generated Rust module.
#[derive(Debug)]
pub struct Chapter {
    /// Name of the module.
    pub name: &'static str,
    /// What it holds.
    pub title: &'static str,
    /// Its families.
    pub families: Vec<Family>,
    /// Whether they are declared in `shmemx.h`, not in `shmem.h`.
    pub is_extension: bool,
}

/// The table.
pub fn chapters() -> Vec<Chapter> {
    let chapter = |name, title, families| Chapter { name, title, families, is_extension: false };
    let extension = |name, title, families| Chapter { name, title, families, is_extension: true };
    vec![
        chapter("setup", "Set-up, exit and queries", families::setup::all()),
        chapter("memory", "Memory management", families::setup::memory()),
        chapter("teams", "Team management", families::setup::teams()),
        chapter("contexts", "Communication contexts and sessions", families::setup::contexts()),
        chapter("rma", "Remote memory access", families::rma::all()),
        chapter("amo", "Atomic memory operations", families::amo::all()),
        chapter("signals", "Signaling operations", families::signal::all()),
        chapter("collectives", "Collectives on teams", families::collective::all()),
        chapter("active_sets", "Collectives on active sets", families::active_set::all()),
        chapter("p2p", "Point-to-point synchronization", families::p2p::all()),
        chapter("ordering", "Memory ordering and locks", families::setup::ordering()),
        extension("spaces", "Symmetric spaces", families::extensions::spaces()),
        extension("splits", "Teams of any PEs", families::extensions::teams()),
        extension("threads", "Threads that help", families::extensions::threads()),
        extension("spawn", "Jobs that grow", families::extensions::spawn()),
        extension("resilience", "Jobs that go on without PEs that fail", families::extensions::resilience()),
        extension("ports", "Jobs that connect", families::extensions::ports()),
        extension("groups", "Collectives between groups", families::group::all()),
        extension("mpi_collectives", "Collectives of MPI", families::extensions::collectives()),
        extension("nonblocking", "Non-blocking collectives", families::extensions::nonblocking()),
        extension("messages", "Messages", families::extensions::messages()),
        extension("streams", "Streams of items", families::extensions::streams()),
        extension("regions", "Regions in profiles", families::extensions::regions()),
        extension("counters", "Counters of calls", families::extensions::counters()),
        extension("neighbors", "Graphs of neighbours", families::extensions::neighbors()),
    ]
}

/// All functions of some chapters.
pub fn symbols(chapters: &[Chapter]) -> Vec<Symbol<'_>> {
    chapters.iter().flat_map(|c| &c.families).flat_map(Family::symbols).collect()
}
