//! What is found.

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
    NeverWritten,
    ZoneDamaged,
    FreedDamaged,
    SourceChanged,
    SourceGone,
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
            Self::NeverWritten,
            Self::ZoneDamaged,
            Self::FreedDamaged,
            Self::SourceChanged,
            Self::SourceGone,
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
