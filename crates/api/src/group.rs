//! Collectives between the groups of a connection (extension), with the meaning of MPI's collectives on
//! intercommunicators, and contexts that number the PEs of a group. Collectives return 0, or -1 for
//! `SHMEMX_GROUP_INVALID` or if the group has failed.

use std::ffi::{c_int, c_long, c_void};

use ferroshmem_collective::intergroup::{BothGroups, Intergroup, Part};
use ferroshmem_collective::remote_intergroup::{RemoteIntergroup, refuse_to_wait};
use ferroshmem_core::connection::Connection;
use ferroshmem_core::constants::{CTX_INVALID, PROC_NULL, ROOT};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_layout::WaitKind;
use ferroshmem_tuning::Collective;

use super::check::{self, Check, Extent};
use super::{Reduce, handles};
pub use ferroshmem_core::memory::Argument;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

/// An array of a call: address and bytes, of which there are none where this PE's array does not count.
type Array = (*mut u8, usize);

/// What a collective of both groups does, beside synchronising them.
#[derive(Debug, Clone, Copy)]
enum Action {
    Nothing,
    Broadcast(Part),
    Exchange(Collective),
    /// Of so many elements.
    Reduce(usize, &'static Operator),
}

impl Action {
    /// This PE's part in a broadcast.
    fn part(self) -> Option<Part> {
        match self {
            Self::Broadcast(part) => Some(part),
            _ => None,
        }
    }

    /// Does it.
    ///
    /// # Safety
    /// The arrays are as the action demands.
    unsafe fn run(self, call: &dyn BothGroups) {
        // SAFETY: the caller promises that the arrays of the action are valid for it.
        unsafe {
            match self {
                Self::Nothing => call.sync(),
                Self::Broadcast(part) => call.broadcast(part),
                Self::Exchange(collective) => call.exchange(collective),
                Self::Reduce(n, op) => call.reduce(n, op),
            }
        }
    }
}

/// A collective of both groups.
///
/// # Safety
/// The arrays are as the action demands.
unsafe fn on_group(
    name: &'static str,
    group: usize,
    action: &dyn Fn(&Connection) -> Action,
    arrays: &dyn Fn(&Connection, Action) -> [Array; 2],
    (sent, received): (usize, usize),
) -> c_int {
    let rt = runtime::get(name);
    let Some((team, connection)) = handles::find(name, rt, group) else {
        return -1;
    };
    if connection.has_failed() {
        return -1;
    }
    let action = action(connection);
    let [dest, source] = arrays(connection, action);
    if check::is_due()
        && let Some(call) = Check::of(name)
    {
        let extents = [dest, source].map(|array| Extent::of(array.1));
        call.symmetric("dest", dest.0.cast(), extents[0], 1);
        call.symmetric("source", source.0.cast(), extents[1], 1);
        call.apart(dest.0.cast(), extents[0], source.0.cast(), extents[1], false);
    }
    let memory = &rt.node.transport.memory;
    let place = |argument: &'static str, (addr, bytes): Array| {
        if bytes == 0 {
            return 0;
        }
        let argument = Argument { routine: name, name: argument };
        memory.own(argument, addr.cast(), bytes);
        memory.space.place(addr.addr())
    };
    let dest = (dest.0, place("dest", dest));
    let source = (source.0, place("source", source));
    let group = Group::over_slots(&rt.node, name, team, WaitKind::Connection);
    if let Some(remote) = connection.remote() {
        remote.enter_call();
        refuse_to_wait(name, connection);
    }
    if let Some(remote) = connection.remote().filter(|r| !r.is_on_one_node()) {
        let call = RemoteIntergroup { group: &group, remote, connection, dest, source, received, space: memory.space };
        // SAFETY: the caller promises that source and destination are valid for what the collective
        // reads and writes.
        unsafe { action.run(&call) };
        return if connection.has_failed() { -1 } else { 0 };
    }
    let call = Intergroup {
        group: &group,
        groups: &connection.groups,
        dest,
        source: (source.0.cast_const(), source.1),
        sent,
        received,
    };
    if rt.node.settings.check {
        call.check(action.part());
    }
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { action.run(&call) };
    refuse_to_wait(name, connection);
    if connection.has_failed() { -1 } else { 0 }
}

/// Synchronises all PEs of both groups.
pub fn sync(name: &'static str, group: usize) -> c_int {
    let none = [(std::ptr::null_mut(), 0); 2];
    // SAFETY: there are no arrays.
    unsafe { on_group(name, group, &|_| Action::Nothing, &|_, _| none, (0, 0)) }
}

