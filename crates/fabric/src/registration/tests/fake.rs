//! A registrar that keeps books.

use std::io;
use std::sync::{Arc, Mutex};

use crate::registration::Registrar;

/// Registers nothing, but knows what would be registered. Clones share the books.
#[derive(Clone, Default)]
pub(super) struct Fake(Arc<Mutex<Books>>);

#[derive(Default)]
struct Books {
    /// `start, len` of the regions there are, and how many there have been.
    live: Vec<(u64, usize, usize)>,
    made: u64,
    /// Bytes above which registering fails with ENOMEM.
    limit: Option<usize>,
    /// What registering fails with otherwise.
    error: Option<i32>,
}

pub(super) struct FakeRegion {
    books: Arc<Mutex<Books>>,
    /// The how-manieth of its registrar, from 1.
    pub number: u64,
}

impl Fake {
    pub(super) fn limited(bytes: usize) -> Fake {
        let fake = Fake::default();
        fake.0.lock().unwrap().limit = Some(bytes);
        fake
    }

    /// From now on, registering fails with this.
    pub(super) fn fail(&self, error: Option<i32>) {
        self.0.lock().unwrap().error = error;
    }

    /// Regions made so far.
    pub(super) fn made(&self) -> u64 {
        self.0.lock().unwrap().made
    }

    /// `start, len` of those that are registered, oldest first.
    pub(super) fn live(&self) -> Vec<(usize, usize)> {
        self.0.lock().unwrap().live.iter().map(|&(_, start, len)| (start, len)).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.live().iter().map(|&(_, len)| len).sum()
    }
}

impl Registrar for Fake {
    type Region = FakeRegion;

    fn register(&self, start: usize, len: usize) -> io::Result<FakeRegion> {
        assert_eq!((start % super::PAGE, len % super::PAGE), (0, 0), "whole pages");
        let held = self.bytes();
        let mut books = self.0.lock().unwrap();
        if books.limit.is_some_and(|limit| held + len > limit) {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        if let Some(error) = books.error {
            return Err(io::Error::from_raw_os_error(error));
        }
        books.made += 1;
        let number = books.made;
        books.live.push((number, start, len));
        Ok(FakeRegion { books: self.0.clone(), number })
    }
}

impl Drop for FakeRegion {
    fn drop(&mut self) {
        let mut books = self.books.lock().unwrap();
        let index = books.live.iter().position(|&(number, ..)| number == self.number);
        books.live.remove(index.expect("deregistered once"));
    }
}
