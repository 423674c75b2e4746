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
        Chapter { is_extension: true, ..chapter("spaces", "Symmetric spaces", families::space::all()) },
        Chapter { is_extension: true, ..chapter("threads", "Threads that help", families::threads::all()) },
        Chapter { is_extension: true, ..chapter("spawn", "Jobs that grow", families::spawn::all()) },
        Chapter { is_extension: true, ..chapter("ports", "Jobs that connect", families::port::all()) },
        Chapter { is_extension: true, ..chapter("groups", "Collectives between groups", families::group::all()) },
        Chapter { is_extension: true, ..chapter("messages", "Messages", families::message::all()) },
        Chapter { is_extension: true, ..chapter("streams", "Streams of items", families::stream::all()) },
        Chapter { is_extension: true, ..chapter("regions", "Regions in profiles", families::region::all()) },
        Chapter { is_extension: true, ..chapter("counters", "Counters of calls", families::counter::all()) },
    ]
}

/// All functions of some chapters.
pub fn symbols(chapters: &[Chapter]) -> Vec<Symbol<'_>> {
    chapters.iter().flat_map(|c| &c.families).flat_map(Family::symbols).collect()
}
