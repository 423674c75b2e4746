//! What the PEs of a job have recorded, read from their files.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use ferroshmem_layout::profile::{Layout, WORD, collective, header, object, peer, site, sizes, team};
pub use ferroshmem_profiling::Kind;

/// A file of calls: code, or Rust source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Its path.
    pub path: String,
    /// Whether places in it are lines.
    pub is_source: bool,
}

/// A routine and the place that calls it, with what a PE did there.
#[derive(Debug, Clone)]
pub struct Site {
    /// Kind of the routine.
    pub kind: Kind,
    /// The routine, or a region's name.
    pub name: String,
    /// Where it is called.
    pub object: Option<Object>,
    /// Address in the object, or line.
    pub place: u64,
    /// Calls.
    pub calls: u64,
    /// Those of them that were counted without their time.
    pub untimed: u64,
    /// Nanoseconds in the others.
    pub ns: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// The longest one in nanoseconds.
    pub longest: u64,
    /// The most bytes of one.
    pub largest: u64,
    /// Operations on PEs of other nodes.
    pub internode: u64,
    /// Those of them of at most 64 bytes.
    pub internode_small: u64,
    /// Operations by PE: the first few PEs.
    pub targets: Vec<(usize, u64)>,
    /// Operations on PEs after those.
    pub other_targets: u64,
    /// Nanoseconds in which the calling thread was ready to run without a core.
    pub without_core: u64,
}

/// A collective that a PE took part in. Times are nanoseconds of this PE's clock.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// When it entered.
    pub entered: u64,
    /// When it left.
    pub left: u64,
    /// The team, by its place in [`PeRecord::teams`].
    pub team: usize,
    /// Number of the collective on the team.
    pub sequence: u64,
    /// The site, by its place in the file.
    pub site: usize,
    /// The root's number in the team.
    pub root: usize,
    /// Nanoseconds since the last collective in which no routine ran.
    pub computed: u64,
}

/// A team's PEs, and which team it is of those that have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Team {
    /// First PE.
    pub start: i64,
    /// From one PE to the next.
    pub stride: i64,
    /// Number of PEs.
    pub size: usize,
    /// Its id.
    pub id: u64,
}

/// The record of one PE.
#[derive(Debug)]
pub struct PeRecord {
    words: Vec<u64>,
    layout: Layout,
    file: Option<PathBuf>,
    /// Its number.
    pub pe: usize,
    /// Sites, by their place in the file.
    pub sites: Vec<Option<Site>>,
    /// Teams.
    pub teams: Vec<Team>,
    /// Collectives, a sample.
    pub calls: Vec<Call>,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// It is not such a file, or has a part only.
    #[error("it is not a record of this version of FerroSHMEM")]
    Foreign,
}

