//! Streams of items (extension): PEs push items of one size to each other, and pull what arrives, in no order but that of each
//! pair of PEs (`docs/streams.md`).
//!
//! Within a node items go through rings ([`ring`]), between nodes by links and then through rings ([`shape`], [`link`]).
//! All that moves items on is done by the PEs' threads in their calls: a push writes to the ring or frame, a pull hands on what has
//! come by links first. Waits of other routines do that, too, while a stream is open in a job of several nodes.
//!
//! # The end
//!
//! A PE is *closed* once it has ended the stream, all links to it have brought their last frame, and what came by them is
//! in rings. The members of a node count those that are closed, in the part of the first of them: who has seen all of them
//! there sees all tails, too, and has all that will ever come once its rings are empty.

mod link;
pub mod ring;
pub mod shape;

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ferroshmem_fabric::Context;

use self::link::{Incoming, Outgoing, Way};
use self::ring::{Consumer, Place, Producer, Pushed, RingWords};
use self::shape::{Head, Nodes, Shape};
use crate::constants::THREAD_MULTIPLE;
use crate::failure::fatal::fatal;
use crate::group::Group;
use crate::handle::Table;
use crate::job::StreamAreas;
use crate::job::region::{SignalLine, WaitKind};
use crate::node::Node;
use crate::team::{Team, out_of_range};
use crate::transport::internode::Internode;
use crate::wait::{WaitReason, attend, signals};

pub use self::shape::LONGEST;

/// Calls of push after which this PE looks what has come by links.
const PUSHES: u32 = 128;

/// The streams of this PE.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    table: Table<Stream>,
    generation: AtomicUsize,
}

/// What a stream is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Bytes of an item.
    pub item: usize,
    /// Whether items are sent at once.
    pub is_steady: bool,
}

impl Options {
    /// As a word, which members compare.
    fn word(self) -> u64 {
        (self.item as u64) << 1 | u64::from(self.is_steady)
    }
}

/// Pages of offsets, in the word that a member publishes; above: its options.
const PAGES: u32 = 24;
const PAGE: usize = 4096;

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its C handle.
    handle: usize,
    /// Its team's.
    pub team: usize,
    is_busy: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: the state is accessed by the thread that has set `is_busy`.
unsafe impl Sync for Stream {}
// SAFETY: the pointers of the state are to memory that stays mapped.
unsafe impl Send for Stream {}

/// The one access to a stream's state.
pub(crate) struct Entered<'a>(&'a Stream);

impl Deref for Entered<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        // SAFETY: this is the one access.
        unsafe { &*self.0.state.get() }
    }
}

impl DerefMut for Entered<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: this is the one access.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Release);
    }
}

/// Another member of the node: the ring to it, and where it sleeps.
#[derive(Debug)]
struct Neighbour {
    producer: Producer,
    head: &'static Head,
    signals: &'static SignalLine,
}

/// Where a pushed item goes first.
#[derive(Debug, Clone, Copy)]
struct Route {
    /// Number of the link; [`HERE`]: none.
    link: u32,
    /// Number of the member on its node.
    local: u32,
}

const HERE: u32 = u32::MAX;

/// What a stream's guard guards.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    /// This PE's numbers in the team and on the node.
    me: (u32, usize),
    routes: Box<[Route]>,
    neighbours: Box<[Neighbour]>,
    /// Neighbours to whose rings something was written and not published.
    dirty: Vec<u32>,
    own: &'static Head,
    consumers: Box<[Consumer]>,
    /// Numbers of the rings that may have items, the one that is read first, and whether each ring is among them.
    active: VecDeque<u32>,
    is_active: Box<[bool]>,
    /// Items that the program sees, and which the next call that pulls passes.
    viewed: u32,
    outgoing: Box<[Outgoing]>,
    incoming: Box<[Incoming]>,
    context: Context,
    /// Offset and bytes of the own part.
    part: (usize, usize),
    /// How often the stream was used, with this time.
    uses: u64,
    is_ended: bool,
    is_closed: bool,
    is_done: bool,
    pushes: u32,
}

