//! Sources of non-blocking puts, which must not change before the next quiet.

use std::collections::HashMap;

use crate::shared::mixed;

/// A put that may not be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Put {
    /// Its source.
    pub at: usize,
    pub len: usize,
    hash: u64,
    /// What tells its call.
    pub site: u32,
    pub target: usize,
}

/// What became of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Changed,
    Gone,
}

/// Bytes of each source that are compared, puts of each context that are remembered.
const COMPARED: usize = 1 << 20;
const REMEMBERED: usize = 1 << 16;

const PAGE: usize = 4096;

/// The puts, by context.
#[derive(Debug, Default)]
pub(super) struct Pending {
    puts: HashMap<usize, Vec<Put>>,
}

fn hash(at: usize, len: usize) -> u64 {
    let mut sum = len as u64;
    let words = len / 8;
    for i in 0..words {
        // SAFETY: the caller's bytes are readable.
        let word = unsafe { ((at + 8 * i) as *const u64).read_unaligned() };
        sum = (sum ^ word)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23);
    }
    for i in 8 * words..len {
        // SAFETY: as above.
        let byte = unsafe { ((at + i) as *const u8).read_volatile() };
        sum = mixed(sum, u64::from(byte));
    }
    sum
}

/// Whether memory is mapped.
fn is_mapped(at: usize, len: usize) -> bool {
    let start = at / PAGE * PAGE;
    let pages = (at + len).div_ceil(PAGE) - start / PAGE;
    let mut states = vec![0_u8; pages];
    // SAFETY: the vector has a byte for each page; the call fails where pages are not mapped.
    unsafe {
        libc::mincore(
            start as *mut libc::c_void,
            pages * PAGE,
            states.as_mut_ptr(),
        ) == 0
    }
}

impl Pending {
    /// Remembers a put from `len` readable bytes at `at`.
    pub(super) fn add(&mut self, context: usize, at: usize, len: usize, site: u32, target: usize) {
        let puts = self.puts.entry(context).or_default();
        if len == 0 || puts.len() >= REMEMBERED {
            return;
        }
        let len = len.min(COMPARED);
        puts.push(Put {
            at,
            len,
            hash: hash(at, len),
            site,
            target,
        });
    }

    /// The puts of a context, or of all, are complete: those whose source has changed.
    pub(super) fn complete(&mut self, context: Option<usize>) -> Vec<(Put, Change)> {
        let puts: Vec<Put> = match context {
            Some(context) => self
                .puts
                .get_mut(&context)
                .map(std::mem::take)
                .unwrap_or_default(),
            None => self.puts.drain().flat_map(|(_, puts)| puts).collect(),
        };
        let change = |put: &Put| match is_mapped(put.at, put.len) {
            false => Some(Change::Gone),
            true => (hash(put.at, put.len) != put.hash).then_some(Change::Changed),
        };
        let changed = puts.iter().filter_map(|put| Some((*put, change(put)?)));
        changed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_changes_before_the_quiet_is_found() {
        let mut source = [1_u8; 100];
        let at = source.as_mut_ptr().expose_provenance();
        let mut pending = Pending::default();
        pending.add(0, at, 100, 5, 1);
        assert!(pending.complete(Some(0)).is_empty());
        pending.add(0, at, 100, 6, 1);
        pending.add(9, at, 100, 7, 2);
        source[99] = 2;
        std::hint::black_box(&mut source);
        let found = pending.complete(Some(0));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0.site, found[0].1), (6, Change::Changed));
        assert!(pending.complete(Some(0)).is_empty());
        let found = pending.complete(None);
        assert_eq!((found[0].0.site, found[0].0.target), (7, 2));
    }

    #[test]
    fn memory_that_is_gone_is_not_read() {
        assert!(!is_mapped(4096, 8192));
        let here = [0_u8; 10000];
        assert!(is_mapped(here.as_ptr().addr(), here.len()));
    }
}
