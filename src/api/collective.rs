//! Team collectives (standard, "Collective Routines"). All return 0, or -1 for
//! `SHMEM_TEAM_INVALID`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{Ordering, fence};

use super::ops::{Reduce, Sum};
use crate::collective::alltoall::Strides;
use crate::collective::{alltoall as exchange, broadcast as spread, collect as gather};
use crate::collective::{reduce as reduction, scan as prefix};
use crate::fatal::fatal;
use crate::group::Group;
use crate::runtime;

const DONE: c_int = 0;
const INVALID: c_int = -1;

/// Runs `body` as a collective of the team, after checking that all members call it with
/// the same `arguments`.
#[inline]
fn on_team(
    name: &'static str,
    team: usize,
    arguments: &[(&str, u64)],
    body: impl FnOnce(&Group<'_>),
) -> c_int {
    let rt = runtime::get(name);
    let Some(team) = rt.teams.find(name, team) else {
        return INVALID;
    };
    let group = Group::of_team(rt, name, team);
    group.check_agreement(arguments);
    body(&group);
    DONE
}

/// Ends the job over strides that would read elements twice or backwards.
pub(super) fn strides(name: &str, dst: isize, sst: isize, elem: usize) -> Strides {
    match (usize::try_from(dst), usize::try_from(sst)) {
        (Ok(dest @ 1..), Ok(source @ 1..)) => Strides { dest, source, elem },
        _ => fatal(
            name,
            format_args!("strides dst = {dst} and sst = {sst} must be 1 or more"),
        ),
    }
}

pub(super) fn root_of(group: &Group<'_>, root: c_int) -> usize {
    match usize::try_from(root) {
        Ok(root) if root < group.size() => root,
        _ => fatal(
            group.name,
            format_args!(
                "PE_root = {root} is out of range: 0 to {}",
                group.size() - 1
            ),
        ),
    }
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
    let same = [
        ("PE_root", root as u64),
        ("the length in bytes", bytes as u64),
    ];
    on_team(name, team, &same, |group| {
        let root = root_of(group, root);
        // SAFETY: the caller's promise.
        unsafe { spread::broadcast(group, dest.cast(), source.cast(), bytes, root, true) }
    })
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
    // SAFETY: the caller's promise.
    on_team(name, team, &[], |group| unsafe {
        gather::collect(group, dest.cast(), source.cast(), bytes);
    })
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
    // SAFETY: the caller's promise.
    on_team(
        name,
        team,
        &[("the length in bytes", bytes as u64)],
        |group| unsafe {
            gather::fcollect(group, dest.cast(), source.cast(), bytes);
        },
    )
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
    // SAFETY: the caller's promise.
    on_team(
        name,
        team,
        &[("the length in bytes", bytes as u64)],
        |group| unsafe {
            exchange::alltoall(group, dest.cast(), source.cast(), bytes);
        },
    )
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
    let same = [
        ("nelems", nelems as u64),
        ("dst", dst as u64),
        ("sst", sst as u64),
    ];
    on_team(name, team, &same, |group| {
        let strides = strides(name, dst, sst, elem);
        // SAFETY: the caller's promise.
        unsafe { exchange::alltoalls(group, dest.cast(), source.cast(), strides, nelems) }
    })
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
    // SAFETY: the caller's promise.
    on_team(name, team, &[("nreduce", nreduce as u64)], |group| unsafe {
        reduction::reduce(group, dest, source, nreduce);
    })
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
    // SAFETY: the caller's promise.
    on_team(name, team, &[("nelems", nelems as u64)], |group| unsafe {
        prefix::scan(group, dest, source, nelems, inclusive);
    })
}

/// Synchronises a team.
///
/// # Safety
/// None needed; unsafe as its siblings are.
pub unsafe fn sync(name: &'static str, team: usize) -> c_int {
    on_team(name, team, &[], |group| group.sync())
}

/// Completes this PE's puts and synchronises all PEs.
#[inline]
pub fn barrier_all(name: &'static str) {
    fence(Ordering::Release);
    sync_all(name);
}

/// Synchronises all PEs.
#[inline]
pub fn sync_all(name: &'static str) {
    let rt = runtime::get(name);
    let group = Group::of_team(rt, name, rt.teams.world());
    group.check_agreement(&[]);
    group.sync();
}