/// Why a stream cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl Streams {
    /// Creates a stream over a team; its handle. Collective.
    pub(crate) fn create(
        &self,
        node: &'static Node,
        name: &'static str,
        team: &Team,
        options: Options,
    ) -> Result<usize, NoMemory> {
        let areas = StreamAreas::of(node.job).unwrap_or_else(|e| {
            fatal(name, format_args!("cannot map the memory of streams: {e}: raise the limit of address space (ulimit -v)"))
        });
        let placement = &node.job.placement;
        let node_of = |member| placement.of(team.members.pe(member)).node as usize;
        let nodes = Nodes::new(team.members.size, node_of);
        let (home, local) = nodes.ranks[team.index];
        let shape = nodes.shape(home as usize, options.item);
        let part = take_part(node, areas, &shape);
        let group = Group::of_team(node, name, team);
        let same = [
            ("item_size", options.item as u64),
            ("options", options.is_steady.into()),
        ];
        group.check_agreement(node, &same);
        let lacking = u64::from(part.is_none());
        let is_lacking = group.combine_words([lacking, 0, 0, 0])[0] != 0;
        let Some(offset) = part.filter(|_| !is_lacking) else {
            if let Some(offset) = part {
                areas.give_back(offset, shape.bytes());
            }
            return Err(NoMemory);
        };
        let epoch = group.epoch();
        epoch.publish(options.word() << PAGES | (offset / PAGE) as u64);
        epoch.synchronise();
        let offset_of = |member: u32| {
            let word = epoch.published(member as usize);
            if word >> PAGES != options.word() {
                differs(
                    name,
                    team.members.pe(member as usize),
                    word >> PAGES,
                    options,
                );
            }
            (word as usize & ((1 << PAGES) - 1)) * PAGE
        };
        let home_members = &nodes.members[home as usize];
        let offsets: Vec<usize> = home_members.iter().map(|m| offset_of(*m)).collect();
        let links = |links: Vec<shape::Link>| -> Vec<(shape::Link, usize)> {
            links.into_iter().map(|l| (l, 0)).collect()
        };
        let mut out = links(nodes.outgoing(team.index));
        let mut inc = links(nodes.incoming(team.index));
        let both = out.iter_mut().chain(&mut inc);
        both.for_each(|(link, offset)| *offset = offset_of(link.member));
        let area = areas.of_pe(node.job.index);
        let own = area.wrapping_add(offset);
        let place = |part: *mut u8, from: usize| Place {
            // SAFETY: the words of a ring in a part, which is mapped for good and atomic.
            words: unsafe { &*part.wrapping_add(shape.words(from)).cast::<RingWords>() },
            data: part.wrapping_add(shape.data(from)),
            bytes: shape.ring(),
        };
        let neighbour = |(member, offset): (&u32, &usize)| {
            let index = placement
                .local_index(team.members.pe(*member as usize))
                .expect("on this node");
            let part = areas.of_pe(index).wrapping_add(*offset);
            Neighbour {
                producer: Producer::new(place(part, local as usize)),
                head: head(part),
                signals: &node.job.control.pe_block(index).signals,
            }
        };
        let outgoing = |(number, (link, offset)): (usize, &(shape::Link, usize))| {
            let there = nodes.shape(link.node, options.item);
            let pe = team.members.pe(link.member as usize);
            Outgoing::new((pe, *offset), (there, link.number), (own, shape, number))
        };
        let incoming = |(number, (link, offset)): (usize, &(shape::Link, usize))| {
            let there = nodes.shape(link.node, options.item);
            let pe = team.members.pe(link.member as usize);
            Incoming::new(
                (pe, link.member, *offset),
                (there, link.number),
                (own, shape, number),
            )
        };
        let route = |(to, local): &(u32, u32)| Route {
            link: if *to == home {
                HERE
            } else {
                *to - u32::from(*to > home)
            },
            local: *local,
        };
        let state = State {
            options,
            me: (team.index as u32, local as usize),
            routes: nodes.ranks.iter().map(route).collect(),
            neighbours: home_members.iter().zip(&offsets).map(neighbour).collect(),
            dirty: Vec::new(),
            own: head(own),
            consumers: (0..shape.locals)
                .map(|from| Consumer::new(place(own, from)))
                .collect(),
            active: VecDeque::new(),
            is_active: vec![false; shape.locals].into(),
            viewed: 0,
            outgoing: out.iter().enumerate().map(outgoing).collect(),
            incoming: inc.iter().enumerate().map(incoming).collect(),
            context: Context::default(),
            part: (offset, shape.bytes()),
            uses: 1,
            is_ended: false,
            is_closed: false,
            is_done: false,
            pushes: 0,
        };
        if state.spans_nodes() {
            attend::STREAMS.fetch_add(1, Ordering::Relaxed);
        }
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let handle = |index: usize| (generation & 0x7fff_ffff) << 32 | (index + 1);
        let index = self.table.insert(|index| Stream {
            handle: handle(index),
            team: team.handle(),
            is_busy: AtomicBool::new(false),
            state: UnsafeCell::new(state),
        });
        index.map(handle).ok_or(NoMemory)
    }

    /// The stream of a handle; another one ends the job.
    #[inline]
    pub(crate) fn find(&self, name: &str, handle: usize) -> &Stream {
        let index = (handle & 0xffff_ffff).wrapping_sub(1);
        let stream = self.table.get(index).filter(|s| s.handle == handle);
        stream.unwrap_or_else(|| not_live(name, handle))
    }

    /// Ends a stream that no member uses any more.
    pub(crate) fn remove(&self, node: &Node, stream: &Stream) {
        let index = (stream.handle & 0xffff_ffff) - 1;
        let Some(stream) = self.table.remove(index) else {
            return;
        };
        let state = stream.state.into_inner();
        if let Some(internode) = node.transport.internode() {
            internode.fabric().quiet(&state.context);
        }
        let (offset, bytes) = state.part;
        if let Ok(areas) = StreamAreas::of(node.job) {
            areas.give_back(offset, bytes);
        }
        self.table.give_back(index);
    }

    /// Hands on what has come for other PEs, of streams that no other thread is in.
    pub(crate) fn attend(&self, node: &Node) {
        if attend::STREAMS.load(Ordering::Relaxed) == 0 {
            return;
        }
        for (_, stream) in self.table.iter() {
            if let Some(mut state) = stream.try_enter() {
                state.progress(node);
            }
        }
    }

    /// The library is finalised: what is still open is forgotten.
    pub(crate) fn leave(&self) {
        attend::STREAMS.store(0, Ordering::Relaxed);
    }
}

