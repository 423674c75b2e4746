//! One-sided operations that are completed one by one: their requests.
//!
//! A request is the name of an operation, and owns nothing. So it may be dropped, and what completes the operation, as
//! a quiet or the end of its context does, completes the request. The low 16 bits tell it from those of collectives.
//! Of an operation on this node, it has a number that the copy under way has, too, unless this was complete at once. Of
//! one to another node, it has a [place](Tracked), and the number of its use.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use ferroshmem_fabric::{Context, Tracked};
use ferroshmem_layout::WaitKind;

use super::atomic::{Atomic, Operation, Variable};
use super::rma::{Location, Target};
use super::{Call, Transport};
use crate::handle::Table;
use crate::offload::{self, Owner};
use crate::wait::progress::{self, Advance};
use crate::wait::{WaitReason, signals};

/// The low 16 bits of a request: no team has the id.
const KIND: usize = 0xffff;
/// An operation that was complete at once.
pub const COMPLETE: usize = KIND;
/// Whether the operation is to another node.
const REMOTE: usize = 1 << 16;
/// The lowest bit of a copy's number, or a place's index.
const INDEX: u32 = 17;
/// The lowest bit of the number of a place's use.
const USE: u32 = <Tracked>::USE;

const _: () = assert!(Table::<Tracked>::PLACES <= 1 << (USE - INDEX));

/// Whether a request is of a one-sided operation.
#[inline]
pub fn is_one_sided(request: usize) -> bool {
    request & KIND == KIND
}

/// The place of a request to another node, and the number of its use.
fn place_of(request: usize) -> Option<(usize, u32)> {
    (request & REMOTE != 0).then_some(((request % (1 << USE)) >> INDEX, (request >> USE) as u32))
}

/// What requests name.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Copies on this node so far.
    copies: AtomicUsize,
    places: Table<Tracked>,
    free: Mutex<Vec<usize>>,
    sequels: Mutex<Vec<Sequel>>,
    /// How many.
    pending: AtomicUsize,
}

/// What this PE does once operations are complete: when a thread tests for a request, waits for anything, or completes
/// the context.
#[derive(Debug)]
struct Sequel {
    /// Of the operations, which are complete before it ends.
    context: *const Context,
    what: Action,
}

#[derive(Debug)]
enum Action {
    /// Updates the signal at `addr` of a PE after the operation of a request.
    Signal { request: usize, routine: &'static str, pe: usize, addr: *mut u64, operation: Operation<u64> },
    /// Ends the request of a quiet: of the context's operations until a number, which it has once the context's signals
    /// are posted that were to follow before, and of its copies among the first so many.
    Quiet { place: usize, number: Option<u32>, copies: u32 },
}

// SAFETY: addresses of symmetric memory, and of a context that does not end before.
unsafe impl Send for Sequel {}

impl Requests {
    /// The request of a copy that is about to be queued.
    fn of_copy(&self) -> usize {
        let number = self.copies.fetch_add(1, Ordering::Relaxed) + 1;
        number << INDEX | KIND
    }

    /// A place for an operation to another node, in use, and the operation's request.
    fn begin(&self) -> (&Tracked, usize) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let index = free.pop().unwrap_or_else(|| self.find_free(&mut free));
        let place = self.places.get(index).expect("places stay");
        let number = place.begin() as usize;
        (place, number << USE | index << INDEX | REMOTE | KIND)
    }

    /// Whether anything is to follow.
    #[inline]
    pub(super) fn have_sequels(&self) -> bool {
        self.pending.load(Ordering::Relaxed) != 0
    }

    /// Has something follow the operations of a context.
    #[cold]
    fn add(&self, context: &Context, what: Action) {
        // While there is any, waits look for it.
        progress::COLLECTIVES.fetch_add(1, Ordering::Relaxed);
        let mut sequels = self.sequels.lock().unwrap_or_else(PoisonError::into_inner);
        sequels.push(Sequel { context: ptr::from_ref(context), what });
        self.pending.store(sequels.len(), Ordering::Relaxed);
    }

