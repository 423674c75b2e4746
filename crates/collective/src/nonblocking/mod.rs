//! Collectives that go on after their calls.
//!
//! Those of a team are executed in the order in which they began, which is the same on all members, over the team's
//! [shadow](Team::shadow): so they meet no flag of a collective that its caller waits for. A coroutine for each team
//! executes the algorithms that blocking calls use. Where one of them waits for other members, the coroutine is
//! suspended ([`suspension`]), and resumed when a thread of this PE tests for a request, or waits for anything, or by a
//! worker, which executes large operations while the PE computes ([`offload::begin_collective`]). Who waits for a
//! request resumes it in such a way that it waits itself, as a blocking call does.
//!
//! A coroutine may be resumed by several threads, one after the other. That is sound, as what an algorithm holds over a
//! wait is the team's, or shared memory: [`suspension`] and the scratch buffers know that their thread may change. The
//! lock `execution` orders them: a thread has it from before it resumes the coroutine until this is suspended, so it
//! sees all that earlier threads have written there. What the program has written before it begins an operation comes
//! with the lock `operations`, and `completed` gives the program what the operation has written.
//!
//! An exchange of few bytes ([`exchange`]) needs no coroutine, if nothing else is under way when it begins. Who has the
//! lock ends it before it resumes the coroutine.
//!
//! An exchange between neighbours ([`neighbors`]) needs neither coroutine nor team.
//!
//! A worker may lose its core while it has the lock. So no thread waits for the lock as such: who waits for a request
//! lets the worker run on its own core, and who tests in vain for long does, too.

pub mod exchange;
pub mod neighbors;
mod persistent;
pub mod strided;

use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ferroshmem_core::constants::PREDEFINED_TEAMS;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::handle::Table;
use ferroshmem_core::node::Node;
use ferroshmem_core::offload;
use ferroshmem_core::team::Team;
use ferroshmem_core::transport::request::{COMPLETE, is_one_sided};
use ferroshmem_core::wait::progress::{self, Advance, make_progress};
use ferroshmem_core::wait::suspension::{self, Suspension};
use ferroshmem_layout::WaitKind;
use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};
use ferroshmem_platform::{Held, ShortLock};

use crate::graph::Graph;
use exchange::{Arrays, Combination, Exchange};
use neighbors::Neighbors;
use persistent::{Persistent, Plan, Started, is_persistent};

/// Words of what an operation knows.
const WORDS: usize = 11;

type Words = [MaybeUninit<u64>; WORDS];

/// A collective with its arguments: executed over the shadow of its team. A closure without an allocation, which would
/// take as long as a collective of a few bytes.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    words: Words,
    execute: unsafe fn(&Words, &Node, &Team),
    /// Bytes that this PE moves.
    bytes: usize,
    /// Whether workers know of it.
    has_worker: bool,
}

impl Operation {
    /// An operation that a closure executes, by which this PE moves some `bytes` bytes.
    pub fn new<F: Fn(&Node, &Team) + Copy + Send + 'static>(bytes: usize, closure: F) -> Self {
        unsafe fn execute<F: Fn(&Node, &Team)>(words: &Words, node: &Node, team: &Team) {
            // SAFETY: `new` has written a closure of this type.
            let closure = unsafe { &*words.as_ptr().cast::<F>() };
            closure(node, team);
        }

        const { assert!(size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>()) };
        let mut words = [MaybeUninit::uninit(); WORDS];
        // SAFETY: there is room for it, as was just asserted.
        unsafe { words.as_mut_ptr().cast::<F>().write(closure) };
        Self { words, execute: execute::<F>, bytes, has_worker: false }
    }

    fn execute(&self, node: &Node, team: &Team) {
        // SAFETY: the words are those of the closure.
        unsafe { (self.execute)(&self.words, node, team) };
    }
}

/// Bytes of a coroutine's stack, of which those exist that are touched: algorithms need a few pages.
const STACK: usize = 256 << 10;

/// Instead of a number of polls: a wait.
const WAITS: u32 = u32::MAX;

/// How a collective begins.
#[derive(Debug)]
enum Start {
    Exchange(Exchange),
    Operation(Operation),
}

/// Why a coroutine is suspended.
enum Event {
    /// Other members are not as far; in this wait, they were not before, `again`.
    Waits { again: bool },
    /// An operation is complete.
    Completed,
    /// There is no operation.
    Idle,
}

