//! Requests: sends and receives that are under way, or complete and not yet waited for.

use ferroshmem_fabric::Exposure;
use ferroshmem_layout::inbox::{Envelope, Kind};

/// The handle of a send that is complete at once.
pub const SENT: u64 = 1;

/// What a receive, a probe, a wait or a test says of a message: `shmemx_msg_status_t`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// The sender's number in the team.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Bytes of the message, which may be more than were received.
    pub bytes: usize,
    /// 0, or [`TRUNCATED`](ferroshmem_core::constants::MSG_TRUNCATED).
    pub error: i32,
}

impl Status {
    /// Of a message, for a receive of at most `room` bytes.
    pub fn of(envelope: &Envelope, room: u64) -> Self {
        let error = if envelope.bytes > room { ferroshmem_core::constants::MSG_TRUNCATED } else { 0 };
        Self { source: envelope.source as i32, tag: envelope.tag, bytes: envelope.bytes as usize, error }
    }
}

/// Which messages a receive or a probe takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Id of the team.
    pub team: u16,
    /// The sender's number in the team; negative: any.
    pub source: i32,
    /// The tag; negative: any.
    pub tag: i32,
}

impl Pattern {
    /// Whether a message is one of these.
    #[inline]
    pub fn takes(&self, message: &Envelope) -> bool {
        self.team == message.team
            && (self.source < 0 || self.source as u32 == message.source)
            && (self.tag < 0 || self.tag == message.tag)
    }
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A receive that no message has matched.
    Posted,
    /// A send that waits for room in the receiver's inbox, or for the receiver.
    Sent,
    /// A send that writes its data to the receiver's inbox, fragment by fragment.
    Sending,
    /// A receive of data that the sender writes.
    Receiving,
    /// Complete.
    Complete,
}

/// A request.
#[derive(Debug)]
pub struct Request {
    /// How far it is.
    pub phase: Phase,
    /// Whether it is a send.
    pub is_send: bool,
    /// Id of the team.
    pub team: u16,
    /// World number of the other PE; negative: any.
    pub peer: i32,
    /// What is sent, or where the message goes.
    pub buffer: *mut u8,
    /// Bytes there.
    pub bytes: u64,
    /// Bytes sent or received.
    pub done: u64,
    /// Bytes that will be.
    pub all: u64,
    /// Bytes that the sender may send until it hears of more, if they go in fragments.
    pub allowed: u64,
    /// The other PE's request.
    pub reply: u64,
    /// Lets the receiver, of another node, read what is sent.
    pub exposure: Option<Exposure>,
    /// Of the message; of a receive that none has matched, the tag that it takes.
    pub status: Status,
}

/// The requests of a PE.
#[derive(Debug, Default)]
pub struct Requests {
    slots: Vec<(u32, Option<Request>)>,
    free: Vec<u32>,
}

impl Requests {
    /// Adds a request; its handle, which is not 0 or 1.
    pub fn add(&mut self, request: Request) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, slot) = &mut self.slots[index as usize];
        // The lowest handles have meanings of their own.
        *generation = generation.wrapping_add(1).max(1);
        *slot = Some(request);
        u64::from(*generation) << 32 | u64::from(index)
    }

    /// The request of a handle, if it is live.
    #[inline]
    pub fn get(&mut self, handle: u64) -> Option<&mut Request> {
        let (generation, slot) = self.slots.get_mut(handle as u32 as usize)?;
        slot.as_mut().filter(|_| u64::from(*generation) == handle >> 32)
    }

    /// Ends a live request.
    pub fn remove(&mut self, handle: u64) {
        self.slots[handle as u32 as usize].1 = None;
        self.free.push(handle as u32);
    }

    /// The handle of the first request from a place on that is under way and of which something is so, and the next
    /// place.
    pub fn find(&self, from: usize, is_so: impl Fn(&Request) -> bool) -> Option<(u64, usize)> {
        let mut slots = self.slots.iter().enumerate().skip(from);
        slots.find_map(|(index, (generation, slot))| {
            let request = slot.as_ref().filter(|request| request.phase != Phase::Complete)?;
            is_so(request).then(|| (u64::from(*generation) << 32 | index as u64, index + 1))
        })
    }

    /// The requests that are under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Request> {
        let live = self.slots.iter().filter_map(|(_, slot)| slot.as_ref());
        live.filter(|request| request.phase != Phase::Complete)
    }
}

/// Whom a send or a receive is for: a PE and a team, as this PE sees them.
#[derive(Debug, Clone, Copy)]
pub struct TeamPeer {
    /// Id of the team.
    pub team: u16,
    /// This PE's number in the team.
    pub me: usize,
    /// World number of the other PE; negative: any.
    pub peer: i32,
}

impl TeamPeer {
    /// The envelope of a message.
    #[inline]
    pub(super) fn envelope(&self, is_eager: bool, tag: i32, bytes: u64) -> Envelope {
        Envelope {
            kind: if is_eager { Kind::Eager } else { Kind::Ready },
            team: self.team,
            source: self.me as u32,
            tag,
            len: if is_eager { bytes as u32 } else { 0 },
            bytes,
        }
    }
}

/// A blocking receive that looks for its message.
#[derive(Debug)]
pub(crate) struct Receive {
    pub pattern: Pattern,
    /// World number of the sender; negative: any.
    pub peer: i32,
    pub buffer: *mut u8,
    pub bytes: u64,
    /// Of its message, which it has received.
    pub(super) status: Option<Status>,
    /// The request of its message, of which the sender keeps the data.
    pub(super) handle: u64,
}

impl Receive {
    /// Whether it has its message, or waits for the data of it.
    pub(super) fn has_matched(&self) -> bool {
        self.status.is_some() || self.handle != 0
    }
}

/// A handle names no request: it has ended, or there never was one.
#[derive(Debug)]
pub struct Dead;

/// The status of the request of a handle, which ends if it is complete.
pub fn take(requests: &mut Requests, handle: u64) -> Result<Option<Status>, Dead> {
    if handle == SENT {
        return Ok(Some(Status::default()));
    }
    let request = requests.get(handle).ok_or(Dead)?;
    if request.phase != Phase::Complete {
        return Ok(None);
    }
    let status = request.status;
    requests.remove(handle);
    Ok(Some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_of_requests_when_a_place_has_been_used_often() {
        let mut requests = Requests { slots: vec![(u32::MAX, None), (u32::MAX, None)], free: vec![1, 0] };
        for _ in 0..2 {
            let request = Request {
                phase: Phase::Complete,
                is_send: true,
                team: 0,
                peer: 0,
                buffer: std::ptr::null_mut(),
                bytes: 0,
                done: 0,
                all: 0,
                allowed: 0,
                reply: 0,
                exposure: None,
                status: Status::default(),
            };
            let handle = requests.add(request);
            assert!(handle > SENT && requests.get(handle).is_some(), "{handle}");
        }
    }
}
