//! Contexts (standard, "Communication Management Routines").
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;

use ferroshmem_core::api::{context, team};

use crate::error::{Error, TeamError};
use crate::memory::Window;
use crate::plain::Plain;
use crate::team::{Member, Team};

/// A communication context: puts and gets to the members of a team that are ordered and completed
/// apart from those of other contexts. Made by [`Team::context`].
pub struct Context<'t> {
    handle: usize,
    team: &'t Team<'t>,
    /// Belongs to the thread that made it (`SHMEM_CTX_PRIVATE`).
    thread: PhantomData<*mut ()>,
}

impl<'t> Context<'t> {
    pub(crate) fn new(team: &'t Team<'_>) -> Result<Self, TeamError> {
        let mut handle = 0;
        // SAFETY: the result is a variable.
        let failed =
            unsafe { team::create_ctx("Team::context", team.handle(), 0, &raw mut handle) };
        if failed != 0 {
            return Err(TeamError::NoContext);
        }
        Ok(Self {
            handle,
            team,
            thread: PhantomData,
        })
    }

    /// As [`Window::put`], to a member of the context's team.
    ///
    /// # Errors
    /// If the part does not have those elements, or the member is of another team.
    pub fn put<T: Plain>(
        &self,
        window: &Window<'_, T>,
        to: Member,
        start: usize,
        source: &[T],
    ) -> Result<(), Error> {
        let pe = self.team.pe(to)?;
        Ok(window.put_on((self.handle, to.number()), pe, start, source)?)
    }

    /// As [`Window::get`], from a member of the context's team.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn get<T: Plain>(
        &self,
        window: &Window<'_, T>,
        from: Member,
        start: usize,
        dest: &mut [T],
    ) -> Result<(), Error> {
        let pe = self.team.pe(from)?;
        Ok(window.get_on((self.handle, from.number()), pe, start, dest)?)
    }

    /// Orders this context's puts to each PE before its later ones.
    pub fn fence(&self) {
        context::fence("Context::fence", self.handle);
    }

    /// Completes this context's puts.
    pub fn quiet(&self) {
        context::quiet("Context::quiet", self.handle);
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        self.quiet();
        context::destroy("drop of a Context", self.handle);
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("team", self.team)
            .finish_non_exhaustive()
    }
}
