//! Groups of teams that have several parts.

use std::sync::atomic::{AtomicU64, Ordering};

use super::mail::{Mail, Page};
use super::{Group, Link, Traffic};
use crate::job::mailboxes;
use crate::job::region::{self, MailPage, WaitKind};
use crate::node::Node;
use crate::team::{Span, Team};
use crate::transport::internode::Internode;
use crate::wait::POLICY;

/// A team of several parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spanning<'a> {
    pub(super) node: &'a Node,
    pub(super) link: &'static Internode,
    pub(super) team: &'a Team,
    pub(super) span: &'a Span,
    kind: WaitKind,
}

/// The groups within a team of several parts.
#[derive(Debug)]
pub struct Across<'a> {
    /// The parts.
    pub span: &'a Span,
    /// This PE's part.
    pub near: Group<'a>,
    /// The parts' leaders, if this PE is one.
    pub leaders: Option<Group<'a>>,
    /// All members, by mail.
    pub all: Group<'a>,
}

impl<'a> Spanning<'a> {
    /// What a wait for other members is reported as.
    pub(super) fn wait(&self) -> (WaitKind, usize, u32, u32) {
        let own = &self.team.slot(self.node, self.team.near_index).own;
        let entered = own.entered.load(Ordering::Relaxed);
        (self.kind, 0, self.team.id as u32, entered)
    }

    fn page(&self) -> &'static MailPage {
        &self
            .link
            .mailboxes
            .mail(self.node.job.index, self.team.id)
            .all
    }

    /// This PE's word for the others in epochs of a parity.
    pub(super) fn note(&self, parity: usize) -> &'static AtomicU64 {
        &self.page().note[parity]
    }

    /// Word `i` of what this PE shows of its call.
    pub(super) fn call_word(&self, i: usize) -> &'static AtomicU64 {
        &self.page().call[i]
    }

    /// What a member's note says.
    pub(super) fn read_note(&self, member: usize, parity: usize) -> u64 {
        let at = std::mem::offset_of!(MailPage, note) + parity * size_of::<u64>();
        self.read(member, at)
    }

    /// Word `i` of what a member shows of its call.
    pub(super) fn read_call_word(&self, member: usize, i: usize) -> u64 {
        let at = std::mem::offset_of!(MailPage, call) + i * size_of::<u64>();
        self.read(member, at)
    }

    fn read(&self, member: usize, at: usize) -> u64 {
        let page = std::mem::offset_of!(region::Mail, all);
        let at = mailboxes::mail_offset(self.team.id) + page + at;
        self.node
            .transport
            .read_mailbox(self.team.members.pe(member), at)
    }

    fn by_mail(&self, name: &'static str, page: Page, me: usize, size: usize) -> Group<'a> {
        Group {
            name,
            me,
            size,
            reproducible: self.node.settings.reproducible,
            crowded: POLICY.oversubscribed(),
            members: self.team.members,
            link: Link::Mail(Mail {
                spanning: *self,
                page,
            }),
            traffic: Traffic::default(),
        }
    }
}

impl<'a> Group<'a> {
    /// Out of line, as all that is for several nodes: calls within one are not to pay for it.
    #[cold]
    #[inline(never)]
    pub(super) fn spanning(
        node: &'a Node,
        name: &'static str,
        team: &'a Team,
        span: &'a Span,
        kind: WaitKind,
    ) -> Self {
        Self {
            name,
            me: team.index,
            size: team.members.size,
            reproducible: node.settings.reproducible,
            crowded: POLICY.oversubscribed(),
            members: team.members,
            link: Link::Span(Spanning {
                node,
                link: node.transport.remote(),
                team,
                span,
                kind,
            }),
            traffic: Traffic::default(),
        }
    }

    /// The groups within this one, if it has several parts.
    #[inline]
    pub fn across(&self) -> Option<Across<'a>> {
        match &self.link {
            Link::Span(spanning) => Some(self.across_parts(*spanning)),
            _ => None,
        }
    }

    fn across_parts(&self, spanning: Spanning<'a>) -> Across<'a> {
        let Spanning {
            node,
            team,
            span,
            kind,
            ..
        } = spanning;
        let leads = team.near_index == 0;
        let parts = span.leaders.len();
        Across {
            span,
            near: Group::of_part(node, self.name, team, kind),
            leaders: leads.then(|| spanning.by_mail(self.name, Page::Leaders, span.part, parts)),
            all: spanning.by_mail(self.name, Page::All, team.index, team.members.size),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sync_parts(&self) {
        if let Some(across) = self.across() {
            across.sync();
        }
    }

    /// Bytes of a value that a lane takes at most.
    #[inline]
    pub fn lane_bytes(&self) -> usize {
        match &self.link {
            Link::Mail(_) => region::NOTE_BYTES,
            _ => region::LANE_BYTES,
        }
    }

    /// Whether members can send each other long messages ([`Epoch::land`](super::Epoch::land)).
    #[inline]
    pub fn has_landing(&self) -> bool {
        matches!(&self.link, Link::Mail(mail) if mail.has_landing())
    }

    /// Whether the members' arrays can be reached by pointers.
    #[inline]
    pub fn is_near(&self) -> bool {
        matches!(self.link, Link::Slots(_))
            || matches!(&self.link, Link::WorkArray(array) if array.transport.internode().is_none())
    }
}

impl Across<'_> {
    /// Synchronises all members and their memory.
    pub fn sync(&self) {
        self.near.sync();
        if let Some(leaders) = &self.leaders {
            leaders.sync();
        }
        if self.near.size > 1 {
            self.near.sync();
        }
    }
}
