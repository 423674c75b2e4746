//! The model of the network, and PEs that it joins; and a network that never answers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use fastrand::Rng;

use crate::am::channel::{Limits, MessageItem, PendingResult};
use crate::am::fault::{Fault, Reason};
use crate::am::messages::{ActiveMessages, Flush, Urgency};
use crate::am::network::Network;
use crate::completion::{CompletionCounter, Pending};
use crate::encoding::message::HEADER;
use crate::encoding::request::{Request, SegmentAddress};
use crate::{AtomicOp, Op, TaggedMessage, Width};

pub(super) const WORDS: usize = 16;

/// From one PE to another, and what is under way there.
type Wire = ((usize, usize), VecDeque<Vec<u8>>);

/// What is under way, and the memory of all PEs.
pub(super) struct World {
    random: RefCell<Rng>,
    /// Messages from one PE to another, in order.
    pub(super) wires: RefCell<Vec<Wire>>,
    pub(super) memory: Vec<Box<[Cell<u64>]>>,
    /// Records that have arrived: from, to, bytes.
    pub(super) records: RefCell<Vec<(usize, usize, Vec<u8>)>>,
    /// Messages under way at most, from one PE to another.
    room: usize,
    /// There is no room at times.
    refuses: bool,
    /// Writes into slots are taken, and go nowhere.
    pub(super) has_slots: bool,
    dead: RefCell<Vec<usize>>,
    /// A PE, and another that it has lost.
    lost: RefCell<Vec<(usize, usize)>>,
    /// Messages so far, and most of them that were under way to one PE.
    pub(super) n: Cell<usize>,
    pub(super) most: Cell<usize>,
}

/// One PE's endpoint of it.
pub(super) struct Endpoint<'a> {
    world: &'a World,
    me: usize,
}

impl World {
    /// A number below `n` that looks random.
    pub(super) fn below(&self, n: usize) -> usize {
        self.random.borrow_mut().usize(..n)
    }

    pub(super) fn new(n: usize, seed: u64, room: usize) -> World {
        World {
            random: RefCell::new(Rng::with_seed(seed)),
            wires: RefCell::default(),
            memory: (0..n).map(|_| (0..WORDS).map(|_| Cell::new(0)).collect()).collect(),
            records: RefCell::default(),
            room,
            refuses: true,
            has_slots: false,
            dead: RefCell::default(),
            lost: RefCell::default(),
            n: Cell::new(0),
            most: Cell::new(0),
        }
    }

    /// Of two PEs, with room at all times.
    pub(super) fn roomy() -> World {
        World { refuses: false, ..World::new(2, 1, usize::MAX) }
    }

    /// A PE ends: what is under way to it is gone, what comes from it arrives in part.
    pub(super) fn kill(&self, pe: usize) {
        if self.is_dead(pe) {
            return;
        }
        self.dead.borrow_mut().push(pe);
        let mut wires = self.wires.borrow_mut();
        for ((from, to), queue) in wires.iter_mut() {
            if *from == pe {
                queue.truncate(self.below(queue.len() + 1));
            }
            if *to == pe {
                queue.clear();
            }
        }
        wires.retain(|(_, queue)| !queue.is_empty());
    }

    pub(super) fn is_dead(&self, pe: usize) -> bool {
        self.dead.borrow().contains(&pe)
    }

    pub(super) fn is_lost(&self, me: usize, pe: usize) -> bool {
        self.lost.borrow().contains(&(me, pe))
    }

    /// Takes a message out of a wire: at times the second, as if two threads had received it and its
    /// predecessor.
    pub(super) fn deliver(&self) -> Option<(usize, Vec<u8>)> {
        let mut wires = self.wires.borrow_mut();
        if wires.is_empty() {
            return None;
        }
        let which = self.below(wires.len());
        let ((_, to), queue) = &mut wires[which];
        let to = *to;
        let ahead = usize::from(queue.len() > 1 && self.below(4) == 0);
        let message = queue.remove(ahead).expect("no wire is empty");
        if queue.is_empty() {
            wires.swap_remove(which);
        }
        Some((to, message))
    }
}

