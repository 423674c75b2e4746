//! How members that may be on different nodes reach each other: tagged and long messages in their
//! mailboxes, written by stores on a node and over the fabric between nodes.

use std::sync::atomic::AtomicU32;

use ferroshmem_fabric::TaggedMessage;

use super::span::Spanning;
use crate::choice::{Algorithm, Choice, Collective, Form};
use crate::job::mailboxes;
use crate::job::region::{LANDING, MailLane, MailPage};
use crate::transport::internode::Internode;
use crate::wait::WaitReason;

/// Which members write to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The leaders of a team's parts.
    Leaders,
    /// All members of a team.
    All,
}

/// The mail between some members of a team.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mail<'a> {
    pub(super) spanning: Spanning<'a>,
    pub(super) page: Page,
}

impl Mail<'_> {
    /// World number of a member.
    pub(super) fn pe(&self, member: usize) -> usize {
        match self.page {
            Page::Leaders => self.spanning.span.leaders[member] as usize,
            Page::All => self.spanning.team.members.pe(member),
        }
    }

    /// Epochs begun.
    pub(super) fn epoch(&self) -> &AtomicU32 {
        let [leaders, all] = &self.spanning.span.epochs;
        match self.page {
            Page::Leaders => leaders,
            Page::All => all,
        }
    }

    fn page_of(&self, index: usize) -> &'static MailPage {
        let Spanning { link, team, .. } = self.spanning;
        let mail = link.mailboxes.mail(index, team.id);
        match self.page {
            Page::Leaders => &mail.leaders,
            Page::All => &mail.all,
        }
    }

    /// This PE's own lane.
    fn lane(&self, (parity, lane): (usize, usize)) -> &'static MailLane {
        &self.page_of(self.spanning.node.job.index).lanes[parity][lane]
    }

    /// Where a lane is in every PE's mailbox.
    fn offset(&self, parity: usize, lane: usize) -> usize {
        let page = match self.page {
            Page::Leaders => std::mem::offset_of!(crate::job::region::Mail, leaders),
            Page::All => std::mem::offset_of!(crate::job::region::Mail, all),
        };
        let lanes = std::mem::offset_of!(MailPage, lanes);
        let number = parity * crate::job::region::LANES + lane;
        let lane = number * size_of::<MailLane>();
        mailboxes::mail_offset(self.spanning.team.id) + page + lanes + lane
    }

    /// Shows `number` with a value in a lane of a member, after all puts to that member.
    ///
    /// # Safety
    /// `value` is valid for `bytes` bytes, [`NOTE_BYTES`](crate::job::region::NOTE_BYTES) at most,
    /// and nobody reads the lane's last value any more.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn send(
        &self,
        member: usize,
        (parity, lane): (usize, usize),
        number: u32,
        value: *const u8,
        bytes: usize,
    ) {
        let Spanning { node, link, .. } = self.spanning;
        let pe = self.pe(member);
        // SAFETY: the caller's promise.
        let message = unsafe { TaggedMessage::from_raw(number, value, bytes) };
        if let Some(index) = node.job.placement.index_here(pe) {
            message.store(&self.page_of(index).lanes[parity][lane].words);
            return node.transport.notify(pe);
        }
        let at = Internode::mailbox(pe, self.offset(parity, lane));
        let words = message.words();
        // SAFETY: live words; the lane has room, and mailboxes are the library's.
        unsafe {
            link.fabric()
                .inject(&link.context, at, words.as_ptr().cast(), size_of_val(words));
        }
    }

    /// Whether there is room for long messages.
    pub(super) fn has_landing(&self) -> bool {
        self.page == Page::Leaders && self.landing((0, 0)).is_some()
    }

    fn landing(&self, (parity, k): (usize, usize)) -> Option<usize> {
        mailboxes::landing_offset(self.spanning.team.id, parity, k)
    }

    /// Starts a message, of an epoch's parity and number, to a member: `bytes` bytes, [`LANDING`]
    /// at most, which stay as they are until [`settle`](Self::settle).
    ///
    /// # Safety
    /// `from` is valid for `bytes` bytes until then, and nobody reads the last message of
    /// this parity and number any more.
    pub(super) unsafe fn land(
        &self,
        member: usize,
        message: (usize, usize),
        from: *const u8,
        bytes: usize,
    ) {
        debug_assert!(bytes <= LANDING);
        let Spanning { node, link, .. } = self.spanning;
        let pe = self.pe(member);
        let at = self.landing(message).expect("the team has room");
        // SAFETY: the caller's promise; mailboxes are the library's.
        unsafe {
            match node.job.placement.index_here(pe) {
                Some(index) => link
                    .mailboxes
                    .of(index)
                    .add(at)
                    .copy_from_nonoverlapping(from, bytes),
                None => link.fabric().put_local_completion(
                    &link.context,
                    Internode::mailbox(pe, at),
                    from,
                    bytes,
                ),
            }
        }
    }

    /// A message that has come: its lane is posted.
    pub(super) fn landed(&self, message: (usize, usize)) -> *const u8 {
        let Spanning { node, link, .. } = self.spanning;
        let at = self.landing(message).expect("the team has room");
        link.mailboxes.of(node.job.index).wrapping_add(at)
    }

    /// Completes the messages started: what they were sent from may be changed.
    pub(super) fn settle(&self) {
        let link = self.spanning.link;
        link.fabric().quiet(&link.context);
    }

    /// Waits until a lane of this PE shows `number`, with a value of `bytes` bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn wait(
        &self,
        lane: (usize, usize),
        number: u32,
        bytes: usize,
        what: &WaitReason<'_>,
    ) {
        let lane = self.lane(lane);
        self.spanning.node.transport.wait_for_flag(what, || {
            TaggedMessage::has_arrived(&lane.words, number, bytes)
        });
    }

    /// As [`wait`](Self::wait), and copies the value.
    ///
    /// # Safety
    /// `value` is valid for `bytes` bytes.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn receive(
        &self,
        lane: (usize, usize),
        number: u32,
        (value, bytes): (*mut u8, usize),
        what: &WaitReason<'_>,
    ) {
        self.wait(lane, number, bytes, what);
        // SAFETY: the caller's promise.
        unsafe { TaggedMessage::read(&self.lane(lane).words, value, bytes) };
    }

    /// The algorithm between so many members: the user's, or by length.
    pub(super) fn choose(&self, size: usize, collective: Collective, bytes: usize) -> Choice {
        /// Longer reductions move less by Rabenseifner's algorithm.
        const LONG: usize = 16 << 10;

        let forced = self.spanning.node.selection.forced_for(collective);
        let algorithm = match (collective, forced) {
            (Collective::Reduce, Some(forced)) if forced.has_both_forms() => forced,
            (Collective::Reduce, _) if bytes > LONG && size > 2 => Algorithm::Rabenseifner,
            (Collective::Reduce, _) => Algorithm::RecursiveDoubling,
            _ => Algorithm::Dissemination,
        };
        Choice {
            algorithm,
            form: Form::PutGet,
        }
    }
}
