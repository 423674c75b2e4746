//! PEs in one process, joined by a model of the network: it delivers late, in any order between pairs of
//! PEs, to several threads at once, and has no room at times.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

use super::channel::{Limits, MessageItem, PendingResult};
use super::fault::{Fault, Reason};
use super::messages::{ActiveMessages, Flush, Urgency};
use super::network::Network;
use crate::completion::{CompletionCounter, ContextCounters, Pending};
use crate::encoding::message::{HEADER, LONGEST};
use crate::encoding::request::{Request, SegmentAddress};
use crate::{AtomicOp, Op, TaggedMessage, Width};

mod gathering;

const WORDS: usize = 16;

/// A generator of numbers that look random (xorshift).
struct Random(Cell<u64>);

impl Random {
    fn below(&self, n: usize) -> usize {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        (x >> 11) as usize % n
    }
}

/// From one PE to another, and what is under way there.
type Wire = ((usize, usize), VecDeque<Vec<u8>>);

/// What is under way, and the memory of all PEs.
struct World {
    random: Random,
    /// Messages from one PE to another, in order.
    wires: RefCell<Vec<Wire>>,
    memory: Vec<Box<[Cell<u64>]>>,
    /// Records that have arrived: from, to, bytes.
    records: RefCell<Vec<(usize, usize, Vec<u8>)>>,
    /// Messages under way at most, from one PE to another.
    room: usize,
    /// There is no room at times.
    refuses: bool,
    /// Messages so far, and most of them that were under way to one PE.
    n: Cell<usize>,
    most: Cell<usize>,
}

/// One PE's endpoint of it.
struct Endpoint<'a> {
    world: &'a World,
    me: usize,
}

impl World {
    fn new(n: usize, seed: u64, room: usize) -> World {
        World {
            random: Random(Cell::new(seed * 2 + 1)),
            wires: RefCell::default(),
            memory: (0..n).map(|_| (0..WORDS).map(|_| Cell::new(0)).collect()).collect(),
            records: RefCell::default(),
            room,
            refuses: true,
            n: Cell::new(0),
            most: Cell::new(0),
        }
    }

    /// Takes a message out of a wire: at times the second, as if two threads had received it and its
    /// predecessor.
    fn deliver(&self) -> Option<(usize, Vec<u8>)> {
        let mut wires = self.wires.borrow_mut();
        if wires.is_empty() {
            return None;
        }
        let which = self.random.below(wires.len());
        let ((_, to), queue) = &mut wires[which];
        let to = *to;
        let ahead = usize::from(queue.len() > 1 && self.random.below(4) == 0);
        let message = queue.remove(ahead).expect("no wire is empty");
        if queue.is_empty() {
            wires.swap_remove(which);
        }
        Some((to, message))
    }
}

impl Network for Endpoint<'_> {
    fn send(&self, pe: usize, message: &mut Vec<u8>, _: bool) -> Result<bool, Reason> {
        if self.world.refuses && self.world.random.below(5) == 0 {
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
        Ok(false)
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

    fn peer_timeout(&self) -> Duration {
        Duration::MAX
    }
}

/// PEs that are to make requests, each a number of them, to PEs of their pattern's choice.
struct Job<'a> {
    world: &'a World,
    pes: Vec<ActiveMessages>,
    pending: Vec<Pending>,
}

impl<'a> Job<'a> {
    fn new(world: &'a World, limits: Limits) -> Job<'a> {
        let n = world.memory.len();
        Job {
            world,
            pes: (0..n).map(|pe| ActiveMessages::new(pe, n, limits)).collect(),
            pending: (0..n).map(|_| Pending::default()).collect(),
        }
    }

    fn endpoint(&self, me: usize) -> Endpoint<'a> {
        Endpoint { world: self.world, me }
    }

    fn counter(&self, pe: usize) -> CompletionCounter {
        self.pending[pe].counter()
    }

    /// A PE polls: a message of any PE is delivered, and all send what they have.
    fn poll(&self) -> Result<(), Fault> {
        if let Some((to, message)) = self.world.deliver() {
            self.pes[to].receive(&self.endpoint(to), &message)?;
        }
        for (me, pe) in self.pes.iter().enumerate() {
            let flush = [Flush::All, Flush::Prompt, Flush::Replies][self.world.random.below(3)];
            pe.flush(&self.endpoint(me), flush)?;
        }
        Ok(())
    }