    /// Finds the places whose operations are complete; makes as many as there are, if they are few.
    #[cold]
    fn find_free(&self, free: &mut Vec<usize>) -> usize {
        const LEAST: usize = 64;

        let mut count = 0;
        for (index, place) in self.places.iter() {
            count += 1;
            if place.is_idle() {
                free.push(index);
            }
        }
        if free.len() <= count / 2 {
            free.extend((0..count.max(LEAST)).filter_map(|_| self.places.insert(|_| Tracked::default())));
        }
        free.pop().expect("a table has room for more operations than memory has")
    }
}

impl Transport {
    /// The fabric of this job, if the target is reached by it; those of other jobs have no requests.
    fn has_requests(&self, target: &Target<'_>) -> bool {
        self.internode.is_some_and(|internode| std::ptr::eq(internode.fabric(), target.fabric))
    }

    /// Copies on this node: at once, or by helpers.
    ///
    /// # Safety
    /// `dest` is writable and `source` readable for `bytes` bytes, until the copy is complete.
    unsafe fn copy_by_request(&self, owner: Owner, dest: *mut u8, source: *const u8, bytes: usize) -> usize {
        // SAFETY: the caller's promises.
        unsafe {
            if offload::may_queue(bytes) {
                let request = self.requests.of_copy();
                if offload::queue(Owner { request, ..owner }, dest, source, bytes, None) {
                    return request;
                }
            }
            offload::copy(dest, source, bytes);
        }
        COMPLETE
    }

    /// As [`get_nb`](Self::get_nb); PE `call.pe`'s signal is updated once its bytes are read.
    ///
    /// # Safety
    /// As there; the signal is aligned.
    pub unsafe fn get_signal_nb(
        &self,
        call: &Call<'_>,
        dest: *mut c_void,
        source: *const c_void,
        bytes: usize,
        signal: (*mut u64, Operation<u64>),
    ) -> usize {
        if bytes > 0
            && let Location::Local(source) = self.locate(call, "source", source, bytes)
        {
            // SAFETY: `locate` has found `source` mapped; the caller promises the rest.
            unsafe {
                if offload::may_queue(bytes)
                    && let Some(signal) = self.signal_of_helpers(call, signal)
                {
                    let request = self.requests.of_copy();
                    if offload::queue(Owner { request, ..call.owner() }, dest.cast(), source, bytes, Some(signal)) {
                        return request;
                    }
                }
                offload::copy(dest.cast(), source, bytes);
                self.follow_by_signal(call, COMPLETE, call.pe, signal);
            }
            return COMPLETE;
        }
        // SAFETY: the caller's promises.
        unsafe {
            let request = self.get_nb(call, dest, source, bytes);
            self.follow_by_signal(call, request, call.pe, signal);
            request
        }
    }

    /// Updates the signal of PE `pe`, of this job, once the operation of a request of the call is complete.
    ///
    /// # Safety
    /// The signal is aligned.
    pub unsafe fn follow_by_signal(
        &self,
        call: &Call<'_>,
        request: usize,
        pe: usize,
        (addr, operation): (*mut u64, Operation<u64>),
    ) {
        if request == COMPLETE {
            // SAFETY: the caller promises that the signal is aligned.
            unsafe { self.post_signal(&Call { pe, ..*call }, addr, operation) };
        } else {
            let routine = call.routine;
            self.requests.add(call.context, Action::Signal { request, routine, pe, addr, operation });
        }
    }

    /// Begins a quiet of a context, complete with the request that is returned.
    pub fn quiet_nb(&self, context: &Context) -> usize {
        self.connections.quiet();
        let (_, request) = self.requests.begin();
        let place = place_of(request).map_or(0, |(place, _)| place);
        self.requests.add(context, Action::Quiet { place, number: None, copies: offload::begun() });
        self.follow();
        request
    }

    /// Does what is to follow operations that are complete; whether it did anything, and whether more is to follow.
    pub fn follow(&self) -> Advance {
        if self.requests.have_sequels() { self.follow_all() } else { Advance::default() }
    }

