//! Variables by which PEs synchronise: what those knew that updated one atomically, or had a lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::clock;
use crate::layout::race::{Layout, OBJECT_HEAD as HEAD, OBJECTS};
use crate::shared::{mixed, yield_until};

/// Places where an object may be: what is not in one of them has no room.
const PROBES: usize = 64;

/// The objects of all PEs: a table that only grows.
#[derive(Debug)]
pub(super) struct SyncObjects {
    clock: usize,
    words: &'static [AtomicU64],
}

/// What is known of a variable.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lookup {
    /// The joined clocks of those that released it.
    Released(&'static [AtomicU64]),
    /// No PE did.
    Never,
    /// There was no room for it, so who did is not known.
    NoRoom,
}

impl SyncObjects {
    pub(super) fn new(layout: &Layout, words: &'static [AtomicU64]) -> Self {
        Self { clock: layout.clock, words: &words[layout.objects.clone()] }
    }

    /// The places where an object may be, with its key.
    fn places(&self, pe: usize, at: u64) -> (u64, impl Iterator<Item = &'static [AtomicU64]>) {
        let key = mixed(pe as u64 + 1, at) | 1;
        let (words, all) = (HEAD + self.clock, self.words);
        let places = (0..PROBES).map(move |i| {
            let number = (key as usize).wrapping_add(i) % OBJECTS;
            &all[number * words..][..words]
        });
        (key, places)
    }

    /// A PE with this clock releases the variable at `at` of PE `pe`. False: there is no room for it.
    pub(super) fn release(&self, pe: usize, at: u64, known: &[u64]) -> bool {
        let (key, mut places) = self.places(pe, at);
        let place = places.find(|place| {
            let taken = place[0].compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            taken.is_ok() || taken == Err(key)
        });
        let Some(object) = place else {
            return false;
        };
        yield_until(|| object[1].swap(1, Ordering::Acquire) == 0);
        clock::join(&object[HEAD..], known);
        object[1].store(0, Ordering::Release);
        // Before the update that others will see.
        fence(Ordering::Release);
        true
    }

    /// What those knew who released the variable. It takes no room.
    pub(super) fn lookup(&self, pe: usize, at: u64) -> Lookup {
        // After the update that this PE has seen.
        fence(Ordering::Acquire);
        let (key, places) = self.places(pe, at);
        for place in places {
            match place[0].load(Ordering::Acquire) {
                0 => return Lookup::Never,
                there if there == key => return Lookup::Released(&place[HEAD..]),
                _ => {}
            }
        }
        Lookup::NoRoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> SyncObjects {
        let layout = Layout::new(2);
        let words: Vec<_> = (0..layout.objects.end).map(|_| AtomicU64::new(0)).collect();
        SyncObjects::new(&layout, words.leak())
    }

    #[test]
    fn a_variable_has_the_clocks_of_those_that_released_it() {
        let objects = objects();
        assert!(matches!(objects.lookup(1, 64), Lookup::Never));
        assert!(objects.release(1, 64, &[5, 0, 0, 7]));
        assert!(objects.release(1, 64, &[0, 6, 0, 0]));
        let Lookup::Released(clock) = objects.lookup(1, 64) else {
            panic!("{:?}", objects.lookup(1, 64));
        };
        let clock: Vec<_> = clock.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        assert_eq!(clock, [5, 6, 0, 7]);
        assert!(matches!(objects.lookup(0, 64), Lookup::Never));
    }

    #[test]
    fn variables_that_are_looked_at_take_no_room() {
        let objects = objects();
        for at in 0..2 * OBJECTS as u64 {
            assert!(matches!(objects.lookup(0, 8 * at), Lookup::Never));
        }
        assert!(objects.release(0, 8, &[1, 1]));
    }

    #[test]
    fn that_there_was_no_room_for_a_release_is_known() {
        let objects = objects();
        let mut variables = (0..8 * OBJECTS as u64).map(|number| 8 * number);
        let refused = variables.find(|at| !objects.release(0, *at, &[1, 1]));
        let refused = refused.expect("more variables than objects");
        assert!(matches!(objects.lookup(0, refused), Lookup::NoRoom));
    }
}
