//! The shared file, mapped.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::platform::mapping::{MapAddress, map_shared};
use ferroshmem_core::platform::object::Object;

use crate::finding::{Finding, Kind, Place};
use crate::layout::{
    self, FINDINGS, MAGIC, OBJECTS, SITES, WORD, finding, header, object, place, site,
};

const FREE: u64 = 0;
const BUSY: u64 = 1;
const THERE: u64 = 2;

/// The file.
#[derive(Debug)]
pub struct Shared {
    words: &'static [AtomicU64],
}

/// Mixes two words to one.
pub fn mixed(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 29)
}

impl Shared {
    /// Prepares an empty file for a job of `n_pes` PEs, and maps it.
    pub fn create(file: &File, mode: u64, n_pes: usize) -> io::Result<Self> {
        file.set_len(layout::bytes(mode, n_pes) as u64)?;
        let this = Self::map(file)?;
        this.set(header::MODE, mode);
        this.set(header::N_PES, n_pes as u64);
        this.set(header::MAGIC, MAGIC);
        Ok(this)
    }

    /// Maps the file of a job.
    pub fn open(file: &File) -> io::Result<Self> {
        let this = Self::map(file)?;
        if this.words.len() < layout::RACE || this.get(header::MAGIC) != MAGIC {
            return Err(io::Error::other("no file of checks"));
        }
        Ok(this)
    }

    fn map(file: &File) -> io::Result<Self> {
        let len = file.metadata()?.len() as usize;
        if len < layout::RACE * WORD {
            return Err(io::Error::other("too short"));
        }
        // SAFETY: a new mapping of the file's length; the kernel chooses its address.
        let at = unsafe { map_shared(file.as_fd(), 0, len, MapAddress::Anywhere)? };
        // SAFETY: the mapping is page-aligned, has so many words, and stays until the process ends.
        let words =
            unsafe { std::slice::from_raw_parts(at.cast::<AtomicU64>().cast_const(), len / WORD) };
        Ok(Self { words })
    }

    /// A word.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    /// Changes a word.
    #[inline]
    pub fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    /// Adds to a word.
    pub fn add(&self, at: usize, value: u64) -> u64 {
        self.words[at].fetch_add(value, Ordering::Relaxed)
    }

