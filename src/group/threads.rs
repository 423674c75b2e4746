//! Groups of threads, for tests: the collectives' own code over memory of one process.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use super::{Group, Link, Places, Slots, Traffic};
use crate::choice::{Algorithm, Collective, Plan};
use crate::job::region::{TeamSlot, WaitKind};
use crate::team::Members;

/// One thread as a member.
pub struct Member {
    /// Its number.
    pub me: usize,
    size: usize,
    first: NonNull<TeamSlot>,
    epoch: AtomicU32,
}

impl Member {
    /// A collective call with this plan. Where the barrier is the central one, PEs count as
    /// outnumbering cores.
    pub fn group<'a>(&'a self, plan: &'a Plan) -> Group<'a> {
        let slots = Slots {
            first: self.first,
            stride: 1,
            epoch: &self.epoch,
            plan,
            kind: WaitKind::Team,
            team: 0,
        };
        Group {
            name: "test",
            me: self.me,
            size: self.size,
            reproducible: false,
            crowded: plan.choose(Collective::Barrier, 0).algorithm == Algorithm::Central,
            members: Members::world(self.size),
            link: Link::Slots(slots),
            traffic: Traffic::default(),
        }
    }
}

/// Runs `body` on `size` threads that are the members of one group.
pub fn run(size: usize, body: impl Fn(Member) + Sync) {
    let layout = Layout::array::<TeamSlot>(size).unwrap();
    // SAFETY: the layout is not empty; zero bytes are valid slots.
    let first = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<TeamSlot>()).unwrap();
    struct Shared(NonNull<TeamSlot>);
    // SAFETY: slots are shared memory: atomics, and cells used as the collectives promise.
    unsafe impl Sync for Shared {}
    let shared = Shared(first);
    std::thread::scope(|scope| {
        for me in 0..size {
            let (shared, body) = (&shared, &body);
            scope.spawn(move || {
                body(Member {
                    me,
                    size,
                    first: shared.0,
                    epoch: AtomicU32::new(0),
                });
            });
        }
    });
    // SAFETY: allocated above, and the threads are gone.
    unsafe { dealloc(first.as_ptr().cast(), layout) };
}

/// A symmetric array: `n` elements for each of the members.
pub struct Array<T> {
    all: NonNull<T>,
    n: usize,
    members: usize,
    marker: PhantomData<T>,
}

// SAFETY: the members use it as the collectives promise.
unsafe impl<T: Send> Sync for Array<T> {}

impl<T: Copy + Default> Array<T> {
    /// Defaults everywhere; one cache line more than needed between two members' parts.
    pub fn new(members: usize, n: usize) -> Self {
        let layout = Self::layout(members, n);
        // SAFETY: not empty.
        let all = NonNull::new(unsafe { alloc_zeroed(layout) })
            .unwrap()
            .cast();
        let this = Self {
            all,
            n,
            members,
            marker: PhantomData,
        };
        for m in 0..members {
            for i in 0..n {
                // SAFETY: within the allocation.
                unsafe { this.part(m).add(i).write(T::default()) };
            }
        }
        this
    }

    fn step(n: usize) -> usize {
        (n * size_of::<T>() + 64).next_multiple_of(64)
    }

    fn layout(members: usize, n: usize) -> Layout {
        Layout::from_size_align(members * Self::step(n), 64).unwrap()
    }

    fn part(&self, member: usize) -> *mut T {
        // SAFETY: within the allocation.
        unsafe { self.all.as_ptr().byte_add(member * Self::step(self.n)) }
    }

    /// Where the members' parts are, as member `me` sees it.
    pub fn places(&self, me: usize) -> Places<'static, T> {
        Places::at_stride(self.part(me), Self::step(self.n) as isize, me)
    }

    /// A member's own part, while nobody else uses it.
    #[allow(clippy::mut_from_ref)]
    pub fn of(&self, member: usize) -> &mut [T] {
        // SAFETY: the tests touch a part outside collectives only by its owner.
        unsafe { std::slice::from_raw_parts_mut(self.part(member), self.n) }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        let step = (self.n * size_of::<T>() + 64).next_multiple_of(64);
        let layout = Layout::from_size_align(self.members * step, 64).unwrap();
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.all.as_ptr().cast(), layout) };
    }
}
