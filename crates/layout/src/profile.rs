//! The file that a PE records into, as a sequence of 64-bit words: what the library writes and `oshrun` reads.
//!
//! ```text
//! header       one page
//! objects      the files of code (executable, libraries) and of Rust sources that calls come from
//! sites        a routine and the place that calls it, with sums
//! teams        the PEs of each team, and how many collectives it had
//! peers        what this PE sent to and fetched from each PE
//! sizes        how many operations of which size, by powers of two
//! collectives  when this PE entered and left a sample of them, the same on all members
//! newest       with a trace: the calls of the chunk that is being filled
//! events       the calls before, in a ring of chunks
//! ```

use std::ops::Range;

/// First word of a file, changed with its layout.
pub const MAGIC: u64 = 0x3430_464f_5250_5346;

/// Words of the header.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod header {
    pub const MAGIC: usize = 0;
    pub const PE: usize = 1;
    pub const N_PES: usize = 2;
    pub const PID: usize = 3;
    /// Number of sites, collectives and events that there is room for.
    pub const SITES: usize = 4;
    pub const COLLECTIVES: usize = 5;
    pub const EVENTS: usize = 6;
    /// `CLOCK_MONOTONIC` after the start-up has synchronised all PEs, and before and after they synchronise at the end.
    pub const BEGIN: usize = 7;
    pub const END_ENTERED: usize = 8;
    pub const END: usize = 9;
    /// The last call's end: how far the record of a PE goes that died.
    pub const LAST: usize = 10;
    /// `CLOCK_REALTIME` at [`BEGIN`].
    pub const REALTIME: usize = 11;
    /// Node of this PE.
    pub const NODE: usize = 12;
    /// Collectives recorded; of how many one is: a power of two.
    pub const COLLECTIVES_KEPT: usize = 13;
    pub const COLLECTIVES_STEP: usize = 14;
    /// Events so far; how many the ring has room for, so far as the disk went.
    pub const EVENTS_TOTAL: usize = 15;
    pub const EVENTS_ROOM: usize = 16;
    /// Nanoseconds of the thread that initialised the library in routines; of other threads.
    pub const MAIN_NS: usize = 18;
    pub const OTHERS_NS: usize = 19;
    pub const THREADS: usize = 20;
    /// Most bytes of the symmetric heap in use at a time; its size; when.
    pub const HEAP_MOST: usize = 21;
    pub const HEAP_SIZE: usize = 22;
    pub const HEAP_MOST_AT: usize = 23;
    /// Calls from more places than there is room for.
    pub const SITES_LOST: usize = 24;
    /// Whether operations that are inlined into the program are missing ([`ALWAYS_INLINED`]), or counted without their
    /// time: by the program itself ([`COUNTED_INLINE`]), or after there had been too many ([`COUNTED_ALONE`]).
    pub const INLINED: usize = 25;
    pub const ALWAYS_INLINED: u64 = 1;
    pub const COUNTED_ALONE: u64 = 2;
    pub const COUNTED_INLINE: u64 = 3;
    /// When that was.
    pub const COUNTED_AT: usize = 26;
    /// Nanoseconds between routines in which the thread that initialised the library was ready to run without a core.
    pub const CORE_NS: usize = 27;
    /// Host name and boot id: text of so many words.
    pub const HOST: usize = 32;
    pub const HOST_WORDS: usize = 8;
    pub const BOOT: usize = 40;
    pub const BOOT_WORDS: usize = 8;
    /// The program's arguments, separated by spaces.
    pub const COMMAND: usize = 64;
    pub const COMMAND_WORDS: usize = 64;
    pub const WORDS: usize = 512;
}

/// Words of an object: the address that it is loaded at, its length in the file being one; then its path.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod object {
    pub const BASE: usize = 0;
    /// 1: a file of Rust source, whose sites have lines instead of addresses.
    pub const IS_SOURCE: usize = 1;
    pub const PATH: usize = 2;
    pub const PATH_WORDS: usize = 30;
    pub const WORDS: usize = 32;
    pub const MOST: usize = 64;
}

