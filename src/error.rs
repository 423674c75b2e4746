//! What can go wrong, one type for each kind of call.
//!
//! `Debug` prints the same as `Display`, because a program shows an error by `Debug` when `main`
//! returns or unwraps it.

use std::error;
use std::fmt::{self, Display};

use crate::init;

/// What most functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of this crate, for `?`.
///
/// ```
/// # use ferroshmem::Error;
/// # let world = ferroshmem::World::init()?;
/// let window = world.alloc::<u8>(4)?.open(); // `?` would make it of an `AllocError`
/// let error = Error::from(window.g(world.my_pe(), 4).expect_err("there are elements 0 to 3"));
/// assert!(matches!(error, Error::Bounds(_)));
/// assert!(error.to_string().ends_with("1 element at index 4 is not within an array of length 4"));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The library could not be initialised.
    Init(InitError),
    /// Symmetric memory could not be allocated.
    Alloc(AllocError),
    /// The number is not that of a PE.
    Pe(PeOutOfRange),
    /// Elements beyond an array's end.
    Bounds(OutOfBounds),
    /// A team could not be made or used so.
    Team(TeamError),
    /// A symmetric space could not be made.
    Space(SpaceError),
    /// No PEs were started.
    Spawn(SpawnError),
    /// No job was connected.
    Connect(ConnectError),
    /// An array cannot be exported, or an export cannot end.
    Export(ExportError),
    /// An array cannot be imported.
    Import(ImportError),
    /// A group has failed.
    Group(GroupFailed),
    /// A buffer is shorter than its message.
    Message(Truncated),
}

/// Why the library could not be initialised.
///
/// As in the example of [`World::init`](crate::World::init).
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitError {
    /// The process has a [`World`](crate::World) already.
    Twice,
}

/// Why symmetric memory could not be allocated. The same on all PEs.
///
/// ```
/// # use ferroshmem::AllocError;
/// # let world = ferroshmem::World::init()?;
/// let mut len = 1 << 50;
/// let array = loop {
///     match world.alloc::<f64>(len) {
///         Ok(array) => break array,
///         Err(AllocError::NoRoom { free, .. }) => len = free as usize / 16, // on all PEs alike
///         Err(error) => return Err(error.into()),
///     }
/// };
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// The symmetric heap has no room.
    NoRoom {
        /// Bytes requested.
        bytes: usize,
        /// Bytes that are free, though maybe not in one piece.
        free: u64,
        /// Bytes of the heap.
        heap: u64,
    },
    /// The symmetric space has no room.
    NoRoomInSpace {
        /// Bytes requested.
        bytes: usize,
        /// Bytes that are free, though maybe not in one piece.
        free: u64,
        /// Bytes of the space.
        space: u64,
    },
    /// The bytes exceed the address space.
    TooLarge {
        /// Elements requested.
        len: usize,
        /// Bytes of an element.
        size: usize,
    },
}

/// Why a symmetric space could not be made. All PEs get an error; each has its own reason.
///
/// ```
/// # use ferroshmem::SpaceConfig;
/// # let world = ferroshmem::World::init()?;
/// let error = world.space(SpaceConfig::new(0)).expect_err("a space has bytes");
/// assert!(error.to_string().contains("give at least 1"));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SpaceError {
    reason: String,
}

impl SpaceError {
    pub(crate) fn new(reason: &str) -> Self {
        let reason = reason.to_owned();
        Self { reason }
    }
}

/// Why no PEs were started. All members get an error; the first knows the reason.
///
/// ```
/// # use ferroshmem::Command;
/// # let world = ferroshmem::World::init()?;
/// let error = world.spawn(&Command::new("no such program")).expect_err("it cannot be started");
/// println!("{error}; goes on without workers");
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SpawnError {
    reason: String,
}

impl SpawnError {
    pub(crate) fn new(reason: String) -> Self {
        Self { reason }
    }
}

/// Why no job was connected, or a port or its name cannot be had. In a collective call, all members get an error; the
/// first knows the reason.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let error = world.connect("no port").expect_err("the text is none of a port");
/// println!("{error}");
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectError {
    reason: String,
}

impl ConnectError {
    pub(crate) fn new(reason: String) -> Self {
        Self { reason }
    }
}

/// Why an array cannot be exported, or an export cannot end.
///
/// ```
/// # use ferroshmem::ExportError;
/// # let world = ferroshmem::World::init()?;
/// let sums = world.export("sums", world.atomics::<u64>(1)?)?;
/// let again = world.export("sums", world.atomics::<u64>(1)?);
/// assert_eq!(again.err(), Some(ExportError::Taken));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportError {
    /// The name is empty or has more than 40 bytes.
    Name,
    /// The name stands for another array.
    Taken,
    /// The job exports as many arrays as it can.
    Full,
    /// The array has no elements.
    Empty,
    /// A PE of this job is in a group, whose PEs may use the array.
    InUse,
}