    /// Requests something, polling until there is room.
    fn request(&self, me: usize, pe: usize, item: (MessageItem<'_>, SegmentAddress), result: *mut u8) {
        let counter = self.counter(me);
        let awaited = PendingResult { counter, result };
        let urgency = [Urgency::Now, Urgency::Usual, Urgency::Usual][self.world.random.below(3)];
        let endpoint = self.endpoint(me);
        self.bounded(|| {
            let appended = self.pes[me].append(&endpoint, pe, item, awaited, urgency);
            appended.unwrap()
        });
    }

    fn quiet(&self) {
        self.bounded(|| self.pending.iter().all(Pending::is_complete));
    }

    /// Polls until it is done. A number of polls that never suffices means that PEs wait for each other.
    fn bounded(&self, mut done: impl FnMut() -> bool) {
        let polls = 1_000_000;
        let is_done = (0..polls).any(|_| {
            done() || {
                self.poll().unwrap();
                false
            }
        });
        assert!(is_done, "nothing comes");
    }
}

fn add(value: u64) -> AtomicOp {
    AtomicOp::new(Op::Add, Width::W64, value)
}

fn limits(window: u32, requests: usize) -> Limits {
    Limits {
        window,
        capacity: HEADER + requests * TaggedMessage::BYTES,
        record: HEADER + requests * TaggedMessage::BYTES,
    }
}

/// All PEs add to, and fetch from, those that `target` chooses; a fetch sees all adds of its PE
/// before it.
fn run(n: usize, seed: u64, limits: Limits, target: fn(usize, usize, usize) -> usize) -> World {
    const ROUNDS: usize = 60;

    let world = World::new(n, seed, 1 + seed as usize % 3);
    let job = Job::new(&world, limits);
    let mut results = vec![[0u64; ROUNDS]; n];
    let mut expected = vec![vec![]; n];
    let mut added = vec![vec![0u64; n]; n];
    for (round, me) in (0..ROUNDS).flat_map(|round| (0..n).map(move |me| (round, me))) {
        let pe = target(me, round, n);
        let word = 8 * (me % WORDS);
        if world.random.below(3) > 0 {
            job.request(me, pe, (MessageItem::Request(Request::Post(add(1))), (0, word)), std::ptr::null_mut());
            added[me][pe] += 1;
        } else {
            let result = (&raw mut results[me][round]).cast();
            let request = if round % 2 == 0 { Request::Fetch(add(0)) } else { Request::Read(size_of::<u64>()) };
            job.request(me, pe, (MessageItem::Request(request), (0, word)), result);
            expected[me].push((round, added[me][pe]));
        }
    }
    job.quiet();
    for (results, expected) in results.iter().zip(expected) {
        for (round, least) in expected {
            assert!(results[round] >= least, "a fetch overtook an add");
            if n <= WORDS {
                assert_eq!(results[round], least, "a fetch came after a later add");
            }
        }
    }
    let total: u64 = world.memory.iter().flatten().map(Cell::get).sum();
    assert_eq!(total, added.iter().flatten().sum::<u64>());
    drop(job);
    world
}

#[test]
fn all_to_one_ends_and_bounds_what_is_under_way() {
    for seed in 0..20 {
        let world = run(40, seed, limits(2, 3), |_, _, _| 0);
        // Requests of each, and a reply to itself for each.
        let most = world.most.get();
        assert!(most <= 40 * 2 + 3, "{most} messages to one PE");
    }
}

#[test]
fn any_pattern_ends_in_order() {
    for seed in 0..40 {
        let window = 1 + seed as u32 % 4;
        run(9, seed, limits(window, 4), |me, round, n| (me * 7 + round * round) % n);
        run(2, seed, limits(window, 1), |me, _, _| 1 - me);
        run(5, seed, limits(window, 8), |me, _, n| (me + 1) % n);
        run(1, seed, limits(window, 2), |_, _, _| 0);
    }
}

#[test]
fn records_arrive_once_and_in_order() {
    const ROUNDS: usize = 50;

    for seed in 0..20 {
        let world = World::new(7, seed, 1 + seed as usize % 3);
        let job = Job::new(&world, limits(1 + seed as u32 % 3, 4).with_long_records(7));
        // Some are too long for a message with others.
        let len = |me: usize, i: usize| match i % 7 {
            0 => 1000 + me * 10_000 + i,
            _ => 1 + (me * 31 + i * 17) % 60,
        };
        let record = |me: usize, i: usize| vec![me as u8 ^ i as u8; len(me, i)];
        for (i, me) in (0..ROUNDS).flat_map(|i| (0..7).map(move |me| (i, me))) {
            let bytes = record(me, i);
            let parts = bytes.split_at(bytes.len() / 3);
            let item = MessageItem::Record([parts.0, parts.1]);
            // All to one, and adds between them.
            job.request(me, 3, (item, (0, 0)), std::ptr::null_mut());
            let request = MessageItem::Request(Request::Post(add(1)));
            job.request(me, 3, (request, (0, 0)), std::ptr::null_mut());
        }
        job.quiet();
        for me in 0..7 {
            let records = world.records.borrow();
            let from_me = records.iter().filter(|(from, to, _)| (*from, *to) == (me, 3));
            let got: Vec<_> = from_me.map(|(_, _, bytes)| bytes.clone()).collect();
            let sent: Vec<_> = (0..ROUNDS).map(|i| record(me, i)).collect();
            assert_eq!(got, sent);
        }
        assert_eq!(world.memory[3][0].get(), 7 * ROUNDS as u64);
    }
}

/// Records of two PEs, one message each.
struct Exchange<'a> {
    job: Job<'a>,
    world: &'a World,
}