/// Words of a site.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod site {
    /// What the site is found by: the routine's name, and the place of the call.
    pub const KEY: usize = 0;
    /// Kind of routine, plus 1: 0 is a free place.
    pub const KIND: usize = 2;
    pub const OBJECT: usize = 3;
    /// Address within the object, or line of the source.
    pub const PLACE: usize = 4;
    pub const CALLS: usize = 5;
    pub const NS: usize = 6;
    pub const BYTES: usize = 7;
    /// Longest call; largest number of bytes.
    pub const LONGEST: usize = 8;
    pub const LARGEST: usize = 9;
    /// Operations on PEs of other nodes, and those of at most 64 bytes.
    pub const INTERNODE: usize = 10;
    pub const INTERNODE_SMALL: usize = 11;
    pub const NAME: usize = 12;
    pub const NAME_WORDS: usize = 6;
    /// The first PEs that operations go to: PE + 1, operations.
    pub const TARGETS: usize = 18;
    pub const TARGETS_MOST: usize = 6;
    /// Operations on other PEs than those.
    pub const OTHER_TARGETS: usize = 30;
    /// Nanoseconds in which the calling thread was ready to run without a core.
    pub const CORE_NS: usize = 31;
    /// Calls that were counted without their time.
    pub const UNTIMED: usize = 32;
    pub const WORDS: usize = 33;
}

/// Words of a team.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod team {
    pub const START: usize = 0;
    pub const STRIDE: usize = 1;
    /// 0: a free place.
    pub const SIZE: usize = 2;
    /// The team's id, or that it is an active set.
    pub const ID: usize = 3;
    pub const CALLS: usize = 4;
    pub const WORDS: usize = 8;
    pub const MOST: usize = 128;
    /// The id of active sets.
    pub const ACTIVE_SET: u64 = 1 << 32;
}

/// Words of a PE that this one communicates with.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod peer {
    pub const PUTS: usize = 0;
    pub const PUT_BYTES: usize = 1;
    pub const GETS: usize = 2;
    pub const GET_BYTES: usize = 3;
    pub const ATOMICS: usize = 4;
    /// Updates that a PE may wait for: signals, atomics and puts of at most 8 bytes.
    pub const UPDATES: usize = 5;
    pub const SENDS: usize = 6;
    pub const SEND_BYTES: usize = 7;
    pub const WORDS: usize = 8;
}

/// The histogram of sizes.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod sizes {
    pub const PUT: usize = 0;
    pub const GET: usize = 1;
    pub const ATOMIC: usize = 2;
    pub const COLLECTIVE: usize = 3;
    pub const MESSAGE: usize = 4;
    pub const CLASSES: usize = 5;
    /// 0 bytes, then 1, 2 to 3, 4 to 7 …
    pub const BUCKETS: usize = 48;
}

/// Words of a collective.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod collective {
    pub const ENTERED: usize = 0;
    pub const LEFT: usize = 1;
    /// Number of the collective on its team, times 2^16, plus the team's place.
    pub const SEQUENCE: usize = 2;
    /// Site, plus root times 2^32.
    pub const SITE: usize = 3;
    /// Nanoseconds since the last collective that were not spent in routines.
    pub const COMPUTED: usize = 4;
    pub const WORDS: usize = 5;
}

/// Words of an event.
#[allow(missing_docs, reason = "their names say what they hold")]
pub mod event {
    pub const BEGIN: usize = 0;
    pub const END: usize = 1;
    /// Site, plus thread times 2^32.
    pub const SITE: usize = 2;
    /// PE plus 1; for collectives, as of [`collective`](super::collective): sequence and team.
    pub const PE: usize = 3;
    pub const BYTES: usize = 4;
    /// Where in the symmetric memory: a word that is the same on all PEs.
    pub const ADDRESS: usize = 5;
    /// The signal's place, a root, a tag, a comparison's value.
    pub const EXTRA: usize = 6;
    pub const WORDS: usize = 7;
    /// Most events of a chunk: 63 pages, that they begin with a page.
    pub const CHUNK: usize = 4608;
}

/// Bytes of a word.
pub const WORD: usize = size_of::<u64>();

/// What kind of routine a call is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Kind {
    Put,
    Get,
    Atomic,
    Signal,
    PutSignal,
    Wait,
    Test,
    Quiet,
    Fence,
    Lock,
    Unlock,
    Barrier,
    Broadcast,
    Scan,
    Exchange,
    Send,
    Receive,
    Allocate,
    Free,
    Region,
    #[default]
    Other,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 21] = [
        Self::Put,
        Self::Get,
        Self::Atomic,
        Self::Signal,
        Self::PutSignal,
        Self::Wait,
        Self::Test,
        Self::Quiet,
        Self::Fence,
        Self::Lock,
        Self::Unlock,
        Self::Barrier,
        Self::Broadcast,
        Self::Scan,
        Self::Exchange,
        Self::Send,
        Self::Receive,
        Self::Allocate,
        Self::Free,
        Self::Region,
        Self::Other,
    ];

    /// Whether all members of a team call it together.
    pub const fn is_collective(self) -> bool {
        matches!(self, Self::Barrier | Self::Broadcast | Self::Scan | Self::Exchange | Self::Allocate | Self::Free)
    }

    /// Whether the whole call waits for another PE to do something.
    pub const fn is_wait(self) -> bool {
        matches!(self, Self::Wait | Self::Lock | Self::Receive)
    }
}