impl Network for Endpoint<'_> {
    fn send(&self, pe: usize, message: &mut Vec<u8>, _: bool) -> Result<bool, Reason> {
        if self.world.is_lost(self.me, pe) {
            return Ok(true);
        }
        if self.world.is_dead(pe) || self.world.refuses && self.world.below(5) == 0 {
            return Ok(false);
        }
        let mut wires = self.world.wires.borrow_mut();
        let place = match wires.iter().position(|(pair, _)| *pair == (self.me, pe)) {
            Some(place) => place,
            None => {
                wires.push(((self.me, pe), VecDeque::new()));
                wires.len() - 1
            }
        };
        if wires[place].1.len() >= self.world.room {
            return Ok(false);
        }
        wires[place].1.push_back(std::mem::take(message));
        let to_it = wires.iter().filter(|((_, to), _)| *to == pe);
        let under_way = to_it.map(|(_, queue)| queue.len()).sum();
        self.world.most.set(self.world.most.get().max(under_way));
        self.world.n.set(self.world.n.get() + 1);
        Ok(true)
    }

    fn write(&self, _: usize, _: usize, _: &TaggedMessage, _: bool) -> Result<bool, Reason> {
        Ok(self.world.has_slots)
    }

    fn address(&self, segment: usize, offset: usize, len: usize) -> Option<*mut u8> {
        let memory = &self.world.memory[self.me];
        let is_within = segment == 0 && offset + len <= size_of_val(&**memory);
        is_within.then(|| memory.as_ptr().cast::<u8>().cast_mut().wrapping_add(offset))
    }

    fn deliver(&self, pe: usize, record: &[u8]) -> bool {
        let mut records = self.world.records.borrow_mut();
        records.push((pe, self.me, record.to_vec()));
        true
    }

    fn count_sent(&self, _: usize) {}

    fn count_completed(&self, _: usize, _: u32) {}

    fn completed(&self, _: usize) -> u32 {
        0
    }

    fn has_failed(&self, _: usize, _: Instant) -> bool {
        false
    }
}

/// PEs that are to make requests, each a number of them, to PEs of their pattern's choice.
pub(super) struct Job<'a> {
    world: &'a World,
    pub(super) pes: Vec<ActiveMessages>,
    pub(super) pending: Vec<Pending>,
}

impl<'a> Job<'a> {
    pub(super) fn new(world: &'a World, limits: Limits) -> Job<'a> {
        let n = world.memory.len();
        Job {
            world,
            pes: (0..n).map(|pe| ActiveMessages::new(pe, n, limits)).collect(),
            pending: (0..n).map(|_| Pending::default()).collect(),
        }
    }

    pub(super) fn endpoint(&self, me: usize) -> Endpoint<'a> {
        Endpoint { world: self.world, me }
    }

    pub(super) fn counter(&self, pe: usize) -> CompletionCounter {
        self.pending[pe].counter()
    }

    /// A PE polls: a message of any PE is delivered, and all send what they have.
    pub(super) fn poll(&self) -> Result<(), Fault> {
        if let Some((to, message)) = self.world.deliver() {
            self.pes[to].receive(&self.endpoint(to), &message)?;
        }
        for (me, pe) in self.pes.iter().enumerate().filter(|(me, _)| !self.world.is_dead(*me)) {
            let flush = [Flush::All, Flush::Prompt, Flush::Replies][self.world.below(3)];
            pe.flush(&self.endpoint(me), flush)?;
        }
        Ok(())
    }

    /// A PE loses another.
    pub(super) fn lose(&self, me: usize, pe: usize) {
        self.world.lost.borrow_mut().push((me, pe));
        self.pes[me].lose(pe);
    }

