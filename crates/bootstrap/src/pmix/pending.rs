//! A call of PMIx that ends by a callback, waited for with a deadline: the blocking forms wait
//! for ever where the server is gone or a process never comes.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::types::{Content, DONE, OnDone, OnSpawned, OnValue, SUCCESS, Status, Value};

/// How a call ended.
type Outcome = (Status, Option<Content>);

#[derive(Default)]
struct Slot {
    outcome: Mutex<Option<Outcome>>,
    filled: Condvar,
}

/// Starts a call by `start`, which passes its arguments to PMIx as callback and its data, and
/// waits. None if it was not over by the deadline; a later callback has no effect.
pub(super) fn done(deadline: Duration, start: impl FnOnce(OnDone, *mut c_void) -> Status) -> Option<Outcome> {
    wait(deadline, |data| start(on_done, data))
}

/// The same for a call that ends with a value.
pub(super) fn value(deadline: Duration, start: impl FnOnce(OnValue, *mut c_void) -> Status) -> Option<Outcome> {
    wait(deadline, |data| start(on_value, data))
}

/// The same for a call that starts processes, and ends with the name of their job.
pub(super) fn spawned(deadline: Duration, start: impl FnOnce(OnSpawned, *mut c_void) -> Status) -> Option<Outcome> {
    wait(deadline, |data| start(on_spawned, data))
}

fn wait(deadline: Duration, start: impl FnOnce(*mut c_void) -> Status) -> Option<Outcome> {
    let slot = Arc::new(Slot::default());
    let data = Arc::into_raw(slot.clone());
    let status = start(data.cast_mut().cast());
    if status != SUCCESS {
        // SAFETY: the pointer is from `into_raw` above; PMIx calls back only after success, so that
        // nothing else takes it back.
        drop(unsafe { Arc::from_raw(data) });
        let status = if status == DONE { SUCCESS } else { status };
        return Some((status, None));
    }
    let outcome = slot.outcome.lock().unwrap_or_else(|e| e.into_inner());
    let (mut outcome, _) =
        slot.filled.wait_timeout_while(outcome, deadline, |o| o.is_none()).unwrap_or_else(|e| e.into_inner());
    outcome.take()
}

/// # Safety
/// `data` is that of one call whose callback was not called before.
unsafe fn complete(data: *mut c_void, outcome: Outcome) {
    // SAFETY: `wait` made the pointer from an Arc; the caller promises that this is the only
    // callback with it, so that it is taken back once.
    let slot = unsafe { Arc::from_raw(data.cast_const().cast::<Slot>()) };
    *slot.outcome.lock().unwrap_or_else(|e| e.into_inner()) = Some(outcome);
    slot.filled.notify_one();
}

extern "C" fn on_done(status: Status, data: *mut c_void) {
    // SAFETY: PMIx calls back once with the data of the call.
    unsafe { complete(data, (status, None)) };
}

extern "C" fn on_spawned(status: Status, name: *const c_char, data: *mut c_void) {
    let name = (!name.is_null()).then(|| {
        // SAFETY: PMIx passes null, or a C string that lives during the callback.
        let name = unsafe { CStr::from_ptr(name) };
        Content::Text(name.to_string_lossy().into_owned())
    });
    // SAFETY: PMIx calls back once with the data of the call.
    unsafe { complete(data, (status, name)) };
}

extern "C" fn on_value(status: Status, value: *mut Value, data: *mut c_void) {
    // SAFETY: PMIx passes null, or a value of its own that lives during the callback.
    let content = unsafe { value.as_ref().and_then(|v| v.to_content()) };
    // SAFETY: PMIx calls back once with the data of the call.
    unsafe { complete(data, (status, content)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const SOON: Duration = Duration::from_millis(20);
    const NEVER: Duration = Duration::from_secs(100);

    #[test]
    fn ends_at_once_or_by_callback_or_not() {
        let refused = done(NEVER, |_, _| -25);
        assert_eq!(refused, Some((-25, None)));
        let at_once = done(NEVER, |_, _| DONE);
        assert_eq!(at_once, Some((SUCCESS, None)));
        let later = done(NEVER, |callback, data| {
            let data = data as usize;
            thread::spawn(move || callback(-1, data as *mut c_void));
            SUCCESS
        });
        assert_eq!(later, Some((-1, None)));
        let mut late = None;
        let never = done(SOON, |callback, data| {
            late = Some((callback, data));
            SUCCESS
        });
        assert_eq!(never, None);
        let (callback, data) = late.unwrap();
        callback(SUCCESS, data);
    }

    #[test]
    fn started_jobs_have_names() {
        for (name, content) in [(c"job-2".as_ptr(), Some("job-2")), (std::ptr::null(), None)] {
            let got = spawned(NEVER, |callback, data| {
                callback(SUCCESS, name, data);
                SUCCESS
            });
            let content = content.map(|name| Content::Text(name.to_owned()));
            assert_eq!(got, Some((SUCCESS, content)));
        }
    }

    #[test]
    fn values_are_copied() {
        let got = value(NEVER, |callback, data| {
            let mut value = Value::of_bytes(b"blob");
            callback(SUCCESS, &raw mut value, data);
            SUCCESS
        });
        assert_eq!(got, Some((SUCCESS, Some(Content::Bytes(b"blob".to_vec())))));
    }
}