/// What executes operations.
#[derive(Default)]
struct Execution {
    /// The exchange that is under way, before all other operations, and the number by which it goes on.
    exchange: Option<(Exchange, u32)>,
    /// Executes the others.
    coroutine: Option<Coroutine<(), Event, ()>>,
}

// SAFETY: what is on the stack of a suspended coroutine belongs to algorithms of this crate (see above), to no thread.
unsafe impl Send for Execution {}

impl Drop for Execution {
    fn drop(&mut self) {
        if let Some(coroutine) = &mut self.coroutine {
            // SAFETY: a queue is dropped when all its operations are complete, so nothing on the stack needs to be
            // dropped.
            unsafe { coroutine.force_reset() };
        }
    }
}

/// The non-blocking collectives of a team, in the order in which this PE has begun them.
pub struct Queue {
    /// The low half of the team's handle.
    tag: u32,
    shadow: Team,
    operations: Mutex<VecDeque<Operation>>,
    execution: ShortLock<Execution>,
    /// What suspends the coroutine, once it runs.
    yielder: AtomicPtr<Yielder<(), Event>>,
    begun: AtomicU32,
    /// Written with the lock of `execution`, or while nothing is under way.
    completed: AtomicU32,
    /// Threads in [`complete`](Self::complete), which other threads leave the coroutine to.
    waiters: AtomicU32,
    /// Tests in a row that have found the coroutine with another thread.
    vain_tests: AtomicU32,
    /// Whether the team is destroyed.
    has_ended: AtomicBool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.begun.load(Ordering::Relaxed);
        write!(f, "{} of {of} collectives on team {}", self.completed.load(Ordering::Relaxed), self.shadow.id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the operation of a number is `completed`; acquires what it has written.
#[inline]
pub fn is_complete<A: Atomics>(completed: &A::U32, number: u32) -> bool {
    completed.load(Ordering::Acquire).wrapping_sub(number) as i32 >= 0
}

/// Counts an operation as `completed`, as one thread at a time does; releases what it has written.
#[inline]
pub fn count_completed<A: Atomics>(completed: &A::U32) {
    let number = completed.load(Ordering::Relaxed).wrapping_add(1);
    completed.store(number, Ordering::Release);
}

/// Where the members' copies are of an array that an exchange has.
fn addresses<'a>(node: &'a Node) -> impl Fn(&Group<'a>, *const u8, usize) -> MemberAddresses<'a, u8> + 'a {
    |group, array, bytes| MemberAddresses::resolve(&node.transport.memory, group, "source", array, bytes)
}

impl Queue {
    fn new(node: &Node, team: &Team) -> Self {
        Self {
            tag: team.handle() as u32,
            shadow: team.shadow(node),
            operations: Mutex::default(),
            execution: ShortLock::default(),
            yielder: AtomicPtr::default(),
            begun: AtomicU32::new(0),
            completed: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            vain_tests: AtomicU32::new(0),
            has_ended: AtomicBool::new(false),
        }
    }

    fn is_complete(&self, number: u32) -> bool {
        is_complete::<Std>(&self.completed, number)
    }

    /// Whether operations are under way.
    fn is_busy(&self) -> bool {
        self.completed.load(Ordering::Relaxed) != self.begun.load(Ordering::Relaxed)
    }

    /// The number of the next operation.
    fn next(&self) -> u32 {
        self.begun.load(Ordering::Relaxed).wrapping_add(1)
    }

    /// The request of an operation. One that is complete is as a one-sided one: tests and waits need not look for its
    /// queue, which they do for its members where one may have failed.
    fn request(&self, number: u32) -> u64 {
        if self.is_complete(number) && self.shadow.fragile.get().is_none() {
            return COMPLETE as u64;
        }
        u64::from(number) << 32 | u64::from(self.tag)
    }

    /// The oldest operation is complete: gives the program what it has written.
    fn count_completed(&self) {
        count_completed::<Std>(&self.completed);
    }

