//! Locks (standard, "Distributed Locking"): a ticket lock in PE 0's copy of the variable.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use crate::fatal::fatal;
use crate::job::region::WaitKind;
use crate::runtime::Runtime;
use crate::wait::{Waiter, What, ticket};

/// The two halves of a lock, as one 64-bit `long`: tickets drawn, ticket served.
#[repr(C, align(8))]
struct Words {
    next: AtomicU32,
    serving: AtomicU32,
}

fn words<'a>(rt: &Runtime, name: &str, lock: *mut i64) -> &'a Words {
    let there = rt.remote(name, "lock", lock.cast(), size_of::<i64>(), 0);
    // SAFETY: a symmetric long, 8-byte aligned as C requires, used by these routines alone.
    unsafe { &*there.cast::<Words>() }
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
pub fn set(rt: &Runtime, name: &'static str, lock: *mut i64) {
    let words = words(rt, name, lock);
    note(rt, |held| {
        // Another thread gives it back; this one would wait for itself.
        if held.contains(&(lock.addr(), thread::current().id())) {
            fatal(
                name,
                format_args!("this PE holds the lock {:#x} already", lock.addr()),
            );
        }
    });
    let what = What::at(WaitKind::Lock, name, lock.addr());
    ticket::acquire(&words.next, &words.serving, || Waiter::new(what));
    note(rt, |held| held.push((lock.addr(), thread::current().id())));
}

/// Gives the lock back, after completing this PE's puts.
pub fn clear(rt: &Runtime, name: &'static str, lock: *mut i64) {
    note(rt, |held| {
        match held.iter().position(|(l, _)| *l == lock.addr()) {
            Some(i) => drop(held.swap_remove(i)),
            None => fatal(
                name,
                format_args!("this PE does not hold the lock {:#x}", lock.addr()),
            ),
        }
    });
    let words = words(rt, name, lock);
    ticket::release(&words.next, &words.serving);
}

/// Takes the lock if it is free; whether it did.
pub fn test(rt: &Runtime, name: &'static str, lock: *mut i64) -> bool {
    let words = words(rt, name, lock);
    // Both halves at once: free means that the ticket served is the next to be drawn.
    // SAFETY: `Words` is one aligned 64-bit object.
    let both = unsafe { &*std::ptr::from_ref(words).cast::<AtomicU64>() };
    let seen = both.load(Ordering::Relaxed);
    let (next, serving) = (seen as u32, (seen >> 32) as u32);
    if next != serving {
        return false;
    }
    let taken = (seen & !0xffff_ffff) | u64::from(next.wrapping_add(1));
    let took = both
        .compare_exchange(seen, taken, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok();
    if took {
        note(rt, |held| held.push((lock.addr(), thread::current().id())));
    }
    took
}
