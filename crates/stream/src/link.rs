//! Links between nodes: frames of items, which the source fills, and which a PE of the other node hands on to its
//! node's members.
//!
//! A link has up to 16 frames. Its source writes a frame into the target's memory, and then a line that says how many
//! items are in it. The target hands the items on and says how many frames it has taken. A source that has no frame
//! left takes no more items for that node, and waits for nothing else. A target that finds no room in a ring keeps the
//! frame, and hands on what other links bring; so rings are emptied by those who read them, frames by rings, and no
//! cycle arises.

use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::internode::Internode;
use ferroshmem_fabric::{Context, Fabric, TaggedMessage};
use ferroshmem_layout::TaggedLine;

use super::ring;
use super::shape::{DESTINATION, Shape};

/// In the line of a frame: no further one comes before the stream is used again.
const END: u32 = 1;
/// Bytes of the value of that line.
const VALUE: usize = 2 * size_of::<u32>();

/// How frames reach other nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network<'a> {
    pub fabric: &'a Fabric,
    pub context: &'a Context,
}

/// This PE's end of a link to another node.
#[derive(Debug)]
pub(super) struct OutgoingLink {
    /// World number of the PE there.
    pe: usize,
    /// Offset of its part in its memory for streams.
    part: usize,
    /// The shape of its part, and the link's number there.
    there: (Shape, usize),
    /// The own part, its shape, and the link's number here.
    here: (*mut u8, Shape, usize),
    /// Frames sent.
    sent: u64,
    /// Of these, frames taken, as it was last read.
    taken: u64,
    /// The frame that is being filled, and the items for which it has room.
    filling: (*mut u8, usize),
    /// Destinations of its items.
    destinations: Vec<u16>,
    /// Whether the frame is to be sent although there is room in it.
    pub is_flushed: bool,
    /// Whether this PE pushes no more; then whether the other one was told so.
    pub is_ended: bool,
    has_sent_end: bool,
}

impl OutgoingLink {
    pub(super) fn new((pe, part): (usize, usize), there: (Shape, usize), here: (*mut u8, Shape, usize)) -> Self {
        Self {
            pe,
            part,
            there,
            here,
            sent: 0,
            taken: 0,
            filling: (here.0, here.1.frame_items()),
            destinations: Vec::new(),
            is_flushed: false,
            is_ended: false,
            has_sent_end: false,
        }
    }

    /// Frames that the other PE has taken.
    fn credit(&self) -> u64 {
        let (part, shape, link) = self.here;
        // SAFETY: an aligned word of the own part, which is mapped, and accessed atomically.
        let word = unsafe { AtomicU64::from_ptr(part.add(shape.credit(link)).cast()) };
        word.load(Ordering::Acquire)
    }

    /// Whether there is a frame to be filled.
    #[inline]
    fn has_frame(&mut self) -> bool {
        let frames = self.here.1.frames() as u64;
        if self.sent - self.taken < frames {
            return true;
        }
        self.taken = self.credit();
        self.sent - self.taken < frames
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&mut self) -> bool {
        self.taken = self.credit();
        self.sent == self.taken
    }

    /// Whether this PE has brought all that it had to bring.
    pub(super) fn is_done(&self) -> bool {
        self.has_sent_end
    }

    /// Whether items wait for a call that sends them.
    pub(super) fn is_pending(&self) -> bool {
        !self.destinations.is_empty() || self.is_ended && !self.has_sent_end
    }

    /// Appends an item to the frame for number `to` of the other node; false if there is no room.
    ///
    /// # Safety
    /// `item` is readable for an item's bytes.
    #[inline]
    pub(super) unsafe fn push(&mut self, network: Network<'_>, item: *const u8, to: u16) -> bool {
        let n = self.destinations.len();
        if n == 0 {
            if !self.has_frame() {
                return false;
            }
            let (part, shape, link) = self.here;
            self.filling.0 = part.wrapping_add(shape.outgoing_frame(link, self.sent));
        }
        let (frame, room) = self.filling;
        let size = self.here.1.item;
        // SAFETY: the caller promises the item. The frame has room, and the other PE has taken what was in it, so
        // that no write reads it any more.
        unsafe { ring::copy(item, frame.add(n * size), size) };
        self.destinations.push(to);
        if n + 1 == room {
            self.send(network);
        }
        true
    }

    /// Sends what may be sent: a frame that is full or to be sent all the same, and the end.
    pub(super) fn progress(&mut self, network: Network<'_>, is_steady: bool) {
        if !self.is_pending() || !self.has_frame() {
            return;
        }
        let is_prompt = is_steady && self.is_idle();
        if self.is_flushed || self.is_ended || is_prompt {
            self.send(network);
        }
    }

