//! Team collectives (standard, "Collective Routines"). All return 0, or -1 for
//! `SHMEM_TEAM_INVALID`, or for the team of a group that has failed.

use std::ffi::{c_int, c_void};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::nonblocking::known;
use super::on_group::{Arrays, Collective, OnGroup, Part, of_one_body};
use super::{Reduce, ops::Sum};

const DONE: c_int = 0;
const INVALID: c_int = -1;

/// Runs `body` as a collective of the team.
#[inline(always)]
fn on_team(name: &'static str, team: usize, body: impl FnOnce(&OnGroup<'_>)) -> c_int {
    let rt = runtime::get(name);
    let Some(team) = rt.teams.find(name, team) else {
        if rt.node.settings.check {
            fatal(name, "the team is SHMEM_TEAM_INVALID: check the result of the split");
        }
        return INVALID;
    };
    let group = Group::of_team(&rt.node, name, team);
    if group.is_known_failed() {
        return INVALID;
    }
    body(&OnGroup { node: &rt.node, group: &group });
    if group.has_failed() { INVALID } else { DONE }
}

/// Executes a collective of the team: once for those that have no code of their own here.
///
/// # Safety
/// The arrays are as it needs them.
#[inline(never)]
unsafe fn run(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    collective: Collective,
) -> c_int {
    let arrays = Arrays { dest: dest.cast(), source: source.cast() };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.execute(&collective, arrays) })
}

/// Collectives that have code of their own here, by what comes after the arrays.
macro_rules! own {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(by $last:literal)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As [`broadcast`].
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        pub unsafe fn $name(
            name: &'static str,
            team: usize,
            dest: *mut c_void,
            source: *const c_void,
            $($argument: $type),*
        ) -> c_int {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            on_team(name, team, |call| unsafe { call.$name(dest.cast(), source.cast(), $($argument),* $(, $last)?) })
        }
    )*};
}

own! {
    /// Copies the root's `source` to every member's `dest`. For this and all functions below: `dest` and `source` are
    /// symmetric, valid for the lengths that the standard demands, and so are arrays of displacements and counts.
    broadcast(bytes: usize, root: c_int) by true;
    /// Gathers all sources, which may differ in length, on every member.
    collect(bytes: usize);
    /// Gathers all sources, of one length, on every member.
    fcollect(bytes: usize);
    /// Exchanges blocks of `bytes` bytes between all members.
    alltoall(bytes: usize);
    /// Exchanges blocks of `nelems` elements that are `dst` and `sst` elements apart.
    alltoalls(dst: isize, sst: isize, nelems: usize, elem: usize);
}

/// Collectives that [`run`] executes.
macro_rules! run {
    ($($(#[$doc:meta])* $name:ident($routine:ident, $($argument:ident: $type:ty),*) = $collective:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As [`broadcast`].
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        pub unsafe fn $name(
            $routine: &'static str,
            team: usize,
            dest: *mut c_void,
            source: *const c_void,
            $($argument: $type),*
        ) -> c_int {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            unsafe { run($routine, team, dest, source, $collective) }
        }
    )*};
}

of_one_body!(run);

/// Reduces element by element over all members, with the result on every member.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    name: &'static str,
    team: usize,
    dest: *mut T,
    source: *const T,
    nreduce: usize,
) -> c_int {
    let op = Operator::of::<T, Op>();
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { reduce_by(name, team, dest.cast(), source.cast(), nreduce, op) }
}

/// [`reduce`], compiled once for all types and operators.
unsafe fn reduce_by(
    name: &'static str,
    team: usize,
    dest: *mut u8,
    source: *const u8,
    nreduce: usize,
    op: &'static Operator,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.reduce(dest, source, nreduce, op) })
}

/// As [`reduce`], by an operator that is an argument. One that the type does not have ends the job.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce_op(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    nreduce: usize,
    op: Option<&'static Operator>,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { reduce_by(name, team, dest.cast(), source.cast(), nreduce, known(name, op)) }
}

/// Prefix sums over the members.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn scan<T: Reduce<Sum>>(
    name: &'static str,
    team: usize,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    inclusive: bool,
) -> c_int {
    let op = Operator::of::<T, Sum>();
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { scan_by(name, team, dest.cast(), source.cast(), nelems, op, inclusive) }
}

/// [`scan`], compiled once for all types.
unsafe fn scan_by(
    name: &'static str,
    team: usize,
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
    op: &'static Operator,
    inclusive: bool,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.scan(dest, source, nelems, op, inclusive) })
}

/// Synchronises a team.
///
/// # Safety
/// None needed; unsafe as its siblings are.
pub unsafe fn sync(name: &'static str, team: usize) -> c_int {
    on_team(name, team, |call| call.sync())
}

/// Completes this PE's puts and synchronises all PEs.
#[inline]
pub fn barrier_all(name: &'static str) {
    runtime::get(name).node.transport.quiet_default();
    sync_all(name);
}

/// Synchronises all PEs.
#[inline]
pub fn sync_all(name: &'static str) {
    let rt = runtime::get(name);
    let group = Group::of_team(&rt.node, name, rt.teams.world());
    group.check_matching(&rt.node, &[]);
    group.sync();
}
