//! `--check=race`: conflicting accesses of two PEs that nothing orders.
//!
//! Each PE has a clock of all PEs ([`clock`]), which barriers, collectives, locks, waits and atomics hand on; the shadow memory
//! ([`shadow`]) has who accessed what last. An access that conflicts with one that did not happen before is a race, whatever
//! came first in this run. Puts happened before what follows a quiet or fence alone.

mod clock;
mod layout;
mod shadow;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::clock::Clock;
use self::layout::{KEPT, Layout, OBJECTS};
use self::shadow::{Access, Cell, Shadow};
use crate::call::{Call, Members, Role, Span};
use crate::finding::{Finding, Kind, Place};
use crate::job::Job;
use crate::layout::{RACE, header};
use crate::operation::Operation;
use crate::shared::mixed;

/// Words of the shared file that these checks need.
pub(crate) fn words(n_pes: usize) -> usize {
    Layout::new(n_pes).words()
}

/// In an address: it is in a variable of the program, which each PE has at another address.
const GLOBAL: u64 = 1 << 47;

/// What of a PE's threads one has at a time.
#[derive(Debug)]
struct State {
    clock: Clock,
    /// Number of the next collective of each team.
    collectives: HashMap<Members, u64>,
    /// Blocks of the heap, by the addresses of their second bytes, which lead to no block: bytes and call.
    blocks: BTreeMap<usize, (usize, u32)>,
    /// Calls that were reported.
    reported: HashSet<(u32, u32)>,
}

/// The state of these checks.
#[derive(Debug)]
pub(crate) struct Race {
    me: usize,
    layout: Layout,
    words: &'static [AtomicU64],
    shadow: Shadow,
    /// The lowest and the highest address that a block had.
    heap: [AtomicUsize; 2],
    state: Mutex<State>,
}

/// From whom the members of a collective learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    All,
    Root(usize),
    Before,
}

