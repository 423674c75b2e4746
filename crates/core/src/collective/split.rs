//! Splitting and destroying teams. Collective over the parent.
//!
//! The members must agree on an id that is free on all of them. Each PE keeps a bitmap of the ids
//! that it uses in shared memory. Between two synchronisations of the parent, all members read the
//! same bitmaps and choose the same lowest free id; then the future members claim it. Meanwhile
//! another thread of a PE may claim the same id for another team. Therefore each member publishes
//! whether its claim succeeded, and if one failed, all members try again.

use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::constants::PREDEFINED_TEAMS;
use crate::failure::fatal::fatal;
use crate::group::Group;
use crate::job::mailboxes;
use crate::job::region::{ACTIVE_SETS, MAX_TEAMS, MailboxPage, StatusArea, TeamIds};
use crate::node::Node;
use crate::team::{MAILBOX_PAGES, Members, NewTeam, Team, Teams};
use crate::wait::flag::reached;

/// The ids that this PE uses, in memory that the other PEs of the job can read.
fn own_ids(node: &Node) -> &'static TeamIds {
    match node.transport.internode() {
        Some(internode) => &internode.mailboxes.status(node.job.index).team_ids,
        None => &node.job.control.pe_block(node.job.index).team_ids,
    }
}

/// Word `w` of the ids that PE `pe` uses.
fn used_ids(node: &Node, pe: usize, w: usize) -> u64 {
    if node.transport.internode().is_none() {
        let ids = &node.job.control.pe_block(pe).team_ids;
        return ids.words[w].load(Ordering::Relaxed);
    }
    let at = mailboxes::STATUS + std::mem::offset_of!(StatusArea, team_ids);
    node.transport.read_mailbox(pe, at + w * size_of::<u64>())
}

/// The lowest of `ids` that is free on all members of `parent`.
fn lowest_free_id(node: &Node, parent: &Group<'_>, ids: &Range<usize>) -> Option<usize> {
    (ids.start / 64..ids.end / 64).find_map(|w| {
        let used = (0..parent.size).fold(0, |used, i| used | used_ids(node, parent.pe(i), w));
        let used = if w == 0 {
            used | ((1 << PREDEFINED_TEAMS) - 1)
        } else {
            used
        };
        (used != u64::MAX).then(|| w * 64 + used.trailing_ones() as usize)
    })
}

/// Claims one of `ids` on all PEs of `parent` that will be members of a new team: `member` says
/// whether this PE will be. None if no id is free.
fn claim_id(node: &Node, parent: &Group<'_>, ids: Range<usize>, member: bool) -> Option<usize> {
    const FAILED: u64 = 0;
    const AGREED: u64 = 1;
    /// Each failure but a few is another thread's success, so so many in a row have another cause.
    const ATTEMPTS: usize = 1000;

    for _ in 0..ATTEMPTS {
        parent.sync();
        let id = lowest_free_id(node, parent, &ids);
        // No member may claim before all members have read the bitmaps.
        parent.sync();
        // If a bitmap changed while members read it, they may have chosen different ids. So each
        // member publishes its id, and they agree only if all published values are equal.
        let bit = id.map_or(0, |id| 1 << (id % 64));
        let word = id.map(|id| &own_ids(node).words[id / 64]);
        let claimed = match word {
            Some(word) if member => word.fetch_or(bit, Ordering::AcqRel) & bit == 0,
            _ => true,
        };
        let mine = if claimed {
            AGREED + id.map_or(0, |id| id as u64 + 1)
        } else {
            FAILED
        };
        let epoch = parent.epoch();
        epoch.publish(mine);
        epoch.synchronise();
        let agreed = (0..parent.size).all(|i| epoch.published(i) == mine) && claimed;
        parent.leave();
        if agreed {
            return id;
        }
        if let Some(word) = word
            && member
            && claimed
        {
            word.fetch_and(!bit, Ordering::AcqRel);
        }
    }
    fatal(
        parent.name,
        "the PEs cannot agree on a team: they call different collectives, or pSync is in use by another one or not initialised; set its elements to SHMEM_SYNC_VALUE and call shmem_barrier_all before its first use",
    )
}

/// Marks an id as free on this PE.
pub fn release_id(node: &Node, id: usize) {
    own_ids(node).words[id / 64].fetch_and(!(1 << (id % 64)), Ordering::Relaxed);
}

