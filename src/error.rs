//! What can go wrong, one type for each kind of call.
//!
//! `Debug` prints the same as `Display`, because a program shows an error by `Debug` when `main`
//! returns or unwraps it.

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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library could not be initialised.
    #[error(transparent)]
    Init(#[from] InitError),
    /// Symmetric memory could not be allocated.
    #[error(transparent)]
    Alloc(#[from] AllocError),
    /// The number is not that of a PE.
    #[error(transparent)]
    Pe(#[from] PeOutOfRange),
    /// Elements beyond an array's end.
    #[error(transparent)]
    Bounds(#[from] OutOfBounds),
    /// A team could not be made or used so.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// A symmetric space could not be made.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// No PEs were started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// No job was connected.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// An array cannot be exported, or an export cannot end.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// An array cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A group has failed.
    #[error(transparent)]
    Group(#[from] GroupFailed),
    /// A buffer is shorter than its message.
    #[error(transparent)]
    Message(#[from] Truncated),
}

/// Why the library could not be initialised.
///
/// As in the example of [`World::init`](crate::World::init).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The process has a [`World`](crate::World) already.
    #[error(
        "{OnPe}the library is initialised: there can be one World at a time, so pass it on by reference; for tests, \
            which share a process, set RUST_TEST_THREADS=1"
    )]
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
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllocError {
    /// The symmetric heap has no room.
    #[error(
        "{OnPe}no room for {bytes} bytes in the symmetric heap of {heap} bytes, of which {free} are free: set \
            SHMEM_SYMMETRIC_SIZE to more, or free arrays"
    )]
    NoRoom {
        /// Bytes requested.
        bytes: usize,
        /// Bytes that are free, though maybe not in one piece.
        free: u64,
        /// Bytes of the heap.
        heap: u64,
    },
    /// The symmetric space has no room.
    #[error(
        "{OnPe}no room for {bytes} bytes in the symmetric space of {space} bytes, of which {free} are free: make it \
            larger, or free arrays"
    )]
    NoRoomInSpace {
        /// Bytes requested.
        bytes: usize,
        /// Bytes that are free, though maybe not in one piece.
        free: u64,
        /// Bytes of the space.
        space: u64,
    },
    /// The bytes exceed the address space.
    #[error("{OnPe}{len} elements of {size} bytes are more than can be addressed")]
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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{OnPe}{reason}")]
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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{OnPe}{reason}")]
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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{OnPe}{reason}")]
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
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The name is empty or has more than 40 bytes.
    #[error("{OnPe}the name of an exported array has 1 to 40 bytes, of which none is 0: give another")]
    Name,
    /// The name stands for another array.
    #[error("{OnPe}the name stands for another exported array: give another, or end that export first")]
    Taken,
    /// The job exports as many arrays as it can.
    #[error("{OnPe}the job exports as many arrays as it can: end an export first")]
    Full,
    /// The array has no elements.
    #[error("{OnPe}the array has no elements to export")]
    Empty,
    /// A PE of this job is in a group, whose PEs may use the array.
    #[error("{OnPe}a PE of this job is in a group, whose PEs may use the array: disconnect all groups first")]
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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The group exports none of this name.
    #[error("{OnPe}the group exports no array \"{name}\": export it before the groups connect")]
    Missing {
        /// The name.
        name: String,
    },
    /// It has another number of elements.
    #[error("{OnPe}the array \"{name}\" has {bytes} bytes, not {asked}: give the length that it was exported with")]
    Length {
        /// The name.
        name: String,
        /// Its bytes.
        bytes: u64,
        /// The bytes asked for.
        asked: usize,
    },
    /// It has elements of another type, or is shared in another way.
    #[error("{OnPe}the array \"{name}\" is not exported as {asked}: import the type that was exported")]
    Type {
        /// The name.
        name: String,
        /// The type asked for.
        asked: &'static str,
    },
    /// It is in memory that this PE does not reach.
    #[error("{OnPe}the array \"{name}\" is in memory that this PE does not reach: export one of the heap")]
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
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{OnPe}a message of {bytes} bytes came for a buffer of {room}: probe for its length, or give a longer one")]
pub struct Truncated {
    /// Bytes of the message.
    pub bytes: usize,
    /// Bytes of the buffer.
    pub room: usize,
}

