//! Streams of items (extension).

use std::ffi::{c_int, c_long, c_void};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_runtime::{self as runtime, Runtime};
use ferroshmem_stream::{Entered, Options, Stream};

pub use ferroshmem_stream::LONGEST;

/// `SHMEMX_STREAM_STEADY`.
pub const STEADY: c_long = 1;

/// Creates a stream over a team: 0, or -1 for an invalid team, or if a member has no memory left. Collective.
///
/// # Safety
/// `stream` can be written.
pub unsafe fn create(name: &'static str, team: usize, item_size: usize, options: c_long, stream: *mut usize) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, team).and_then(|team| {
        if team.connection().is_some() {
            fatal(name, "streams are for the PEs of one job: give a team that is not of a group");
        }
        if item_size == 0 || item_size > LONGEST {
            fatal(name, format_args!("item_size = {item_size} is out of range: give 1 to {LONGEST} bytes"));
        }
        if options & !STEADY != 0 {
            fatal(name, format_args!("options = {options:#x} are unknown: give 0 or SHMEMX_STREAM_STEADY"));
        }
        let options = Options { item: item_size, is_steady: options & STEADY != 0 };
        rt.streams.create(&rt.node, name, team, options).ok()
    });
    // SAFETY: the caller promises that `stream` is writable.
    unsafe { super::handles::give(stream, made, 0) }
}

#[inline]
fn enter<'a>(name: &'static str, rt: &'a Runtime, stream: usize) -> Entered<'a> {
    rt.streams.find(name, stream).enter(&rt.node, name)
}

/// Ends a call. One in vain gives up the core at times, for those that this PE polls for.
#[inline]
fn leave(mut state: Entered<'_>, is_in_vain: bool) {
    let gives_way = is_in_vain && state.has_been_in_vain();
    drop(state);
    if gives_way {
        std::thread::yield_now();
    }
}

#[cold]
fn has_ended(name: &str) -> ! {
    fatal(
        name,
        "this PE has ended the stream: call shmemx_stream_end once, after the last push, or reset the stream to use it \
            again",
    )
}

/// Pushes an item: 1, or 0 if there is no room.
///
/// # Safety
/// `item` is readable for an item's bytes.
#[inline]
pub unsafe fn push(name: &'static str, stream: usize, item: *const c_void, pe: c_int) -> c_int {
    // SAFETY: the caller promises that `item` is readable for an item of the stream.
    unsafe { push_many(name, stream, item, 1, pe) as c_int }
}

/// Pushes items: how many have found room.
///
/// # Safety
/// `items` is readable for the bytes of `n` items.
#[inline]
pub unsafe fn push_many(name: &'static str, stream: usize, items: *const c_void, n: usize, pe: c_int) -> usize {
    let rt = runtime::get(name);
    let mut state = enter(name, rt, stream);
    if state.is_ended() {
        has_ended(name);
    }
    // SAFETY: the caller promises that `items` is readable for `n` items of the stream.
    let pushed = unsafe { state.push_many(&rt.node, name, items.cast(), n, pe) };
    // Where a PE has failed, what finds no room is dropped: programs try until it does.
    let is_lost = pushed < n && state.has_failed();
    leave(state, pushed < n);
    if is_lost { n } else { pushed }
}

/// Pulls an item: 1, or 0 if none is there.
///
/// # Safety
/// `item` is writable for an item's bytes; `pe` is null or can be written.
#[inline]
pub unsafe fn pull(name: &'static str, stream: usize, item: *mut c_void, pe: *mut c_int) -> c_int {
    let rt = runtime::get(name);
    let mut state = enter(name, rt, stream);
    // SAFETY: the caller promises that `item` is writable for an item of the stream.
    let source = unsafe { state.pull(&rt.node, item.cast()) };
    leave(state, source.is_none());
    let Some(source) = source else {
        return 0;
    };
    if !pe.is_null() {
        // SAFETY: the caller promises that `pe` is null or writable; it is not null here.
        unsafe { pe.write(source as c_int) };
    }
    1
}

/// Shows items of one PE: how many.
///
/// # Safety
/// `items` can be written; `pe` is null or can be written.
#[inline]
pub unsafe fn view(name: &'static str, stream: usize, items: *mut *const c_void, pe: *mut c_int) -> usize {
    let rt = runtime::get(name);
    let mut state = enter(name, rt, stream);
    let found = state.view(&rt.node);
    leave(state, found.is_none());
    let Some((first, n, source)) = found else {
        return 0;
    };
    // SAFETY: the caller promises that the places for the results are writable.
    unsafe {
        items.write(first.cast());
        if !pe.is_null() {
            pe.write(source as c_int);
        }
    }
    n as usize
}

/// Sends all that was pushed.
pub fn flush(name: &'static str, stream: usize) {
    let rt = runtime::get(name);
    enter(name, rt, stream).flush(&rt.node);
}

/// This PE pushes no more.
pub fn end(name: &'static str, stream: usize) {
    let rt = runtime::get(name);
    let mut state = enter(name, rt, stream);
    if state.is_ended() {
        has_ended(name);
    }
    state.end(&rt.node);
}

/// Waits until an item can be pulled: 1, or 0 if none will come.
pub fn wait(name: &'static str, stream: usize) -> c_int {
    let rt = runtime::get(name);
    rt.streams.find(name, stream).wait(&rt.node, name).into()
}

/// Whether all PEs have ended the stream and this one has pulled everything: 1 or 0.
pub fn done(name: &'static str, stream: usize) -> c_int {
    let rt = runtime::get(name);
    let mut state = enter(name, rt, stream);
    let is_done = state.is_done(&rt.node);
    leave(state, !is_done);
    is_done.into()
}

/// Ends the stream's use on all members, which then go on together; false if one has failed, so that they do not: its
/// number may be another process's, which knows of no such stream.
fn finish(name: &'static str, rt: &Runtime, stream: &Stream) -> bool {
    stream.finish(&rt.node, name);
    let Some(team) = rt.teams.get(stream.team) else {
        fatal(name, "the stream's team is destroyed: destroy its streams first");
    };
    let is_whole = !stream.enter(&rt.node, name).has_failed();
    if is_whole {
        Group::of_team(&rt.node, name, team).sync();
    }
    is_whole
}

/// Lets the stream be used again. Collective.
pub fn reset(name: &'static str, stream: usize) {
    let rt = runtime::get(name);
    let stream = rt.streams.find(name, stream);
    let is_whole = finish(name, rt, stream);
    stream.enter(&rt.node, name).reset();
    if is_whole {
        let team = rt.teams.get(stream.team).expect("alive a moment ago");
        // No item of the new use comes before all have begun it.
        Group::of_team(&rt.node, name, team).sync();
    }
}

/// Destroys a stream. Collective.
pub fn destroy(name: &'static str, stream: usize) {
    let rt = runtime::get(name);
    if stream == 0 {
        return;
    }
    let stream = rt.streams.find(name, stream);
    finish(name, rt, stream);
    rt.streams.remove(&rt.node, stream);
}
