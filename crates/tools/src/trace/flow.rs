//! Arrows of a trace: which call of another PE a call waited for.
//!
//! The calls of all PEs come in the order of their beginnings, so that only what is still open is kept.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use super::{Call, Part};
use crate::profile::{Event, Kind, PeRecord, Team};

/// An arrow from one PE's call to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The PE that was waited for, and when its call began.
    pub from: (usize, u32, u64),
    /// The PE that waited, its thread, and when its call ended.
    pub to: (usize, u32, u64),
}

impl Flow {
    /// Nanoseconds from one end to the other.
    fn length(&self) -> u64 {
        self.to.2.saturating_sub(self.from.2)
    }
}

/// Arrows of a trace: of more, the longest.
const MOST: usize = 1 << 19;
/// Addresses that PEs wait for.
const MOST_ADDRESSES: usize = 1 << 20;
/// Updates of an address that are kept: of those before a wait's end, the last one counts.
const UPDATES: usize = 64;
/// Collectives that not all members have entered; sends without a receive from a PE to another.
const OPEN: usize = 1 << 16;

/// A PE, and an address in its memory.
type SymmetricWord = (usize, u64);
/// When it began, by whom.
type Update = (u64, usize, u32);
/// When it ends, PE, thread, when it began, address.
type Wait = (u64, usize, u32, u64, u64);
/// PE, thread, begin, end.
type Entry = (usize, u32, u64, u64);

/// The addresses that PEs wait for.
#[derive(Debug, Default)]
pub(super) struct Waited(HashSet<SymmetricWord>);

impl Waited {
    pub(super) fn add(&mut self, pe: usize, event: &Event, kind: Kind) {
        if kind == Kind::Wait && self.0.len() < MOST_ADDRESSES {
            self.0.insert((pe, event.address));
        }
    }
}

/// Messages from a PE to another: those that have no receive yet, and the reverse.
#[derive(Default)]
struct Messages {
    sends: VecDeque<Update>,
    receives: VecDeque<Entry>,
    is_too_long: bool,
}

/// Joins calls by arrows.
#[derive(Default)]
pub(super) struct Finder {
    part: Part,
    waited: Waited,
    updates: HashMap<SymmetricWord, VecDeque<Update>>,
    /// Waits that have not ended, by their ends.
    waits: BinaryHeap<Reverse<Wait>>,
    /// Members that have entered a collective.
    collectives: HashMap<(Team, u64), Vec<Entry>>,
    messages: HashMap<(usize, usize), Messages>,
    /// PEs that have lost calls, whose messages cannot be counted.
    lossy: HashSet<usize>,
    longest: BinaryHeap<Reverse<(u64, Flow)>>,
    found: u64,
}

impl Finder {
    /// For arrows of this part. `lossy` are PEs that have lost calls.
    pub(super) fn new(part: Part, waited: Waited, lossy: HashSet<usize>) -> Self {
        Self { part, waited, lossy, ..Self::default() }
    }

    /// Adds the next call.
    pub(super) fn add(&mut self, record: &PeRecord, event: &Event, call: &Call, kind: Kind) {
        /// A put that a PE may wait for.
        const UPDATE: u64 = 8;
        while self.waits.peek().is_some_and(|w| w.0.0 < call.begin) {
            self.end_wait();
        }
        let me = record.pe;
        let entry = (me, call.thread, call.begin, call.end);
        let update = (call.begin, me, call.thread);
        match (kind, call.pe) {
            (Kind::Put, Some(pe)) if event.bytes <= UPDATE && pe != me => {
                self.update((pe, event.address), update);
            }
            (Kind::Signal | Kind::Atomic, Some(pe)) if pe != me => {
                self.update((pe, event.address), update);
            }
            (Kind::PutSignal, Some(pe)) if pe != me => {
                self.update((pe, event.extra), update);
            }
            (Kind::Wait, _) => {
                let wait = (call.end, me, call.thread, call.begin, event.address);
                self.waits.push(Reverse(wait));
            }
            (Kind::Send, Some(pe)) => self.message((me, pe), Some(update), None),
            (Kind::Receive, Some(pe)) => self.message((pe, me), None, Some(entry)),
            _ if kind.is_collective() => {
                let team = (event.subject & u64::from(u16::MAX)) as usize;
                if let Some(team) = record.teams.get(team) {
                    self.enter((*team, event.subject >> 16), entry);
                }
            }
            _ => {}
        }
    }

    fn update(&mut self, place: SymmetricWord, update: Update) {
        if !self.waited.0.contains(&place) {
            return;
        }
        let updates = self.updates.entry(place).or_default();
        // Of several threads of a PE, one may come later than one that began after it.
        let at = updates.partition_point(|u| *u <= update);
        updates.insert(at, update);
        if updates.len() > UPDATES {
            updates.pop_front();
        }
    }

    /// The wait that ends first has ended: all updates before its end have come.
    fn end_wait(&mut self) {
        let Some(Reverse((end, pe, thread, begin, place))) = self.waits.pop() else {
            return;
        };
        let Some(updates) = self.updates.get(&(pe, place)) else {
            return;
        };
        let before = updates.partition_point(|u| u.0 <= end);
        let Some((at, by, by_thread)) = before.checked_sub(1).map(|i| updates[i]) else {
            return;
        };
        // One that was there before the wait held nothing up.
        if at >= begin {
            self.join((by, by_thread, at), (pe, thread, end));
        }
    }