impl Race {
    pub(crate) fn new(job: &Job) -> Self {
        let layout = Layout::new(job.n_pes);
        let words = job.shared.from(RACE);
        let shadow = Shadow::new(&words[layout.index.clone()], &words[layout.shadow.clone()]);
        Self {
            me: job.me,
            words,
            shadow,
            heap: [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)],
            state: Mutex::new(State {
                clock: Clock::new(job.me, job.n_pes),
                collectives: HashMap::new(),
                blocks: BTreeMap::new(),
                reported: HashSet::new(),
            }),
            layout,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vector(&self, pe: usize) -> &[AtomicU64] {
        let n = self.layout.n_pes;
        &self.words[self.layout.vectors.start + pe * n..][..n]
    }

    fn history(&self, pe: usize, time: u32) -> &[AtomicU64] {
        let n = self.layout.n_pes;
        let at = (pe * self.layout.times + time as usize % self.layout.times) * n;
        &self.words[self.layout.history.start + at..][..n]
    }

    fn meeting(&self, pe: usize, team: &Members, number: u64) -> &[AtomicU64] {
        let words = 2 + self.layout.n_pes;
        let team = key_of(team) as usize % self.layout.teams;
        let at = ((pe * self.layout.teams + team) * KEPT + number as usize % KEPT) * words;
        &self.words[self.layout.meetings.start + at..][..words]
    }

    /// The lock and what is known of an object; None if there is no room.
    fn object(&self, pe: usize, at: u64) -> Option<&[AtomicU64]> {
        let words = 2 + self.layout.n_pes;
        let key = mixed(pe as u64 + 1, at) | 1;
        (0..64).find_map(|i| {
            let number = (key as usize).wrapping_add(i) % OBJECTS;
            let object = &self.words[self.layout.objects.start + number * words..][..words];
            let taken = object[0].compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            (taken.is_ok() || taken == Err(key)).then_some(object)
        })
    }

    /// Lets others learn what this PE knows who see what it does now.
    fn release(&self, state: &mut State) -> u32 {
        let now = state.clock.now();
        let history = self.history(self.me, now);
        let (known, _) = state.clock.release();
        clock::store(self.vector(self.me), known);
        clock::store(history, known);
        now
    }

    /// Lets others learn it who see an object.
    fn release_to(&self, state: &mut State, pe: usize, at: u64) {
        self.release(state);
        if let Some(object) = self.object(pe, at) {
            let mut tries = 0_u32;
            while object[1].swap(1, Ordering::Acquire) != 0 && tries < 1_000_000 {
                tries += 1;
                std::thread::yield_now();
            }
            let known: Vec<u64> = self.vector(self.me).iter().map(load).collect();
            clock::join(&object[2..], &known);
            object[1].store(0, Ordering::Release);
        }
    }

    /// Learns what those knew who wrote at an address.
    fn acquire_from(&self, state: &mut State, (pe, at, len): (usize, u64, usize)) {
        if let Some(object) = self.object(pe, at) {
            state.clock.acquire(&object[2..]);
        }
        for cell in self.shadow.seen((pe, at, len), self.me) {
            let history = self.history(cell.pe, cell.time);
            let is_of_time = clock::others(load(&history[cell.pe])) == cell.time;
            // What is no longer kept was known later, too.
            let known = if is_of_time {
                history
            } else {
                self.vector(cell.pe)
            };
            state.clock.acquire(known);
        }
    }

    fn acquire_all(&self, state: &mut State) {
        for pe in (0..self.layout.n_pes).filter(|pe| *pe != self.me) {
            state.clock.acquire(self.vector(pe));
        }
    }

    /// This PE enters a collective.
    fn enter_team(&self, state: &mut State, call: &mut Call, team: Option<Members>) {
        let Some(team) = team.filter(|team| team.size <= self.layout.n_pes) else {
            return;
        };
        let next = state.collectives.entry(team).or_default();
        let number = *next;
        *next += 1;
        self.release(state);
        let meeting = self.meeting(self.me, &team, number);
        let known: Vec<u64> = self.vector(self.me).iter().map(load).collect();
        meeting[0].store(key_of(&team), Ordering::Relaxed);
        clock::store(&meeting[2..], &known);
        meeting[1].store(number + 1, Ordering::Release);
        call.scratch[1] = number as usize + 1;
    }

    /// This PE leaves it.
    fn leave_team(&self, state: &mut State, call: &Call, team: Option<Members>, from: From) {
        let (Some(team), Some(number)) = (team, (call.scratch[1] as u64).checked_sub(1)) else {
            return;
        };
        for pe in team.pes() {
            if pe == self.me && from == From::Before {
                break;
            }
            let is_meant = match from {
                From::Root(root) => pe == root,
                _ => true,
            };
            if pe == self.me || pe >= self.layout.n_pes || !is_meant {
                continue;
            }
            let meeting = self.meeting(pe, &team, number);
            let entered = meeting[1].load(Ordering::Acquire);
            let is_this = load(&meeting[0]) == key_of(&team) && entered == number + 1;
            let known = if is_this {
                &meeting[2..]
            } else {
                self.vector(pe)
            };
            state.clock.acquire(known);
        }
        // What follows is later than what was done meanwhile.
        self.release(state);
    }

    /// An address that is the same in all PEs; None if it is not symmetric.
    fn symmetric(&self, job: &Job, at: usize) -> Option<u64> {
        if job.globals.range.contains(&at) {
            return Some(at.wrapping_sub(job.globals.bias) as u64 | GLOBAL);
        }
        // Most other addresses are of this PE's stack.
        let heap = self.heap.each_ref().map(|end| end.load(Ordering::Relaxed));
        let is_symmetric =
            (heap[0]..heap[1]).contains(&at) || job.library.is_symmetric(at, self.me);
        is_symmetric.then_some(at as u64)
    }

    fn place(state: &State, job: &Job, at: u64) -> Place {
        if at & GLOBAL != 0 {
            return Place::Global(job.object, at & !GLOBAL);
        }
        let block = state.blocks.range(..=at as usize + 1).next_back();
        let block = block.filter(|(second, (size, _))| at as usize + 1 - **second < *size);
        block.map_or(Place::Heap(at), |(second, (size, site))| Place::Block {
            offset: (at as usize + 1 - second) as i64,
            size: *size as u64,
            site: *site,
        })
    }

    /// Adds an access of memory of PE `pe`.
    fn access(
        &self,
        job: &Job,
        state: &mut State,
        call: &Call,
        (pe, span): (usize, Span),
        access: Access,
    ) {
        let Some(first) = self.symmetric(job, span.at) else {
            return;
        };
        self.add(job, state, job.site(call), (pe, first, span), access);
    }

    /// Adds accesses of memory of PE `pe`; `first` is the address that all PEs have.
    fn add(
        &self,
        job: &Job,
        state: &mut State,
        site: u32,
        (pe, first, span): (usize, u64, Span),
        access: Access,
    ) {
        let new = Cell {
            time: state.clock.now(),
            pe: self.me,
            access,
            bytes: 0,
            site,
        };
        let mut found: Vec<(Cell, u64)> = Vec::new();
        for (at, len) in span.blocks() {
            let at = first.wrapping_add_signed(at.wrapping_sub(span.at) as i64);
            let mut conflicts = |cell: Cell, at: u64| {
                if !found.iter().any(|(other, _)| other.site == cell.site) {
                    found.push((cell, at));
                }
            };
            let had_room = self
                .shadow
                .access((pe, at, len), new, &state.clock, &mut conflicts);
            if !had_room {
                job.shared.set(header::FULL, 1);
            }
        }
        for (cell, at) in found {
            if state.reported.insert((site, cell.site)) {
                job.shared.report(&Finding {
                    target: pe,
                    other: Some((cell.pe, cell.site)),
                    place: Self::place(state, job, at),
                    detail: u64::from(access.writes()) | u64::from(cell.access.writes()) << 1,
                    ..job.finding(Kind::Race, site)
                });
            }
        }
    }

    /// A load or store of the program.
    pub(crate) fn load_or_store(
        &self,
        job: &Job,
        (at, bytes): (usize, usize),
        writes: bool,
        address: usize,
    ) {
        // Mostly it is of other memory.
        let is_global = job.globals.range.contains(&at);
        let heap = self.heap.each_ref().map(|end| end.load(Ordering::Relaxed));
        if !is_global && !(heap[0]..heap[1]).contains(&at) {
            return;
        }
        let Some(first) = self.symmetric(job, at) else {
            return;
        };
        let site = job.site_of_access(writes, address);
        let access = if writes { Access::Write } else { Access::Read };
        let span = Span::row(at, bytes);
        self.add(job, &mut self.state(), site, (self.me, first, span), access);
    }

    /// Before the library's function.
    pub(crate) fn enter(&self, job: &Job, call: &mut Call) {
        let operation = call.operation();
        let mut guard = self.state();
        let state = &mut *guard;
        match operation {
            Operation::Other | Operation::Init | Operation::GlobalExit => {}
            Operation::Put
            | Operation::PutNbi
            | Operation::Get
            | Operation::GetNbi
            | Operation::AtomicFetch
            | Operation::AtomicUpdate
            | Operation::AtomicFetchUpdate
            | Operation::PutSignal
            | Operation::Signal => self.one_sided(job, state, call),
            Operation::Quiet | Operation::Fence | Operation::DestroyContext => {
                state.clock.quiet();
            }
            Operation::SignalFetch | Operation::Wait | Operation::Test => {}
            Operation::SetLock | Operation::TestLock => {}
            Operation::ClearLock => {
                state.clock.quiet();
                if let Some(lock) = self.lock(job, call) {
                    self.release_to(state, 0, lock);
                }
            }
            Operation::Send | Operation::Receive => {
                self.release(state);
            }
            Operation::SpaceMalloc | Operation::SpaceFree | Operation::SpaceDestroy => {
                state.clock.quiet();
                self.release(state);
            }
            Operation::Free => {
                let at = call.value(0);
                if let Some((size, _)) = state.blocks.remove(&(at + 1)) {
                    self.shadow.clear((self.me, at as u64, size));
                }
                if at != 0 {
                    state.clock.quiet();
                    self.enter_team(state, call, job.members(call));
                }
            }
            Operation::Malloc
            | Operation::Calloc
            | Operation::Align
            | Operation::MallocWithHints
            | Operation::Realloc
            | Operation::Barrier
            | Operation::Finalize => {
                state.clock.quiet();
                self.enter_team(state, call, job.members(call));
            }
            Operation::Sync | Operation::Split => {
                self.enter_team(state, call, job.members(call));
            }
            Operation::Broadcast | Operation::Exchange | Operation::Reduce | Operation::Scan => {
                self.collective(job, state, call);
                self.enter_team(state, call, job.members(call));
            }
        }
    }

    /// After it.
    pub(crate) fn leave(&self, job: &Job, call: &Call, result: usize) {
        let mut guard = self.state();
        let state = &mut *guard;
        match call.operation() {
            Operation::AtomicFetch | Operation::AtomicFetchUpdate => {
                let at = call.parameters().find(|(_, p)| is_remote(p.role));
                let target = job.target(call);
                if let (Some((number, parameter)), Some(pe)) = (at, target) {
                    let span = call.span(number, parameter, 1);
                    if let Some(at) = self.symmetric(job, span.at) {
                        self.acquire_from(state, (pe, at, span.len));
                    }
                }
            }
            Operation::SignalFetch | Operation::Wait => self.seen(job, state, call),
            Operation::Test => {
                let name = call.name();
                let is_true = match name.contains("_any") {
                    true => result != usize::MAX,
                    false => result != 0,
                };
                if is_true {
                    self.seen(job, state, call);
                }
            }
            Operation::SetLock | Operation::TestLock => {
                let is_taken = call.operation() == Operation::SetLock || result == 0;
                if let Some(lock) = self.lock(job, call).filter(|_| is_taken)
                    && let Some(object) = self.object(0, lock)
                {
                    state.clock.acquire(&object[2..]);
                }
            }
            Operation::Receive
            | Operation::SpaceMalloc
            | Operation::SpaceFree
            | Operation::SpaceDestroy => {
                self.acquire_all(state);
                self.release(state);
            }
            Operation::Malloc
            | Operation::Calloc
            | Operation::Align
            | Operation::MallocWithHints
            | Operation::Realloc => {
                self.leave_team(state, call, job.members(call), From::All);
                let size = match call.operation() {
                    Operation::Malloc | Operation::MallocWithHints => call.value(0),
                    Operation::Calloc => call.value(0).saturating_mul(call.value(1)),
                    _ => call.value(1),
                };
                if call.operation() == Operation::Realloc {
                    state.blocks.remove(&(call.value(0) + 1));
                }
                if result != 0 {
                    state.blocks.insert(result + 1, (size, job.site(call)));
                    self.heap[0].fetch_min(result - 1, Ordering::Relaxed);
                    self.heap[1].fetch_max(result + size, Ordering::Relaxed);
                }
            }
            Operation::Broadcast => {
                let root = call.argument(Role::Root).unwrap_or(0);
                let team = job.members(call);
                // Roots of active sets are numbers in the set, too.
                let root = team.map_or(root, |team| team.pe(root));
                self.leave_team(state, call, team, From::Root(root));
            }
            Operation::Scan => self.leave_team(state, call, job.members(call), From::Before),
            Operation::Finalize => {
                self.leave_team(state, call, job.members(call), From::All);
                for (second, (size, _)) in std::mem::take(&mut state.blocks) {
                    self.shadow.clear((self.me, second as u64 - 1, size));
                }
            }
            Operation::Free
            | Operation::Barrier
            | Operation::Sync
            | Operation::Split
            | Operation::Exchange
            | Operation::Reduce => self.leave_team(state, call, job.members(call), From::All),
            _ => {}
        }
    }

    fn one_sided(&self, job: &Job, state: &mut State, call: &Call) {
        let Some(pe) = job.target(call) else {
            return;
        };
        let operation = call.operation();
        let mut signal = None;
        for (number, parameter) in call.parameters() {
            let span = call.span(number, parameter, 1);
            let (pe, access) = match (operation, parameter.role) {
                (Operation::AtomicFetch, Role::Source) => (pe, Access::AtomicRead),
                (Operation::AtomicUpdate | Operation::AtomicFetchUpdate, Role::Dest)
                | (Operation::Signal | Operation::PutSignal, Role::Signal) => {
                    signal = Some(span);
                    continue;
                }
                // Whoever sees the signal sees the data.
                (Operation::PutSignal, Role::Dest) => (pe, Access::Write),
                (_, Role::Dest) => (pe, Access::Put),
                (_, Role::Source) => (pe, Access::Read),
                (_, Role::Read) => (self.me, Access::Read),
                (Operation::GetNbi, Role::Write) => (self.me, Access::Put),
                (_, Role::Write) => (self.me, Access::Write),
                _ => continue,
            };
            self.access(job, state, call, (pe, span), access);
        }
        if let Some(span) = signal {
            self.access(job, state, call, (pe, span), Access::AtomicUpdate);
            if let Some(at) = self.symmetric(job, span.at) {
                self.release_to(state, pe, at);
            }
        } else if matches!(operation, Operation::Put | Operation::PutNbi) {
            // Another PE may wait for what is put.
            self.release(state);
        }
    }

    /// The arrays of a collective: each PE's own are accessed between its call and its return.
    fn collective(&self, job: &Job, state: &mut State, call: &Call) {
        let Some(team) = job.members(call) else {
            return;
        };
        let root = call.argument(Role::Root).map(|root| team.pe(root));
        for (number, parameter) in call.parameters() {
            let access = match parameter.role {
                Role::Source if root.is_none_or(|root| root == self.me) => Access::Read,
                Role::Dest if root.is_none_or(|root| root != self.me) => Access::Write,
                _ => continue,
            };
            let span = call.span(number, parameter, team.size);
            self.access(job, state, call, (self.me, span), access);
        }
    }

    /// Variables of this PE were seen to have changed.
    fn seen(&self, job: &Job, state: &mut State, call: &Call) {
        for (number, parameter) in call.parameters() {
            if !matches!(parameter.role, Role::Variable | Role::Signal) {
                continue;
            }
            let span = call.span(number, parameter, 1);
            let Some(first) = self.symmetric(job, span.at) else {
                continue;
            };
            let element = call.element().max(1);
            for (at, len) in span.blocks() {
                let at = first + (at - span.at) as u64;
                for i in (0..len).step_by(element) {
                    self.acquire_from(state, (self.me, at + i as u64, element));
                }
            }
        }
    }

    fn lock(&self, job: &Job, call: &Call) -> Option<u64> {
        self.symmetric(job, call.argument(Role::Lock)?)
    }
}

fn is_remote(role: Role) -> bool {
    matches!(role, Role::Dest | Role::Source)
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn key_of(team: &Members) -> u64 {
    let ends = u64::from(team.start as u32) << 32 | u64::from(team.stride as u32);
    mixed(ends, team.size as u64) | 1
}
