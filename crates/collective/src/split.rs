//! Splitting and destroying teams. Collective over the parent.
//!
//! One synchronisation of the parent finds [ids](crate::team_id) that are free on all members. After it, a member may
//! use the new team at once: the other members' slots are its own, though they may still be about to add the team to
//! their tables. Destroying synchronises the team itself. So a split and a destruction cost two barriers.

use std::ptr;
use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::job::mailboxes;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{MAILBOX_PAGES, Members, NewTeam, Team, TeamPlacement, Teams, health};
use ferroshmem_core::wait::flag::reached;
use ferroshmem_layout::{ACTIVE_SETS, MAX_TEAMS, MailboxPage, SHADOW};

use super::team_id::{Claim, FAILED, MOST, claim_id, own_ids, release_id, release_spent};

/// Where members are, of whom this PE is one.
pub(crate) fn placement_of(node: &Node, members: &Members) -> TeamPlacement {
    TeamPlacement::new(members, node.me, &node.job.placement, &node.localities)
}

/// Creates the teams that a call makes, in some of which this PE is: gives their members and numbers of contexts, and
/// whether one of the call's teams may have a list of members, as all PEs of the parent know. Returns a handle for
/// each, 0 for one that this PE is not in; None if no ids are left.
fn create(
    node: &Node,
    teams: &Teams,
    (group, parent): (&Group<'_>, &Team),
    wanted: &[(Option<Members>, i32)],
    may_be_list: bool,
) -> Option<[usize; MOST]> {
    let claim = Claim {
        parent: parent.id,
        used: own_ids(node),
        epochs: &node.job.block().team_epochs,
        splitting: teams.splitting(),
        block: parent.id_block.load(Ordering::Relaxed) as usize,
        wanted: wanted.len(),
        is_member: wanted.iter().any(|(members, _)| members.is_some()),
        has_failures: health::is_on() && (health::has_left_failed() || node.job.control.failures().count() > 0),
    };
    if claim.has_failures {
        quiet_mailboxes(node);
    }
    let claimed = match claim.agree(group) {
        None if health::is_on() && !group.has_failed() => {
            release_spent(node, teams);
            claim.agree(group)?
        }
        claimed => claimed?,
    };
    parent.id_block.store(claimed.block as u32, Ordering::Relaxed);
    // Teams that were left at any point leave flags at any count: these slots begin anew.
    let is_anew = claimed.epochs & FAILED != 0;
    let epochs = if is_anew { 0 } else { claimed.epochs };
    let shares = may_be_list && parent.may_share_tables(node);
    let mut made = [const { None }; MOST];
    for (i, (members, num_contexts)) in wanted.iter().enumerate() {
        let Some(members) = members else { continue };
        let mut new = NewTeam {
            id: claimed.ids[i],
            placement: placement_of(node, members),
            num_contexts: *num_contexts,
            epoch: epochs,
            mailbox_epochs: [epochs; 2],
            since: parent.since(),
        };
        if is_anew {
            clear_slots(node, new.id);
        }
        if shares {
            new.write_tables(node);
        }
        made[i] = Some(new);
    }
    if shares {
        group.sync();
    }
    let handles = made.map(|new| {
        let Some(mut new) = new else { return 0 };
        if shares {
            new.share_tables(node);
        }
        insert(node, teams, new)
    });
    if is_anew || node.transport.internode().is_some() {
        // Other nodes' PEs write to mailboxes that all members have opened, and PEs of this one to cleared slots.
        group.sync();
    }
    Some(handles)
}

/// Creates the team that serves an active set, in the first call on the set. Returns its id, or
/// None if no id is left.
pub fn create_for_active_set(node: &Node, teams: &Teams, set: &Group<'_>) -> Option<usize> {
    if set.size == 1 {
        return None;
    }
    let id = claim_id(node, set, MAX_TEAMS - ACTIVE_SETS..MAX_TEAMS)?;
    let since = teams.world().since();
    let placement = placement_of(node, set.members());
    let mut new = NewTeam { id, placement, num_contexts: 0, epoch: 0, mailbox_epochs: [0; 2], since };
    continue_counts(node, &mut new);
    insert(node, teams, new);
    // After the call a member may use the team at once, so all must have read the counts in its
    // slots before.
    set.sync();
    Some(id)
}

/// The slots continue to count where the last team with this id stopped, past every value that
/// their flags show. All members compare in the same order, so they find the same count even if
/// counts differ by so much that "later" is not transitive.
fn continue_counts(node: &Node, new: &mut NewTeam) {
    let latest = |a: u64, b: u32| if reached(b, a as u32) { b.into() } else { a };
    for member in 0..new.placement.members().size {
        let pe = new.placement.members().pe(member);
        if let Some(index) = node.job.placement.local_index(pe) {
            let own = &node.job.control.team_slot(new.id, index).own;
            new.epoch = latest(new.epoch, own.epoch.load(Ordering::Relaxed));
        }
        if node.transport.internode().is_some() {
            for (page, count) in MAILBOX_PAGES.into_iter().zip(&mut new.mailbox_epochs) {
                let at = mailboxes::team_mailbox_offset(new.id) + page + std::mem::offset_of!(MailboxPage, epoch);
                *count = latest(*count, node.transport.read_mailbox(pe, at) as u32);
            }
        }
    }
}

/// Nothing that this PE has sent to mailboxes of other teams is on the way when they are cleared.
#[cold]
#[inline(never)]
pub(crate) fn quiet_mailboxes(node: &Node) {
    if let Some(internode) = node.transport.internode() {
        internode.fabric().quiet(&internode.context);
    }
}

/// Zeroes this PE's slots of a team that no PE uses yet, and of the team's shadow.
#[cold]
#[inline(never)]
pub(crate) fn clear_slots(node: &Node, id: usize) {
    for id in [id, id + SHADOW] {
        let slot = ptr::from_ref(node.job.control.team_slot(id, node.job.index)).cast_mut();
        // SAFETY: all is atomics, and cells that are accessed by raw pointers; this PE alone writes there until the
        // members have synchronised.
        unsafe { slot.write_bytes(0, 1) };
        if let Some(internode) = node.transport.internode() {
            let mailbox = ptr::from_ref(internode.mailboxes.team_mailbox(node.job.index, id)).cast_mut();
            // SAFETY: as above; nothing that was sent to it is on the way.
            unsafe { mailbox.write_bytes(0, 1) };
        }
    }
}

/// Adds a team to this PE's teams; returns its handle.
pub(crate) fn insert(node: &Node, teams: &Teams, new: NewTeam) -> usize {
    if let Some(internode) = node.transport.internode() {
        internode.open_mailboxes(new.id).unwrap_or_else(|e| fatal("shmem_team_split", e));
    }
    let own = &node.job.control.team_slot(new.id, node.job.index).own;
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
    let handles = create(node, teams, (&group, parent), &[(mine, num_contexts)], parent.members.stride() == 0)?;
    Some(handles[0])
}

/// `shmemx_team_split_list`: a team of these members of the parent, each named once and in range: the handle for this
/// PE (0 outside of the team, or if it is empty), or None if no id is left.
pub fn split_list(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    indices: impl ExactSizeIterator<Item = usize>,
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    if indices.len() == 0 {
        group.sync();
        return Some(0);
    }
    let members = parent.members.pick(indices);
    let is_list = members.stride() == 0;
    let mine = members.index_of(node.me).map(|_| members);
    let handles = create(node, teams, (&group, parent), &[(mine, num_contexts)], is_list)?;
    Some(handles[0])
}

/// `shmemx_team_split_color`: a team of the members that give this PE's color, numbered by their keys, and by their
/// numbers in the parent where those are the same. Returns its handle, 0 if this PE gives no color, or None if no id is
/// left.
pub fn split_color(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    (color, key): (Option<u64>, i64),
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    let mine = [u64::from(color.is_some()), color.unwrap_or(0), key as u64];
    for (word, value) in mine.into_iter().enumerate() {
        group.publish_call_word(word, value);
    }
    group.sync();
    // No member goes past the agreement on ids before all have read the words.
    let members = color.map(|_| {
        let same = (0..group.size).filter(|m| (0..2).all(|word| group.call_word(*m, word) == mine[word]));
        let mut keys: Vec<(i64, usize)> = Vec::new();
        for member in same {
            // In their order mostly; a sort would be kilobytes of code.
            let key = (group.call_word(member, 2) as i64, member);
            keys.insert(keys.partition_point(|other| *other < key), key);
        }
        parent.members.pick(keys.into_iter().map(|(_, member)| member))
    });
    let handles = create(node, teams, (&group, parent), &[(members, num_contexts)], true)?;
    Some(handles[0])
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
    let row = parent.members.strided((y * width) as i32, 1, width.min(n - y * width) as i32);
    let column = parent.members.strided(x as i32, width as i32, (n - x).div_ceil(width) as i32);
    let group = Group::of_team(node, name, parent);
    let [x, y] = num_contexts;
    create(node, teams, (&group, parent), &[(row, x), (column, y)], parent.members.stride() == 0)
}

/// Destroys a team that the program has made, and whose contexts are gone. Collective over its members.
pub fn destroy(node: &Node, teams: &Teams, name: &'static str, team: &Team, synchronised: impl FnOnce()) {
    Group::of_team(node, name, team).sync();
    let (id, has_failed) = (team.id, team.has_failed());
    synchronised();
    team.leave(node);
    teams.remove(id);
    if has_failed {
        health::leave_failed();
        teams.spent[id / 64].fetch_or(1 << (id % 64), Ordering::Relaxed);
    } else {
        release_id(node, id);
    }
}