    fn message(&mut self, key: (usize, usize), send: Option<Update>, receive: Option<Entry>) {
        if self.lossy.contains(&key.0) || self.lossy.contains(&key.1) {
            return;
        }
        let messages = self.messages.entry(key).or_default();
        if messages.is_too_long {
            return;
        }
        messages.sends.extend(send);
        messages.receives.extend(receive);
        if messages.sends.len().max(messages.receives.len()) > OPEN {
            *messages = Messages { is_too_long: true, ..Messages::default() };
        }
        let (Some(send), Some(receive)) = (messages.sends.front(), messages.receives.front()) else {
            return;
        };
        let (send, (pe, thread, _, end)) = (*send, *receive);
        messages.sends.pop_front();
        messages.receives.pop_front();
        if send.0 <= end {
            self.join((send.1, send.2, send.0), (pe, thread, end));
        }
    }

    fn enter(&mut self, key: (Team, u64), entry: Entry) {
        let members = self.collectives.entry(key).or_default();
        members.push(entry);
        if members.len() < key.0.size {
            if self.collectives.len() > OPEN {
                self.drop_oldest();
            }
            return;
        }
        let members = self.collectives.remove(&key).unwrap_or_default();
        let Some(last) = members.iter().max_by_key(|m| m.2) else {
            return;
        };
        for (pe, thread, begin, end) in &members {
            if *pe != last.0 && *begin < last.2 && last.2 <= *end {
                self.join((last.0, last.1, last.2), (*pe, *thread, *end));
            }
        }
    }

    /// Members of these collectives have lost their calls, or not recorded.
    #[cold]
    fn drop_oldest(&mut self) {
        let mut begins: Vec<_> = self.collectives.values().map(|m| m[0].2).collect();
        let middle = begins.len() / 2;
        let (_, middle, _) = begins.select_nth_unstable(middle);
        let middle = *middle;
        self.collectives.retain(|_, m| m[0].2 > middle);
    }

    fn join(&mut self, from: (usize, u32, u64), to: (usize, u32, u64)) {
        let is_shown = self.part.has(from.0) && self.part.has(to.0);
        if !is_shown || !self.part.overlaps(from.2, to.2) {
            return;
        }
        let flow = Flow { from, to };
        let entry = Reverse((flow.length(), flow));
        self.found += 1;
        if self.longest.len() < MOST {
            self.longest.push(entry);
        } else if let Some(mut shortest) = self.longest.peek_mut()
            && entry < *shortest
        {
            *shortest = entry;
        }
    }

    /// The longest arrows, in the order of their ends, and how many there are in all.
    pub(super) fn finish(mut self) -> (Vec<Flow>, u64) {
        while !self.waits.is_empty() {
            self.end_wait();
        }
        let longest = self.longest.into_iter().map(|l| l.0.1);
        let mut flows: Vec<_> = longest.collect();
        flows.sort_unstable_by_key(|f| (f.to.2, f.to.0, f.from.2));
        (flows, self.found)
    }
}

/// The `most` longest of some arrows.
pub(super) fn longest(flows: &[Flow], most: usize) -> Vec<&Flow> {
    let mut flows: Vec<_> = flows.iter().collect();
    if flows.len() > most {
        flows.sort_unstable_by_key(|f| Reverse(f.length()));
        flows.truncate(most);
    }
    flows
}

/// Where arrows begin and end, of the calls of one PE: by thread and time.
#[derive(Debug, Default)]
pub(super) struct Ends(HashMap<(u32, u64), Vec<u64>>);

impl Ends {
    /// The numbers of the arrows at a call's begin or end.
    pub(super) fn at(&self, thread: u32, time: u64) -> Vec<u64> {
        self.0.get(&(thread, time)).cloned().unwrap_or_default()
    }
}

/// Arrows by PE.
#[derive(Debug)]
pub(super) struct ByPe {
    from: Vec<(usize, u32, u64, u64)>,
    to: Vec<(usize, u32, u64, u64)>,
}

impl ByPe {
    /// Arrow `i` gets the number `i + 1`.
    pub(super) fn new(flows: &[Flow]) -> Self {
        let by = |end: fn(&Flow) -> (usize, u32, u64)| {
            let numbered = flows.iter().enumerate().map(|(i, flow)| {
                let (pe, thread, time) = end(flow);
                (pe, thread, time, i as u64 + 1)
            });
            let mut sorted: Vec<_> = numbered.collect();
            sorted.sort_unstable();
            sorted
        };
        Self { from: by(|f| f.from), to: by(|f| f.to) }
    }

    /// Those that begin, and those that end at a PE.
    pub(super) fn of(&self, pe: usize) -> (Ends, Ends) {
        let ends = |sorted: &[(usize, u32, u64, u64)]| {
            let start = sorted.partition_point(|e| e.0 < pe);
            let end = sorted.partition_point(|e| e.0 <= pe);
            let mut ends = Ends::default();
            for (_, thread, time, number) in &sorted[start..end] {
                let at = ends.0.entry((*thread, *time)).or_default();
                at.push(*number);
            }
            ends
        };
        (ends(&self.from), ends(&self.to))
    }
}