    /// The members, for an exchange. Out of line: in line it is 250 bytes for each caller.
    #[inline(never)]
    fn group<'a>(&'a self, node: &'a Node, name: &'static str) -> Group<'a> {
        Group::of_node_group(node, name, &self.shadow, WaitKind::Team)
    }

    /// Begins a collective; returns its number.
    ///
    /// # Safety
    /// The arrays of an exchange are as the collective needs them, until it is complete.
    #[inline]
    unsafe fn start(&self, node: &'static Node, start: &Start) -> u32 {
        match start {
            // SAFETY: the caller promises arrays as the collective needs them.
            Start::Exchange(exchange) => unsafe {
                self.begin_exchange(node, &self.group(node, exchange.name), exchange)
            },
            Start::Operation(operation) => self.begin(node, *operation),
        }
    }

    /// Begins an exchange; returns its number. If nothing is under way, other threads with the lock find nothing to do,
    /// so that this one needs it only to leave them an exchange that is not complete at once.
    ///
    /// # Safety
    /// That of [`start`](Self::start).
    #[inline(never)]
    unsafe fn begin_exchange(&self, node: &'static Node, group: &Group<'_>, exchange: &Exchange) -> u32 {
        let (number, is_alone) = (self.next(), group.size == 1);
        let begun = match self.is_idle(node) {
            true if is_alone => Some(0),
            // SAFETY: the caller's promise, here and below.
            true => unsafe { exchange.begin(group, false) },
            false => None,
        };
        let Some(at) = begun else {
            return self.begin_behind(node, *exchange);
        };
        self.shadow.enter();
        let left = match is_alone || exchange.is_complete(group, at) {
            // SAFETY: as above.
            true => unsafe { exchange.end(group, &addresses(node), at) },
            false => Some((*exchange, at)),
        };
        if left.is_some() {
            let mut execution = self.execution.lock();
            execution.exchange = left;
            self.begun.store(number, Ordering::Relaxed);
        } else {
            self.begun.store(number, Ordering::Relaxed);
            self.count_completed();
        }
        number
    }

    /// Whether nothing is under way, once an exchange has ended whose values are there; acquires what operations have
    /// written.
    #[inline]
    fn is_idle(&self, node: &Node) -> bool {
        let is_complete = || self.is_complete(self.begun.load(Ordering::Relaxed));
        if !is_complete()
            && let Some(mut execution) = self.try_execution()
        {
            self.end_exchange(node, &mut execution);
        }
        is_complete()
    }

    /// Begins an exchange behind what is under way; returns its number.
    #[cold]
    #[inline(never)]
    fn begin_behind(&self, node: &'static Node, exchange: Exchange) -> u32 {
        let operation = Operation::new(0, move |node, shadow| {
            // Whole, as it is what may go to another thread.
            let exchange: Exchange = exchange;
            // SAFETY: the caller of `start` has promised the arrays.
            unsafe { exchange.execute(&Group::of_team(node, exchange.name, shadow), &addresses(node)) };
        });
        self.begin(node, operation)
    }

    /// Ends the exchange that is under way, and one that follows it, as far as the values are there; whether none is
    /// under way any more.
    fn end_exchange(&self, node: &Node, execution: &mut Execution) -> bool {
        self.poll_exchange(node, execution, 1)
    }

    /// The same after so many polls, or with [`WAITS`] after waiting.
    #[inline(never)]
    fn poll_exchange(&self, node: &Node, execution: &mut Execution, polls: u32) -> bool {
        while let Some((exchange, at)) = &execution.exchange {
            let group = self.group(node, exchange.name);
            if polls != WAITS && !(0..polls).any(|_| exchange.is_complete(&group, *at)) {
                return false;
            }
            // SAFETY: the caller of `start` has promised the arrays.
            execution.exchange = unsafe { exchange.end(&group, &addresses(node), *at) };
            if execution.exchange.is_none() {
                self.count_completed();
            }
        }
        true
    }

    /// Begins an operation; returns its number.
    fn begin(&self, node: &'static Node, mut operation: Operation) -> u32 {
        let has_worker = offload::begin_collective(operation.bytes);
        operation.has_worker = has_worker;
        let number = {
            let mut operations = lock(&self.operations);
            operations.push_back(operation);
            let number = self.next();
            self.begun.store(number, Ordering::Relaxed);
            number
        };
        if has_worker {
            offload::ask_for_worker();
        } else {
            self.advance(node);
        }
        number
    }

    /// Executes operations until one has to wait: whether there was anything to do. None: another thread has them.
    fn advance(&self, node: &'static Node) -> Option<bool> {
        let mut execution = self.try_execution()?;
        let mut has_advanced = execution.exchange.is_some();
        if !self.end_exchange(node, &mut execution) {
            return Some(false);
        }
        if !self.is_busy() {
            return Some(has_advanced);
        }
        let data = ptr::from_ref(self).cast();
        // SAFETY: the coroutine is resumed at once, and what was set before is set again after.
        let before = unsafe { suspension::replace(Some(Suspension { data, suspend: Self::suspend })) };
        loop {
            let event = self.resume(node, &mut execution);
            has_advanced |= matches!(event, Event::Completed | Event::Waits { again: false });
            if !matches!(event, Event::Completed) || !self.is_busy() {
                break;
            }
        }
        // SAFETY: as before the call.
        unsafe { suspension::replace(before) };
        Some(has_advanced)
    }

    /// Makes progress with operations that no thread waits for.
    fn make_progress(&self, node: &'static Node) -> Advance {
        if !self.is_busy() || self.waiters.load(Ordering::Relaxed) > 0 {
            return Advance::default();
        }
        let has_advanced = self.advance(node).unwrap_or(false);
        Advance { has_advanced, is_under_way: self.is_busy() }
    }

    /// Makes progress for a thread that tests for one of the operations.
    fn test(&self, node: &'static Node) {
        /// A worker that still has the coroutine has lost its core, or copies beside what the program computes.
        const MOST: u32 = 256;

        if self.advance(node).is_some() {
            self.vain_tests.store(0, Ordering::Relaxed);
        } else if self.vain_tests.fetch_add(1, Ordering::Relaxed) >= MOST && self.waiters.load(Ordering::Relaxed) == 0 {
            offload::wait_for_worker(|| self.waiters.load(Ordering::Relaxed) > 0 || self.advance(node).is_some());
            self.vain_tests.store(0, Ordering::Relaxed);
        }
    }

    /// Waits until the operation of a number is complete.
    fn complete(&self, node: &'static Node, number: u32) {
        /// Some times what a flag takes from a PE that has its own core.
        const POLLS: u32 = 100;

        if self.is_complete(number) {
            return;
        }
        if let Some(mut execution) = self.try_execution() {
            self.poll_exchange(node, &mut execution, POLLS);
        }
        if self.is_complete(number) {
            return;
        }
        self.waiters.fetch_add(1, Ordering::Relaxed);
        while !self.is_complete(number) {
            let Some(mut execution) = self.try_execution() else {
                make_progress(WaitKind::Team);
                match self.waiters.load(Ordering::Relaxed) {
                    1 => offload::wait_for_worker(|| {
                        self.waiters.load(Ordering::Relaxed) > 1 || self.try_execution().is_some()
                    }),
                    // Another thread waits for it, or for an earlier one.
                    _ => thread::yield_now(),
                }
                continue;
            };
            if execution.exchange.is_some() {
                self.poll_exchange(node, &mut execution, WAITS);
                continue;
            }
            // SAFETY: the thread waits, on the coroutine and elsewhere.
            let before = unsafe { suspension::replace(None) };
            while !self.is_complete(number) {
                self.resume(node, &mut execution);
            }
            // SAFETY: as before the call.
            unsafe { suspension::replace(before) };
        }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until all operations are complete.
    fn drain(&self, node: &'static Node) {
        self.complete(node, self.begun.load(Ordering::Acquire));
    }

    fn try_execution(&self) -> Option<Held<'_, Execution>> {
        self.execution.try_lock()
    }

    /// Resumes the coroutine until it is suspended.
    fn resume(&self, node: &'static Node, execution: &mut Execution) -> Event {
        let coroutine = execution.coroutine.get_or_insert_with(|| self.coroutine(node));
        match coroutine.resume(()) {
            CoroutineResult::Yield(event) => event,
            CoroutineResult::Return(()) => unreachable!("it has no end"),
        }
    }

    #[cold]
    fn coroutine(&self, node: &'static Node) -> Coroutine<(), Event, ()> {
        let stack = DefaultStack::new(STACK)
            .unwrap_or_else(|e| fatal("non-blocking collectives", format_args!("no memory for a stack: {e}")));
        // SAFETY: the queue owns the coroutine, and stays where it is.
        let queue: &'static Self = unsafe { &*ptr::from_ref(self) };
        Coroutine::with_stack(stack, move |yielder, ()| {
            queue.yielder.store(ptr::from_ref(yielder).cast_mut(), Ordering::Relaxed);
            loop {
                let operation = lock(&queue.operations).pop_front();
                let event = match operation {
                    None => Event::Idle,
                    Some(operation) => {
                        operation.execute(node, &queue.shadow);
                        if operation.has_worker {
                            offload::end_collective();
                        }
                        queue.count_completed();
                        Event::Completed
                    }
                };
                yielder.suspend(event);
            }
        })
    }

    /// Suspends the coroutine of a queue, on which this thread runs.
    unsafe fn suspend(queue: *const (), again: bool) {
        // SAFETY: the queue is that of `advance`, whose coroutine has stored its yielder, which lives as long as it.
        let yielder = unsafe { &*(*queue.cast::<Self>()).yielder.load(Ordering::Relaxed) };
        yielder.suspend(Event::Waits { again });
    }
}