/// Takes a part of the own area, and clears its words.
fn take_part(node: &Node, areas: &StreamAreas, shape: &Shape) -> Option<usize> {
    let (offset, used) = areas.take(shape.bytes())?;
    if let Some(internode) = node.transport.internode()
        && internode.open_streams(used).is_err()
    {
        areas.give_back(offset, shape.bytes());
        return None;
    }
    let part = areas.of_pe(node.job.index).wrapping_add(offset);
    // SAFETY: the part was given to this call alone, and no member knows of it yet.
    unsafe { ptr::write_bytes(part, 0, shape.cleared()) };
    Some(offset)
}

/// The first words of a part.
fn head(part: *mut u8) -> &'static Head {
    // SAFETY: a part, which is mapped for good; its first words are atomic.
    unsafe { &*part.cast::<Head>() }
}

#[cold]
fn differs(name: &str, pe: usize, word: u64, options: Options) -> ! {
    let what = |is_steady| if is_steady { "steady" } else { "bursty" };
    fatal(
        name,
        format_args!(
            "PE {pe} creates a {} stream with items of {} bytes, this PE a {} one with items of {}: give all PEs of the team the same arguments",
            what(word & 1 != 0),
            word >> 1,
            what(options.is_steady),
            options.item,
        ),
    )
}

#[cold]
fn not_live(name: &str, handle: usize) -> ! {
    fatal(
        name,
        format_args!("{handle:#x} is not a live stream: was it destroyed?"),
    )
}

#[cold]
fn in_use(name: &str) -> ! {
    fatal(
        name,
        "another thread is in a call with this stream: initialise by shmem_init_thread with SHMEM_THREAD_MULTIPLE, or let one thread at a time use it",
    )
}

