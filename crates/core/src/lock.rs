//! Locks (standard, "Distributed Locking"): a ticket lock in PE 0's copy of the variable.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use ferroshmem_fabric::{AtomicOp, Op, Remote, Width};

use crate::fatal::fatal;
use crate::job::region::WaitKind;
use crate::nodes::Link;
use crate::runtime::Runtime;
use crate::symmetric::Target;
use crate::wait::{WaitReason, Waiter, ticket};

/// The two halves of a lock, as one 64-bit `long`: tickets drawn, ticket served.
#[repr(C, align(8))]
struct Words {
    next: AtomicU32,
    serving: AtomicU32,
}

/// PE 0's copy of a lock.
enum Place<'a> {
    /// All PEs reach it by loads and stores.
    Here(&'a Words),
    /// Some PEs are on other nodes: nobody can be woken, so that waiters look again and again.
    Across(Ends<'a>),
}

/// A lock that PEs of several nodes use, from one of them.
enum Ends<'a> {
    Near(&'a Words),
    Far(&'static Link, Remote),
}

fn place<'a>(rt: &Runtime, name: &str, lock: *mut i64) -> Place<'a> {
    let bytes = size_of::<i64>();
    match rt.atomic_target(name, "lock", lock.cast(), bytes, 0) {
        Target::There(at) => Place::Across(Ends::Far(rt.link(), at)),
        Target::Here(there) => {
            // SAFETY: a symmetric long, 8-byte aligned as C requires, used by these routines
            // alone.
            let words = unsafe { &*there.cast::<Words>() };
            match rt.link {
                None => Place::Here(words),
                Some(_) => Place::Across(Ends::Near(words)),
            }
        }
    }
}

impl Ends<'_> {
    fn half(at: &Remote, half: usize) -> Remote {
        Remote {
            offset: at.offset + half,
            ..*at
        }
    }

    /// Draws a ticket.
    fn draw(&self) -> u32 {
        match self {
            Self::Near(words) => words.next.fetch_add(1, Ordering::AcqRel),
            Self::Far(link, at) => {
                let next = Self::half(at, std::mem::offset_of!(Words, next));
                let fabric = link.fabric();
                fabric.fetch(&link.stream, next, AtomicOp::new(Op::Add, Width::W32, 1)) as u32
            }
        }
    }

    /// The ticket that is served.
    fn serving(&self) -> u32 {
        match self {
            Self::Near(words) => words.serving.load(Ordering::Acquire),
            Self::Far(link, at) => {
                let serving = Self::half(at, std::mem::offset_of!(Words, serving));
                let fabric = link.fabric();
                fabric.fetch(&link.stream, serving, AtomicOp::read(Width::W32)) as u32
            }
        }
    }

    /// Serves the next ticket.
    fn serve_next(&self) {
        match self {
            Self::Near(words) => drop(words.serving.fetch_add(1, Ordering::AcqRel)),
            Self::Far(link, at) => {
                let serving = Self::half(at, std::mem::offset_of!(Words, serving));
                let fabric = link.fabric();
                fabric.post(&link.stream, serving, AtomicOp::new(Op::Add, Width::W32, 1));
            }
        }
    }

    /// Both halves at once.
    fn both(&self) -> u64 {
        match self {
            Self::Near(words) => words.both().load(Ordering::Relaxed),
            Self::Far(link, at) => {
                let fabric = link.fabric();
                fabric.fetch(&link.stream, *at, AtomicOp::read(Width::W64))
            }
        }
    }

    /// Replaces both halves if they are `seen`; whether they were.
    fn replace(&self, seen: u64, new: u64) -> bool {
        match self {
            Self::Near(words) => words.replace(seen, new),
            Self::Far(link, at) => {
                let fabric = link.fabric();
                fabric.fetch(
                    &link.stream,
                    *at,
                    AtomicOp::compare_swap(Width::W64, seen, new),
                ) == seen
            }
        }
    }

    fn acquire(&self, what: WaitReason<'_>) {
        let ticket = self.draw();
        if self.serving() == ticket {
            return;
        }
        let mut waiter = Waiter::new(what);
        while self.serving() != ticket {
            waiter.pause();
        }
    }
}

impl Words {
    fn both(&self) -> &AtomicU64 {
        // SAFETY: `Words` is one aligned 64-bit object.
        unsafe { &*std::ptr::from_ref(self).cast::<AtomicU64>() }
    }

    fn replace(&self, seen: u64, new: u64) -> bool {
        self.both()
            .compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// With `SHMEM_CHECK=1`: the locks that this PE holds, and the threads that took them.
#[derive(Debug, Default)]
pub struct Held(Mutex<Vec<(usize, ThreadId)>>);

fn note(rt: &Runtime, change: impl FnOnce(&mut Vec<(usize, ThreadId)>)) {
    if rt.settings.check {
        change(&mut rt.held.0.lock().unwrap_or_else(|e| e.into_inner()));
    }
}

/// Takes the lock, first come, first served.
pub(crate) fn set(rt: &Runtime, name: &'static str, lock: *mut i64) {
    let place = place(rt, name, lock);
    note(rt, |held| {
        // Another thread gives it back; this one would wait for itself.
        if held.contains(&(lock.addr(), thread::current().id())) {
            fatal(
                name,
                format_args!("this PE holds the lock {:#x} already", lock.addr()),
            );
        }
    });
    let what = WaitReason::at(WaitKind::Lock, name, lock.addr());
    match &place {
        Place::Here(words) => ticket::acquire(&words.next, &words.serving, || Waiter::new(what)),
        Place::Across(ends) => ends.acquire(what),
    }
    note(rt, |held| held.push((lock.addr(), thread::current().id())));
}

/// Gives the lock back, after completing this PE's puts.
pub(crate) fn clear(rt: &Runtime, name: &'static str, lock: *mut i64) {
    note(rt, |held| {
        match held.iter().position(|(l, _)| *l == lock.addr()) {
            Some(i) => drop(held.swap_remove(i)),
            None => fatal(
                name,
                format_args!("this PE does not hold the lock {:#x}", lock.addr()),
            ),
        }
    });
    rt.quiet_default();
    match place(rt, name, lock) {
        Place::Here(words) => ticket::release(&words.next, &words.serving),
        Place::Across(ends) => ends.serve_next(),
    }
}

/// Takes the lock if it is free; whether it did.
pub(crate) fn test(rt: &Runtime, name: &'static str, lock: *mut i64) -> bool {
    let place = place(rt, name, lock);
    // Both halves at once: free means that the ticket served is the next to be drawn.
    let seen = match &place {
        Place::Here(words) => words.both().load(Ordering::Relaxed),
        Place::Across(ends) => ends.both(),
    };
    let (next, serving) = (seen as u32, (seen >> 32) as u32);
    if next != serving {
        return false;
    }
    let taken = (seen & !0xffff_ffff) | u64::from(next.wrapping_add(1));
    let took = match &place {
        Place::Here(words) => words.replace(seen, taken),
        Place::Across(ends) => ends.replace(seen, taken),
    };
    if took {
        note(rt, |held| held.push((lock.addr(), thread::current().id())));
    }
    took
}
