//! The objects that PEs of other jobs may import, by name.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use ferroshmem_platform::atomic::{Std, read_unchanged};

/// Most objects that a job can export.
pub const MAX_EXPORTS: usize = 1024;

/// Most bytes of the name of an exported object.
pub const EXPORT_NAME: usize = 40;

/// The objects that PEs of other jobs may import, by name.
#[repr(C, align(4096))]
pub struct Exports {
    /// Counts changes: odd while a PE of the job adds or removes an object. PEs that look for one change nothing, as
    /// they may be of another job, whose end is of no matter to this one.
    pub lock: AtomicU32,
    /// The objects; those without a name are free.
    pub objects: [ExportedObject; MAX_EXPORTS],
}

/// An exported object.
#[repr(C, align(64))]
pub struct ExportedObject {
    /// Its name, NUL padded; zeros: none.
    pub name: [AtomicU64; EXPORT_NAME / 8],
    /// Where it is, the same on all PEs: its offset in the heap, or in the globals
    /// (`AddressSpace::place` in core).
    pub place: AtomicU64,
    /// Its bytes.
    pub size: AtomicU64,
    /// What its elements are, for those who check that; 0: memory.
    pub tag: AtomicU64,
}

const _: () = {
    assert!(size_of::<ExportedObject>() == 64);
};

/// An object's place and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Where it is, the same on all PEs (`AddressSpace::place` in core).
    pub place: u64,
    /// Its bytes.
    pub size: u64,
    /// What its elements are, for those who check that; 0: memory.
    pub tag: u64,
}

/// Why an object cannot be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The name is empty or too long.
    #[error("a name has 1 to {EXPORT_NAME} bytes")]
    Name,
    /// The name stands for another object.
    #[error("the name stands for another object already: unexport that first")]
    Taken,
    /// There are too many objects.
    #[error("the job exports as many objects as it can")]
    Full,
}

type Name = [u64; EXPORT_NAME / 8];
/// The name of a free entry.
const NONE: Name = [0; EXPORT_NAME / 8];

/// A name as words; None if it is empty or too long, or has a byte 0, as the words have after it.
fn words(name: &[u8]) -> Option<Name> {
    if name.is_empty() || name.len() > EXPORT_NAME || name.contains(&0) {
        return None;
    }
    let mut words = [0; EXPORT_NAME / 8];
    for (word, bytes) in words.iter_mut().zip(name.chunks(8)) {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(all);
    }
    Some(words)
}

fn name_of(object: &ExportedObject) -> Name {
    object.name.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// Held while objects are added or removed: PEs do so seldom.
struct Lock<'a>(&'a AtomicU32);