impl Stream {
    /// Waits until no other thread is in the stream.
    #[inline]
    pub(crate) fn enter(&self, node: &Node, name: &str) -> Entered<'_> {
        let block = node.job.control.pe_block(node.job.index);
        if block.thread_level.load(Ordering::Relaxed) == THREAD_MULTIPLE {
            while self.is_busy.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
        } else {
            // One thread at a time calls the library: a second one is a mistake, which this mostly sees.
            if self.is_busy.load(Ordering::Relaxed) {
                in_use(name);
            }
            self.is_busy.store(true, Ordering::Relaxed);
        }
        Entered(self)
    }

    fn try_enter(&self) -> Option<Entered<'_>> {
        (!self.is_busy.swap(true, Ordering::Acquire)).then_some(Entered(self))
    }

    /// Waits until an item can be pulled, or none will ever come; whether one can.
    pub(crate) fn wait(&self, node: &Node, name: &str) -> bool {
        let mut state = self.enter(node, name);
        state.flush(node);
        if state.look(node) {
            return true;
        }
        drop(state);
        let reason = WaitReason::at(WaitKind::Stream, name, self.handle);
        node.transport.wait(&reason, signals::NOTIFIED, || {
            let mut state = self.enter(node, name);
            if state.look(node) {
                return Some(true);
            }
            state.is_done(node).then_some(false)
        })
    }

    /// Ends the stream for this PE if it has not, and passes all that comes until nothing will. All members call this.
    pub(crate) fn finish(&self, node: &Node, name: &str) {
        let mut state = self.enter(node, name);
        if !state.is_ended {
            state.end(node);
        }
        drop(state);
        while self.wait(node, name) {
            self.enter(node, name).pass_all();
        }
        // Nothing is under way that the next use of the memory would find.
        let reason = WaitReason::at(WaitKind::Stream, name, self.handle);
        node.transport.wait(&reason, signals::UNNOTIFIED, || {
            let mut state = self.enter(node, name);
            state.progress(node);
            state
                .outgoing
                .iter_mut()
                .all(Outgoing::is_idle)
                .then_some(())
        });
    }
}