    #[cold]
    #[inline(never)]
    fn follow_all(&self) -> Advance {
        let Requests { sequels, pending, .. } = &self.requests;
        // Held while signals are posted: a thread that finds none left finds them in the context's count.
        let mut sequels = sequels.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sequels.len();
        // The contexts whose signals are still to come; a thread polls once for all operations.
        let (mut signalling, mut polls) = (Vec::new(), true);
        sequels.retain_mut(|Sequel { context, what }| {
            let has_followed = match what {
                Action::Signal { .. } => self.has_signalled(*context, what, &mut polls),
                Action::Quiet { .. } => !signalling.contains(context) && self.has_ended(*context, what),
            };
            if !has_followed && matches!(what, Action::Signal { .. }) && signalling.last() != Some(&*context) {
                signalling.push(*context);
            }
            !has_followed
        });
        let (left, done) = (sequels.len(), before - sequels.len());
        pending.store(left, Ordering::Relaxed);
        progress::COLLECTIVES.fetch_sub(done as u32, Ordering::Relaxed);
        Advance { has_advanced: done > 0, is_under_way: left > 0 }
    }

    /// Updates a signal, if the operation before it is complete; after polling in vain, the next ones need not.
    fn has_signalled(&self, context: *const Context, what: &Action, polls: &mut bool) -> bool {
        let &Action::Signal { request, routine, pe, addr, operation } = what else {
            return true;
        };
        let is_complete =
            match place_of(request).and_then(|(place, number)| Some((self.requests.places.get(place)?, number))) {
                Some((place, number)) if !*polls => place.is_complete(number),
                _ => self.is_complete(request),
            };
        *polls &= is_complete;
        if is_complete {
            // SAFETY: a context ends once it is quiet, and what follows its operations is done.
            let context = unsafe { &*context };
            let call = Call { routine, context, pe, records_wait: false };
            // SAFETY: who began the operation has promised that the signal is aligned.
            unsafe { self.post_signal(&call, addr, operation) };
        }
        is_complete
    }

    /// Ends the request of a quiet, if it is complete; its context's signals are posted that come before.
    fn has_ended(&self, context: *const Context, what: &mut Action) -> bool {
        let Action::Quiet { place, number, copies } = what else {
            return true;
        };
        let is_quiet = self.internode.is_none_or(|internode| {
            // SAFETY: as in `has_signalled`.
            let (fabric, context) = (internode.fabric(), unsafe { &*context });
            let number = *number.get_or_insert_with(|| fabric.begin_quiet(context));
            fabric.test_quiet(context, number)
        });
        let of_context = Owner { context: context.addr(), ..Owner::UNKNOWN };
        let is_complete = is_quiet && offload::is_complete_among(&of_context, *copies);
        if is_complete && let Some(place) = self.requests.places.get(*place) {
            place.issued();
        }
        is_complete
    }

    /// As [`put_nbi`](Self::put_nbi), complete with the request that is returned.
    ///
    /// # Safety
    /// As [`put_nbi`](Self::put_nbi), until then.
    pub unsafe fn put_nb(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) -> usize {
        if bytes == 0 {
            return COMPLETE;
        }
        let to = self.locate(call, "dest", dest, bytes);
        // SAFETY: `locate` has found `dest` mapped, or on another node; the caller promises the rest.
        unsafe {
            match to {
                Location::Local(dest) => return self.copy_by_request(call.putting(), dest, source.cast(), bytes),
                Location::Remote(to) if self.has_requests(&to) => {
                    let (place, request) = self.requests.begin();
                    to.fabric.put_tracked(to.context, place, to.at, source.cast(), bytes);
                    return request;
                }
                Location::Remote(to) => {
                    to.fabric.put_nbi(to.context, to.at, source.cast(), bytes);
                    to.fabric.quiet(to.context);
                }
            }
        }
        COMPLETE
    }

    /// As [`get_nbi`](Self::get_nbi), complete with the request that is returned.
    ///
    /// # Safety
    /// As [`get_nbi`](Self::get_nbi), until then.
    pub unsafe fn get_nb(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) -> usize {
        if bytes == 0 {
            return COMPLETE;
        }
        let from = self.locate(call, "source", source, bytes);
        // SAFETY: `locate` has found `source` mapped, or on another node; the caller promises the rest.
        unsafe {
            match from {
                Location::Local(source) => return self.copy_by_request(call.owner(), dest.cast(), source, bytes),
                Location::Remote(from) if self.has_requests(&from) => {
                    let (place, request) = self.requests.begin();
                    from.fabric.get_tracked(from.context, place, dest.cast(), from.at, bytes);
                    return request;
                }
                Location::Remote(from) => call.get(&from, dest.cast(), bytes),
            }
        }
        COMPLETE
    }

