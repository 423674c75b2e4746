//! One-sided operations that are completed one by one: their requests.
//!
//! A request is the name of an operation, and owns nothing. So it may be dropped, and what completes the operation, as
//! a quiet or the end of its context does, completes the request. The low 16 bits tell it from those of collectives.
//! Of an operation on this node, it has a number that the copy under way has, too, unless this was complete at once. Of
//! one to another node, it has a [place](Tracked), and the number of its use.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use ferroshmem_fabric::Tracked;

use super::atomic::{Atomic, Operation, Variable};
use super::{Call, Location, Target, Transport};
use crate::handle::Table;
use crate::offload::{self, Owner};

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
}

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

    /// Whether the operation of a request is complete, as after a quiet; makes progress with it.
    pub fn test_request(&self, request: usize) -> bool {
        let is_complete = match (place_of(request), self.internode) {
            (Some((index, number)), Some(internode)) => {
                let place = self.requests.places.get(index);
                place.is_none_or(|place| internode.fabric().test_tracked(place, number))
            }
            _ => request == COMPLETE || offload::is_complete(&Owner { request, ..Owner::UNKNOWN }),
        };
        if is_complete {
            fence(Ordering::SeqCst);
        }
        is_complete
    }

    /// Returns when the operation of a request is complete, as after a quiet.
    pub fn wait_request(&self, routine: &str, request: usize) {
        match (place_of(request), self.internode) {
            (Some((index, number)), Some(internode)) => {
                if let Some(place) = self.requests.places.get(index) {
                    let _shown = Self::show_wait(routine);
                    internode.fabric().wait_tracked(place, number);
                }
            }
            _ if request == COMPLETE => {}
            _ => offload::complete(&Owner { request, ..Owner::UNKNOWN }),
        }
        fence(Ordering::SeqCst);
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