/// Why an array cannot be imported.
///
/// ```no_run
/// # use ferroshmem::{ImportError, Window};
/// # let world = ferroshmem::World::init()?;
/// # let parents = world.parents().expect("others have started this job");
/// match parents.import::<Window<f64>>("table", 100) {
///     Err(ImportError::Length { bytes, .. }) => println!("it has {} elements", bytes / 8),
///     Err(error) => return Err(error.into()),
///     Ok(table) => table.p(parents.pe(0)?, 99, 1.0)?,
/// }
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// The group exports none of this name.
    Missing {
        /// The name.
        name: String,
    },
    /// It has another number of elements.
    Length {
        /// The name.
        name: String,
        /// Its bytes.
        bytes: u64,
        /// The bytes asked for.
        asked: usize,
    },
    /// It has elements of another type, or is shared in another way.
    Type {
        /// The name.
        name: String,
        /// The type asked for.
        asked: &'static str,
    },
    /// It is in memory that this PE does not reach.
    NotShared {
        /// The name.
        name: String,
    },
}

/// A buffer that is shorter than the message that it was to receive.
///
/// ```
/// # use ferroshmem::{Error, Truncated};
/// # let world = ferroshmem::World::init()?;
/// # let sending = world.begin_send(world.my_pe().next(), 0, vec![1u8; 8])?;
/// match world.receive(None, None, &mut [0u8; 4]) {
///     Err(Error::Message(Truncated { bytes, room })) => assert_eq!((bytes, room), (8, 4)),
///     other => panic!("{other:?}"),
/// }
/// # drop(sending);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Truncated {
    /// Bytes of the message.
    pub bytes: usize,
    /// Bytes of the buffer.
    pub room: usize,
}

/// A number that is not that of a PE or a member.
///
/// As in the example of [`World::pe`](crate::World::pe).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PeOutOfRange {
    /// The number.
    pub number: usize,
    /// Number of PEs, or of members.
    pub n_pes: usize,
}

/// Elements that an array does not have.
///
/// ```
/// # use ferroshmem::OutOfBounds;
/// # let world = ferroshmem::World::init()?;
/// let window = world.alloc::<u8>(4)?.open();
/// let error = window.put(world.my_pe(), 3, &[1, 2]).expect_err("element 4 does not exist");
/// assert_eq!(error, OutOfBounds { start: 3, len: 2, array: 4 });
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The first element.
    pub start: usize,
    /// The number of elements.
    pub len: usize,
    /// The array's length, in elements.
    pub array: usize,
}

/// Why a team could not be made or used so.
///
/// ```
/// # use ferroshmem::TeamError;
/// # let world = ferroshmem::World::init()?;
/// let team = world.split(Some(0), 0)?.expect("every PE has a color");
/// assert_eq!(team.pe_of(world.member(0)?), Err(TeamError::OtherTeam));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TeamError {
    /// Members that the parent does not have, or no team left to make.
    Split,
    /// Members of one color that do not lie a fixed stride apart.
    Irregular,
    /// The PE is not in the team.
    NotMember,
    /// No context left to make.
    NoContext,
    /// A PE has no memory left for a stream.
    Stream,
    /// The member is one of another team.
    OtherTeam,
    /// The PE is one of another group.
    OtherGroup,
    /// The team has PEs of another job, which is so of a group's.
    OtherJob,
    /// The team is that of a group that has failed.
    GroupFailed,
    /// The array is too short for a part of every member.
    TooShort {
        /// Elements needed.
        needed: usize,
        /// Elements of the array.
        array: usize,
    },
}

/// A PE of a group has failed whose job is independent of this one
/// ([`Command::independent`](crate::Command::independent)).
///
/// As in the example of [`Group::call`](crate::Group::call).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GroupFailed;

impl GroupFailed {
    fn describe(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the group has failed, and its PEs wait for no other any more: disconnect it")
    }
}

/// Begins a message with this PE's number: all PEs may print into one file.
fn write_pe(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match init::known_pe() {
        Some(pe) => write!(f, "on PE {pe}: "),
        None => Ok(()),
    }
}

impl Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        match self {
            Self::Twice => f.write_str(
                "the library is initialised: there can be one World at a time, so pass it on by reference; \
                 for tests, which share a process, set RUST_TEST_THREADS=1",
            ),
        }
    }
}

impl Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        match self {
            Self::NoRoom { bytes, free, heap } => write!(
                f,
                "no room for {bytes} bytes in the symmetric heap of {heap} bytes, of which {free} are \
                 free: set SHMEM_SYMMETRIC_SIZE to more, or free arrays"
            ),
            Self::NoRoomInSpace { bytes, free, space } => write!(
                f,
                "no room for {bytes} bytes in the symmetric space of {space} bytes, of which {free} are \
                 free: make it larger, or free arrays"
            ),
            Self::TooLarge { len, size } => {
                write!(f, "{len} elements of {size} bytes are more than can be addressed")
            }
        }
    }
}

impl Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        f.write_str(&self.reason)
    }
}

impl Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        f.write_str(&self.reason)
    }
}

impl Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        f.write_str(&self.reason)
    }
}