/// A number that is not that of a PE or a member.
///
/// As in the example of [`World::pe`](crate::World::pe).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{OnPe}PE {number} is out of range: {}", existing(*.n_pes))]
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
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{OnPe}{len} {} not within an array of length {array}",
    if *.len == 1 { format!("element at index {start} is") } else { format!("elements at index {start} are") }
)]
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
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// Members that the parent does not have, or no team left to make.
    #[error("{OnPe}no team was made: not all members asked for are in the parent, or there are too many teams")]
    Split,
    /// The team has no such member.
    #[error("{OnPe}member {number} is out of range: the team has members 0 to {}", n_members.saturating_sub(1))]
    NoMember {
        /// The number.
        number: usize,
        /// Number of members.
        n_members: usize,
    },
    /// The PE is not in the team.
    #[error("{OnPe}the PE is not in this team: Team::member_of says whether one is")]
    NotMember,
    /// No context left to make.
    #[error("{OnPe}no context was made: there are too many, so drop some first")]
    NoContext,
    /// A PE has no memory left for a stream.
    #[error("{OnPe}no stream was created: a PE has no memory left for it, so drop some first")]
    Stream,
    /// The member is one of another team.
    #[error("{OnPe}this is a member of another team: translate it by Team::pe_of and Team::member_of")]
    OtherTeam,
    /// The PE is one of another group.
    #[error("{OnPe}this is a PE of another group: take PEs by Group::pe of this one")]
    OtherGroup,
    /// The team has PEs of another job, which is so of a group's.
    #[error("{OnPe}this is a team or a member of a group, with PEs of two jobs: give one of this job")]
    OtherJob,
    /// The team is that of a group that has failed, or one of its PEs has, in a resilient job.
    #[error("{GroupFailed}")]
    GroupFailed,
    /// The array is too short for a part of every member.
    #[error("{OnPe}an array of {array} elements is too short: the members need {needed}")]
    TooShort {
        /// Elements needed.
        needed: usize,
        /// Elements of the array.
        array: usize,
    },
}

/// A PE of a group has failed whose job is independent of this one
/// ([`Command::independent`](crate::Command::independent)), or a PE of a team in a job that goes on without it
/// ([`World::go_on_without_failed`](crate::World::go_on_without_failed)).
///
/// As in the example of [`Group::call`](crate::Group::call).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{OnPe}a PE of the group or team has failed, and the others wait for none any more: disconnect the group, or make \
        a team of those that are left"
)]
pub struct GroupFailed;

/// Begins a message with this PE's number: all PEs may print into one file.
struct OnPe;

impl Display for OnPe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match init::known_pe() {
            Some(pe) => write!(f, "on PE {pe}: "),
            None => Ok(()),
        }
    }
}

/// Which PEs there are.
fn existing(n_pes: usize) -> String {
    match n_pes.saturating_sub(1) {
        // Started by itself, or by a cargo without a runner: a user may have meant several PEs.
        0 if init::n_pes() == 1 => "this job is PE 0 alone; oshrun -n N starts it with N PEs".to_owned(),
        0 => "there is PE 0 alone".to_owned(),
        last => format!("there are PEs 0 to {last}"),
    }
}

macro_rules! debug_as_display {
    ($($error:ident),*) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Display::fmt(self, f)
            }
        }
    )*};
}

debug_as_display!(
    Error, InitError, AllocError, PeOutOfRange, OutOfBounds, TeamError, SpaceError, SpawnError, ConnectError,
    ExportError, ImportError, GroupFailed, Truncated
);

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
        assert!(!message(0, 0).is_empty(), "an error that a program makes");
    }
}