/// Creates one of the teams that a call makes; `members` is None if this PE is in none of them.
/// Returns the new handle, Some(0) for a PE outside, None if no id is left.
fn create(
    node: &Node,
    teams: &Teams,
    parent: &Group<'_>,
    members: Option<Members>,
    num_contexts: i32,
) -> Option<usize> {
    let ids = 0..MAX_TEAMS - ACTIVE_SETS;
    let id = claim_id(node, parent, ids, members.is_some())?;
    let Some(members) = members else {
        return Some(0);
    };
    Some(insert(node, teams, id, members, num_contexts))
}

/// Creates the team that serves an active set, in the first call on the set. Returns its id, or
/// None if no id is left.
pub fn create_for_active_set(node: &Node, teams: &Teams, set: &Group<'_>) -> Option<usize> {
    if set.size == 1 {
        return None;
    }
    let id = claim_id(node, set, MAX_TEAMS - ACTIVE_SETS..MAX_TEAMS, true)?;
    insert(node, teams, id, *set.members(), 0);
    // After the call a member may use the team at once, so all must have read the counts in its
    // slots before.
    set.sync();
    Some(id)
}

/// Adds the team with the claimed id to this PE's teams; returns its handle.
fn insert(node: &Node, teams: &Teams, id: usize, members: Members, num_contexts: i32) -> usize {
    if let Some(internode) = node.transport.internode() {
        internode
            .open_mailboxes(id)
            .unwrap_or_else(|e| fatal("shmem_team_split", e));
    }
    let mut new = NewTeam {
        id,
        members,
        num_contexts,
        epoch: 0,
        mailbox_epochs: [0; 2],
    };
    // The slots continue to count where the last team with this id stopped, past every value that
    // their flags show. All members compare in the same order, so they find the same count even if
    // counts differ by so much that "later" is not transitive.
    let latest = |a: u32, b: u32| if reached(b, a) { b } else { a };
    for member in 0..members.size {
        let pe = members.pe(member);
        if let Some(index) = node.job.placement.local_index(pe) {
            let own = &node.job.control.team_slot(id, index).own;
            new.epoch = latest(new.epoch, own.epoch.load(Ordering::Relaxed));
        }
        if node.transport.internode().is_some() {
            for (page, count) in MAILBOX_PAGES.into_iter().zip(&mut new.mailbox_epochs) {
                let at = mailboxes::team_mailbox_offset(id)
                    + page
                    + std::mem::offset_of!(MailboxPage, epoch);
                *count = latest(*count, node.transport.read_mailbox(pe, at) as u32);
            }
        }
    }
    let own = &node.job.control.team_slot(id, node.job.index).own;
    own.entered.store(0, Ordering::Relaxed);
    teams.insert(node, new)
}

/// `shmem_team_split_strided`: the handle for this PE (0 outside the new team), or None if
/// the members asked for are not all in the parent or no id is left.
pub fn split_strided(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    (start, stride, size): (i32, i32, i32),
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    let Some(members) = parent.members.strided(start, stride, size) else {
        group.sync();
        return None;
    };
    let mine = members.index_of(node.me).map(|_| members);
    let handle = create(node, teams, &group, mine, num_contexts);
    // After the call a member may use the team at once, so all must have read the counts in its
    // slots before.
    group.sync();
    handle
}

/// `shmem_team_split_2d`: this PE's row and column teams, or None.
pub fn split_2d(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    xrange: usize,
    num_contexts: [i32; 2],
) -> Option<[usize; 2]> {
    let n = parent.members.size;
    let width = xrange.min(n);
    let (x, y) = (parent.index % width, parent.index / width);
    let row = parent
        .members
        .strided((y * width) as i32, 1, width.min(n - y * width) as i32);
    let column = parent
        .members
        .strided(x as i32, width as i32, (n - x).div_ceil(width) as i32);
    let group = Group::of_team(node, name, parent);
    let row = create(node, teams, &group, row, num_contexts[0]);
    let column = create(node, teams, &group, column, num_contexts[1]);
    group.sync();
    match (row, column) {
        (Some(row), Some(column)) => Some([row, column]),
        (row, column) => {
            // The members agree on ids, so all of them take this branch together.
            for handle in [row, column].into_iter().flatten() {
                if let Some(team) = teams.get(handle) {
                    let id = team.id;
                    team.leave(node);
                    teams.remove(id);
                    release_id(node, id);
                }
            }
            None
        }
    }
}

/// Destroys a team that the program has made, and whose contexts are gone. Collective over its members.
pub fn destroy(node: &Node, teams: &Teams, name: &'static str, team: &Team) {
    Group::of_team(node, name, team).sync();
    let id = team.id;
    team.leave(node);
    teams.remove(id);
    release_id(node, id);
}