/// The queues of all teams that have had a non-blocking collective.
#[derive(Debug, Default)]
pub struct Queues {
    /// By the ids of the teams.
    table: Table<Arc<Queue>>,
    all: Mutex<Vec<Arc<Queue>>>,
    persistent: Table<Persistent>,
    graphs: Table<Graph>,
    /// The exchanges of persistent requests between neighbours, and those that were freed while one may write to them.
    neighbors: Mutex<Vec<Arc<Neighbors>>>,
    /// Persistent requests and graphs made so far.
    inits: AtomicU64,
}

impl Queues {
    fn queue(&self, node: &Node, team: &Team) -> &Arc<Queue> {
        self.table.get(team.id).unwrap_or_else(|| self.add(node, team))
    }

    /// From now on, operations of the teams that there are end when a member fails.
    pub fn become_resilient(&self, node: &Node, since: usize) {
        let (job, internode) = (node.job, node.transport.internode());
        lock(&self.all).iter().for_each(|queue| queue.shadow.become_resilient(job, internode, since));
    }

    /// Begins a collective on a team by an exchange, or with `is_persistent` makes a request that does; returns the
    /// request, which is not 0. None if no exchange does it, on all members alike.
    ///
    /// # Safety
    /// The arrays are as the collective needs them until it is complete, and while the request has started.
    #[inline(never)]
    pub unsafe fn begin_exchange(
        &self,
        name: &'static str,
        node: &'static Node,
        team: &Team,
        (result, arrays): (Combination, Arrays),
        is_persistent: bool,
    ) -> Option<u64> {
        let queue = self.queue(node, team);
        if queue.shadow.hierarchy.is_some() || node.settings.check {
            return None;
        }
        let group = queue.group(node, name);
        let exchange = Exchange::new(&group, result, arrays)?;
        if is_persistent {
            return Some(self.insert(name, Plan::Team { queue: queue.clone(), start: Start::Exchange(exchange) }));
        }
        // SAFETY: the caller promises arrays as the collective needs them.
        Some(queue.request(unsafe { queue.begin_exchange(node, &group, &exchange) }))
    }

