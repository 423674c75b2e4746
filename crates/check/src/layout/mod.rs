//! The file that the PEs of a job and `oshrun` share while a job is checked, as a sequence of 64-bit words.
//!
//! ```text
//! header    what is checked, and how much did not fit
//! objects   the files of code that calls come from
//! sites     a routine and the place that calls it
//! findings  what was found
//! race      what each PE knows of the others, and who accessed what ([`race`])
//! ```

pub(crate) mod race;

use std::ops::Range;

/// First word of the file, changed with its layout.
pub const MAGIC: u64 = 0x3230_4b43_4853_5346;
/// Bytes of a word.
pub const WORD: usize = 8;

/// What is checked.
pub mod mode {
    /// Memory that calls access.
    pub const MEMORY: u64 = 1;
    /// Conflicting accesses without order.
    pub const RACE: u64 = 2;
}

/// Words of the header.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod header {
    pub const MAGIC: usize = 0;
    pub const MODE: usize = 1;
    pub const N_PES: usize = 2;
    /// PEs that the checks have seen in `shmem_init`.
    pub const CHECKED: usize = 3;
    /// Findings that there was no room for.
    pub const LOST: usize = 4;
    /// Not 0: more shadow memory was needed than there is.
    pub const FULL: usize = 5;
    /// Not 0: a PE runs code whose loads and stores are looked at.
    pub const LOADS_AND_STORES: usize = 6;
    /// Not 0: a PE hands on calls of the Rust API.
    pub const RUST: usize = 7;
    pub const WORDS: usize = 512;
}

/// Words of an object: 0 free, 1 being written, 2 there; bytes of its path; the path.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod object {
    pub const STATE: usize = 0;
    pub const PATH_LEN: usize = 1;
    pub const PATH: usize = 2;
    pub const WORDS: usize = 64;
    pub const MOST: usize = 64;
}

/// Words of a site: state as of an object; number of the object plus 1; the address in it; the routine's name.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod site {
    pub const STATE: usize = 0;
    pub const OBJECT: usize = 1;
    pub const ADDRESS: usize = 2;
    pub const NAME: usize = 3;
    /// The longest name has 43 bytes.
    pub const NAME_WORDS: usize = 6;
    pub const WORDS: usize = 9;
    pub const MOST: usize = 16384;
}

/// Words of a finding.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod finding {
    /// 0 free, 1 being written, 2 there.
    pub const STATE: usize = 0;
    pub const KIND: usize = 1;
    /// The PE that found it, and the call.
    pub const PE: usize = 2;
    pub const SITE: usize = 3;
    /// The PE whose memory is meant.
    pub const TARGET: usize = 4;
    /// Another PE that is concerned, plus 1, and its call, plus 1.
    pub const OTHER_PE: usize = 5;
    pub const OTHER_SITE: usize = 6;
    /// The memory: what kind of it, and how far into it.
    pub const PLACE: usize = 7;
    /// Number of the object plus 1, or bytes of the block.
    pub const PLACE_OF: usize = 8;
    /// The address in the object, or the call that allocated the block.
    pub const PLACE_AT: usize = 9;
    pub const OFFSET: usize = 10;
    pub const BYTES: usize = 11;
    /// What a kind of finding says besides.
    pub const DETAIL: usize = 12;
    /// How often it was found.
    pub const COUNT: usize = 13;
    pub const WORDS: usize = 16;
    pub const MOST: usize = 4096;
}

/// Where memory is.
pub mod place {
    /// Not known.
    pub const NONE: u64 = 0;
    /// In a variable of the program.
    pub const GLOBAL: u64 = 1;
    /// In a block of the symmetric heap.
    pub const BLOCK: u64 = 2;
    /// In the symmetric heap.
    pub const HEAP: u64 = 3;
}

/// The objects.
pub const OBJECTS: Range<usize> = header::WORDS..header::WORDS + object::MOST * object::WORDS;
/// The sites.
pub const SITES: Range<usize> = OBJECTS.end..OBJECTS.end + site::MOST * site::WORDS;
/// The findings.
pub const FINDINGS: Range<usize> = SITES.end..SITES.end + finding::MOST * finding::WORDS;
/// Where the part of the checks for races begins.
pub const RACE: usize = FINDINGS.end;

/// Bytes of the file for a mode.
pub fn bytes(mode: u64, n_pes: usize) -> usize {
    let race = match mode & mode::RACE {
        0 => 0,
        _ => race::Layout::new(n_pes).words(),
    };
    (RACE + race) * WORD
}