/// Completes this PE's operations on the default context, and synchronises all PEs of both groups.
pub fn barrier(name: &'static str, group: usize) -> c_int {
    runtime::get(name).node.transport.quiet_default();
    sync(name, group)
}

/// Copies `bytes` bytes at the root's `source` to `dest` of all PEs of the other group.
///
/// # Safety
/// For this and all functions below: `dest` and `source` are symmetric within this PE's group, valid for the lengths
/// that the documentation demands, and do not overlap.
pub unsafe fn broadcast(
    name: &'static str,
    group: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
) -> c_int {
    let action = |connection: &Connection| {
        let others = connection.others();
        Action::Broadcast(match (root, usize::try_from(root)) {
            (ROOT, _) => Part::Root,
            (PROC_NULL, _) => Part::None,
            (_, Ok(root)) if root < others.len() => Part::From(others.start + root),
            _ => fatal(
                name,
                format_args!(
                    "PE_root = {root} is out of range: give 0 to {}, SHMEMX_ROOT or SHMEMX_PROC_NULL",
                    others.len() - 1
                ),
            ),
        })
    };
    let arrays = |_: &Connection, action: Action| {
        let of = |is_used: bool| if is_used { bytes } else { 0 };
        let receives = matches!(action.part(), Some(Part::From(_)));
        let sends = action.part() == Some(Part::Root);
        [(dest.cast(), of(receives)), (source.cast_mut().cast(), of(sends))]
    };
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { on_group(name, group, &action, &arrays, (bytes, bytes)) }
}

/// Gathers `received` bytes from each PE of the other group in `dest`, and gives each of them the `sent` bytes at
/// `source`.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn fcollect(
    name: &'static str,
    group: usize,
    dest: *mut c_void,
    received: usize,
    source: *const c_void,
    sent: usize,
) -> c_int {
    let all = |n: usize, connection: &Connection| n.saturating_mul(connection.others().len());
    let arrays =
        |connection: &Connection, _| [(dest.cast(), all(received, connection)), (source.cast_mut().cast(), sent)];
    let lengths = (sent, received);
    let action = Action::Exchange(Collective::Fcollect);
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { on_group(name, group, &|_| action, &arrays, lengths) }
}

/// Gives PE i of the other group block i of `source`, of `sent` bytes, and gathers a block of `received` bytes from
/// each in `dest`.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn alltoall(
    name: &'static str,
    group: usize,
    dest: *mut c_void,
    received: usize,
    source: *const c_void,
    sent: usize,
) -> c_int {
    let all = |n: usize, connection: &Connection| n.saturating_mul(connection.others().len());
    let arrays = |connection: &Connection, _| {
        [(dest.cast(), all(received, connection)), (source.cast_mut().cast(), all(sent, connection))]
    };
    let lengths = (sent, received);
    let action = Action::Exchange(Collective::Alltoall);
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { on_group(name, group, &|_| action, &arrays, lengths) }
}

/// Reduces the sources of the other group element by element, with the result on every PE of this one.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    name: &'static str,
    group: usize,
    dest: *mut T,
    source: *const T,
    nreduce: usize,
) -> c_int {
    let op = Operator::of::<T, Op>();
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { reduce_by(name, group, dest.cast(), source.cast_mut().cast(), nreduce, op) }
}

/// [`reduce`], compiled once for all types and operators.
unsafe fn reduce_by(
    name: &'static str,
    group: usize,
    dest: *mut u8,
    source: *mut u8,
    nreduce: usize,
    op: &'static Operator,
) -> c_int {
    let bytes = nreduce.saturating_mul(op.size());
    let arrays = |_: &Connection, _| [(dest, bytes), (source, bytes)];
    let (lengths, action) = ((bytes, bytes), Action::Reduce(nreduce, op));
    // SAFETY: the caller promises that source and destination are valid for what the collective
    // reads and writes.
    unsafe { on_group(name, group, &|_| action, &arrays, lengths) }
}

/// Makes a context on which PE i is PE i of a group: 0, or -1 and `SHMEM_CTX_INVALID`.
///
/// # Safety
/// `ctx` is valid.
pub unsafe fn create_ctx(name: &'static str, group: usize, options: c_long, ctx: *mut usize) -> c_int {
    let rt = runtime::get(name);
    let found = handles::find(name, rt, group);
    let made = found.and_then(|(team, _)| super::context::make(rt, team, options, true));
    // SAFETY: the caller promises that `ctx` can be written.
    unsafe { handles::give(ctx, made, CTX_INVALID) }
}
