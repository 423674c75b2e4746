//! Teams of the members that are left, in a job that goes on without PEs that fail. Their ids are found in the bitmaps
//! of a [split](super::split), but by agreements, which go on while members fail: on 32 ids at once, and on whether all
//! have claimed the lowest one that is free.

use std::sync::atomic::Ordering;

use ferroshmem_core::constants::PREDEFINED_TEAMS;
use ferroshmem_core::group::Group;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Health, NewTeam, Team, Teams};

use super::split::{clear_slots, insert, placement_of, quiet_mailboxes};
use super::team_id::{BLOCK, TEAM_WORDS, own_ids, release_id, release_spent};

/// `shmemx_team_shrink`: a team of the members that are left, of those of `parent`, in their order. Returns its
/// handle, or None if no id is left. All survivors get the same result.
#[cold]
#[inline(never)]
pub fn shrink(node: &Node, teams: &Teams, name: &'static str, (parent, health): (&Team, &Health)) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    let used = own_ids(node);
    let first = parent.id_block.load(Ordering::Relaxed) as usize * BLOCK;
    for i in 0..2 * TEAM_WORDS {
        if i == TEAM_WORDS {
            release_spent(node, teams);
        }
        let word = (first + i) % TEAM_WORDS;
        for half in 0..2 {
            let shift = 32 * half;
            let reserved = if word == 0 { (1 << PREDEFINED_TEAMS) - 1 } else { 0 };
            quiet_mailboxes(node);
            let mut free = !((used.words[word].load(Ordering::Acquire) | reserved) >> shift) as u32;
            loop {
                free = group.agree(free).value;
                if free == 0 {
                    break;
                }
                let id = word * 64 + shift + free.trailing_zeros() as usize;
                let bit = 1 << (id % 64);
                // Another thread of this PE may have claimed it since.
                let is_mine = used.words[id / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0;
                if is_mine {
                    clear_slots(node, id);
                }
                let agreed = group.agree(is_mine.into());
                if agreed.value == 1 {
                    let since = agreed.failures;
                    let is_left = |member: &usize| !health.is_failed(*member, since);
                    let members = parent.members.pick((0..group.size).filter(is_left));
                    // A message to a mailbox may come after the agreements: it shows an epoch of a team with fewer
                    // failures.
                    let mailbox_epochs = [(since as u64) << 20; 2];
                    let placement = placement_of(node, &members);
                    let mut new = NewTeam { id, placement, num_contexts: 0, epoch: 0, mailbox_epochs, since };
                    if parent.may_share_tables(node) {
                        new.write_tables(node);
                        group.agree(1);
                        new.share_tables(node);
                    }
                    return Some(insert(node, teams, new));
                }
                if is_mine {
                    release_id(node, id);
                }
                free &= free - 1;
            }
        }
    }
    None
}
