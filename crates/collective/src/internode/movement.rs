//! Collectives that move data between nodes: broadcast, collect, fcollect, gather, scatter, alltoall and its forms.

use ferroshmem_layout::FLAGS;

use super::InternodeCall;
use super::fallback;
use crate::alltoall::{Blocks, Strides};
use crate::{broadcast, from_on};

/// Flag by which child k of a leader posts that its `dest` may be written; after the flags of the
/// synchronisation's rounds.
const READY: usize = 13;
/// Flag by which a leader's parent posts that `dest` is written.
const COPIED: usize = FLAGS - 1;

/// As [`crate::broadcast::broadcast`]: in the root's node group, then along a binomial
/// tree of the leaders, then in the other node groups.
///
/// # Safety
/// `dest` and `source` are symmetric and valid for `bytes` bytes; they are the same or do not
/// overlap.
pub unsafe fn broadcast(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    let Some(subgroups) = &call.subgroups else {
        // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member.
        return unsafe { fallback::broadcast(call, dest, source, bytes, root, to_root) };
    };
    let (root_group, local_root) = subgroups.hierarchy.groups.of(root);
    let has_root = subgroups.hierarchy.own_group == root_group;
    let (local_dest, local_source) = (
        call.local_addresses(subgroups, "dest", dest, bytes),
        call.local_addresses(subgroups, "source", source, bytes),
    );
    if has_root {
        let local = &subgroups.local;
        // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member, the same
        // or not overlapping.
        unsafe {
            broadcast::broadcast(local, local_dest, local_source, bytes, local_root, to_root);
        };
    }
    if let Some(leaders) = &subgroups.leaders {
        // The leader's own memory: the root goes on as soon as its node group has the values.
        let is_root = has_root && subgroups.local.me == local_root;
        let from = if is_root { source } else { dest };
        let (me, size) = (leaders.me, leaders.size);
        let number = (me + size - root_group) % size;
        let member = |number: usize| (number + root_group) % size;
        let epoch = leaders.epoch();
        if number > 0 {
            // The parent lacks the highest bit.
            let bit = number.ilog2() as usize;
            epoch.post(member(number - (1 << bit)), READY + bit);
            epoch.wait(COPIED);
        }
        let first = number.checked_ilog2().map_or(0, |bit| bit as usize + 1);
        let all = call.addresses(dest);
        for bit in (first..).take_while(|bit| number + (1 << bit) < size) {
            let child = member(number + (1 << bit));
            epoch.wait(READY + bit);
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; the
            // child has posted that its `dest` may be written.
            unsafe { leaders.put(&all, child, from, bytes) };
            epoch.post(child, COPIED);
        }
        // No leader completes the epoch before all have entered it.
        epoch.synchronise();
    }
    if !has_root && subgroups.local.size > 1 {
        // SAFETY: the caller promises `bytes` bytes at `dest` on every member; the leader has the
        // root's values.
        unsafe { broadcast::broadcast(&subgroups.local, local_dest, local_dest, bytes, 0, false) };
    }
}

/// As [`crate::collect::fcollect`]. Each member puts its block to one member of each
/// other node group, from which the other members of that group copy it.
///
/// # Safety
/// `dest` and `source` are symmetric; `source` is valid for `bytes` bytes and `dest` for as many
/// from each member; they do not overlap.
pub unsafe fn fcollect(call: &InternodeCall<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let Some(subgroups) = &call.subgroups else {
        // SAFETY: the caller promises `bytes` bytes at `source`, and as many for each member at `dest`.
        return unsafe { fallback::fcollect(call, dest, source, bytes) };
    };
    let (me, size, local) = (call.group.me, call.group.size, &subgroups.local);
    let local_dest = call.local_addresses(subgroups, "dest", dest, bytes * size);
    let (all, groups) = (call.addresses(dest), &subgroups.hierarchy.groups);
    subgroups.sync();
    // The members of a node group receive the blocks of others in turn.
    let receiver = |group: usize, from: usize| from % groups.all()[group].local.size;
    let own_group = subgroups.hierarchy.own_group;
    // SAFETY: the caller promises `bytes` bytes at `source`, and as many for each member at `dest`, on
    // every member; each block of a `dest` has one writer.
    unsafe {
        let mine = all.from(me * bytes);
        for group in from_on(own_group, groups.all().len()) {
            if group == own_group {
                for index in from_on(local.me, local.size) {
                    let member = groups.member(group, index);
                    subgroups.all.put(&mine, member, source, bytes);
                }
            } else {
                let member = groups.member(group, receiver(group, me));
                subgroups.all.put(&mine, member, source, bytes);
            }
        }
        call.leave();
        if local.size > 1 {
            for member in from_on(me, size) {
                let group = groups.of(member).0;
                let holder = receiver(own_group, member);
                if group != own_group && holder != local.me {
                    let block = local_dest.from(member * bytes);
                    local.get(block.of(local.me), &block, holder, bytes);
                }
            }
            local.sync();
        }
    }
}

