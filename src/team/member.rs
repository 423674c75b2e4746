//! Members of teams, by their numbers in them.

use std::fmt::{self, Display};
use std::ops::Range;

use ferroshmem_api::constants::TEAM_WORLD;
use ferroshmem_api::team;

use crate::error::TeamError;
use crate::pe::Pe;

/// A member of a team, by its number in the team. It exists: [`Team::member`](crate::Team::member) checks the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    number: u32,
    /// Serial number of the team.
    team: usize,
}

/// The members of a team, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct Members {
    rest: Range<usize>,
    team: usize,
}

/// Which team it is: its handle, which is used again after it, and its serial number, which is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TeamId {
    pub(crate) handle: usize,
    pub(crate) serial: usize,
}

impl Member {
    pub(crate) fn new(number: usize, team: usize) -> Self {
        Self { number: number as u32, team }
    }

    /// Its number in the team, from 0.
    ///
    /// As in the example of [`Team::my_member`](crate::Team::my_member).
    pub fn number(self) -> usize {
        self.number as usize
    }

    /// The PE that it is.
    pub(crate) fn pe_in(self, team: TeamId) -> Result<Pe, TeamError> {
        let number = sealed::AsMember::number_in(self, team)?;
        if team.handle == TEAM_WORLD {
            return Ok(Pe::new(number));
        }
        let pe = team::translate_pe("Team::pe_of", team.handle, number as i32, TEAM_WORLD);
        let number = usize::try_from(pe).map_err(|_| TeamError::OtherJob)?;
        Ok(Pe::new(number))
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {}", self.number)
    }
}

impl Members {
    pub(crate) fn all(n: usize, team: usize) -> Self {
        Self { rest: 0..n, team }
    }
}

impl Iterator for Members {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let number = self.rest.next()?;
        Some(Member::new(number, self.team))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for Members {}

/// What names a member of a team in a call: a [`Member`] of this team, or a [`Pe`] that is in it.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let root = world.pe(0)?;
/// assert_eq!(world.broadcast_value(root, 7)?, 7);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no member of a team",
    note = "`World::pe` makes a `Pe` of a number, and `Team::member` a `Member`"
)]
pub trait AsMember: sealed::AsMember {}

impl AsMember for Member {}
impl AsMember for Pe {}

pub(crate) mod sealed {
    use super::{Member, Pe, TEAM_WORLD, TeamError, TeamId, team};

    pub trait AsMember: Copy {
        /// Its number in the team.
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn number_in(self, team: TeamId) -> Result<usize, TeamError>;

        /// The PE, and its number in the team.
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn both_in(self, team: TeamId) -> Result<(Pe, usize), TeamError>;
    }

    impl AsMember for Member {
        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn number_in(self, team: TeamId) -> Result<usize, TeamError> {
            match self.team == team.serial {
                true => Ok(self.number()),
                false => Err(TeamError::OtherTeam),
            }
        }

        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn both_in(self, team: TeamId) -> Result<(Pe, usize), TeamError> {
            Ok((self.pe_in(team)?, self.number()))
        }
    }

    impl AsMember for Pe {
        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn number_in(self, team: TeamId) -> Result<usize, TeamError> {
            if team.handle == TEAM_WORLD {
                return Ok(self.number());
            }
            let (name, pe) = ("Team::member_of", self.number() as i32);
            let number = team::translate_pe(name, TEAM_WORLD, pe, team.handle);
            usize::try_from(number).map_err(|_| TeamError::NotMember)
        }

        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn both_in(self, team: TeamId) -> Result<(Pe, usize), TeamError> {
            Ok((self, self.number_in(team)?))
        }
    }
}
