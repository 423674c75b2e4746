//! What a stream is created with, on which members must agree.

use ferroshmem_core::failure::fatal::fatal;

/// Pages of offsets, in the word that a member publishes; above: its options.
const PAGES: u32 = 24;
const PAGE: usize = 4096;

/// What a stream is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Bytes of an item.
    pub item: usize,
    /// Whether items are sent at once.
    pub is_steady: bool,
}

impl Options {
    /// As a word, which members compare.
    fn word(self) -> u64 {
        (self.item as u64) << 1 | u64::from(self.is_steady)
    }

    /// What a member publishes: these, and where its part is.
    pub(super) fn with_offset(self, offset: usize) -> u64 {
        self.word() << PAGES | (offset / PAGE) as u64
    }

    /// Where the part of PE `pe` is, which has published a word; other options than these end the job.
    pub(super) fn offset_of(self, name: &str, pe: usize, word: u64) -> usize {
        if word >> PAGES != self.word() {
            differs(name, pe, word >> PAGES, self);
        }
        (word as usize & ((1 << PAGES) - 1)) * PAGE
    }
}

#[cold]
fn differs(name: &str, pe: usize, word: u64, options: Options) -> ! {
    let what = |is_steady| if is_steady { "steady" } else { "bursty" };
    fatal(
        name,
        format_args!(
            "PE {pe} creates a {} stream with items of {} bytes, this PE a {} one with items of {}: give all PEs of \
                the team the same arguments",
            what(word & 1 != 0),
            word >> 1,
            what(options.is_steady),
            options.item,
        ),
    )
}
