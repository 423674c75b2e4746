//! Exchanges between neighbours, which a persistent request starts: a message along each [edge](super::edge) of a
//! graph.
//!
//! Rounds are numbered from 1. No start waits. What cannot be sent yet is sent by a test, a wait, or progress within
//! any other wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::job::StreamAreas;
use ferroshmem_core::memory::Argument;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Health, Team};
use ferroshmem_core::wait::{POLICY, WaitReason};
use ferroshmem_layout::WaitKind;
use ferroshmem_platform::ShortLock;

use super::edge::{End, LINE, PAIR, Protocol, Record, Reply, find_dest};
use super::strided::Strided;
use crate::graph::{self, Graph, Neighbor, Place};

/// The state of an exchange.
#[derive(Debug, Default)]
struct State {
    round: u64,
    dests: Vec<End>,
    sources: Vec<End>,
    /// Messages that are to be sent, and to come.
    unsent: usize,
    left: usize,
}

// SAFETY: what a thread does with it, it does with the lock; the addresses are those of symmetric memory, of the
// library's, and of arrays that the program leaves to it.
unsafe impl Send for State {}

/// An exchange between neighbours, which begins and ends many times.
#[derive(Debug)]
pub(super) struct Neighbors {
    pub(super) graph: usize,
    /// Which members have failed, in a resilient job.
    health: Option<Health>,
    areas: &'static StreamAreas,
    /// Offset and bytes of its memory.
    part: (usize, usize),
    /// Whether its request is freed.
    pub(super) is_freed: AtomicBool,
    state: ShortLock<State>,
    /// The last round that has ended.
    ended: AtomicU64,
}

