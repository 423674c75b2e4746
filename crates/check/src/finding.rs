//! What is found, and its form in the shared file.

use crate::layout::{finding, place};

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Kind {
    PastEnd = 1,
    BeforeStart,
    Outside,
    UseAfterFree,
    DoubleFree,
    Uninitialized,
    RedZoneOverwritten,
    FreedOverwritten,
    SourceChanged,
    SourceUnmapped,
    Leak,
    Race,
}

impl Kind {
    /// The kind of this number.
    pub fn numbered(number: u64) -> Option<Self> {
        let all = [
            Self::PastEnd,
            Self::BeforeStart,
            Self::Outside,
            Self::UseAfterFree,
            Self::DoubleFree,
            Self::Uninitialized,
            Self::RedZoneOverwritten,
            Self::FreedOverwritten,
            Self::SourceChanged,
            Self::SourceUnmapped,
            Self::Leak,
            Self::Race,
        ];
        all.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// Where memory is, so that another process can name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Not known.
    None,
    /// At an address of a file of code: number of the object, address, offset into the variable that is there.
    Global(u32, u64),
    /// So many bytes into a block of so many, allocated by a call.
    Block {
        /// Distance from its start.
        offset: i64,
        /// Its bytes.
        size: u64,
        /// The call.
        site: u32,
    },
    /// At this address of the symmetric heap.
    Heap(u64),
}

/// One finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// The PE that found it.
    pub pe: usize,
    /// The call in which it was found.
    pub site: u32,
    /// The PE whose memory is meant.
    pub target: usize,
    /// Another PE and its call.
    pub other: Option<(usize, u32)>,
    /// The memory.
    pub place: Place,
    /// Bytes.
    pub bytes: u64,
    /// What the kind says besides.
    pub detail: u64,
}

impl Finding {
    /// What findings have in common that are the same: kind, both calls, and the call that allocated the block.
    pub(crate) fn key(&self) -> [u64; 4] {
        let mut calls = [u64::from(self.site) + 1, self.other_site()];
        // Of two calls that race, either may be the second.
        if self.kind == Kind::Race {
            calls.sort_unstable();
        }
        let block = match self.place {
            Place::Block { site, .. } => u64::from(site),
            _ => 0,
        };
        [self.kind as u64, calls[0], calls[1], block]
    }

    /// The other call plus 1, 0 if there is none.
    fn other_site(&self) -> u64 {
        self.other.map_or(0, |(_, site)| u64::from(site) + 1)
    }

    /// The words of [`finding`] and their values, but for its state and count.
    pub(crate) fn words(&self) -> [(usize, u64); 12] {
        let (place, of, place_at, offset) = match self.place {
            Place::None => (place::NONE, 0, 0, 0),
            Place::Global(object, address) => (place::GLOBAL, u64::from(object) + 1, address, 0),
            Place::Block { offset, size, site } => (place::BLOCK, size, u64::from(site), offset as u64),
            Place::Heap(address) => (place::HEAP, 0, address, 0),
        };
        let other_pe = self.other.map_or(0, |(pe, _)| pe as u64 + 1);
        [
            (finding::KIND, self.kind as u64),
            (finding::PE, self.pe as u64),
            (finding::SITE, self.site.into()),
            (finding::TARGET, self.target as u64),
            (finding::OTHER_PE, other_pe),
            (finding::OTHER_SITE, self.other_site()),
            (finding::PLACE, place),
            (finding::PLACE_OF, of),
            (finding::PLACE_AT, place_at),
            (finding::OFFSET, offset),
            (finding::BYTES, self.bytes),
            (finding::DETAIL, self.detail),
        ]
    }

    /// From the words of [`finding`]; None if it is of no kind.
    pub(crate) fn from_words(word: impl Fn(usize) -> u64) -> Option<Self> {
        let other_pe = word(finding::OTHER_PE).checked_sub(1);
        let other_site = word(finding::OTHER_SITE).checked_sub(1);
        let other = other_pe.zip(other_site);
        let place = match word(finding::PLACE) {
            place::GLOBAL => Place::Global(word(finding::PLACE_OF).wrapping_sub(1) as u32, word(finding::PLACE_AT)),
            place::BLOCK => Place::Block {
                offset: word(finding::OFFSET) as i64,
                size: word(finding::PLACE_OF),
                site: word(finding::PLACE_AT) as u32,
            },
            place::HEAP => Place::Heap(word(finding::PLACE_AT)),
            _ => Place::None,
        };
        Some(Self {
            kind: Kind::numbered(word(finding::KIND))?,
            pe: word(finding::PE) as usize,
            site: word(finding::SITE) as u32,
            target: word(finding::TARGET) as usize,
            other: other.map(|(pe, site)| (pe as usize, site as u32)),
            place,
            bytes: word(finding::BYTES),
            detail: word(finding::DETAIL),
        })
    }
}