    /// As [`fetching_nbi`](Self::fetching_nbi), complete with the request that is returned.
    ///
    /// # Safety
    /// As [`fetching_nbi`](Self::fetching_nbi), until then.
    pub unsafe fn fetching_nb<T: Atomic>(
        &self,
        call: &Call<'_>,
        (argument, addr): Variable<'_, T>,
        operation: Operation<T>,
        result: *mut T,
        local: impl FnOnce(*mut T) -> T,
    ) -> usize {
        let at = self.locate_atomic(call, argument, addr.cast(), size_of::<T>());
        // SAFETY: the caller promises that `result` is writable.
        unsafe {
            match at {
                Location::Local(at) => result.write(local(at.cast())),
                Location::Remote(at) if self.has_requests(&at) => {
                    let (place, request) = self.requests.begin();
                    at.fabric.fetch_tracked(at.context, place, at.at, operation.for_fabric(), result.cast());
                    return request;
                }
                Location::Remote(at) => result.write(T::from_bits(call.fetch(&at, operation.for_fabric()))),
            }
        }
        COMPLETE
    }

    /// Whether the operation of a request is complete, as after a quiet; makes progress with it, and with what follows
    /// operations.
    pub fn test_request(&self, request: usize) -> bool {
        self.follow();
        let is_complete = self.is_complete(request);
        if is_complete {
            self.follow();
            fence(Ordering::SeqCst);
        }
        is_complete
    }

    fn is_complete(&self, request: usize) -> bool {
        match (place_of(request), self.internode) {
            (Some((index, number)), internode) => self.requests.places.get(index).is_none_or(|place| {
                internode.map_or(place.is_complete(number), |internode| internode.fabric().test_tracked(place, number))
            }),
            _ => request == COMPLETE || offload::is_complete(&Owner { request, ..Owner::UNKNOWN }),
        }
    }

    /// Returns when the operation of a request is complete, as after a quiet.
    pub fn wait_request(&self, routine: &str, request: usize) {
        match (place_of(request), self.internode) {
            (Some((index, number)), internode) => {
                if let Some(place) = self.requests.places.get(index) {
                    match internode.filter(|_| !self.requests.have_sequels()) {
                        Some(internode) => {
                            let _shown = Self::show_wait(routine);
                            internode.fabric().wait_tracked(place, number);
                        }
                        None => {
                            self.help_with_copies_of(index);
                            let what = WaitReason::at(WaitKind::Remote, routine, 0);
                            self.wait(&what, signals::UNNOTIFIED, || {
                                self.follow();
                                self.is_complete(request).then_some(())
                            });
                        }
                    }
                }
            }
            _ if request == COMPLETE => {}
            _ => offload::complete(&Owner { request, ..Owner::UNKNOWN }),
        }
        self.follow();
        fence(Ordering::SeqCst);
    }

    /// Completes the copies that the quiet of a place is to complete, if it is a quiet's.
    fn help_with_copies_of(&self, of: usize) {
        let found = |sequel: &Sequel| match sequel.what {
            Action::Quiet { place, copies, .. } if place == of => Some((sequel.context.addr(), copies)),
            _ => None,
        };
        let sequels = self.requests.sequels.lock().unwrap_or_else(PoisonError::into_inner);
        let found = sequels.iter().find_map(found);
        drop(sequels);
        if let Some((context, copies)) = found {
            offload::complete_among(&Owner { context, ..Owner::UNKNOWN }, copies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_once_its_operation_is_complete() {
        let requests = Requests::default();
        let all: Vec<_> = (0..100).map(|_| requests.begin().1).collect();
        for request in &all {
            let (index, number) = place_of(*request).unwrap();
            assert!(is_one_sided(*request) && !requests.places.get(index).unwrap().is_complete(number));
        }
        assert_eq!(requests.places.iter().count(), 128);
        assert!(place_of(requests.of_copy()).is_none() && requests.of_copy() != COMPLETE);
    }

    #[test]
    fn an_operation_is_under_way_however_often_its_place_was_used() {
        let requests = Requests::default();
        let (place, request) = requests.begin();
        (0..1 << 24).for_each(|_| _ = place.begin());
        requests.free.lock().unwrap().push(place_of(request).unwrap().0);
        let (place, request) = requests.begin();
        assert!(!place.is_complete(place_of(request).unwrap().1));
    }
}