    /// The same by an operation, whatever the collective is.
    pub fn begin(
        &self,
        name: &'static str,
        node: &'static Node,
        team: &Team,
        operation: Operation,
        is_persistent: bool,
    ) -> u64 {
        let queue = self.queue(node, team);
        if is_persistent {
            return self.insert(name, Plan::Team { queue: queue.clone(), start: Start::Operation(operation) });
        }
        queue.request(queue.begin(node, operation))
    }

    #[cold]
    fn add(&self, node: &Node, team: &Team) -> &Arc<Queue> {
        let mut all = lock(&self.all);
        // Another thread may have been first.
        if self.table.get(team.id).is_none() {
            let queue = Arc::new(Queue::new(node, team));
            all.push(queue.clone());
            progress::COLLECTIVES.fetch_add(1, Ordering::Relaxed);
            self.table.insert_at(team.id, queue);
        }
        self.table.get(team.id).unwrap_or_else(|| fatal("non-blocking collectives", "there are too many teams"))
    }

    /// The queue and number of a request; None if it has ended, has not started, or its team is destroyed, so that it
    /// is complete.
    fn find(&self, name: &str, request: u64) -> Option<Started<'_>> {
        if is_persistent(request) {
            return self.persistent(name, request).started();
        }
        let id = (request as usize & 0xffff).checked_sub(1)?;
        let queue = self.table.get(id).filter(|queue| queue.tag == request as u32)?;
        Some(Started::Team(queue, (request >> 32) as u32))
    }

    /// Whether a request has begun something and not ended, complete or not.
    pub fn is_active(&self, name: &str, request: u64) -> bool {
        match is_persistent(request) {
            true => self.persistent(name, request).is_active(),
            false => request != 0,
        }
    }

    /// Ends a request that is complete; a persistent one may start again.
    pub fn end(&self, name: &str, request: &mut usize) {
        match is_persistent(*request as u64) {
            true => self.persistent(name, *request as u64).end(),
            false => *request = 0,
        }
    }

    /// Whether a request is complete; makes progress with it.
    pub fn test(&self, name: &str, node: &'static Node, request: u64) -> bool {
        match self.find(name, request) {
            None => !is_one_sided(request as usize) || node.transport.test_request(request as usize),
            Some(Started::Neighbors(neighbors, round)) => neighbors.test(node, round),
            Some(Started::Team(queue, number)) => {
                if !queue.is_complete(number) {
                    queue.test(node);
                }
                queue.is_complete(number)
            }
        }
    }

    /// Waits until a request is complete, and ends it.
    pub fn wait(&self, name: &str, node: &'static Node, request: &mut usize) {
        if is_persistent(*request as u64) {
            self.persistent(name, *request as u64).wait(name, node);
            return;
        }
        if let Some(Started::Team(queue, number)) = self.find(name, *request as u64) {
            queue.complete(node, number);
        } else if is_one_sided(*request) {
            node.transport.wait_request(name, *request);
        }
        *request = 0;
    }

    /// Whether a member has failed of those with whom a request is, in a resilient job.
    #[cold]
    #[inline(never)]
    pub fn has_failed(&self, name: &str, request: u64) -> bool {
        if is_persistent(request) {
            return self.persistent(name, request).has_failed();
        }
        let id = (request as usize & 0xffff).checked_sub(1);
        let queue = id.and_then(|id| self.table.get(id)).filter(|queue| queue.tag == request as u32);
        // A queue of the world ends when other processes take the numbers of PEs that had failed.
        let was_renewed = id.is_some_and(|id| id < PREDEFINED_TEAMS) && !is_one_sided(request as usize);
        queue.map_or(was_renewed, |queue| queue.shadow.has_failed())
    }

    /// The index of the one of several requests that completes first, if those that are active are of one team: they
    /// complete in their order.
    pub fn first_of_one_team(&self, name: &str, requests: &[usize]) -> Option<usize> {
        let mut first: Option<(usize, &Queue, u32)> = None;
        for (i, request) in requests.iter().enumerate() {
            match self.find(name, *request as u64) {
                None if is_one_sided(*request) => return None,
                None => {}
                Some(Started::Neighbors(..)) => return None,
                Some(Started::Team(queue, number)) => match first {
                    Some((_, other, _)) if !ptr::eq(queue, other) => return None,
                    Some((_, _, before)) if number.wrapping_sub(before) as i32 > 0 => {}
                    _ => first = Some((i, queue, number)),
                },
            }
        }
        first.map(|(i, ..)| i)
    }

    /// Makes progress with what no thread waits for.
    pub fn make_progress(&self, node: &'static Node) -> Advance {
        let mut all = node.transport.follow();
        for i in 0.. {
            // Not kept: what waits within an operation makes progress, too.
            let Ok(queue) = self.all.try_lock().map(|all| all.get(i).cloned()) else {
                all.is_under_way = true;
                break;
            };
            let Some(queue) = queue else {
                break;
            };
            let Advance { has_advanced, is_under_way } = queue.make_progress(node);
            all.has_advanced |= has_advanced;
            all.is_under_way |= is_under_way;
        }
        match self.neighbors.try_lock() {
            Ok(neighbors) => {
                for (has_advanced, is_under_way) in neighbors.iter().map(|neighbors| neighbors.make_progress(node)) {
                    all.has_advanced |= has_advanced;
                    all.is_under_way |= is_under_way;
                }
            }
            Err(_) => all.is_under_way = true,
        }
        all
    }

    /// Completes all operations of a team.
    pub fn drain(&self, node: &'static Node, team: usize) {
        if let Some(queue) = self.table.get(team) {
            queue.drain(node);
        }
    }

    /// Completes all operations.
    pub fn drain_all(&self, node: &'static Node) {
        let all = lock(&self.all).clone();
        for queue in all {
            queue.drain(node);
        }
        let neighbors = lock(&self.neighbors).clone();
        for neighbors in neighbors {
            neighbors.drain(node);
        }
    }

    /// Ends the queue of a team, whose members have completed all operations.
    pub fn leave(&self, node: &Node, team: usize) {
        if let Some(queue) = self.table.remove(team) {
            queue.has_ended.store(true, Ordering::Relaxed);
            queue.shadow.leave(node);
            progress::COLLECTIVES.fetch_sub(1, Ordering::Relaxed);
            lock(&self.all).retain(|other| !Arc::ptr_eq(other, &queue));
        }
    }
}