    /// Sends the frame, which the other PE has room for.
    #[inline(never)]
    fn send(&mut self, Network { fabric, context }: Network<'_>) {
        let (part, shape, link) = self.here;
        let (there, number) = self.there;
        let n = self.destinations.len();
        let frame = shape.outgoing_frame(link, self.sent);
        let after = shape.destinations(n);
        let to = self.part + there.incoming_frame(number, self.sent);
        let line = self.part + there.line(number, self.sent);
        self.sent += 1;
        self.has_sent_end = self.is_ended;
        self.is_flushed = false;
        let flags = if self.is_ended { END } else { 0 };
        let mut value = [0; VALUE];
        value[..4].copy_from_slice(&(n as u32).to_ne_bytes());
        value[4..].copy_from_slice(&flags.to_ne_bytes());
        let message = TaggedMessage::new(self.sent as u32, &value);
        let words = message.words();
        // SAFETY: both places are in the other PE's part, and free; the frame stays as it is until it is taken; the
        // words are copied.
        unsafe {
            if n > 0 {
                let destinations = part.add(frame + after).cast::<u16>();
                destinations.copy_from_nonoverlapping(self.destinations.as_ptr(), n);
                let from = part.add(frame);
                let to = Internode::streams(self.pe, to);
                fabric.put_local_completion(context, to, from, after + n * DESTINATION);
            }
            let to = Internode::streams(self.pe, line);
            fabric.inject(context, to, words.as_ptr().cast(), size_of_val(words));
        }
        self.destinations.clear();
    }

    /// The stream is used again.
    pub(super) fn reset(&mut self) {
        (self.is_ended, self.has_sent_end, self.is_flushed) = (false, false, false);
    }
}

/// This PE's end of a link from another node.
#[derive(Debug)]
pub(super) struct IncomingLink {
    /// World number of the PE there, which is the source of what comes.
    pub pe: usize,
    /// Its number in the team.
    pub source: u32,
    /// Offset of its part in its memory for streams.
    part: usize,
    /// The shape of its part, and the link's number there.
    there: (Shape, usize),
    /// The own part, its shape, and the link's number here.
    here: (*const u8, Shape, usize),
    /// Frames taken.
    taken: u64,
    /// Of these, frames that the other PE was told of.
    credited: u64,
    /// Items of the frame that is being handed on; 0: none is.
    n: usize,
    /// How many of them were handed on.
    at: usize,
    /// Whether this frame is the last.
    is_last: bool,
    /// Whether the last one was taken.
    pub is_ended: bool,
}

/// A frame that no PE sends.
#[derive(Debug)]
pub(super) struct Malformed;

impl IncomingLink {
    pub(super) fn new(
        (pe, source, part): (usize, u32, usize),
        there: (Shape, usize),
        here: (*const u8, Shape, usize),
    ) -> Self {
        Self { pe, source, part, there, here, taken: 0, credited: 0, n: 0, at: 0, is_last: false, is_ended: false }
    }

    /// Hands on what has come, by `give`, which gets the number of a member and an item, and is false if there is no
    /// room for it.
    pub(super) fn progress(
        &mut self,
        network: Network<'_>,
        mut give: impl FnMut(usize, *const u8) -> bool,
    ) -> Result<(), Malformed> {
        let (part, shape, link) = self.here;
        loop {
            if self.n == self.at && !self.open_frame()? {
                break;
            }
            let frame = part.wrapping_add(shape.incoming_frame(link, self.taken));
            let destinations = frame.wrapping_add(shape.destinations(self.n)).cast::<u16>();
            while self.at < self.n {
                // SAFETY: a frame that is there has room for so many items and destinations.
                let to = usize::from(unsafe { destinations.add(self.at).read() });
                if to >= shape.locals {
                    return Err(Malformed);
                }
                if !give(to, frame.wrapping_add(self.at * shape.item)) {
                    self.return_credit(network);
                    return Ok(());
                }
                self.at += 1;
            }
            (self.n, self.at) = (0, 0);
            self.taken += 1;
            self.is_ended |= self.is_last;
        }
        self.return_credit(network);
        Ok(())
    }

    /// Looks for the next frame; false if it is not there. One without items is taken at once.
    fn open_frame(&mut self) -> Result<bool, Malformed> {
        let (part, shape, link) = self.here;
        loop {
            let at = part.wrapping_add(shape.line(link, self.taken));
            // SAFETY: a line of the own part, which is mapped, and whose words are atomic.
            let line = unsafe { &*at.cast::<TaggedLine>() };
            let number = (self.taken + 1) as u32;
            if !TaggedMessage::has_arrived(&line.words, number, VALUE) {
                return Ok(false);
            }
            let value = TaggedMessage::value(&line.words);
            let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| value[at + i]));
            let (n, flags) = (word(0) as usize, word(4));
            if n > shape.frame_items() || flags > END {
                return Err(Malformed);
            }
            self.is_last = flags & END != 0;
            if n > 0 {
                (self.n, self.at) = (n, 0);
                return Ok(true);
            }
            self.taken += 1;
            self.is_ended |= self.is_last;
        }
    }

    /// Tells the other PE how many frames were taken.
    fn return_credit(&mut self, Network { fabric, context }: Network<'_>) {
        if self.credited == self.taken {
            return;
        }
        self.credited = self.taken;
        let (shape, link) = self.there;
        let to = Internode::streams(self.pe, self.part + shape.credit(link));
        // SAFETY: a word of the other PE's part, which is one atomic write; the value is copied.
        unsafe { fabric.inject(context, to, (&raw const self.credited).cast(), size_of::<u64>()) };
    }

    /// The stream is used again.
    pub(super) fn reset(&mut self) {
        (self.is_last, self.is_ended) = (false, false);
    }
}