impl State {
    fn spans_nodes(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether this PE has ended the stream.
    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Pushes up to `n` items to member `pe`; how many found room.
    ///
    /// # Safety
    /// `items` is readable for the bytes of `n` items.
    #[inline]
    pub(crate) unsafe fn push_many(
        &mut self,
        node: &Node,
        name: &str,
        items: *const u8,
        n: usize,
        pe: i32,
    ) -> usize {
        let Some(route) = self.routes.get(pe as u32 as usize) else {
            out_of_range(name, pe, self.routes.len(), "stream's team");
        };
        let Route { link, local } = *route;
        if link != HERE {
            // SAFETY: the caller promises that `items` is readable for `n` items.
            return unsafe { self.push_remote(node, items, n, (link, local)) };
        }
        let size = self.options.item;
        let source = self.me.0;
        let mut done = 0;
        while done < n {
            let to = &mut self.neighbours[local as usize].producer;
            let at = items.wrapping_add(done * size);
            // SAFETY: the caller promises the items.
            let pushed = unsafe { to.push(at, size, source) };
            match pushed {
                Pushed::Yes => {
                    done += 1;
                    if n > 1 && done < n {
                        // SAFETY: as above.
                        done += unsafe { to.push_more(at.wrapping_add(size), size, n - done) };
                    }
                    if !to.is_dirty {
                        to.is_dirty = true;
                        self.dirty.push(local);
                    }
                }
                Pushed::YesPublish => {
                    done += 1;
                    self.publish(local);
                }
                Pushed::Full => {
                    self.publish(local);
                    self.progress(node);
                    break;
                }
            }
        }
        if self.options.is_steady {
            self.publish(local);
        }
        if self.spans_nodes() {
            self.count_push(node, n as u32);
        }
        done
    }

    /// As [`push_many`](Self::push_many), to number `local` of another node.
    ///
    /// # Safety
    /// As for that.
    #[inline(never)]
    unsafe fn push_remote(
        &mut self,
        node: &Node,
        items: *const u8,
        n: usize,
        (link, local): (u32, u32),
    ) -> usize {
        let internode = node.transport.remote();
        let way = Way {
            fabric: internode.fabric(),
            context: &self.context,
        };
        let to = &mut self.outgoing[link as usize];
        let size = self.options.item;
        let mut done = 0;
        // SAFETY: the caller promises the items.
        while done < n && unsafe { to.push(way, items.wrapping_add(done * size), local as u16) } {
            done += 1;
        }
        if self.options.is_steady {
            to.progress(way, true);
        }
        if done < n {
            self.progress(node);
        } else {
            self.count_push(node, n as u32);
        }
        done
    }

    /// Makes progress once in a while.
    fn count_push(&mut self, node: &Node, n: u32) {
        self.pushes = self.pushes.saturating_add(n);
        if self.pushes >= PUSHES {
            self.pushes = 0;
            self.progress(node);
        }
    }

    /// Lets a neighbour have what was written to its ring.
    fn publish(&mut self, to: u32) {
        let Neighbour {
            producer,
            head,
            signals,
        } = &mut self.neighbours[to as usize];
        if producer.publish(&head.ready, self.me.1 as u32) {
            signals::notify(signals);
        }
    }

    /// Lets all neighbours have what was written to their rings.
    fn publish_all(&mut self) {
        while let Some(to) = self.dirty.pop() {
            self.neighbours[to as usize].producer.is_dirty = false;
            self.publish(to);
        }
    }

    /// Sends all that was pushed.
    pub(crate) fn flush(&mut self, node: &Node) {
        self.publish_all();
        for link in &mut self.outgoing {
            link.is_flushed = link.is_pending();
        }
        self.progress(node);
    }

    /// This PE pushes no more.
    pub(crate) fn end(&mut self, node: &Node) {
        self.is_ended = true;
        for link in &mut self.outgoing {
            link.is_ended = true;
        }
        self.publish_all();
        self.progress(node);
    }

    /// Sends what may be sent, hands on what has come by links, and says so if nothing more will.
    pub(crate) fn progress(&mut self, node: &Node) {
        if let Some(internode) = node.transport.internode().filter(|_| self.spans_nodes()) {
            internode.fabric().progress();
            self.progress_links(internode);
        }
        let is_last = self.is_ended && !self.is_closed && self.incoming.iter().all(|l| l.is_ended);
        if is_last {
            self.is_closed = true;
            self.publish_all();
            let locals = self.neighbours.len() as u64;
            let closed = &self.neighbours[0].head.closed.0;
            if closed.fetch_add(1, Ordering::AcqRel) + 1 == locals * self.uses {
                self.neighbours
                    .iter()
                    .for_each(|n| signals::notify(n.signals));
            }
        }
    }

    fn progress_links(&mut self, internode: &Internode) {
        let Self {
            options,
            outgoing,
            incoming,
            neighbours,
            dirty,
            context,
            me,
            ..
        } = self;
        let way = Way {
            fabric: internode.fabric(),
            context,
        };
        for link in outgoing.iter_mut() {
            link.progress(way, options.is_steady);
        }
        for link in incoming.iter_mut().filter(|l| !l.is_ended) {
            let source = link.source;
            let handed_on = link.progress(way, |to, item| {
                let Neighbour {
                    producer,
                    head,
                    signals,
                } = &mut neighbours[to];
                // SAFETY: the frame has an item there.
                let pushed = unsafe { producer.push(item, options.item, source) };
                if pushed == Pushed::Yes {
                    if !producer.is_dirty {
                        producer.is_dirty = true;
                        dirty.push(to as u32);
                    }
                } else if producer.publish(&head.ready, me.1 as u32) {
                    signals::notify(signals);
                }
                pushed != Pushed::Full
            });
            if handed_on.is_err() {
                malformed(link.pe);
            }
        }
        if !self.incoming.is_empty() {
            self.publish_all();
        }
    }

    /// Passes what the program has seen.
    #[inline]
    fn pass(&mut self) {
        if self.viewed > 0 {
            let ring = &mut self.consumers[self.active[0] as usize];
            ring.pass(self.viewed, self.options.item);
            self.viewed = 0;
        }
    }

    /// Finds the next items: whether there are any.
    #[inline]
    fn find(&mut self) -> bool {
        match self.active.front() {
            Some(first) if self.consumers[*first as usize].left > 0 => true,
            _ => self.find_block(),
        }
    }

    #[inline(never)]
    fn find_block(&mut self) -> bool {
        loop {
            let Self {
                active,
                is_active,
                consumers,
                own,
                ..
            } = self;
            // A ring that is read as far as its tail was known gives way to the others.
            if active
                .front()
                .is_some_and(|f| consumers[*f as usize].is_read())
            {
                active.rotate_left(1);
            }
            let words = |n: u32| consumers[n as usize].words();
            ring::take_ready(&own.ready, words, |n| {
                if !std::mem::replace(&mut is_active[n as usize], true) {
                    active.push_back(n);
                }
            });
            let Some(first) = active.front().copied() else {
                return false;
            };
            if consumers[first as usize].next_block() {
                return true;
            }
            active.pop_front();
            is_active[first as usize] = false;
        }
    }

    /// Whether an item can be pulled now, after progress if none could.
    fn look(&mut self, node: &Node) -> bool {
        self.pass();
        if self.find() {
            return true;
        }
        if self.options.is_steady {
            self.publish_all();
        }
        self.progress(node);
        self.find()
    }

    /// The items that can be pulled together: where they are, how many, and their source. They stay until the next call
    /// that pulls.
    #[inline]
    pub(crate) fn view(&mut self, node: &Node) -> Option<(*const u8, u32, u32)> {
        self.pass();
        if !self.find() && !self.look(node) {
            return None;
        }
        let ring = &self.consumers[self.active[0] as usize];
        self.viewed = ring.left;
        Some((ring.items(), ring.left, ring.source))
    }

    /// Pulls an item; its source.
    ///
    /// # Safety
    /// `item` is writable for an item's bytes.
    #[inline]
    pub(crate) unsafe fn pull(&mut self, node: &Node, item: *mut u8) -> Option<u32> {
        self.pass();
        if !self.find() && !self.look(node) {
            return None;
        }
        let size = self.options.item;
        let ring = &mut self.consumers[self.active[0] as usize];
        // SAFETY: the caller promises room for the item, which is there.
        unsafe { ring::copy(ring.items(), item, size) };
        let source = ring.source;
        ring.pass(1, size);
        Some(source)
    }

    /// Passes all items that are there.
    fn pass_all(&mut self) {
        self.pass();
        while self.find() {
            let ring = &mut self.consumers[self.active[0] as usize];
            ring.pass(ring.left, self.options.item);
        }
    }

    /// Whether all members have ended the stream, and this one has pulled all that was pushed to it and brought all that
    /// it had to bring.
    pub(crate) fn is_done(&mut self, node: &Node) -> bool {
        if self.is_done {
            return true;
        }
        self.pass();
        self.progress(node);
        let locals = self.neighbours.len() as u64;
        let closed = self.neighbours[0].head.closed.0.load(Ordering::Acquire);
        // What is in rings once all are closed is all that will be.
        self.is_done = closed >= locals * self.uses
            && !self.find()
            && self.outgoing.iter().all(Outgoing::is_done);
        if self.is_done && self.spans_nodes() {
            attend::STREAMS.fetch_sub(1, Ordering::Relaxed);
        }
        self.is_done
    }

    /// All members have pulled everything: the stream can be used again.
    pub(crate) fn reset(&mut self) {
        self.uses += 1;
        (self.is_ended, self.is_closed, self.is_done) = (false, false, false);
        self.viewed = 0;
        self.outgoing.iter_mut().for_each(Outgoing::reset);
        self.incoming.iter_mut().for_each(Incoming::reset);
        if self.spans_nodes() {
            attend::STREAMS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cold]
fn malformed(pe: usize) -> ! {
    fatal(
        "a stream",
        format_args!(
            "PE {pe} has sent a malformed frame: run all PEs with the same build of the library"
        ),
    )
}