impl Exchange<'_> {
    /// A PE sends a record to the other, which executes it; messages sent in the end.
    fn send(&self, from: usize, urgency: Urgency) -> usize {
        self.send_parts(from, [&[1], &[2]], urgency)
    }

    fn send_long(&self, from: usize, data: &[u8]) -> usize {
        self.send_parts(from, [&[1], data], Urgency::Usual)
    }

    fn send_parts(&self, from: usize, parts: [&[u8]; 2], urgency: Urgency) -> usize {
        let awaited = PendingResult { counter: self.job.counter(from), result: std::ptr::null_mut() };
        let record = (MessageItem::Record(parts), (0, 0));
        let (pe, endpoint) = (&self.job.pes[from], self.job.endpoint(from));
        assert!(pe.append(&endpoint, 1 - from, record, awaited, urgency).unwrap());
        self.arrive();
        self.world.n.get()
    }

    /// What is under way arrives.
    fn arrive(&self) {
        while let Some((to, message)) = self.world.deliver() {
            self.job.pes[to].receive(&self.job.endpoint(to), &message).unwrap();
        }
    }

    /// A PE sends what is pending.
    fn flush(&self, me: usize, flush: Flush) {
        let pe = &self.job.pes[me];
        pe.flush(&self.job.endpoint(me), flush).unwrap();
        while pe.has_unsent() {
            pe.flush(&self.job.endpoint(me), flush).unwrap();
        }
        self.arrive();
    }

    fn is_acknowledged(&self, pe: usize) -> bool {
        self.job.pending[pe].is_complete()
    }
}

#[test]
fn many_records_are_acknowledged_at_once() {
    let world = World { refuses: false, ..World::new(2, 1, usize::MAX) };
    let job = Job::new(&world, limits(16, 64));
    let exchange = Exchange { job, world: &world };
    // A quarter of the window.
    for round in 0..5 {
        for i in 1..=4 {
            let n = exchange.send(0, Urgency::Now);
            exchange.flush(1, Flush::Prompt);
            let acknowledgements = usize::from(i == 4);
            assert_eq!(world.n.get() - n, acknowledgements, "{i} of round {round}");
            assert_eq!(exchange.is_acknowledged(0), i == 4);
        }
    }
    assert_eq!(world.n.get(), 5 * (4 + 1));
    // An answer is an acknowledgement.
    for _ in 0..10 {
        let n = world.n.get();
        exchange.send(0, Urgency::Now);
        exchange.send(1, Urgency::Now);
        exchange.flush(0, Flush::Prompt);
        exchange.flush(1, Flush::Prompt);
        assert_eq!(world.n.get() - n, 2);
        assert!(exchange.is_acknowledged(0));
    }
    // A thread that waits for completions, and the progress thread, acknowledge what is due.
    assert!(!exchange.is_acknowledged(1));
    assert!(!exchange.job.pes[0].may_rest());
    exchange.flush(0, Flush::All);
    assert!(exchange.is_acknowledged(1));
    assert!(exchange.job.pes[0].may_rest());
    // So is all that is no record, at once.
    let request = (MessageItem::Request(Request::Post(add(1))), (0, 0));
    let awaited = PendingResult { counter: exchange.job.counter(0), result: std::ptr::null_mut() };
    let endpoint = exchange.job.endpoint(0);
    assert!(exchange.job.pes[0].append(&endpoint, 1, request, awaited, Urgency::Now).unwrap());
    exchange.arrive();
    exchange.flush(1, Flush::Prompt);
    assert!(exchange.is_acknowledged(0));
}