/// As [`crate::collect::collect`]; `check` is called with the sum of all contributions
/// before `dest` is used.
///
/// # Safety
/// `source` is symmetric, unless there are no bytes, and valid for `bytes` bytes; it does not
/// overlap `dest`, on any member.
pub unsafe fn collect(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    check: impl FnOnce(usize),
) {
    let epoch = call.group.epoch();
    epoch.publish(bytes as u64);
    epoch.synchronise();
    let (mut before, mut total) = (0, 0);
    for member in 0..call.group.size {
        let length = epoch.published(member) as usize;
        if member < call.group.me {
            before += length;
        }
        total += length;
    }
    check(total);
    if bytes > 0 {
        let mine = call.addresses(dest).from(before);
        for member in call.in_turn() {
            // SAFETY: the caller promises `bytes` bytes at `source`; all members have entered, and each
            // block of a `dest` has one writer.
            unsafe { call.all().put(&mine, member, source, bytes) };
        }
    }
    call.leave();
}

/// As [`crate::alltoall::alltoall`].
///
/// # Safety
/// `dest` and `source` are symmetric, valid for `bytes` bytes for each member, and do not
/// overlap.
pub unsafe fn alltoall(call: &InternodeCall<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let mine = call.addresses(dest).from(call.group.me * bytes);
    call.sync();
    for member in call.in_turn() {
        let from = source.wrapping_add(member * bytes);
        // SAFETY: the caller promises a block of `bytes` bytes for each member at `dest` and `source`;
        // only this member writes this block of each `dest`.
        unsafe { call.all().put(&mine, member, from, bytes) };
    }
    call.leave();
}

/// As [`crate::alltoall::alltoalls`].
///
/// # Safety
/// `dest` and `source` are symmetric, hold `n` elements for each member at their strides, and
/// do not overlap.
pub unsafe fn alltoalls(call: &InternodeCall<'_>, dest: *mut u8, source: *const u8, strides: Strides, n: usize) {
    let elem = strides.elem;
    let (to_step, from_step) = (strides.dest * elem, strides.source * elem);
    let mine = call.addresses(dest).from(call.group.me * n * to_step);
    call.sync();
    for member in call.in_turn() {
        let from = source.wrapping_add(member * n * from_step);
        // SAFETY: the caller promises `n` elements for each member at their strides; only this member
        // writes these elements of each `dest`.
        unsafe {
            call.all().put_strided(&mine, to_step, member, (from, from_step), elem, n);
        }
    }
    call.leave();
}

/// Where a member's block is in the root's array.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Behind those of the members before it.
    InOrder,
    /// So many elements from the start as the root has for the member, elements of so many bytes.
    At(*const usize, usize),
}

impl Place {
    /// This member's, in bytes.
    ///
    /// # Safety
    /// The root has entered, and has an element for each member.
    unsafe fn get(self, call: &InternodeCall<'_>, root: usize, bytes: usize) -> usize {
        let me = call.group.me;
        match self {
            Self::InOrder => me * bytes,
            Self::At(displs, elem) => {
                let mut displacement = 0_usize;
                let (to, from) = ((&raw mut displacement).cast(), call.addresses(displs.wrapping_add(me)));
                // SAFETY: the caller promises that the root has an element for each member.
                unsafe { call.all().get(to, &from, root, size_of::<usize>()) };
                displacement.saturating_mul(elem)
            }
        }
    }
}

/// As [`crate::gather::gather`]: each member puts its block to the root; with `scatters` as
/// [`crate::gather::scatter`]: each gets its block from there.
///
/// # Safety
/// `dest` and `source` are symmetric and valid for the blocks, and do not overlap.
pub unsafe fn gather(
    call: &InternodeCall<'_>,
    (dest, source): (*mut u8, *const u8),
    bytes: usize,
    root: usize,
    place: Place,
    scatters: bool,
) {
    call.sync();
    if bytes > 0 {
        // SAFETY: the caller promises a place for `bytes` bytes in the root's array, which this member alone writes.
        unsafe {
            let at = place.get(call, root, bytes);
            match scatters {
                true => call.all().get(dest, &call.addresses(source.wrapping_add(at)), root, bytes),
                false => call.all().put(&call.addresses(dest.wrapping_add(at)), root, source, bytes),
            }
        }
    }
    call.leave();
}

/// As [`crate::alltoall::alltoallv`]; `dest` of `blocks` is this member's. Each member gets where its blocks go from
/// all others at once, and puts them there.
///
/// # Safety
/// As there.
pub unsafe fn alltoallv(call: &InternodeCall<'_>, dest: *mut u8, source: *const u8, blocks: &Blocks<'_>) {
    let me = call.group.me;
    let mut places = vec![0_usize; call.group.size];
    let own = blocks.dest.from(me).of(me);
    call.sync();
    // SAFETY: the caller promises an element for each member on all, and valid blocks; each of a `dest` has one
    // writer. The puts begin when all places are there.
    unsafe {
        for member in call.in_turn() {
            call.all().get_nbi((&raw mut places[member]).cast(), &call.addresses(own), member, size_of::<usize>());
        }
        call.quiet();
        for member in call.in_turn() {
            let (from, bytes) = blocks.of(member);
            if bytes > 0 {
                let to = dest.wrapping_add(places[member].saturating_mul(blocks.elem));
                call.all().put(&call.addresses(to), member, source.wrapping_add(from), bytes);
            }
        }
    }
    call.leave();
}