impl Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        f.write_str(match self {
            Self::Name => "the name of an exported array has 1 to 40 bytes: give another",
            Self::Taken => "the name stands for another exported array: give another, or end that export first",
            Self::Full => "the job exports as many arrays as it can: end an export first",
            Self::Empty => "the array has no elements to export",
            Self::InUse => "a PE of this job is in a group, whose PEs may use the array: disconnect all groups first",
        })
    }
}

impl Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        match self {
            Self::Missing { name } => {
                write!(f, "the group exports no array \"{name}\": export it before the groups connect")
            }
            Self::Length { name, bytes, asked } => write!(
                f,
                "the array \"{name}\" has {bytes} bytes, not {asked}: give the length that it was exported with"
            ),
            Self::Type { name, asked } => {
                write!(f, "the array \"{name}\" is not exported as {asked}: import the type that was exported")
            }
            Self::NotShared { name } => {
                write!(f, "the array \"{name}\" is in memory that this PE does not reach: export one of the heap")
            }
        }
    }
}

impl Display for PeOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        let Self { number, n_pes } = self;
        let last = n_pes - 1;
        match last {
            // Started by itself, or by a cargo without a runner: a user may have meant several PEs.
            0 if init::n_pes() == 1 => {
                write!(f, "PE {number} is out of range: this job is PE 0 alone; oshrun -n N starts it with N PEs")
            }
            0 => write!(f, "PE {number} is out of range: there is PE 0 alone"),
            _ => write!(f, "PE {number} is out of range: there are PEs 0 to {last}"),
        }
    }
}

impl Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        let Self { bytes, room } = self;
        write!(f, "a message of {bytes} bytes came for a buffer of {room}: probe for its length, or give a longer one")
    }
}

impl Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        let Self { start, len, array } = self;
        let (elements, are) = match len {
            1 => ("element", "is"),
            _ => ("elements", "are"),
        };
        write!(f, "{len} {elements} at index {start} {are} not within an array of length {array}")
    }
}

impl Display for GroupFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        self.describe(f)
    }
}

impl Display for TeamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pe(f)?;
        match self {
            Self::Split => f.write_str(
                "no team was made: not all members asked for are in the parent, or there are too many teams",
            ),
            Self::Irregular => f.write_str(
                "the members of a color, in the order of their keys, do not lie a fixed stride apart in their team: \
                 number the PEs so that they do",
            ),
            Self::NotMember => f.write_str("the PE is not in this team: Team::member_of says whether one is"),
            Self::NoContext => f.write_str("no context was made: there are too many, so drop some first"),
            Self::Stream => f.write_str("no stream was created: a PE has no memory left for it, so drop some first"),
            Self::OtherTeam => {
                f.write_str("this is a member of another team: translate it by Team::pe_of and Team::member_of")
            }
            Self::OtherGroup => f.write_str("this is a PE of another group: take PEs by Group::pe of this one"),
            Self::OtherJob => {
                f.write_str("this is a team or a member of a group, with PEs of two jobs: give one of this job")
            }
            Self::GroupFailed => GroupFailed.describe(f),
            Self::TooShort { needed, array } => {
                write!(f, "an array of {array} elements is too short: the members need {needed}")
            }
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Init(error) => error.fmt(f),
            Self::Alloc(error) => error.fmt(f),
            Self::Pe(error) => error.fmt(f),
            Self::Bounds(error) => error.fmt(f),
            Self::Team(error) => error.fmt(f),
            Self::Space(error) => error.fmt(f),
            Self::Spawn(error) => error.fmt(f),
            Self::Export(error) => error.fmt(f),
            Self::Import(error) => error.fmt(f),
            Self::Connect(error) => error.fmt(f),
            Self::Group(error) => error.fmt(f),
            Self::Message(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

macro_rules! errors {
    ($($kind:ident($error:ty)),*) => {$(
        impl error::Error for $error {}

        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Display::fmt(self, f)
            }
        }

        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$kind(error)
            }
        }
    )*};
}

errors!(
    Init(InitError),
    Alloc(AllocError),
    Pe(PeOutOfRange),
    Bounds(OutOfBounds),
    Team(TeamError),
    Space(SpaceError),
    Spawn(SpawnError),
    Connect(ConnectError),
    Export(ExportError),
    Import(ImportError),
    Group(GroupFailed),
    Message(Truncated)
);

impl error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrapped_errors_say_what_is_wrong() {
        let error = OutOfBounds { start: 3, len: 2, array: 4 };
        let message = "2 elements at index 3 are not within an array of length 4";
        assert_eq!(format!("{error:?}"), message);
        assert_eq!(format!("{:?}", Error::from(error)), message);
    }

    #[test]
    fn a_program_started_by_itself_learns_how_to_get_more_pes() {
        let message = |number, n_pes| PeOutOfRange { number, n_pes }.to_string();
        assert_eq!(message(1, 1), "PE 1 is out of range: this job is PE 0 alone; oshrun -n N starts it with N PEs");
        assert_eq!(message(4, 4), "PE 4 is out of range: there are PEs 0 to 3");
    }
}