impl PeRecord {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let mut file = File::open(path)?;
        let head = words(&mut file, header::WORDS)?;
        let layout = Layout::of_header(&head).ok_or(RecordError::Foreign)?;
        file.rewind()?;
        // Events, which may be many, are read when they are asked for.
        let all = words(&mut file, layout.events().start)?;
        let mut record = Self::new(all).ok_or(RecordError::Foreign)?;
        record.file = Some(path.to_owned());
        Ok(record)
    }

    /// The record that these words are, if they are one.
    pub fn new(words: Vec<u64>) -> Option<Self> {
        let layout = Layout::of_header(&words)?;
        if layout.events().start > words.len() || layout.n_pes == 0 {
            return None;
        }
        let pe = usize::try_from(words[header::PE]).ok()?;
        let mut record =
            Self { words, layout, file: None, pe, sites: Vec::new(), teams: Vec::new(), calls: Vec::new() };
        record.sites = (0..layout.sites).map(|i| record.site(i)).collect();
        let teams = record.words[layout.teams()].as_chunks::<{ team::WORDS }>().0;
        record.teams = teams
            .iter()
            .take_while(|t| t[team::SIZE] != 0)
            .map(|t| Team {
                // As the library's 32-bit numbers were widened.
                start: i64::from(t[team::START] as i32),
                stride: i64::from(t[team::STRIDE] as i32),
                size: t[team::SIZE] as usize,
                id: t[team::ID],
            })
            .collect();
        let kept = record.words[header::COLLECTIVES_KEPT] as usize;
        let calls = record.words[layout.collectives()].as_chunks::<{ collective::WORDS }>().0;
        let number = u64::from(u16::MAX);
        record.calls = calls
            .iter()
            .take(kept)
            .map(|c| Call {
                entered: c[collective::ENTERED],
                left: c[collective::LEFT],
                team: (c[collective::SEQUENCE] & number) as usize,
                sequence: c[collective::SEQUENCE] >> 16,
                site: c[collective::SITE] as u32 as usize,
                root: (c[collective::SITE] >> 32) as usize,
                computed: c[collective::COMPUTED],
            })
            .collect();
        (record.pe < layout.n_pes).then_some(record)
    }

    fn site(&self, index: usize) -> Option<Site> {
        let at = self.layout.sites().start + index * site::WORDS;
        let words = &self.words[at..at + site::WORDS];
        let unnamed = index + 1 == self.layout.sites;
        let kind = match words[site::KIND].checked_sub(1) {
            Some(kind) => *Kind::ALL.get(kind as usize)?,
            None if unnamed && words[site::CALLS] > 0 => Kind::Other,
            None => return None,
        };
        let targets = words[site::TARGETS..site::OTHER_TARGETS].as_chunks::<2>().0;
        let name = text(&words[site::NAME..site::NAME + site::NAME_WORDS]);
        Some(Site {
            kind,
            name: if unnamed { "calls from further places".to_owned() } else { name },
            object: self.object(words[site::OBJECT]),
            place: words[site::PLACE],
            calls: words[site::CALLS],
            untimed: words[site::UNTIMED],
            ns: words[site::NS],
            bytes: words[site::BYTES],
            longest: words[site::LONGEST],
            largest: words[site::LARGEST],
            internode: words[site::INTERNODE],
            internode_small: words[site::INTERNODE_SMALL],
            targets: targets.iter().filter(|[pe, _]| *pe != 0).map(|[pe, count]| (*pe as usize - 1, *count)).collect(),
            other_targets: words[site::OTHER_TARGETS],
            without_core: words[site::CORE_NS],
        })
    }

    fn object(&self, number: u64) -> Option<Object> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let at = self.layout.objects().start + index * object::WORDS;
        let words = self.words[..self.layout.objects().end].get(at..at + object::WORDS)?;
        Some(Object {
            path: text(&words[object::PATH..object::PATH + object::PATH_WORDS]),
            is_source: words[object::IS_SOURCE] == 1,
        })
    }

    /// A word of the header.
    pub fn header(&self, at: usize) -> u64 {
        self.words[at]
    }

    /// Number of PEs of the job.
    pub fn n_pes(&self) -> usize {
        self.layout.n_pes
    }

    /// The host's name.
    pub fn host(&self) -> String {
        text(&self.words[header::HOST..header::HOST + header::HOST_WORDS])
    }

    /// The kernel that ran it, whose clock is the same for all its processes.
    pub fn boot(&self) -> &[u64] {
        &self.words[header::BOOT..header::BOOT + header::BOOT_WORDS]
    }

    /// The program and its arguments.
    pub fn command(&self) -> String {
        text(&self.words[header::COMMAND..header::COMMAND + header::COMMAND_WORDS])
    }

    /// Whether there is room for calls one by one.
    pub fn is_traced(&self) -> bool {
        self.layout.events > 0
    }

    /// Whether the PE came to the end of `shmem_finalize`.
    pub fn is_complete(&self) -> bool {
        self.words[header::END] != 0
    }

    /// When its time began, and when it ended, as far as is known.
    pub fn span(&self) -> (u64, u64) {
        let begin = self.words[header::BEGIN];
        let end = match self.words[header::END_ENTERED] {
            0 => self.words[header::LAST],
            end => end,
        };
        (begin, end.max(begin))
    }

    /// What was sent to a PE: words of [`peer`].
    pub fn peer(&self, pe: usize) -> &[u64] {
        let at = self.layout.peers().start + pe * peer::WORDS;
        &self.words[at..at + peer::WORDS]
    }

    /// The histogram of a class of [`sizes`]: number and bytes of each bucket.
    pub fn sizes(&self, class: usize) -> &[[u64; 2]] {
        let at = self.layout.sizes().start + class * sizes::BUCKETS * 2;
        self.words[at..at + sizes::BUCKETS * 2].as_chunks::<2>().0
    }

    /// How long the parts of the file are.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The file, None for a record that is in memory as a whole.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Some words that are in memory.
    pub(super) fn part(&self, start: usize, count: usize) -> &[u64] {
        self.words.get(start..start + count).unwrap_or_default()
    }
}

impl Team {
    /// World number of a member.
    pub fn pe(&self, index: usize) -> Option<usize> {
        usize::try_from(self.start + self.stride * index as i64).ok()
    }
}

/// As many words of a file as it has, at most so many.
fn words(file: &mut File, most: usize) -> io::Result<Vec<u64>> {
    let mut bytes = Vec::new();
    file.take((most * WORD) as u64).read_to_end(&mut bytes)?;
    let (chunks, _) = bytes.as_chunks::<WORD>();
    Ok(chunks.iter().map(|c| u64::from_le_bytes(*c)).collect())
}

/// The text of some words.
fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