/// Sites that have a place of their own; one more stands for all others.
pub const SITES: usize = 512;

/// How much there is room for, and where the parts of the file begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// PEs of the job.
    pub n_pes: usize,
    /// Sites.
    pub sites: usize,
    /// Collectives.
    pub collectives: usize,
    /// Events.
    pub events: usize,
}

impl Layout {
    /// A file for a PE of a job of so many, with a trace of so many bytes.
    pub fn new(n_pes: usize, trace_bytes: u64) -> Self {
        let events = trace_bytes / (event::WORDS * WORD) as u64;
        let events = usize::try_from(events).unwrap_or(0);
        Self {
            n_pes,
            sites: SITES + 1,
            // The files of many PEs are to stay small together.
            collectives: (1 << 20) / n_pes.clamp(16, 256),
            // Whole chunks.
            events: events - events % events.clamp(1, event::CHUNK),
        }
    }

    /// The layout that a file's header names, None if it is no such file.
    pub fn of_header(words: &[u64]) -> Option<Self> {
        if words.len() < header::WORDS || words[header::MAGIC] != MAGIC {
            return None;
        }
        /// More than any file has.
        const MOST: usize = 1 << 32;
        let number = |at: usize| usize::try_from(words[at]).ok().filter(|n| *n <= MOST);
        Some(Self {
            n_pes: number(header::N_PES)?,
            sites: number(header::SITES)?,
            collectives: number(header::COLLECTIVES)?,
            events: number(header::EVENTS)?,
        })
    }

    /// Words of the objects.
    pub const fn objects(&self) -> Range<usize> {
        let start = header::WORDS;
        start..start + object::MOST * object::WORDS
    }

    /// Words of the sites.
    pub const fn sites(&self) -> Range<usize> {
        let start = self.objects().end;
        start..start + self.sites * site::WORDS
    }

    /// Words of the teams.
    pub const fn teams(&self) -> Range<usize> {
        let start = self.sites().end;
        start..start + team::MOST * team::WORDS
    }

    /// Words of the peers.
    pub const fn peers(&self) -> Range<usize> {
        let start = self.teams().end;
        start..start + self.n_pes * peer::WORDS
    }

    /// Words of the histogram.
    pub const fn sizes(&self) -> Range<usize> {
        let start = self.peers().end;
        start..start + sizes::CLASSES * sizes::BUCKETS * 2
    }

    /// Words of the collectives.
    pub const fn collectives(&self) -> Range<usize> {
        let start = self.sizes().end;
        start..start + self.collectives * collective::WORDS
    }

    /// Events of a chunk, as many as there are at least.
    pub const fn chunk(&self) -> usize {
        if self.events < event::CHUNK { self.events } else { event::CHUNK }
    }

    /// Words of the chunk that is being filled, at the start of a page.
    pub const fn newest(&self) -> Range<usize> {
        let start = self.collectives().end.next_multiple_of(header::WORDS);
        start..start + self.chunk() * event::WORDS
    }

    /// Words of the events, at the start of a page.
    pub const fn events(&self) -> Range<usize> {
        let start = self.newest().end.next_multiple_of(header::WORDS);
        start..start + self.events * event::WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        let layout = Layout::new(4, 1 << 20);
        let parts = [
            layout.objects(),
            layout.sites(),
            layout.teams(),
            layout.peers(),
            layout.sizes(),
            layout.collectives(),
            layout.newest(),
            layout.events(),
        ];
        assert!(parts.windows(2).all(|two| two[0].end <= two[1].start));
        assert!(parts.iter().all(|part| !part.is_empty()));
        assert_eq!(layout.events % layout.chunk(), 0);
        assert_eq!(Layout::new(4, 560).events, 10);
        // A thousand PEs together take less than a gigabyte of disk.
        assert!(Layout::new(1024, 0).events().start * WORD < 1 << 19);
    }

    #[test]
    fn kinds_are_in_order() {
        assert!(Kind::ALL.iter().enumerate().all(|(i, k)| *k as usize == i));
    }
}