#[test]
fn long_records_are_sent_at_once() {
    let world = World { refuses: false, ..World::new(2, 1, usize::MAX) };
    let job = Job::new(&world, limits(16, 4));
    let exchange = Exchange { job, world: &world };
    for n in 1..=4 {
        assert_eq!(exchange.send_long(0, &[7; 100]), n);
    }
}

#[test]
fn records_are_sent_at_once_while_few_are_under_way() {
    let world = World { refuses: false, ..World::new(2, 1, usize::MAX) };
    let job = Job::new(&world, limits(16, 64));
    let exchange = Exchange { job, world: &world };
    for n in 1..=4 {
        assert_eq!(exchange.send(0, Urgency::Usual), n);
    }
    // The fourth is about to be acknowledged, which sends the fifth.
    assert_eq!(exchange.send(0, Urgency::Usual), 4);
    exchange.flush(1, Flush::Prompt);
    assert!(!exchange.is_acknowledged(0));
    exchange.flush(0, Flush::Prompt);
    assert_eq!(world.n.get(), 6);
}

/// With a window of one message, each is acknowledged at once: the next waits for that.
#[test]
fn small_windows_are_acknowledged_at_once() {
    let world = World { refuses: false, ..World::new(2, 1, usize::MAX) };
    let job = Job::new(&world, limits(1, 64));
    let exchange = Exchange { job, world: &world };
    for _ in 0..10 {
        exchange.send(0, Urgency::Now);
        exchange.flush(1, Flush::Prompt);
        assert!(exchange.is_acknowledged(0));
    }
}

#[test]
fn many_pes_beyond_the_slots() {
    let world = run(100, 3, limits(1, 4), |me, round, n| (me * round) % n);
    assert!(world.n.get() > 0);
}

#[test]
fn requests_go_together() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(16, 200));
    for _ in 0..1000 {
        let request = MessageItem::Request(Request::Post(add(1)));
        job.request(0, 1, (request, (0, 0)), std::ptr::null_mut());
    }
    job.quiet();
    assert_eq!(world.memory[1][0].get(), 1000);
    let n = world.n.get();
    assert!(n <= 800, "{n} messages for 1000 requests, a third of them urgent");
}

#[test]
fn contexts_that_take_turns_are_counted_once_each() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(16, 200));
    let contexts: [ContextCounters; 3] = Default::default();
    let in_flight = || contexts.each_ref().map(ContextCounters::in_flight);
    for i in 0..30 {
        let context = &contexts[i % 3];
        let awaited = PendingResult {
            counter: CompletionCounter::context(context, context.peer(1, 2), false),
            result: std::ptr::null_mut(),
        };
        let item = (MessageItem::Request(Request::Post(add(1))), (0, 0));
        let appended = job.pes[0].append(&job.endpoint(0), 1, item, awaited, Urgency::BatchItem);
        assert!(appended.unwrap());
    }
    assert_eq!(in_flight(), [1; 3]);
    job.bounded(|| in_flight() == [0; 3]);
    assert_eq!(world.memory[1][0].get(), 30);
}

#[test]
fn a_stream_fills_messages_until_there_is_a_lull() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(4, 8));
    let append = || {
        let awaited = PendingResult { counter: job.counter(0), result: std::ptr::null_mut() };
        let request = (MessageItem::Request(Request::Post(add(1))), (0, 0));
        let appended = job.pes[0].append(&job.endpoint(0), 1, request, awaited, Urgency::Usual);
        appended.unwrap()
    };
    // Full messages, which are executed.
    let stream = || {
        while append() {}
        job.bounded(|| world.wires.borrow().is_empty() && !job.pes.iter().any(ActiveMessages::has_unsent));
        job.quiet();
        world.n.get()
    };
    let before = stream();
    assert!(append());
    assert_eq!(world.n.get(), before, "a message is filled");
    assert!(!job.pes[0].may_rest(), "it is not sent yet");
    let before = stream();
    assert!(job.pes[0].may_rest());
    let is_sent = (0..8).any(|_| append() && world.n.get() > before);
    assert!(is_sent, "not before a flush");
    job.quiet();
}

