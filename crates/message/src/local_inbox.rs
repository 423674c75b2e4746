//! The inboxes of this node's PEs.

use std::sync::atomic::{Ordering, fence};

use ferroshmem_core::node::Node;
use ferroshmem_core::team::health;
use ferroshmem_core::wait::signals::{self, SignalWords};
use ferroshmem_layout::PeBlock;
use ferroshmem_layout::inbox::{Envelope, Inbox, RendezvousControl, cells};

/// The number on this node, and the inbox, of a PE that is of it.
#[inline]
pub(super) fn local_inbox(node: &Node, pe: usize) -> Option<(usize, &'static Inbox)> {
    let index = node.job.placement.local_index(pe)?;
    Some((index, node.job.control.inbox(index)))
}

/// A thing of another PE of the node, as far from this PE's as their numbers on the node are.
///
/// # Safety
/// `own` is number `from` of an array that has a number `to` and stays mapped.
#[inline]
pub(super) unsafe fn of_local_pe<T>(own: &'static T, from: usize, to: usize) -> &'static T {
    let distance = to.wrapping_sub(from) as isize;
    // SAFETY: the caller promises that both are in one array, which stays mapped.
    unsafe { &*(&raw const *own).wrapping_offset(distance) }
}

/// Writes a record to the inbox of the PE of this node with a number there, and wakes it. If it has `more`, which
/// follow at once, one that falls asleep meanwhile is woken by the last of them or by what finds no room: the fence
/// for that would wait until the other core has given all lines of the record.
///
/// # Safety
/// `data` is readable for `envelope.len` bytes.
#[inline]
pub(super) unsafe fn push_to(
    node: &Node,
    (index, inbox): (usize, &Inbox),
    envelope: &Envelope,
    control: Option<&RendezvousControl>,
    data: *const u8,
    more: bool,
) -> bool {
    if health::is_on() {
        // SAFETY: the caller promises that `data` is readable for as many bytes as the envelope says.
        return unsafe { push_counted(node, (index, inbox), envelope, control, data) };
    }
    // SAFETY: as above.
    let push = || unsafe { inbox.push(envelope, control, data) };
    let is_pushed = cells::push_or_want(inbox, push);
    let signals = &node.job.control.pe_block(index).signals;
    if !(is_pushed && more) || signals.has_sleepers() {
        signals::notify(signals);
    }
    is_pushed
}

/// Adds to the threads of this PE that write to inboxes. In a resilient job, the owner of an inbox learns by them
/// whether what is reserved there is still to be finished. Another thread than the only one costs an atomic addition.
#[inline(always)]
pub(super) fn count_writer(block: &PeBlock, change: u32) {
    let writers = &block.writers;
    if block.is_threaded() {
        writers.fetch_add(change, Ordering::Release);
    } else {
        writers.store(writers.load(Ordering::Relaxed).wrapping_add(change), Ordering::Release);
    }
    // Who sees the room that is reserved next sees the count.
    fence(Ordering::Release);
}

/// As [`push_to`], in a resilient job.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn push_counted(
    node: &Node,
    (index, inbox): (usize, &Inbox),
    envelope: &Envelope,
    control: Option<&RendezvousControl>,
    data: *const u8,
) -> bool {
    let block = node.job.block();
    count_writer(block, 1);
    // SAFETY: the caller promises that `data` is readable for as many bytes as the envelope says.
    let is_pushed = cells::push_or_want(inbox, || unsafe { inbox.push(envelope, control, data) });
    count_writer(block, u32::MAX);
    signals::notify(&node.job.control.pe_block(index).signals);
    is_pushed
}

/// This PE's inbox has room again.
#[cold]
pub(super) fn room(node: &Node, inbox: &Inbox) {
    if cells::is_room_wanted(inbox) {
        for pe in node.job.placement.local_pes() {
            node.transport.notify(*pe as usize);
        }
    }
}
