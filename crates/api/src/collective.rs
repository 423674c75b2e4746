//! Team collectives (standard, "Collective Routines"). All return 0, or -1 for
//! `SHMEM_TEAM_INVALID`, or for the team of a group that has failed.

use std::ffi::{c_int, c_void};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::nonblocking::known;
use super::on_group::{Arrays, Collective, OnGroup, Part};
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

/// Copies the root's `source` to every member's `dest`.
///
/// # Safety
/// For this and all functions below: `dest` and `source` are symmetric, valid for the
/// lengths that the standard demands.
pub unsafe fn broadcast(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.broadcast(dest.cast(), source.cast(), bytes, root, true) })
}

/// Gathers all sources, which may differ in length, on every member.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn collect(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.collect(dest.cast(), source.cast(), bytes) })
}

/// Gathers all sources, of one length, on every member.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn fcollect(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.fcollect(dest.cast(), source.cast(), bytes) })
}

/// Exchanges blocks of `bytes` bytes between all members.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn alltoall(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.alltoall(dest.cast(), source.cast(), bytes) })
}

/// Exchanges blocks of `nelems` elements that are `dst` and `sst` elements apart.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments)]
pub unsafe fn alltoalls(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    nelems: usize,
    elem: usize,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_team(name, team, |call| unsafe { call.alltoalls(dest.cast(), source.cast(), dst, sst, nelems, elem) })
}

/// Gathers a block of `bytes` bytes of each member at the root.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn gather(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, Collective::Gather { bytes, root, scatters: false }) }
}

/// Gives each member a block of `bytes` bytes of the root.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn scatter(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, Collective::Gather { bytes, root, scatters: true }) }
}

/// As [`gather`], or with `scatters` as [`scatter`], of blocks of `n` elements of `elem` bytes at the root's
/// displacements.
///
/// # Safety
/// As [`broadcast`]; the root's `displs` has an element for each member.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn gatherv(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    displs: *const usize,
    n: usize,
    elem: usize,
    root: c_int,
    scatters: bool,
) -> c_int {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, Collective::Gatherv { displs, n, elem, root, scatters }) }
}

/// Exchanges blocks of different lengths between all members.
///
/// # Safety
/// As [`broadcast`]; the arrays of displacements and counts have an element for each member.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn alltoallv(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    dest_displs: *const usize,
    source: *const c_void,
    source_displs: *const usize,
    counts: *const usize,
    elem: usize,
) -> c_int {
    let blocks = [dest_displs, source_displs, counts];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, Collective::Alltoallv { blocks, elem }) }
}

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

/// As [`reduce_op`], with the result on the root alone.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce_root(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    nreduce: usize,
    op: Option<&'static Operator>,
    root: c_int,
) -> c_int {
    let collective = Collective::ReducePart { part: Part::Root(root, nreduce), op: known(name, op) };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, collective) }
}

/// As [`reduce_op`], with block i of `nelems` elements of the result on member i.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce_scatter(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    nelems: usize,
    op: Option<&'static Operator>,
) -> c_int {
    let collective = Collective::ReducePart { part: Part::Blocks(nelems), op: known(name, op) };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, collective) }
}

/// As [`reduce_scatter`], with a block of `counts[i]` elements on member i.
///
/// # Safety
/// As [`broadcast`]; `counts` has an element for each member.
pub unsafe fn reduce_scatterv(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    counts: *const usize,
    op: Option<&'static Operator>,
) -> c_int {
    let collective = Collective::ReducePart { part: Part::Counts(counts), op: known(name, op) };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, collective) }
}

/// Combines the sources of the members before, and with `is_inclusive` not 0 the own one, by an operator that is an
/// argument.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn scan_op(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    nelems: usize,
    op: Option<&'static Operator>,
    is_inclusive: c_int,
) -> c_int {
    let collective = Collective::Scan { n: nelems, op: known(name, op), inclusive: is_inclusive != 0 };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { run(name, team, dest, source, collective) }
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
    group.check_agreement(&rt.node, &[]);
    group.sync();
}