    /// The words from `at` on.
    pub(crate) fn from(&self, at: usize) -> &'static [AtomicU64] {
        &self.words[at..]
    }

    /// Takes a free entry, or waits until another has written it. True: it is the caller's to write.
    fn take(&self, state: usize) -> bool {
        let word = &self.words[state];
        match word.compare_exchange(FREE, BUSY, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(mut now) => {
                // Who writes it may die.
                for _ in 0..100_000 {
                    if now == THERE {
                        break;
                    }
                    std::thread::yield_now();
                    now = word.load(Ordering::Acquire);
                }
                false
            }
        }
    }

    fn publish(&self, state: usize) {
        self.words[state].store(THERE, Ordering::Release);
    }

    fn set_text(&self, at: usize, words: usize, text: &str) {
        for (word, chunk) in text.as_bytes().chunks(WORD).take(words).enumerate() {
            let mut eight = [0; WORD];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.set(at + word, u64::from_le_bytes(eight));
        }
    }

    fn text(&self, at: usize, bytes: usize) -> String {
        let words = (0..bytes.div_ceil(WORD)).flat_map(|i| self.get(at + i).to_le_bytes());
        let all: Vec<u8> = words.take(bytes).take_while(|b| *b != 0).collect();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// The number of a file of code; None if there is no room.
    pub fn object(&self, path: &str) -> Option<u32> {
        const ROOM: usize = (object::WORDS - object::PATH) * WORD;
        let mut starts = path.char_indices().map(|(at, _)| at);
        let start = starts.find(|at| path.len() - at <= ROOM);
        let path = &path[start.unwrap_or(path.len())..];
        (0..object::MOST).find_map(|number| {
            let at = OBJECTS.start + number * object::WORDS;
            if self.take(at + object::STATE) {
                self.set(at + object::PATH_LEN, path.len() as u64);
                self.set_text(at + object::PATH, object::WORDS - object::PATH, path);
                self.publish(at + object::STATE);
                return Some(number as u32);
            }
            let len = self.get(at + object::PATH_LEN) as usize;
            (self.text(at + object::PATH, len.min(ROOM)) == path).then_some(number as u32)
        })
    }

    /// The path of an object.
    pub fn object_path(&self, number: u32) -> String {
        let at = OBJECTS.start + number as usize % object::MOST * object::WORDS;
        let room = (object::WORDS - object::PATH) * WORD;
        let len = self.get(at + object::PATH_LEN) as usize;
        self.text(at + object::PATH, len.min(room))
    }

    /// The number of a call of `routine` that returns to `address`.
    pub fn site(&self, routine: &str, address: usize) -> u32 {
        let object = Object::around(address.wrapping_sub(1));
        let (number, place) = match object {
            Some(object) => {
                let place = address.wrapping_sub(object.load_address()) as u64;
                let path = match object.path.as_str() {
                    // As the dynamic linker names the program where it was started by a relative path.
                    path if !path.starts_with('/') => std::env::current_exe()
                        .map_or_else(|_| path.to_owned(), |p| p.display().to_string()),
                    path => path.to_owned(),
                };
                (self.object(&path).map_or(0, |n| u64::from(n) + 1), place)
            }
            None => (0, address as u64),
        };
        let room = site::NAME_WORDS * WORD;
        // Names of routines are ASCII.
        let routine = routine.get(..room).unwrap_or(routine);
        let name = routine
            .bytes()
            .fold(number, |sum, byte| mixed(sum, u64::from(byte)));
        let start = mixed(name, place) as usize % site::MOST;
        for i in 0..site::MOST {
            let index = (start + i) % site::MOST;
            let at = SITES.start + index * site::WORDS;
            if self.take(at + site::STATE) {
                self.set(at + site::OBJECT, number);
                self.set(at + site::ADDRESS, place);
                self.set_text(at + site::NAME, site::NAME_WORDS, routine);
                self.publish(at + site::STATE);
                return index as u32;
            }
            if self.get(at + site::OBJECT) == number
                && self.get(at + site::ADDRESS) == place
                && self.text(at + site::NAME, room) == routine
            {
                return index as u32;
            }
        }
        0
    }

    /// A site: the routine, and the object and the address that the call returns to.
    pub fn site_of(&self, number: u32) -> (String, Option<u32>, u64) {
        let at = SITES.start + number as usize % site::MOST * site::WORDS;
        let object = self.get(at + site::OBJECT).checked_sub(1);
        (
            self.text(at + site::NAME, site::NAME_WORDS * WORD),
            object.map(|number| number as u32),
            self.get(at + site::ADDRESS),
        )
    }

    /// Adds a finding: the same of the same calls, whatever the PEs, counts once.
    pub fn report(&self, found: &Finding) {
        let other_site = found.other.map_or(0, |(_, site)| u64::from(site) + 1);
        // Of two calls that race, either may be the second.
        let mut calls = (u64::from(found.site) + 1, other_site);
        if found.kind == Kind::Race && calls.0 > calls.1 {
            calls = (calls.1, calls.0);
        }
        let what = match found.place {
            Place::Block { site, .. } => u64::from(site),
            _ => 0,
        };
        let key = (found.kind as u64, calls, what);
        let start = mixed(mixed(key.0, key.1.0), mixed(key.1.1, what)) as usize;
        for i in 0..finding::MOST {
            let at = FINDINGS.start + (start.wrapping_add(i)) % finding::MOST * finding::WORDS;
            if self.take(at + finding::STATE) {
                self.write(at, found);
                self.publish(at + finding::STATE);
                return;
            }
            let there = self.read(at);
            let is_same = there.is_some_and(|(there, _)| {
                let other = there.other.map_or(0, |(_, site)| u64::from(site) + 1);
                let mut its = (u64::from(there.site) + 1, other);
                if there.kind == Kind::Race && its.0 > its.1 {
                    its = (its.1, its.0);
                }
                let its_what = match there.place {
                    Place::Block { site, .. } => u64::from(site),
                    _ => 0,
                };
                (there.kind as u64, its, its_what) == key
            });
            if is_same {
                self.add(at + finding::COUNT, 1);
                return;
            }
        }
        self.add(header::LOST, 1);
    }

    fn write(&self, at: usize, found: &Finding) {
        let (place, of, place_at, offset) = match found.place {
            Place::None => (place::NONE, 0, 0, 0),
            Place::Global(object, address) => (place::GLOBAL, u64::from(object) + 1, address, 0),
            Place::Block { offset, size, site } => {
                (place::BLOCK, size, u64::from(site), offset as u64)
            }
            Place::Heap(address) => (place::HEAP, 0, address, 0),
        };
        let words = [
            (finding::KIND, found.kind as u64),
            (finding::PE, found.pe as u64),
            (finding::SITE, found.site.into()),
            (finding::TARGET, found.target as u64),
            (
                finding::OTHER_PE,
                found.other.map_or(0, |(pe, _)| pe as u64 + 1),
            ),
            (
                finding::OTHER_SITE,
                found.other.map_or(0, |(_, site)| u64::from(site) + 1),
            ),
            (finding::PLACE, place),
            (finding::PLACE_OF, of),
            (finding::PLACE_AT, place_at),
            (finding::OFFSET, offset),
            (finding::BYTES, found.bytes),
            (finding::DETAIL, found.detail),
            (finding::COUNT, 1),
        ];
        for (word, value) in words {
            self.set(at + word, value);
        }
    }

    fn read(&self, at: usize) -> Option<(Finding, u64)> {
        if self.words[at + finding::STATE].load(Ordering::Acquire) != THERE {
            return None;
        }
        let word = |word: usize| self.get(at + word);
        let other = word(finding::OTHER_PE).checked_sub(1);
        let other_site = word(finding::OTHER_SITE).checked_sub(1);
        let place = match word(finding::PLACE) {
            place::GLOBAL => Place::Global(
                word(finding::PLACE_OF).wrapping_sub(1) as u32,
                word(finding::PLACE_AT),
            ),
            place::BLOCK => Place::Block {
                offset: word(finding::OFFSET) as i64,
                size: word(finding::PLACE_OF),
                site: word(finding::PLACE_AT) as u32,
            },
            place::HEAP => Place::Heap(word(finding::PLACE_AT)),
            _ => Place::None,
        };
        let found = Finding {
            kind: Kind::numbered(word(finding::KIND))?,
            pe: word(finding::PE) as usize,
            site: word(finding::SITE) as u32,
            target: word(finding::TARGET) as usize,
            other: other
                .zip(other_site)
                .map(|(pe, site)| (pe as usize, site as u32)),
            place,
            bytes: word(finding::BYTES),
            detail: word(finding::DETAIL),
        };
        Some((found, word(finding::COUNT)))
    }

    /// All findings, and how often each was made.
    pub fn findings(&self) -> Vec<(Finding, u64)> {
        let all = (0..finding::MOST).map(|i| FINDINGS.start + i * finding::WORDS);
        all.filter_map(|at| self.read(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::mode;
    use ferroshmem_core::platform::mapping::memory_file;

    fn shared() -> Shared {
        Shared::create(&memory_file(0).unwrap(), mode::MEMORY, 4).unwrap()
    }

    fn found(site: u32, other: u32) -> Finding {
        Finding {
            kind: Kind::Race,
            pe: 1,
            site,
            target: 3,
            other: Some((2, other)),
            place: Place::Global(5, 0x40),
            bytes: 8,
            detail: 7,
        }
    }

    #[test]
    fn a_finding_is_kept_once_for_two_calls_in_either_order() {
        let shared = shared();
        shared.report(&found(10, 20));
        shared.report(&found(20, 10));
        shared.report(&found(10, 21));
        let mut all = shared.findings();
        all.sort_by_key(|(found, _)| found.other);
        assert_eq!(all, [(found(10, 20), 2), (found(10, 21), 1)]);
    }

    #[test]
    fn a_site_is_a_routine_and_a_place() {
        let shared = shared();
        let here = a_site_is_a_routine_and_a_place as fn() as usize + 1;
        let first = shared.site("shmem_putmem", here);
        assert_eq!(shared.site("shmem_putmem", here), first);
        assert_ne!(shared.site("shmem_getmem", here), first);
        let (name, object, address) = shared.site_of(first);
        let program = std::env::current_exe().unwrap();
        assert_eq!(name, "shmem_putmem");
        assert_eq!(
            shared.object_path(object.unwrap()),
            program.display().to_string()
        );
        assert!(address < here as u64);
    }

    #[test]
    fn findings_that_do_not_fit_are_counted() {
        let shared = shared();
        for i in 0..finding::MOST as u32 + 5 {
            shared.report(&found(i, i + 1));
        }
        assert_eq!(shared.findings().len(), finding::MOST);
        assert_eq!(shared.get(header::LOST), 5);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        assert!(Shared::open(&memory_file(100).unwrap()).is_err());
        assert!(Shared::open(&memory_file(64 << 20).unwrap()).is_err());
    }
}
