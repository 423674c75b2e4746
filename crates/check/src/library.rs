//! The functions of the library that the checks call.

use std::ffi::{c_int, c_long, c_void};

use ferroshmem_layout::CheckedLibrary;

use crate::members::Members;

/// The functions.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Library(pub CheckedLibrary);

/// Calls a function of the library: with the library initialised, all are there.
macro_rules! call {
    ($function:expr, $($argument:expr),*) => {
        // SAFETY: the library is initialised, and checks what it is given.
        $function.map(|function| unsafe { function($($argument),*) })
    };
}

impl Library {
    /// This PE and the number of PEs.
    pub fn numbers(&self) -> (usize, usize) {
        let number = |n: Option<c_int>| usize::try_from(n.unwrap_or(0)).unwrap_or(0);
        (number(call!(self.0.my_pe,)), number(call!(self.0.n_pes,)))
    }

    /// Where this PE can read what another has at a symmetric address.
    pub fn ptr(&self, at: usize, pe: usize) -> Option<usize> {
        let found = call!(self.0.ptr, at as *const c_void, pe as c_int)?;
        (!found.is_null()).then_some(found.addr())
    }

    /// Whether an address is symmetric.
    pub fn is_symmetric(&self, at: usize, pe: usize) -> bool {
        call!(self.0.addr_accessible, at as *const c_void, pe as c_int) == Some(1)
    }

    /// The members of a team; None unless all are among the `n_pes` PEs of the job.
    pub fn members(&self, team: usize, n_pes: usize) -> Option<Members> {
        match team == self.0.world {
            true => Some(Members::world(n_pes)),
            false => Members::of_list(&self.pes(team)?, n_pes),
        }
    }

    /// The same, one by one.
    pub fn pes(&self, team: usize) -> Option<Vec<c_int>> {
        let size = call!(self.0.team_n_pes, team)?;
        (0..size).map(|pe| call!(self.0.team_translate_pe, team, pe, self.0.world)).collect()
    }

    /// Whether there is such a team: over none, collectives do nothing.
    pub fn is_team(&self, team: usize) -> bool {
        call!(self.0.team_n_pes, team).is_some_and(|members| members > 0)
    }

    /// The PE of the world that a context's number means.
    pub fn pe(&self, context: usize, pe: usize) -> Option<usize> {
        if context == 0 || context == self.0.default_context {
            return Some(pe);
        }
        let mut team = 0;
        let found = call!(self.0.ctx_get_team, context, &raw mut team)?;
        if found != 0 {
            return None;
        }
        let pe = c_int::try_from(pe).ok()?;
        let world = call!(self.0.team_translate_pe, team, pe, self.0.world)?;
        usize::try_from(world).ok()
    }

    /// Synchronises all PEs.
    pub fn barrier_all(&self) {
        call!(self.0.barrier_all,);
    }

    /// Allocates.
    pub fn malloc(&self, size: usize) -> usize {
        call!(self.0.malloc, size).map_or(0, |at| at.addr())
    }

    /// Allocates.
    pub fn align(&self, alignment: usize, size: usize) -> usize {
        call!(self.0.align, alignment, size).map_or(0, |at| at.addr())
    }

    /// Allocates.
    pub fn malloc_with_hints(&self, size: usize, hints: usize) -> usize {
        call!(self.0.malloc_with_hints, size, hints as c_long).map_or(0, |at| at.addr())
    }

    /// Changes the size of a block.
    pub fn realloc(&self, at: usize, size: usize) -> usize {
        call!(self.0.realloc, at as *mut c_void, size).map_or(0, |at| at.addr())
    }

    /// Gives a block back.
    pub fn free(&self, at: usize) {
        call!(self.0.free, at as *mut c_void);
    }
}