impl Neighbors {
    /// Makes the exchange of a graph, with arrays for each source and dest; None if a member has failed. Collective.
    pub(super) fn new(
        node: &'static Node,
        name: &'static str,
        (team, graph): (&Team, &Graph),
        (dests, sources): (&[Strided], &[Strided]),
    ) -> Option<Self> {
        let areas = graph::areas(node, name);
        let local = |neighbor: &Neighbor| {
            let pe = team.members.pe(neighbor.member);
            (pe, node.job.placement.local_index(pe))
        };
        let edges = &graph.edges;
        let simple = |list: &[Option<Neighbor>], arrays: &[Strided], argument| -> Vec<_> {
            let all = list.iter().zip(arrays).enumerate();
            all.filter_map(|(i, (n, array))| Some((i, (*n)?, array.simple(name, argument, i)))).collect()
        };
        let incoming = simple(&edges.sources, dests, "dests");
        let outgoing = simple(&edges.dests, sources, "sources");
        for (i, _, array) in incoming.iter().filter(|(.., array)| array.whole() > 0) {
            let argument = format!("dests[{i}]");
            let argument = Argument { routine: name, name: if dests.len() > 1 { &argument } else { "dest" } };
            node.transport.memory.own(argument, array.addr.cast(), array.extent());
        }
        // Two lines for each source, one for each dest, and room.
        let lines = 2 * edges.sources.len();
        let mut bytes = (LINE * (lines + edges.dests.len())).next_multiple_of(PAIR);
        let rooms: Vec<_> = incoming
            .iter()
            .map(|(_, neighbor, array)| {
                let room = bytes;
                bytes += 2 * Protocol::of(array.whole(), local(neighbor).1.is_some()).room(array.whole());
                room
            })
            .collect();
        let bytes = bytes.max(LINE);
        let part = graph::take(node, name, bytes);
        let own = areas.of_pe(node.job.index).wrapping_add(part);

        let group = Group::of_team(node, name, team);
        let epoch = group.epoch();
        epoch.publish(part as u64);
        epoch.synchronise();
        if group.has_failed() {
            return None;
        }
        let part_of = |neighbor: &Neighbor| epoch.published(neighbor.member) as usize;
        // Now, as a member may publish anew after the next synchronisation.
        let outgoing = outgoing.into_iter().map(|(i, neighbor, array)| (i, neighbor, array, part_of(&neighbor)));
        let outgoing: Vec<_> = outgoing.collect();
        let sleepers = |index: Option<usize>| index.map(|index| &node.job.control.pe_block(index).signals);
        let has = |list: &[Option<Neighbor>], member| list.iter().flatten().any(|n| n.member == member);
        let mut state = State::default();
        for ((i, neighbor, array), room) in incoming.into_iter().zip(rooms) {
            let (pe, index) = local(&neighbor);
            let protocol = Protocol::of(array.whole(), index.is_some());
            let line = part_of(&neighbor) + LINE * (2 * neighbor.sources + neighbor.index);
            let place = node.transport.memory.space.place(array.addr.addr());
            let record: Record =
                [place, array.bytes as u64, array.count as u64, array.stride as u64, (part + room) as u64, 0];
            let end = End {
                pe,
                protocol,
                reply: protocol.reply(has(&edges.dests, neighbor.member)),
                sleepers: sleepers(index),
                lines: own.wrapping_add(LINE * 2 * i),
                peer_lines: Place::of(node, areas, pe, line),
                array,
                room: Place::Local(own.wrapping_add(room)),
                step: protocol.room(array.whole()),
                dest: (Place::Local(array.addr), array),
                is_done: true,
            };
            end.tell(node, &record);
            state.sources.push(end);
        }
        if let Some(internode) = node.transport.internode() {
            internode.fabric().quiet(&internode.context);
        }
        group.sync();
        if group.has_failed() {
            // Other members may know of the memory, and write there.
            return None;
        }
        for (i, neighbor, array, there) in outgoing {
            let (pe, index) = local(&neighbor);
            let lines = own.wrapping_add(LINE * (lines + i));
            // SAFETY: the other end has written it before it synchronised.
            let record: Record = unsafe { lines.add(size_of::<u64>()).cast::<Record>().read() };
            let [place, bytes, count, stride, room, _] = record.map(|word| word as usize);
            if bytes * count != array.whole() {
                fatal(
                    name,
                    format_args!(
                        "sources[{i}] has {} bytes, but PE {} of the team has a dest of {} bytes for them: give the \
                            same",
                        array.whole(),
                        neighbor.member,
                        bytes * count
                    ),
                );
            }
            let protocol = Protocol::of(array.whole(), index.is_some());
            let shape = Strided { addr: std::ptr::null_mut(), bytes, count, stride };
            let dest = match protocol {
                Protocol::Direct => find_dest(node, name, pe, (place as u64, &shape)),
                _ => Place::Local(std::ptr::null_mut()),
            };
            state.dests.push(End {
                pe,
                protocol,
                reply: protocol.reply(has(&edges.sources, neighbor.member)),
                sleepers: sleepers(index),
                lines,
                peer_lines: Place::of(node, areas, pe, there + LINE * 2 * neighbor.index),
                array,
                room: Place::of(node, areas, pe, room),
                step: protocol.room(array.whole()),
                dest: (dest, shape),
                is_done: true,
            });
        }
        graph.requests.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            graph: graph.handle,
            health: team.health().map(Health::copy),
            areas,
            part: (part, bytes),
            is_freed: AtomicBool::new(false),
            state: ShortLock::from(state),
            ended: AtomicU64::new(0),
        })
    }

    /// Makes what was written before visible before it is looked who sleeps.
    fn notify<'a>(ends: impl IntoIterator<Item = &'a End>) {
        fence(Ordering::SeqCst);
        for end in ends {
            end.wake();
        }
    }

    /// Starts the next round; returns its number.
    ///
    /// # Safety
    /// As for all methods below: the arrays are as the exchange needs them.
    pub(super) unsafe fn start(&self, node: &Node) -> u64 {
        let mut state = self.state.lock();
        if self.has_failed() {
            return state.round + 1;
        }
        let State { round, dests, sources, unsent, left } = &mut *state;
        *round += 1;
        (*unsent, *left) = (dests.len(), dests.len() + sources.len());
        for source in sources.iter_mut() {
            source.is_done = false;
            if source.has(Reply::Started) {
                source.write_number(node, source.peer_lines, *round);
            }
        }
        for dest in dests.iter_mut() {
            dest.is_done = false;
        }
        let number = *round;
        // SAFETY: the caller promises that the arrays are valid until the request is complete.
        unsafe { Self::send(node, &mut state) };
        Self::notify(state.dests.iter().chain(state.sources.iter().filter(|s| s.has(Reply::Started))));
        if state.left == 0 {
            self.ended.store(number, Ordering::Release);
        }
        number
    }

    /// Sends what may be sent; whether there was anything.
    ///
    /// # Safety
    /// As [`start`](Self::start).
    unsafe fn send(node: &Node, state: &mut State) -> bool {
        let before = state.unsent;
        for dest in state.dests.iter_mut().filter(|dest| !dest.is_done) {
            if dest.may_send(state.round) {
                // SAFETY: the caller promises that the arrays are valid until the request is complete.
                unsafe { dest.send(node, state.round) };
                dest.is_done = true;
                state.unsent -= 1;
                state.left -= 1;
            }
        }
        state.unsent < before
    }

    /// Sends what may be sent, and takes what has come; whether there was anything. None: another thread does.
    ///
    /// # Safety
    /// As [`start`](Self::start).
    unsafe fn advance(&self, node: &Node) -> Option<bool> {
        let mut state = self.state.try_lock()?;
        let (before, state) = (state.left, &mut *state);
        if before == 0 {
            return Some(false);
        }
        if self.has_failed() {
            // Nothing comes to the arrays, or leaves them, after the wait that says so.
            (state.unsent, state.left) = (0, 0);
            return Some(false);
        }
        // SAFETY: the caller promises that the arrays are valid until the request is complete.
        if state.unsent > 0 && unsafe { Self::send(node, state) } {
            Self::notify(&state.dests);
        }
        for source in state.sources.iter_mut().filter(|source| !source.is_done) {
            // SAFETY: the caller promises that the arrays are valid until the request is complete.
            if unsafe { source.receive(state.round) } {
                source.is_done = true;
                state.left -= 1;
            }
        }
        if state.left == 0 {
            let round = state.round;
            let told = || state.sources.iter().filter(|source| source.has(Reply::Ended));
            if told().next().is_some() {
                for source in told() {
                    source.write_number(node, source.peer_lines, round);
                }
                Self::notify(told());
            }
            self.ended.store(round, Ordering::Release);
        }
        Some(state.left < before)
    }

    /// Whether a member of the team has failed: rounds that have not ended do not any more.
    pub(super) fn has_failed(&self) -> bool {
        self.health.as_ref().is_some_and(Health::has_failed)
    }

    /// Whether a round has ended.
    #[inline]
    pub(super) fn has_ended(&self, round: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= round
    }

    /// Goes on with the round that has started: whether it has ended.
    pub(super) fn test(&self, node: &Node, round: u64) -> bool {
        if !self.has_ended(round) {
            // SAFETY: the caller of `start` has promised the arrays.
            unsafe { self.advance(node) };
            return self.has_ended(round) || self.has_failed();
        }
        true
    }

    /// Waits until a round has ended.
    pub(super) fn wait(&self, name: &str, node: &Node, round: u64) {
        /// Some times what a line takes from a PE that has its own core.
        const POLLS: u32 = 100;

        // Where PEs outnumber cores, the one that is awaited may need this core.
        let polls = if POLICY.oversubscribed() { 1 } else { POLLS };
        if (0..polls).any(|_| self.test(node, round)) {
            return;
        }
        while let Some(pe) = self.awaited(node, round) {
            let reason = WaitReason { members: (pe as i32, 0, 1), ..WaitReason::at(WaitKind::Neighbor, name, 0) };
            let is_over = || self.awaited(node, round) != Some(pe);
            node.transport.wait_for_flag(&reason, is_over);
        }
    }

    /// Waits until the round that has started last has ended.
    pub(super) fn drain(&self, node: &Node) {
        let round = self.state.lock().round;
        self.wait("shmem_finalize", node, round);
    }

    /// Whether no neighbour writes to the memory any more, once no round is under way: the last that comes is that a
    /// receiver has ended a round, for which no sender waits.
    pub(super) fn is_forgotten(&self) -> bool {
        let State { round, dests, .. } = &*self.state.lock();
        dests.iter().filter(|dest| dest.has(Reply::Ended)).all(|dest| dest.is_told(*round))
    }

    /// Gives the memory back.
    pub(super) fn give_back(&self) {
        if !self.has_failed() {
            self.areas.give_back(self.part.0, self.part.1);
        }
    }

    /// The first PE that a round needs; None: it has ended.
    fn awaited(&self, node: &Node, round: u64) -> Option<usize> {
        if self.test(node, round) {
            return None;
        }
        let state = self.state.lock();
        let mut ends = state.sources.iter().chain(&state.dests);
        ends.find(|end| !end.is_done).map(|end| end.pe)
    }

    /// Makes progress for a thread that waits for something else: whether there was anything to do, and whether
    /// messages are to be sent, or senders wait to be told of the end.
    pub(super) fn make_progress(&self, node: &Node) -> (bool, bool) {
        // SAFETY: the caller of `start` has promised the arrays.
        let has_advanced = unsafe { self.advance(node) }.unwrap_or(false);
        let tells = |source: &End| source.has(Reply::Ended);
        let is_needed = |state: &State| state.unsent > 0 || state.left > 0 && state.sources.iter().any(tells);
        (has_advanced, self.state.try_lock().is_none_or(|state| is_needed(&state)))
    }
}
