//! How the parts of a team that is more than one reach each other: by mail.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Members, Parts};
use crate::job::region::Mail;
use crate::transport::internode::Internode;

/// The parts of a team.
#[derive(Debug)]
pub struct Span {
    /// The parts.
    pub parts: Parts,
    /// This PE's part.
    pub part: usize,
    /// World numbers of the leaders, by part.
    pub leaders: Vec<u32>,
    /// Epochs between leaders, and between all members, that this PE has begun.
    pub epochs: [AtomicU32; 2],
    /// Epochs of the whole team in which members note something.
    pub notes: AtomicU32,
}

impl Span {
    /// The parts of `members`, the mail counted on from `epochs`.
    pub fn new(parts: Parts, part: usize, epochs: [u32; 2], members: Members) -> Self {
        let leaders = parts.all().iter();
        let leaders = leaders
            .map(|p| members.pe(p.leader as usize) as u32)
            .collect();
        Self {
            parts,
            part,
            leaders,
            epochs: epochs.map(AtomicU32::new),
            notes: AtomicU32::new(0),
        }
    }

    /// Number in the team of member `index` of a part.
    pub fn member(&self, part: usize, index: usize) -> usize {
        self.parts.member(part, index)
    }

    /// Leaves the mail to the next team with this id.
    pub fn leave(&self, link: &Internode, index: usize, id: usize) {
        let mail = link.mailboxes.mail(index, id);
        for (page, epoch) in [&mail.leaders, &mail.all].into_iter().zip(&self.epochs) {
            page.epoch
                .store(epoch.load(Ordering::Relaxed), Ordering::Release);
        }
    }
}

/// Where the pages of a team's mail are in it.
pub(crate) const PAGES: [usize; 2] = [
    std::mem::offset_of!(Mail, leaders),
    std::mem::offset_of!(Mail, all),
];

/// The counts that PE `index` of this node has left the mail of team `id` at.
pub(crate) fn epochs(link: &Internode, index: usize, id: usize) -> [u32; 2] {
    let mail = link.mailboxes.mail(index, id);
    [&mail.leaders, &mail.all].map(|page| page.epoch.load(Ordering::Acquire))
}
