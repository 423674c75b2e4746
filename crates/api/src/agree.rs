//! A synchronisation of a team at which its members say what they are about, for callers whose
//! memory safety rests on all of them being about the same.

use ferroshmem_core::group::Group;
use ferroshmem_core::team::Team;
use ferroshmem_runtime as runtime;

/// Another member was about something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// World number of the member.
    pub pe: usize,
    /// What it said, or what it said two synchronisations ago if it said nothing in this one.
    pub word: u64,
    /// What each member said.
    pub all: Vec<u64>,
}

/// Synchronises the members of a team and their memory, as `shmem_team_sync` does, and compares
/// what they say. What they say now should differ from all that they have said before, so that
/// a member that synchronises without saying anything is noticed.
///
/// # Errors
/// The first member that says something else. All members that see a difference come back with one,
/// but a member that said nothing sees none, nor do those of a group that has failed.
pub fn agree(name: &'static str, team: usize, say: u64) -> Result<(), Difference> {
    let rt = runtime::get(name);
    let Some(team) = rt.teams.find(name, team) else {
        return Ok(());
    };
    agree_in(&Group::of_team(&rt.node, name, team), say)
}

/// The same in the team of a call.
pub(crate) fn agree_in(group: &Group<'_>, say: u64) -> Result<(), Difference> {
    if group.has_failed() {
        return Ok(());
    }
    if group.size == 1 {
        group.sync();
        return Ok(());
    }
    let epoch = group.epoch();
    epoch.publish(say);
    epoch.synchronise();
    if group.has_failed() {
        return Ok(());
    }
    // No member publishes for the epoch after next before this PE has entered the next one.
    let different = (0..group.size).find(|member| epoch.published(*member) != say);
    different.map_or(Ok(()), |member| {
        Err(Difference {
            pe: group.pe(member),
            word: epoch.published(member),
            all: (0..group.size).map(|m| epoch.published(m)).collect(),
        })
    })
}

/// Whether the team is that of a group that has failed, or a member of it has failed in a resilient job.
pub fn has_failed(name: &'static str, team: usize) -> bool {
    let team = runtime::get(name).teams.find(name, team);
    team.is_some_and(Team::has_failed)
}