    /// Requests something, polling until there is room.
    pub(super) fn request(&self, me: usize, pe: usize, item: (MessageItem<'_>, SegmentAddress), result: *mut u8) {
        let counter = self.counter(me);
        let awaited = PendingResult { counter, result };
        let urgency = [Urgency::Now, Urgency::Usual, Urgency::Usual][self.world.below(3)];
        let endpoint = self.endpoint(me);
        self.bounded(|| {
            let appended = self.pes[me].append(&endpoint, pe, item, awaited, urgency);
            appended.unwrap()
        });
    }

    pub(super) fn quiet(&self) {
        self.bounded(|| self.pending.iter().all(Pending::is_complete));
    }

    /// Polls until it is done. A number of polls that never suffices means that PEs wait for each other.
    pub(super) fn bounded(&self, mut done: impl FnMut() -> bool) {
        let polls = 1_000_000;
        let is_done = (0..polls).any(|_| {
            done() || {
                self.poll().unwrap();
                false
            }
        });
        assert!(is_done, "nothing comes");
    }

    /// One of two PEs sends a record to the other, which executes it; messages sent in the end.
    pub(super) fn send(&self, from: usize, urgency: Urgency) -> usize {
        self.send_parts(from, [&[1], &[2]], urgency)
    }

    pub(super) fn send_parts(&self, from: usize, parts: [&[u8]; 2], urgency: Urgency) -> usize {
        assert!(self.append(from, (MessageItem::Record(parts), (0, 0)), std::ptr::null_mut(), urgency));
        self.arrive();
        self.world.n.get()
    }

    /// One of two PEs requests something of the other, if there is room.
    pub(super) fn append(
        &self,
        me: usize,
        item: (MessageItem<'_>, SegmentAddress),
        result: *mut u8,
        urgency: Urgency,
    ) -> bool {
        let awaited = PendingResult { counter: self.counter(me), result };
        self.pes[me].append(&self.endpoint(me), 1 - me, item, awaited, urgency).unwrap()
    }

    /// What is under way arrives.
    pub(super) fn arrive(&self) {
        while let Some((to, message)) = self.world.deliver() {
            self.pes[to].receive(&self.endpoint(to), &message).unwrap();
        }
    }

    /// A PE sends what is pending, which arrives.
    pub(super) fn flush(&self, me: usize, flush: Flush) {
        let pe = &self.pes[me];
        pe.flush(&self.endpoint(me), flush).unwrap();
        while pe.has_unsent() {
            pe.flush(&self.endpoint(me), flush).unwrap();
        }
        self.arrive();
    }

    pub(super) fn is_acknowledged(&self, pe: usize) -> bool {
        self.pending[pe].is_complete()
    }
}

pub(super) fn add(value: u64) -> AtomicOp {
    AtomicOp::new(Op::Add, Width::W64, value)
}

pub(super) fn limits(window: u32, requests: usize) -> Limits {
    Limits {
        window,
        capacity: HEADER + requests * TaggedMessage::BYTES,
        record: HEADER + requests * TaggedMessage::BYTES,
    }
}

/// Adds one to the first word.
pub(super) fn post() -> (MessageItem<'static>, SegmentAddress) {
    (MessageItem::Request(Request::Post(add(1))), (0, 0))
}

/// A network that takes messages and never answers.
pub(super) struct Nowhere;

impl Network for Nowhere {
    fn send(&self, _: usize, _: &mut Vec<u8>, _: bool) -> Result<bool, Reason> {
        Ok(true)
    }

    fn write(&self, _: usize, _: usize, _: &TaggedMessage, _: bool) -> Result<bool, Reason> {
        Ok(false)
    }

    fn address(&self, _: usize, _: usize, _: usize) -> Option<*mut u8> {
        None
    }

    fn deliver(&self, _: usize, _: &[u8]) -> bool {
        false
    }

    fn count_sent(&self, _: usize) {}

    fn count_completed(&self, _: usize, _: u32) {}

    fn completed(&self, _: usize) -> u32 {
        0
    }

    fn has_failed(&self, _: usize, _: Instant) -> bool {
        false
    }
}