#[test]
fn what_no_pe_sends_is_refused() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(4, 4));
    let refuse = |message: &[u8]| job.pes[1].receive(&job.endpoint(1), message).unwrap_err();
    assert_eq!(refuse(&[]).reason, Reason::Malformed);
    let request = (MessageItem::Request(Request::Fetch(add(1))), (0, 8 * WORDS));
    let mut result = 0u64;
    let counter = job.counter(0);
    let awaited = PendingResult { counter, result: (&raw mut result).cast() };
    while !world.wires.borrow().iter().any(|_| true) {
        let _ = job.pes[0].append(&job.endpoint(0), 1, request, awaited, Urgency::Now);
        job.pes[0].flush(&job.endpoint(0), Flush::All).unwrap();
    }
    let (_, message) = world.deliver().unwrap();
    let beyond = refuse(&message);
    assert_eq!((beyond.pe, beyond.reason), (Some(0), Reason::NotShared));
    let byte = |at: usize, value: u8| {
        let mut message = message.clone();
        message[at] = value;
        message
    };
    // Source, sequence, what was executed, length, operation.
    for (at, value) in [(4, 2), (8, 200), (12, 9), (16, 31), (HEADER, 15)] {
        let fault = refuse(&byte(at, value));
        assert_eq!(fault.reason, Reason::Malformed, "byte {at}");
    }
}

/// Bytes that this thread has allocated and not freed.
mod count {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<isize> = const { Cell::new(0) };
    }

    struct Counting;

    #[global_allocator]
    static COUNTING: Counting = Counting;

    fn count(bytes: isize) {
        // A thread that ends may free memory afterwards.
        let _ = BYTES.try_with(|all| all.set(all.get() + bytes));
    }

    // SAFETY: the system's allocator does the work.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count(layout.size() as isize);
            // SAFETY: the caller's promise is the system's demand.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            count(-(layout.size() as isize));
            // SAFETY: as above.
            unsafe { System.dealloc(at, layout) }
        }
    }

    pub(super) fn bytes() -> isize {
        BYTES.with(Cell::get)
    }
}

/// A network that takes messages and never answers.
struct Nowhere(AtomicUsize);

impl Network for Nowhere {
    fn send(&self, _: usize, message: &mut Vec<u8>, _: bool) -> Result<bool, Reason> {
        self.0.fetch_add(message.len(), Relaxed);
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

    fn peer_timeout(&self) -> Duration {
        Duration::MAX
    }
}

#[test]
fn memory_grows_with_use_and_stays_below_64_mib_at_4096_pes() {
    const MIB: isize = 1 << 20;

    for n in [16, 1024, 4096] {
        let before = count::bytes();
        let limits = Limits::new(n);
        let messages = ActiveMessages::new(0, n, limits);
        assert!(count::bytes() - before < MIB / 2, "{n} PEs, none in use");
        let network = Nowhere(AtomicUsize::new(0));
        let pending = Pending::default();
        let mut results = vec![0u64; 1024];
        // Windows and open messages full of requests with results, which take most.
        for pe in 0..n {
            let mut i = 0;
            loop {
                let awaited = PendingResult { counter: pending.counter(), result: (&raw mut results[i % 1024]).cast() };
                let request = (MessageItem::Request(Request::Fetch(add(1))), (0, 0));
                let urgency = Urgency::Usual;
                if !messages.append(&network, pe, request, awaited, urgency).unwrap() {
                    break;
                }
                i += 1;
            }
            assert!(i > limits.window as usize);
        }
        // Of each PE as much may come early, or wait to be sent.
        let received = n * limits.window as usize * limits.capacity * 2 + 128 * LONGEST;
        let used = count::bytes() - before + received as isize;
        assert!(used < 64 * MIB, "{n} PEs: {} MiB", used / MIB);
    }
}
