//! `--check=race`: conflicting accesses of two PEs that nothing orders.
//!
//! Each PE has a vector clock (`clock`), which barriers, collectives, locks, waits and atomics hand on; the shadow
//! memory (`shadow`) has who accessed what last. An access that conflicts with one that did not happen before is a
//! race, whatever came first in this run. Puts happened before what follows a quiet or fence alone,
//! even of the same PE.

mod arrivals;
mod bounds;
mod clock;
mod contents;
mod contexts;
mod other_pes;
mod published;
mod shadow;
mod steps;
mod store;
mod sync_objects;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use self::bounds::Bounds;
use self::clock::{Clock, Via};
use self::contents::Contents;
use self::contexts::Contexts;
use self::other_pes::OtherPes;
use self::shadow::Access;
pub(crate) use self::steps::Steps;
use self::steps::Waiting;
pub(crate) use self::store::Store;
use self::store::{Conflict, Found, From, Step};
use ferroshmem_layout::Operation;

use crate::call::{Call, Role};
use crate::finding::{Finding, Kind, Place};
use crate::hidden::Hidden;
use crate::job::ThisPe;
use crate::layout::{RACE, header};
use crate::members::Members;
use crate::records::Records;
use crate::span::Span;

/// In [`Finding::detail`]: the access in which the race was found writes.
pub const WRITES: u64 = 1;
/// The other access writes.
pub const OTHER_WRITES: u64 = 2;

/// In an address: it is in a variable of the program, which each PE has at another address.
const GLOBAL: u64 = 1 << 47;

/// What one thread of a PE has at a time.
#[derive(Debug)]
struct State {
    clock: Clock,
    contexts: Contexts,
    /// Number of the next collective of each team.
    collectives: HashMap<Members, u64>,
    /// Blocks of the heap: bytes and call.
    blocks: BTreeMap<Hidden, (usize, u32)>,
    /// Pairs of calls that were reported.
    reported: HashSet<(u32, u32)>,
    /// Steps that `oshrun` is to take with the next one, where it has the store.
    waiting: Waiting,
    /// Reads what is put.
    contents: Contents,
    /// Other memory of this PE that non-blocking calls write until a quiet: start, end and context.
    incoming: BTreeMap<usize, (usize, Via)>,
}

/// The state of these checks.
#[derive(Debug)]
pub(crate) struct Race {
    me: usize,
    /// None if `oshrun` has it.
    store: Option<Store>,
    /// Where blocks are, or were.
    heap: Bounds,
    /// Where `State::incoming` is.
    incoming: Bounds,
    /// The other PEs' heaps, once there is a block, and variables.
    heaps: OnceLock<OtherPes>,
    variables: OtherPes,
    state: Mutex<State>,
}

