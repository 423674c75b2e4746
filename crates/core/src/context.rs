//! Communication contexts (standard, "Communication Contexts").
//!
//! On a node a put is complete when the call returns. Operations to other nodes are under way
//! for a while, each context's in a stream of its own; beside it a context carries its team's
//! numbering of PEs and its options.

use std::sync::atomic::{AtomicUsize, Ordering, fence};

use ferroshmem_fabric as fabric;

use crate::api::constants::CTX_NOSTORE;
use crate::fatal::fatal;
use crate::handle::Table;
use crate::runtime::Runtime;
use crate::team::{self, Team};

/// `SHMEM_CTX_INVALID` as an integer.
pub(crate) const INVALID_HANDLE: usize = 0;
/// `SHMEM_CTX_DEFAULT` as an integer. As in every handle of a context that numbers PEs as
/// the world does, the lowest bit is 1: the inlined fast path looks at it.
pub const DEFAULT_HANDLE: usize = 1;

/// A context that the program created.
#[derive(Debug)]
pub(crate) struct Context {
    /// Handle of the team that it numbers PEs by.
    pub team: usize,
    /// The `SHMEM_CTX_*` options that it was created with.
    pub options: i64,
    /// Its operations to other nodes.
    pub stream: fabric::Context,
    generation: usize,
}

/// All contexts of this PE.
#[derive(Debug, Default)]
pub struct Contexts {
    table: Table<Context>,
    /// The default context's operations.
    default: fabric::Context,
    generation: AtomicUsize,
}

/// Bits of a handle: 0 numbering, 1 to 31 place in the table, above a count of creations.
fn handle_of(index: usize, context: &Context) -> usize {
    let world = usize::from(context.team == team::WORLD + 1);
    context.generation << 32 | (index + 1) << 1 | world
}

impl Contexts {
    /// The context that a handle names; None for the default context too.
    fn get(&self, handle: usize) -> Option<&Context> {
        let index = (handle as u32 as usize >> 1).checked_sub(1)?;
        self.table
            .get(index)
            .filter(|c| handle_of(index, c) == handle)
    }

    /// Creates a context of `team`.
    pub fn create(&self, team: &Team, options: i64) -> Option<usize> {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff;
        let team = team.handle();
        let index = self.table.insert(|_| Context {
            team,
            options,
            stream: fabric::Context::default(),
            generation,
        })?;
        self.table.get(index).map(|c| handle_of(index, c))
    }

    fn destroy(&self, handle: usize) -> bool {
        if self.get(handle).is_none() {
            return false;
        }
        let index = (handle as u32 as usize >> 1) - 1;
        let taken = self.table.remove(index).is_some();
        if taken {
            self.table.give_back(index);
        }
        taken
    }
}

/// The team of a context, which must be valid.
#[inline]
pub(crate) fn team_of<'a>(rt: &'a Runtime, name: &str, handle: usize) -> &'a Team {
    if handle == DEFAULT_HANDLE {
        return rt.teams.world();
    }
    rt.contexts
        .get(handle)
        .and_then(|c| rt.teams.get(c.team))
        .unwrap_or_else(|| invalid(name, handle))
}

#[cold]
fn invalid(name: &str, handle: usize) -> ! {
    if handle == INVALID_HANDLE {
        fatal(name, "the context is SHMEM_CTX_INVALID");
    }
    fatal(name, format_args!("{handle:#x} is not a live context"))
}

/// The operations of a context, which must be valid, to other nodes.
pub fn stream<'a>(rt: &'a Runtime, name: &str, handle: usize) -> &'a fabric::Context {
    if handle == DEFAULT_HANDLE {
        return &rt.contexts.default;
    }
    match rt.contexts.get(handle) {
        Some(context) => &context.stream,
        None => invalid(name, handle),
    }
}

impl Runtime {
    /// Completes the puts and atomics of the default context, before a synchronisation.
    #[inline]
    pub fn quiet_default(&self) {
        if let Some(link) = self.link {
            link.fabric().quiet(&self.contexts.default);
        }
        fence(Ordering::Release);
    }

    /// Completes the operations of all contexts.
    pub fn quiet_all(&self) {
        self.quiet_default();
        if let Some(link) = self.link {
            for (_, context) in self.contexts.table.iter() {
                link.fabric().quiet(&context.stream);
            }
        }
    }
}

/// The world number of PE `pe` of the context's team.
#[inline]
pub(crate) fn world_pe(rt: &Runtime, name: &str, handle: usize, pe: i32) -> usize {
    if handle & 1 == 1 && (pe as u32 as usize) < rt.n_pes {
        if handle != DEFAULT_HANDLE {
            team_of(rt, name, handle);
        }
        return pe as usize;
    }
    let team = team_of(rt, name, handle);
    if pe as u32 as usize >= team.members.size {
        out_of_range(name, pe, team.members.size, team.id);
    }
    team.members.pe(pe as usize)
}

/// Ends the job over a PE number that does not exist.
#[cold]
pub(crate) fn out_of_range(name: &str, pe: i32, size: usize, team: usize) -> ! {
    let of = if team == team::WORLD { "job" } else { "team" };
    fatal(
        name,
        format_args!(
            "PE {pe} is out of range: this {of} has PEs 0 to {}",
            size - 1
        ),
    )
}

/// Whether a context does without completion of its stores (`SHMEM_CTX_NOSTORE`).
pub(crate) fn is_nostore(rt: &Runtime, handle: usize) -> bool {
    handle != DEFAULT_HANDLE
        && rt
            .contexts
            .get(handle)
            .is_some_and(|c| c.options & CTX_NOSTORE != 0)
}

/// Destroys a context; the default context cannot be.
pub(crate) fn destroy(rt: &Runtime, name: &str, handle: usize) {
    match handle {
        INVALID_HANDLE => {}
        DEFAULT_HANDLE => fatal(name, "SHMEM_CTX_DEFAULT cannot be destroyed"),
        _ => {
            if let Some(link) = rt.link {
                link.fabric().quiet(stream(rt, name, handle));
            }
            if !rt.contexts.destroy(handle) {
                invalid(name, handle);
            }
        }
    }
}

/// Destroys all contexts of a team that is about to be destroyed.
pub(crate) fn destroy_of_team(rt: &Runtime, team: usize) {
    let handles: Vec<usize> = rt
        .contexts
        .table
        .iter()
        .filter(|(_, c)| c.team == team)
        .map(|(i, c)| handle_of(i, c))
        .collect();
    for handle in handles {
        destroy(rt, "shmem_team_destroy", handle);
    }
}
