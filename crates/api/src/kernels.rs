//! Kernels (extension): functions of the programs of a group, which the PEs that have started it call by name.

use std::ffi::c_int;

use ferroshmem_core::connection::{Connection, calls};
use ferroshmem_core::constants::GROUP_INVALID;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::wait::polled;
use ferroshmem_runtime as runtime;

use super::handles;

pub use ferroshmem_core::connection::calls::caller::{Argument, Call};
pub use ferroshmem_core::connection::calls::server::ArrayArgument;
pub use ferroshmem_core::connection::calls::{Kernel, Parameter, Run, register};

/// Kinds of parameters and arguments.
pub mod kind {
    pub use ferroshmem_core::connection::calls::kinds::{ARRAY, INTEGER, OBJECT, POINTER, REAL};
}

/// Bits of a request that are the number of a message; the others are that of the connection.
const MESSAGE: u32 = 40;

/// Calls kernels of a group's PEs as one message, collectively over the PEs that have started them; what the first
/// of those gives counts. A request for their completion; `SHMEMX_REQUEST_INVALID` for `SHMEMX_GROUP_INVALID`, or if
/// the group has failed.
///
/// # Safety
/// On the first PE, there are `count` valid calls.
pub unsafe fn call_multiple(name: &'static str, group: usize, count: usize, calls: *const Call) -> usize {
    let rt = runtime::get(name);
    let Some((_, connection)) = handles::find(name, rt, group) else {
        return 0;
    };
    if connection.groups.own != 0 {
        fatal(name, "the group has started this job: kernels are called by the PEs that have started others");
    }
    let calls = match (calls.is_null(), count) {
        (_, 0) => &[],
        (true, _) => fatal(name, "calls is a null pointer: give count calls"),
        // SAFETY: the caller promises so many.
        (false, count) => unsafe { std::slice::from_raw_parts(calls, count) },
    };
    if connection.has_failed() {
        return 0;
    }
    let mut caller = connection.calls.lock().unwrap_or_else(|e| e.into_inner());
    // SAFETY: the caller promises that all calls have valid names and arguments.
    let message = match unsafe { caller.call(connection, name, calls) } {
        Ok(message) => message,
        Err(_) if connection.has_failed() => return 0,
        Err(why) => fatal(name, why),
    };
    ((u64::from(connection.id) << MESSAGE) | message) as usize
}

/// The connection and the message of a request; None if the group is disconnected, or for
/// `SHMEMX_REQUEST_INVALID`.
fn find(name: &str, request: usize) -> Option<(&'static Connection, u64)> {
    let all = runtime::get(name).node.transport.connections.iter();
    let id = (request as u64 >> MESSAGE) as u32;
    let mut of_group = all.filter(|(_, connection)| connection.id == id);
    let (_, connection) = of_group.next().filter(|_| request != 0)?;
    Some((connection, request as u64 & ((1 << MESSAGE) - 1)))
}

/// Whether the calls of a request are complete on all PEs of the group: 1 or 0; -1 if they never are, since the group
/// has failed.
pub fn test(name: &'static str, request: usize) -> c_int {
    let Some((connection, message)) = find(name, request) else {
        return 1;
    };
    let caller = connection.calls.lock().unwrap_or_else(|e| e.into_inner());
    let finished = caller.finished(connection.call_lines());
    drop(caller);
    if finished < message {
        if connection.has_failed() {
            return -1;
        }
        let word = &raw const connection.call_lines().finished;
        polled(word.addr(), finished);
    }
    (finished >= message).into()
}

/// Waits until the calls of a request are complete on all PEs of the group: 0, or -1 if the group fails before.
pub fn wait(name: &'static str, request: usize) -> c_int {
    match (find(name, request), test(name, request)) {
        (Some((connection, message)), 0) => c_int::from(calls::caller::wait(connection, name, message)) - 1,
        (_, tested) => tested.min(0),
    }
}

/// Runs the kernels that the PEs call which have started this one, until they end the group: their number, or -1
/// in a job that was not started so, or that is disconnected from those PEs, or if these fail.
pub fn serve(name: &'static str) -> c_int {
    let rt = runtime::get(name);
    let group = handles::parents(name);
    if group == GROUP_INVALID {
        return -1;
    }
    let Some((_, connection)) = handles::find(name, rt, group) else {
        return -1;
    };
    let calls = calls::server::serve(connection, name, || rt.quiet_all());
    calls.map_or(-1, |calls| calls.min(c_int::MAX as u64) as c_int)
}