impl Race {
    pub(crate) fn new(job: &ThisPe) -> Self {
        Self {
            me: job.me,
            store: match &job.records {
                Records::Here(shared) => Some(Store::new(job.n_pes, shared.from(RACE))),
                Records::There(_) => None,
            },
            heap: Bounds::none(),
            incoming: Bounds::none(),
            heaps: OnceLock::new(),
            variables: OtherPes::of(job, job.globals.any()),
            state: Mutex::new(State {
                clock: Clock::new(job.me, job.n_pes),
                contexts: Contexts::default(),
                collectives: HashMap::new(),
                blocks: BTreeMap::new(),
                reported: HashSet::new(),
                waiting: Waiting::default(),
                contents: Contents::new(),
                incoming: BTreeMap::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes steps in the store.
    fn take(&self, job: &ThisPe, state: &mut State, steps: &[Step]) {
        let found = match (&self.store, &job.records) {
            (Some(store), _) => {
                let mut found = Found::default();
                for step in steps {
                    store.take(self.me, &mut state.clock, step, &mut found);
                }
                found
            }
            (None, Records::There(connection)) => state.waiting.take(connection, &mut state.clock, steps),
            (None, Records::Here(_)) => return,
        };
        if found.lacked_room {
            job.records.raise(header::FULL);
        }
        for Conflict { site, access, old, pe, at } in found.conflicts {
            if state.reported.insert((site, old.site)) {
                let other_writes = if old.access.writes() { OTHER_WRITES } else { 0 };
                let writes = if access.writes() { WRITES } else { 0 };
                job.records.report(&Finding {
                    target: pe,
                    other: Some((old.pe, old.site)),
                    place: if self.is_place(job, at) { state.place(job, at) } else { Place::None },
                    detail: writes | other_writes,
                    ..job.finding(Kind::Race, site)
                });
            }
        }
    }

    /// Lets others learn what this PE knows who see what it does now: more of it are the `steps`.
    fn release(&self, job: &ThisPe, state: &mut State, step: Option<Step>) {
        let epoch = state.clock.epoch();
        state.clock.release();
        let steps = std::iter::once(Step::Publish { epoch }).chain(step);
        self.take(job, state, &steps.collect::<Vec<_>>());
    }

    /// Lets others learn it who see the variable at `at` of PE `pe`.
    fn release_to(&self, job: &ThisPe, state: &mut State, (pe, at): (usize, u64)) {
        self.release(job, state, Some(Step::Release { pe, at }));
    }

    /// This PE enters a collective.
    fn enter_team(&self, job: &ThisPe, state: &mut State, call: &mut Call) {
        let Some(team) = job.members(call) else {
            return;
        };
        self.work_array(job, state, call, team);
        let next = state.collectives.entry(team).or_default();
        let number = *next;
        *next += 1;
        self.release(job, state, Some(Step::Enter { team, number }));
        call.scratch.collective = number as usize + 1;
    }

    /// From now on, a collective of an active set may use the other PEs' `pSync`; a broadcast does so from its root.
    fn work_array(&self, job: &ThisPe, state: &mut State, call: &Call, team: Members) {
        // `pWrk` comes before it.
        let work = call.parameters().filter(|(_, parameter)| parameter.role == Role::Work).last();
        let Some((number, parameter)) = work else {
            return;
        };
        if call.operation() == Operation::Broadcast && job.root(call) != Some(self.me) {
            return;
        }
        let span = call.span(number, parameter, 1);
        for pe in team.pes().filter(|pe| *pe != self.me) {
            self.access(job, state, call, (pe, span), Access::AtomicUpdate);
        }
    }

    /// This PE leaves it.
    fn leave_team(&self, job: &ThisPe, state: &mut State, call: &Call, from: From) {
        let number = (call.scratch.collective as u64).checked_sub(1);
        let (Some(team), Some(number)) = (job.members(call), number) else {
            return;
        };
        let leave = |from| Step::Leave { team, number, from };
        let steps = match from {
            // Words do not say who is on a list.
            From::All | From::Before if team.is_list() => {
                let mut pes = job.pes(call);
                if from == From::Before {
                    pes.truncate(pes.iter().position(|pe| *pe == self.me).unwrap_or(0));
                }
                pes.into_iter().map(|pe| leave(From::Root(pe))).collect()
            }
            _ => vec![leave(from)],
        };
        self.take(job, state, &steps);
        // What follows is later than what was done meanwhile.
        self.release(job, state, None);
    }

    /// An address that is the same in all PEs; None if it is not symmetric.
    fn symmetric(&self, job: &ThisPe, at: usize) -> Option<u64> {
        if job.globals.range.contains(&at) {
            return Some(at.wrapping_sub(job.globals.bias) as u64 | GLOBAL);
        }
        // Most other addresses are of this PE's stack.
        let is_symmetric = self.heap.range().contains(&at) || job.library.is_symmetric(at, self.me);
        is_symmetric.then_some(at as u64)
    }

    /// Whether an address of the shadow memory is of a variable or the heap, not of other memory of this PE.
    fn is_place(&self, job: &ThisPe, at: u64) -> bool {
        at & GLOBAL != 0 || self.symmetric(job, at as usize).is_some()
    }

    /// The address by which the shadow memory has other memory of this PE; None where no call writes it that is not
    /// complete. A `Put` is such a call.
    fn incoming(&self, state: &mut State, span: Span, access: Access) -> Option<u64> {
        let (low, len) = span.bounds();
        if let Access::Put(via) = access {
            state.incoming.insert(low, (low.saturating_add(len), via));
            self.incoming.add(low, len);
            return Some(span.at as u64);
        }
        let end = low.saturating_add(len);
        let (_, (until, _)) = state.incoming.range(..end).next_back()?;
        (low < *until).then_some(span.at as u64)
    }

    /// What this PE has put by a context is complete.
    fn quiet(&self, state: &mut State, via: Via) {
        state.clock.quiet(via);
        state.incoming.retain(|_, (_, of)| *of != via);
        if state.incoming.is_empty() {
            self.incoming.clear();
        }
    }

    /// Adds an access of memory of PE `pe` by a call.
    fn access(&self, job: &ThisPe, state: &mut State, call: &Call, (pe, span): (usize, Span), access: Access) {
        let contents = match access {
            Access::Put(_) => state.contents.of(call, span.at),
            _ => 0,
        };
        let (low, len) = span.bounds();
        let symmetric = self.symmetric(job, span.at);
        let incoming = || (pe == self.me).then(|| self.incoming(state, span, access)).flatten();
        let Some(first) = symmetric.or_else(incoming) else {
            return;
        };
        // What leaves symmetric memory the library refuses, or it ends by a signal.
        if len > 0 && (symmetric.is_none() || self.symmetric(job, low.saturating_add(len - 1)).is_some()) {
            self.add(job, state, job.site(call), (pe, first, span), (access, contents));
        }
    }

    /// Adds accesses of memory of PE `pe`; `first` is the address that all PEs have.
    fn add(
        &self,
        job: &ThisPe,
        state: &mut State,
        site: u32,
        (pe, first, span): (usize, u64, Span),
        (access, contents): (Access, u32),
    ) {
        let span = Span { at: first as usize, ..span };
        self.take(job, state, &[Step::Access { pe, span, access, contents, site }]);
    }

    /// A load or store of the program.
    pub(crate) fn load_or_store(&self, job: &ThisPe, (at, bytes): (usize, usize), writes: bool, address: usize) {
        let access = if writes { Access::Write } else { Access::Read };
        // Mostly it is of other memory.
        let symmetric = self.owner(job, at).and_then(|(pe, own)| Some((pe, own, self.symmetric(job, own)?)));
        if symmetric.is_none() && !self.incoming.range().contains(&at) {
            return;
        }
        let site = job.site_of_access(writes, address);
        let mut state = self.state();
        let incoming = || Some((self.me, at, self.incoming(&mut state, Span::row(at, bytes), access)?));
        if let Some((pe, own, first)) = symmetric.or_else(incoming) {
            self.add(job, &mut state, site, (pe, first, Span::row(own, bytes)), (access, 0));
        }
    }

    /// Whose memory an address of this process is, and this PE's own address of the same.
    fn owner(&self, job: &ThisPe, at: usize) -> Option<(usize, usize)> {
        let (variables, blocks) = (&job.globals.range, self.heap.range());
        if variables.contains(&at) || blocks.contains(&at) {
            return Some((self.me, at));
        }
        self.variables.find(at, variables).or_else(|| self.heaps.get()?.find(at, &blocks))
    }

    /// Before the library's function.
    pub(crate) fn enter(&self, job: &ThisPe, call: &mut Call) {
        let operation = call.operation();
        let mut guard = self.state();
        let state = &mut *guard;
        if call.is_of_rust() {
            // Its steps end with all operations complete, and its signals come after what was put before.
            match operation {
                Operation::Barrier | Operation::Receive => Via::ALL.into_iter().for_each(|via| state.clock.quiet(via)),
                Operation::Signal => state.clock.quiet(state.contexts.via(job.context_of(call))),
                _ => {}
            }
        }
        match operation {
            Operation::Other | Operation::Init | Operation::GlobalExit => {}
            Operation::SignalFetch | Operation::Wait | Operation::Test => {}
            Operation::SetLock | Operation::TestLock => {}
            Operation::Put
            | Operation::PutNbi
            | Operation::PutRequest
            | Operation::Get
            | Operation::GetNbi
            | Operation::AtomicFetch
            | Operation::AtomicUpdate
            | Operation::AtomicFetchUpdate
            | Operation::PutSignal
            | Operation::Signal => self.one_sided(job, state, call),
            Operation::Quiet | Operation::Fence | Operation::DestroyContext => {
                let context = job.context_of(call);
                let via = state.contexts.via(context);
                self.quiet(state, via);
                if operation == Operation::DestroyContext {
                    state.contexts.forget(context);
                }
            }
            Operation::ClearLock => {
                self.quiet(state, Via::DEFAULT);
                if let Some(lock) = self.lock(job, call) {
                    self.release_to(job, state, (0, lock));
                }
            }
            Operation::Send | Operation::Receive => self.release(job, state, None),
            Operation::SpaceMalloc | Operation::SpaceFree | Operation::SpaceDestroy => {
                self.quiet(state, Via::DEFAULT);
                self.release(job, state, None);
            }
            Operation::Malloc
            | Operation::Calloc
            | Operation::Align
            | Operation::MallocWithHints
            | Operation::Realloc
            | Operation::Free => {
                if call.synchronizes() {
                    self.quiet(state, Via::DEFAULT);
                    self.enter_team(job, state, call);
                }
            }
            Operation::Barrier => {
                self.quiet(state, Via::DEFAULT);
                self.enter_team(job, state, call);
            }
            Operation::Finalize => {
                for via in Via::ALL {
                    self.quiet(state, via);
                }
                self.enter_team(job, state, call);
            }
            Operation::Sync | Operation::Split => {
                self.enter_team(job, state, call);
            }
            Operation::Broadcast | Operation::Gather | Operation::Exchange | Operation::Reduce | Operation::Scan => {
                self.collective(job, state, call);
                self.enter_team(job, state, call);
            }
        }
    }

    /// After it.
    pub(crate) fn leave(&self, job: &ThisPe, call: &Call, result: usize) {
        let mut guard = self.state();
        let state = &mut *guard;
        match call.operation() {
            Operation::AtomicFetch | Operation::AtomicFetchUpdate => {
                self.fetched(job, state, call);
            }
            Operation::SignalFetch | Operation::Wait => self.seen(job, state, call, result),
            Operation::Test => {
                let is_true = match call.name().contains("_any") {
                    true => result != usize::MAX,
                    false => result != 0,
                };
                if is_true {
                    self.seen(job, state, call, result);
                }
            }
            Operation::SetLock | Operation::TestLock => {
                let is_taken = call.operation() == Operation::SetLock || result == 0;
                if let Some(lock) = self.lock(job, call).filter(|_| is_taken) {
                    self.take(job, state, &[Step::AcquireObject { pe: 0, at: lock }]);
                }
            }
            Operation::Receive | Operation::SpaceMalloc | Operation::SpaceFree | Operation::SpaceDestroy => {
                self.take(job, state, &[Step::AcquireAll]);
                self.release(job, state, None);
            }
            Operation::Malloc
            | Operation::Calloc
            | Operation::Align
            | Operation::MallocWithHints
            | Operation::Realloc => {
                self.leave_team(job, state, call, From::All);
                self.allocated(job, state, call, result);
            }
            Operation::Broadcast | Operation::Gather => match job.root(call) {
                Some(root) if call.operation() == Operation::Broadcast => {
                    self.leave_team(job, state, call, From::Root(root));
                }
                Some(root) if root == self.me => self.leave_team(job, state, call, From::All),
                _ => {}
            },
            Operation::Scan => self.leave_team(job, state, call, From::Before),
            Operation::Finalize => {
                self.leave_team(job, state, call, From::All);
                for (start, (size, _)) in std::mem::take(&mut state.blocks) {
                    self.take(job, state, &[Step::Clear { pe: self.me, at: start.address() as u64, len: size }]);
                }
            }
            Operation::Free => {
                self.leave_team(job, state, call, From::All);
                self.free(job, state, call);
            }
            Operation::Barrier | Operation::Sync | Operation::Split | Operation::Exchange | Operation::Reduce => {
                self.leave_team(job, state, call, From::All);
            }
            _ => {}
        }
    }

    /// A block that a call has freed forgets who accessed it. Until the barrier of that call, others may access it.
    fn free(&self, job: &ThisPe, state: &mut State, call: &Call) {
        let at = call.value(0);
        if let Some((size, _)) = state.blocks.remove(&Hidden::of(at)) {
            self.take(job, state, &[Step::Clear { pe: self.me, at: at as u64, len: size }]);
        }
    }

    /// A call that allocates has returned `at`.
    fn allocated(&self, job: &ThisPe, state: &mut State, call: &Call, at: usize) {
        let size = call.scratch.requested;
        let old = call.value(0);
        if call.operation() == Operation::Realloc && (at != 0 || size == 0) {
            state.blocks.remove(&Hidden::of(old));
        }
        if at != 0 {
            let block = (size, job.site(call));
            state.blocks.insert(Hidden::of(at), block);
            self.heap.add(at, size);
            self.heaps.get_or_init(|| OtherPes::of(job, at));
        }
    }

    fn one_sided(&self, job: &ThisPe, state: &mut State, call: &Call) {
        let Some(pe) = job.target(call) else {
            return;
        };
        let operation = call.operation();
        let via = state.contexts.via(job.context_of(call));
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
                // Whoever sees the signal sees the data; when the request ends is not known here.
                (Operation::PutSignal | Operation::PutRequest, Role::Dest) => (pe, Access::Write),
                (_, Role::Dest) => (pe, Access::Put(via)),
                (_, Role::Source) => (pe, Access::Read),
                (_, Role::Read) => (self.me, Access::Read),
                (_, Role::Write) if call.name().ends_with("_nbi") => (self.me, Access::Put(via)),
                (_, Role::Write) => (self.me, Access::Write),
                _ => continue,
            };
            self.access(job, state, call, (pe, span), access);
        }
        if let Some(span) = signal {
            let access = match operation {
                Operation::AtomicUpdate => Access::AtomicPut(via),
                _ => Access::AtomicUpdate,
            };
            self.access(job, state, call, (pe, span), access);
            if let Some(at) = self.symmetric(job, span.at) {
                self.release_to(job, state, (pe, at));
            }
        } else if matches!(operation, Operation::Put | Operation::PutNbi | Operation::PutRequest) {
            // Another PE may wait for what is put.
            self.release(job, state, None);
        }
    }

    /// The variable of another PE that an atomic has read.
    fn fetched(&self, job: &ThisPe, state: &mut State, call: &Call) {
        let variable = call.parameters().find(|(_, p)| matches!(p.role, Role::Dest | Role::Source));
        if let (Some((number, parameter)), Some(pe)) = (variable, job.target(call)) {
            let span = call.span(number, parameter, 1);
            if let Some(at) = self.symmetric(job, span.at) {
                self.take(job, state, &[Step::Acquire { pe, at, len: span.len }]);
            }
        }
    }

    /// The arrays of a collective: each PE's own are accessed between its call and its return.
    fn collective(&self, job: &ThisPe, state: &mut State, call: &Call) {
        let Some(team) = job.members(call) else {
            return;
        };
        let root = job.root(call);
        if root.is_none() && call.argument(Role::Root).is_some() {
            // The library ends the job.
            return;
        }
        // A team's root gets a copy, too, that of an active set does not.
        let writes_dest = root.is_none_or(|root| match call.operation() {
            Operation::Gather => root == self.me,
            _ => root != self.me || call.argument(Role::Start).is_none(),
        });
        for (number, parameter) in call.parameters() {
            let access = match parameter.role {
                Role::Source if job.reads_source(call, number) => Access::Read,
                Role::Dest if writes_dest => Access::Write,
                _ => continue,
            };
            let span = call.span(number, parameter, team.size);
            self.access(job, state, call, (self.me, span), access);
        }
    }

    /// Variables of this PE were seen to have changed, by a call with this result.
    fn seen(&self, job: &ThisPe, state: &mut State, call: &Call, result: usize) {
        for (number, parameter) in call.parameters() {
            if !matches!(parameter.role, Role::Variable | Role::Signal) {
                continue;
            }
            let span = call.span(number, parameter, 1);
            let Some(first) = self.symmetric(job, span.at) else {
                continue;
            };
            let element = call.element().max(1);
            let all = span.bounds().1 / element;
            let seen = call.found(result).unwrap_or_else(|| (0..all).collect());
            for place in seen.into_iter().filter(|place| *place < all) {
                let at = first + (place * element) as u64;
                self.take(job, state, &[Step::Acquire { pe: self.me, at, len: element }]);
            }
        }
    }

    fn lock(&self, job: &ThisPe, call: &Call) -> Option<u64> {
        self.symmetric(job, call.argument(Role::Lock)?)
    }
}

impl State {
    /// Where an address is that all PEs have.
    fn place(&self, job: &ThisPe, at: u64) -> Place {
        if at & GLOBAL != 0 {
            return Place::Global(job.object, at & !GLOBAL);
        }
        let here = Hidden::of(at as usize);
        let block = self.blocks.range(..=here).next_back();
        let block = block.filter(|(start, (size, _))| here.offset_from(**start) < *size);
        block.map_or(Place::Heap(at), |(start, (size, site))| Place::Block {
            offset: here.offset_from(*start) as i64,
            size: *size as u64,
            site: *site,
        })
    }
}