impl<'a> Lock<'a> {
    fn take(word: &'a AtomicU32) -> Self {
        let odd = |count: u32| count.is_multiple_of(2).then_some(count.wrapping_add(1));
        while word.fetch_update(Ordering::Acquire, Ordering::Relaxed, odd).is_err() {
            std::thread::yield_now();
        }
        // Who reads any of what is changed finds the count changed.
        fence(Ordering::Release);
        Self(word)
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

fn store(words: &[AtomicU64], values: &Name) {
    for (word, value) in words.iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
}

fn put(entry: &ExportedObject, name: &Name, object: Exported) {
    entry.place.store(object.place, Ordering::Relaxed);
    entry.size.store(object.size, Ordering::Relaxed);
    entry.tag.store(object.tag, Ordering::Relaxed);
    store(&entry.name, name);
}

impl Exports {
    /// Exports an object under a name. Each PE of the job may do so with the same object.
    ///
    /// # Errors
    /// If the name is no name or stands for another object, or there is no room.
    pub fn add(&self, name: &[u8], object: Exported) -> Result<(), ExportError> {
        let name = words(name).ok_or(ExportError::Name)?;
        let _lock = Lock::take(&self.lock);
        let used = self.used();
        if let Some(entry) = used.iter().find(|entry| name_of(entry) == name) {
            let is_same = load(entry) == object;
            return is_same.then_some(()).ok_or(ExportError::Taken);
        }
        let entry = self.objects.get(used.len()).ok_or(ExportError::Full)?;
        put(entry, &name, object);
        Ok(())
    }

    /// Ends the export of a name; whether there was one.
    pub fn remove(&self, name: &[u8]) -> bool {
        let Some(name) = words(name) else {
            return false;
        };
        let _lock = Lock::take(&self.lock);
        let used = self.used();
        let found = used.iter().find(|e| name_of(e) == name);
        let (Some(entry), Some(last)) = (found, used.last()) else {
            return false;
        };
        // The last one takes the place: those in use lie side by side.
        put(entry, &name_of(last), load(last));
        store(&last.name, &NONE);
        true
    }

    /// Ends all exports.
    pub fn clear(&self) {
        if self.used().is_empty() {
            return;
        }
        let _lock = Lock::take(&self.lock);
        self.used().iter().for_each(|entry| store(&entry.name, &NONE));
    }

    /// The object of a name.
    pub fn find(&self, name: &[u8]) -> Option<Exported> {
        self.find_unless(name, || false)
    }

    /// The same; None, too, if the job `has_ended`, which may be in the middle of a change.
    pub fn find_unless(&self, name: &[u8], has_ended: impl Fn() -> bool) -> Option<Exported> {
        let name = words(name)?;
        let find = || self.used().iter().find(|entry| name_of(entry) == name).map(load);
        loop {
            let find = |changes: u32| changes.is_multiple_of(2).then(find);
            if let Some(found) = read_unchanged::<Std, _>(&self.lock, find) {
                return found;
            }
            if has_ended() {
                return None;
            }
            std::thread::yield_now();
        }
    }

    /// Whether two copies are alike, in which no PE adds or removes an object.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_free = self.lock.load(Ordering::Relaxed).is_multiple_of(2);
        let of = |exports: &Self, i: usize| {
            let entry = &exports.objects[i];
            (name_of(entry), load(entry))
        };
        is_free && (0..self.objects.len()).all(|i| of(self, i) == of(other, i))
    }

    /// The objects that are exported, which lie side by side.
    fn used(&self) -> &[ExportedObject] {
        let free = self.objects.iter().position(|entry| name_of(entry) == NONE);
        &self.objects[..free.unwrap_or(self.objects.len())]
    }
}

fn load(entry: &ExportedObject) -> Exported {
    Exported {
        place: entry.place.load(Ordering::Relaxed),
        size: entry.size.load(Ordering::Relaxed),
        tag: entry.tag.load(Ordering::Relaxed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exports() -> Box<Exports> {
        // SAFETY: all zeros are a valid value: no objects.
        unsafe { Box::<Exports>::new_zeroed().assume_init() }
    }

    const A: Exported = Exported { place: 64, size: 8, tag: 0 };
    const B: Exported = Exported { place: 1 << 62, size: 4096, tag: 7 };

    #[test]
    fn names_stand_for_objects() {
        let exports = exports();
        assert_eq!(exports.find(b"a"), None);
        assert_eq!(exports.add(b"a", A), Ok(()));
        assert_eq!(exports.add(b"b", B), Ok(()));
        assert_eq!(exports.add(b"a", A), Ok(()));
        assert_eq!(exports.add(b"a", B), Err(ExportError::Taken));
        assert_eq!((exports.find(b"a"), exports.find(b"b")), (Some(A), Some(B)));
        assert!(exports.remove(b"a") && !exports.remove(b"a"));
        assert_eq!((exports.find(b"a"), exports.find(b"b")), (None, Some(B)));
        for none in [b"".as_slice(), b"\0", b"b\0"] {
            assert_eq!(exports.add(none, A), Err(ExportError::Name));
        }
        let long = [b'x'; EXPORT_NAME + 1];
        assert_eq!(exports.add(&long, A), Err(ExportError::Name));
        assert_eq!(exports.add(&long[1..], A), Ok(()));
        assert_eq!(exports.find(&long[1..]), Some(A));
        assert_eq!(exports.find(&long[2..]), None);
        exports.clear();
        assert_eq!((exports.find(b"b"), exports.find(&long[1..])), (None, None));
        assert_eq!(exports.add(b"b", B), Ok(()));
        exports.lock.fetch_add(1, Ordering::Relaxed);
        assert_eq!(exports.find_unless(b"b", || true), None);
    }

    /// The last object takes the place of one that is removed.
    #[test]
    fn a_name_is_found_while_its_object_moves() {
        const ROUNDS: u32 = 1000;

        let (exports, phase) = (exports(), AtomicU32::new(0));
        let mut names: Vec<_> = (0..300).map(|i| format!("object {i}")).collect();
        for name in &names {
            exports.add(name.as_bytes(), A).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    exports.add(b"b", B).unwrap();
                    phase.fetch_add(1, Ordering::SeqCst);
                    let first = names.swap_remove(0);
                    exports.remove(first.as_bytes());
                    // As long as a look takes that has begun before.
                    exports.find(b"none").or(exports.find(b"none"));
                    phase.fetch_add(1, Ordering::SeqCst);
                    exports.remove(b"b");
                    exports.add(first.as_bytes(), A).unwrap();
                    names.push(first);
                }
            });
            loop {
                let before = phase.load(Ordering::SeqCst);
                let found = exports.find(b"b");
                let is_there = before % 2 == 1 && phase.load(Ordering::SeqCst) == before;
                assert!(!is_there || found == Some(B));
                if before == 2 * ROUNDS {
                    break;
                }
            }
        });
    }

    #[test]
    fn there_is_room_for_many() {
        let exports = exports();
        let name = |i: usize| format!("object {i}");
        let mut n = 0;
        while exports.add(name(n).as_bytes(), A).is_ok() {
            n += 1;
        }
        assert_eq!(n, MAX_EXPORTS);
        assert_eq!(exports.add(b"more", A), Err(ExportError::Full));
        for i in (0..n).step_by(3) {
            assert!(exports.remove(name(i).as_bytes()));
        }
        for i in 0..n {
            let found = exports.find(name(i).as_bytes());
            assert_eq!(found.is_some(), i % 3 != 0, "{i}");
        }
    }
}
