//! Handles of the C API: small integers that name an object of this process.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

/// First chunk has 64 entries, each further one twice as many.
const FIRST: usize = 64;
const CHUNKS: usize = 20;

/// A growing table of objects that is read without locks.
#[derive(Debug)]
pub struct Table<T> {
    chunks: [OnceLock<Box<[AtomicPtr<T>]>>; CHUNKS],
    free: Mutex<Free>,
    /// Held while objects are gone through: none is taken out meanwhile.
    walk: RwLock<()>,
}

#[derive(Debug)]
struct Free {
    next: usize,
    returned: Vec<usize>,
}

#[inline(always)]
fn locate(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

impl<T> Table<T> {
    /// Most objects that it has room for.
    pub(crate) const PLACES: usize = FIRST * ((1 << CHUNKS) - 1);

    /// An empty table.
    pub(crate) const fn new() -> Self {
        let free = Mutex::new(Free { next: 0, returned: Vec::new() });
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free, walk: RwLock::new(()) }
    }

    #[inline(always)]
    fn place(&self, index: usize) -> Option<&AtomicPtr<T>> {
        let (chunk, offset) = locate(index);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// Puts the object that `make` builds from its index into a free place; None if there
    /// is none. Indices that were given back are used again.
    pub fn insert(&self, make: impl FnOnce(usize) -> T) -> Option<usize> {
        let index = {
            let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
            free.returned.pop().unwrap_or_else(|| {
                free.next += 1;
                free.next - 1
            })
        };
        self.insert_at(index, make(index)).then_some(index)
    }

    /// Puts an object at `index`, which the caller chose; false if the table cannot grow so far.
    pub fn insert_at(&self, index: usize, object: T) -> bool {
        let (chunk, offset) = locate(index);
        let Some(cell) = self.chunks.get(chunk) else {
            return false;
        };
        let entries = cell.get_or_init(|| (0..FIRST << chunk).map(|_| AtomicPtr::new(ptr::null_mut())).collect());
        let old = entries[offset].swap(Box::into_raw(Box::new(object)), Ordering::AcqRel);
        debug_assert!(old.is_null(), "place {index} was taken");
        true
    }

    /// The object at `index`.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        let object = self.place(index)?.load(Ordering::Acquire);
        // SAFETY: null, or a box that `remove` has not taken; the standard makes use of a
        // handle that another thread destroys the caller's error.
        unsafe { object.as_ref() }
    }

    /// Takes the object at `index` out, once no thread goes through the objects.
    pub fn remove(&self, index: usize) -> Option<Box<T>> {
        let place = self.place(index)?;
        let walk = self.walk.write().unwrap_or_else(PoisonError::into_inner);
        let object = place.swap(ptr::null_mut(), Ordering::AcqRel);
        drop(walk);
        if object.is_null() {
            return None;
        }
        // SAFETY: made by Box::into_raw in `insert_at`, and taken out by this swap alone.
        Some(unsafe { Box::from_raw(object) })
    }

    /// Gives an index that `insert` chose back.
    pub fn give_back(&self, index: usize) {
        self.free.lock().unwrap_or_else(|e| e.into_inner()).returned.push(index);
    }

    /// All objects with their indices. Other threads may take theirs out afterwards.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let walk = self.walk.read().unwrap_or_else(PoisonError::into_inner);
        let ends = self.chunks.iter().enumerate();
        let end =
            ends.filter_map(|(k, chunk)| chunk.get().map(|c| FIRST * ((1 << k) - 1) + c.len())).max().unwrap_or(0);
        (0..end).filter_map(move |i| {
            let _held = &walk;
            self.get(i).map(|t| (i, t))
        })
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_join_without_gap() {
        assert_eq!(locate(0), (0, 0));
        assert_eq!(locate(63), (0, 63));
        assert_eq!(locate(64), (1, 0));
        assert_eq!(locate(191), (1, 127));
        assert_eq!(locate(192), (2, 0));
    }

    #[test]
    fn no_object_is_dropped_while_others_are_gone_through() {
        use std::sync::atomic::AtomicBool;
        use std::thread;

        struct Object(AtomicBool);
        impl Drop for Object {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
                thread::yield_now();
            }
        }
        let (table, is_over) = (Table::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let index = table.insert(|_| Object(AtomicBool::new(true))).unwrap();
                    drop(table.remove(index));
                    table.give_back(index);
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                assert!(table.iter().all(|(_, object)| (0..100).all(|_| object.0.load(Ordering::Relaxed))));
            }
        });
    }

    #[test]
    fn objects_come_and_go() {
        let t = Table::new();
        let all: Vec<usize> = (0..500).map(|_| t.insert(|i| i * 2).unwrap()).collect();
        assert_eq!(t.get(all[300]), Some(&(all[300] * 2)));
        assert_eq!(t.remove(7).as_deref(), Some(&14));
        assert_eq!(t.get(7), None);
        assert!(t.remove(7).is_none());
        t.give_back(7);
        assert_eq!(t.insert(|_| 1), Some(7));
        assert_eq!(t.iter().count(), 500);
        assert!(t.insert_at(30_000, 5) && t.get(30_000) == Some(&5));
        assert_eq!(t.get(usize::MAX / 2), None);
    }
}
