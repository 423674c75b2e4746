//! Mailboxes: how members that may be on different nodes exchange tagged messages and, in
//! rendezvous buffers, long messages. A local member's mailbox is written by stores, that of a
//! remote member over the fabric.

use std::sync::atomic::AtomicU64;

use ferroshmem_fabric::TaggedMessage;
use ferroshmem_tuning::{Algorithm, Choice, Collective, Form};

use super::hierarchy::HierarchicalTeam;
use crate::job::mailboxes;
use crate::wait::WaitReason;
use ferroshmem_layout::{MailboxPage, RENDEZVOUS_BYTES, TaggedLine};

/// Which members write to each other's mailboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The leaders of a team's node groups.
    Leaders,
    /// All members of a team.
    All,
}

/// The mailboxes of some members of a team.
#[derive(Debug, Clone, Copy)]
pub(super) struct MailboxChannel<'a> {
    pub(super) team: HierarchicalTeam<'a>,
    pub(super) scope: Scope,
}

impl MailboxChannel<'_> {
    /// World number of a member.
    pub(super) fn pe(&self, member: usize) -> usize {
        match self.scope {
            Scope::Leaders => self.team.hierarchy.leaders[member] as usize,
            Scope::All => self.team.team.members.pe(member),
        }
    }

    /// Epochs that this PE has begun.
    pub(super) fn epoch(&self) -> &AtomicU64 {
        let [leaders, all] = &self.team.hierarchy.epochs;
        match self.scope {
            Scope::Leaders => leaders,
            Scope::All => all,
        }
    }

    fn page(&self, index: usize) -> &'static MailboxPage {
        let HierarchicalTeam { internode, team, .. } = self.team;
        let mailbox = internode.mailboxes.team_mailbox(index, team.id);
        match self.scope {
            Scope::Leaders => &mailbox.leaders,
            Scope::All => &mailbox.all,
        }
    }

    /// The line of a flag of this PE's.
    fn line(&self, (parity, flag): (usize, usize)) -> &'static TaggedLine {
        &self.page(self.team.node.job.index).flags[parity][flag]
    }

    /// Byte offset of a flag in every PE's mailbox.
    fn offset(&self, parity: usize, flag: usize) -> usize {
        let page = match self.scope {
            Scope::Leaders => std::mem::offset_of!(ferroshmem_layout::TeamMailbox, leaders),
            Scope::All => std::mem::offset_of!(ferroshmem_layout::TeamMailbox, all),
        };
        let flags = std::mem::offset_of!(MailboxPage, flags);
        let number = parity * ferroshmem_layout::FLAGS + flag;
        let line = number * size_of::<TaggedLine>();
        mailboxes::team_mailbox_offset(self.team.team.id) + page + flags + line
    }

    /// Writes a message of epoch `number` with a value to a flag of a member, after all puts to that
    /// member.
    ///
    /// # Safety
    /// `value` is readable for `bytes` bytes, at most
    /// [`MESSAGE_BYTES`](ferroshmem_layout::MESSAGE_BYTES),
    /// and the member has read the flag's last value.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn send(
        &self,
        member: usize,
        (parity, flag): (usize, usize),
        number: u32,
        value: *const u8,
        bytes: usize,
    ) {
        if self.team.team.has_failed() {
            // A value that this PE did not get may be part of this one, and the other may not know yet.
            return;
        }
        // SAFETY: the caller promises `bytes` readable bytes, at most those of a message.
        let message = unsafe { TaggedMessage::from_raw(number, value, bytes) };
        let at = self.offset(parity, flag);
        let transport = &self.team.node.transport;
        // SAFETY: `at` is a flag of the mailbox, whose last value the member has read, as the
        // caller promises.
        unsafe { transport.send_message(self.pe(member), at, &message) };
    }

    /// Whether the team has rendezvous buffers.
    pub(super) fn has_rendezvous(&self) -> bool {
        self.scope == Scope::Leaders && self.rendezvous_offset((0, 0)).is_some()
    }

    fn rendezvous_offset(&self, (parity, k): (usize, usize)) -> Option<usize> {
        mailboxes::rendezvous_offset(self.team.team.id, parity, k)
    }

    /// Starts to copy `bytes` bytes, [`RENDEZVOUS_BYTES`] at most, to a rendezvous buffer of a member: the
    /// one of an epoch's parity and a number. The bytes must not change until
    /// [`complete_puts`](Self::complete_puts).
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes until then, and the member has read the buffer's last
    /// content.
    pub(super) unsafe fn put_rendezvous(&self, member: usize, message: (usize, usize), from: *const u8, bytes: usize) {
        debug_assert!(bytes <= RENDEZVOUS_BYTES);
        let at = self.rendezvous_offset(message).expect("the team has rendezvous buffers");
        let transport = &self.team.node.transport;
        // SAFETY: the caller promises `bytes` readable bytes until `complete_puts`, and that the
        // member does not read the buffer, which has room for `RENDEZVOUS_BYTES` bytes.
        unsafe { transport.put_to_mailbox(self.pe(member), at, from, bytes) };
    }

    /// This PE's rendezvous buffer of an epoch's parity and a number, once its flag is posted.
    pub(super) fn rendezvous(&self, message: (usize, usize)) -> *const u8 {
        let HierarchicalTeam { node, internode, .. } = self.team;
        let at = self.rendezvous_offset(message).expect("the team has rendezvous buffers");
        internode.mailboxes.of(node.job.index).wrapping_add(at)
    }

    /// Completes the puts to rendezvous buffers: their sources may change.
    pub(super) fn complete_puts(&self) {
        let internode = self.team.internode;
        internode.fabric().quiet(&internode.context);
    }

    /// Waits until a flag of this PE has the message of epoch `number`, with `bytes` bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn wait(&self, flag: (usize, usize), number: u32, bytes: usize, reason: &WaitReason<'_>) {
        let line = self.line(flag);
        self.team.node.transport.wait_for_flag(reason, || TaggedMessage::has_arrived(&line.words, number, bytes));
    }

    /// As [`wait`](Self::wait), and copies the value.
    ///
    /// # Safety
    /// `value` is writable for `bytes` bytes.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn receive(
        &self,
        flag: (usize, usize),
        number: u32,
        (value, bytes): (*mut u8, usize),
        reason: &WaitReason<'_>,
    ) {
        self.wait(flag, number, bytes, reason);
        // SAFETY: the caller promises that `value` is writable for `bytes` bytes.
        unsafe { TaggedMessage::read(&self.line(flag).words, value, bytes) };
    }

    /// The algorithm among `size` members: the one that the user forces, or by length.
    pub(super) fn choose(&self, size: usize, collective: Collective, bytes: usize) -> Choice {
        /// For longer reductions, Rabenseifner's algorithm moves fewer bytes.
        const LONG: usize = 16 << 10;

        let forced = self.team.node.selection.forced_for(collective);
        let algorithm = match (collective, forced) {
            (Collective::Reduce, Some(forced)) if forced.has_forms() => forced,
            (Collective::Reduce, _) if bytes > LONG && size > 2 => Algorithm::Rabenseifner,
            (Collective::Reduce, _) => Algorithm::RecursiveDoubling,
            _ => Algorithm::Dissemination,
        };
        Choice { algorithm, form: Form::PutGet }
    }
}
