//! Communication contexts (standard, "Communication Contexts").
//!
//! On a node a put is complete when the call returns. Operations to other nodes stay under way
//! for a while, each context's apart from the others'; beside them a context carries its team's
//! numbering of PEs.

use std::sync::atomic::{AtomicUsize, Ordering};

use ferroshmem_core::constants::{CTX_INVALID, TEAM_WORLD};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::handle::Table;
use ferroshmem_fabric as fabric;

/// A context that the program created.
#[derive(Debug)]
pub struct Context {
    /// Handle of the team that it numbers PEs by.
    pub team: usize,
    /// Whether it numbers the PEs of the other group alone, of a team of two jobs.
    pub of_group: bool,
    /// Its operations to other nodes.
    pub stream: fabric::Context,
    generation: usize,
}

/// All contexts of this PE but the default context.
#[derive(Debug, Default)]
pub struct Contexts {
    table: Table<Context>,
    generation: AtomicUsize,
    /// Contexts so far that use endpoints of their own, which they get in turn.
    own_endpoints: AtomicUsize,
}

/// Bits of a handle: 0 numbering, 1 to 31 place in the table, above a count of creations.
fn handle_of(index: usize, context: &Context) -> usize {
    let world = usize::from(context.team == TEAM_WORLD);
    context.generation << 32 | (index + 1) << 1 | world
}

/// The place in the table that a handle names.
fn index_of(handle: usize) -> Option<usize> {
    (handle as u32 as usize >> 1).checked_sub(1)
}

impl Contexts {
    /// The context that a handle names, which must be live.
    pub fn find(&self, routine: &str, handle: usize) -> &Context {
        let context = index_of(handle).and_then(|index| {
            let context = self.table.get(index);
            context.filter(|c| handle_of(index, c) == handle)
        });
        context.unwrap_or_else(|| invalid(routine, handle))
    }

    /// Creates a context of the team with handle `team`, or of the group that it belongs to; None if there is no room.
    /// `is_of_thread`: one thread at a time uses it, while others use other contexts.
    pub fn create(&self, team: usize, of_group: bool, is_of_thread: bool) -> Option<usize> {
        let stream = fabric::Context::aggregating();
        if is_of_thread {
            stream.use_own_endpoint(self.own_endpoints.fetch_add(1, Ordering::Relaxed));
        }
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff;
        let index = self.table.insert(|_| Context { team, of_group, stream, generation })?;
        self.table.get(index).map(|c| handle_of(index, c))
    }

    /// Destroys a context whose operations are complete.
    pub(crate) fn destroy(&self, routine: &str, handle: usize) {
        self.find(routine, handle);
        let Some(index) = index_of(handle) else {
            return;
        };
        if self.table.remove(index).is_none() {
            // Another thread has destroyed it meanwhile.
            invalid(routine, handle);
        }
        self.table.give_back(index);
    }

    /// All contexts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Context> {
        self.table.iter().map(|(_, context)| context)
    }

    /// The handles of the contexts of the team with handle `team`.
    pub fn of_team(&self, team: usize) -> Vec<usize> {
        let contexts = self.table.iter().filter(|(_, c)| c.team == team);
        contexts.map(|(i, c)| handle_of(i, c)).collect()
    }
}

#[cold]
fn invalid(routine: &str, handle: usize) -> ! {
    if handle == CTX_INVALID {
        fatal(routine, "the context is SHMEM_CTX_INVALID: check the result of shmem_ctx_create");
    }
    fatal(routine, format_args!("{handle:#x} is not a live context: was it destroyed?"))
}
