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
//! A worker may lose its core while it has the lock. So no thread waits for the lock as such: who waits for a request
//! lets the worker run on its own core, and who tests in vain for long does, too.

use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::handle::Table;
use ferroshmem_core::node::Node;
use ferroshmem_core::offload;
use ferroshmem_core::team::Team;
use ferroshmem_core::wait::progress::{self, Advance, make_progress};
use ferroshmem_core::wait::suspension::{self, Suspension};
use ferroshmem_layout::WaitKind;

/// Words of what an operation knows.
const WORDS: usize = 11;

type Words = [MaybeUninit<u64>; WORDS];

/// A collective with its arguments: executed over the shadow of its team. A closure without an allocation, which would
/// take as long as a collective of a few bytes.
#[derive(Clone, Copy)]
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

/// Why a coroutine is suspended.
enum Event {
    /// Other members are not as far; in this wait, they were not before, `again`.
    Waits { again: bool },
    /// An operation is complete.
    Completed,
    /// There is no operation.
    Idle,
}

struct Execution(Coroutine<(), Event, ()>);

// SAFETY: what is on the stack of a suspended coroutine belongs to algorithms of this crate (see above), to no thread.
unsafe impl Send for Execution {}

impl Drop for Execution {
    fn drop(&mut self) {
        // SAFETY: a queue is dropped when all its operations are complete, so nothing on the stack needs to be dropped.
        unsafe { self.0.force_reset() };
    }
}

/// The non-blocking collectives of a team, in the order in which this PE has begun them.
pub struct Queue {
    /// The low half of the team's handle.
    tag: u32,
    shadow: Team,
    operations: Mutex<VecDeque<Operation>>,
    execution: Mutex<Option<Execution>>,
    /// What suspends the coroutine, once it runs.
    yielder: AtomicPtr<Yielder<(), Event>>,
    begun: AtomicU32,
    /// Written by the coroutine alone.
    completed: AtomicU32,
    /// Threads in [`complete`](Self::complete), which other threads leave the coroutine to.
    waiters: AtomicU32,
    /// Tests in a row that have found the coroutine with another thread.
    vain_tests: AtomicU32,
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

impl Queue {
    fn new(node: &Node, team: &Team) -> Self {
        Self {
            tag: team.handle() as u32,
            shadow: team.shadow(node),
            operations: Mutex::default(),
            execution: Mutex::default(),
            yielder: AtomicPtr::default(),
            begun: AtomicU32::new(0),
            completed: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            vain_tests: AtomicU32::new(0),
        }
    }

    /// Whether the operation of a number is complete; acquires what it has written.
    fn is_complete(&self, number: u32) -> bool {
        self.completed.load(Ordering::Acquire).wrapping_sub(number) as i32 >= 0
    }

    /// Whether operations are under way.
    fn is_busy(&self) -> bool {
        self.completed.load(Ordering::Relaxed) != self.begun.load(Ordering::Relaxed)
    }

    /// Begins an operation; returns its number.
    fn begin(&self, node: &'static Node, mut operation: Operation) -> u32 {
        let has_worker = offload::begin_collective(operation.bytes);
        operation.has_worker = has_worker;
        let number = {
            let mut operations = lock(&self.operations);
            operations.push_back(operation);
            let number = self.begun.load(Ordering::Relaxed).wrapping_add(1);
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
        let mut has_advanced = false;
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

    fn try_execution(&self) -> Option<MutexGuard<'_, Option<Execution>>> {
        match self.execution.try_lock() {
            Ok(execution) => Some(execution),
            Err(TryLockError::Poisoned(execution)) => Some(execution.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Resumes the coroutine until it is suspended.
    fn resume(&self, node: &'static Node, execution: &mut Option<Execution>) -> Event {
        let Execution(coroutine) = execution.get_or_insert_with(|| self.execution(node));
        match coroutine.resume(()) {
            CoroutineResult::Yield(event) => event,
            CoroutineResult::Return(()) => unreachable!("it has no end"),
        }
    }

    #[cold]
    fn execution(&self, node: &'static Node) -> Execution {
        let stack = DefaultStack::new(STACK)
            .unwrap_or_else(|e| fatal("non-blocking collectives", format_args!("no memory for a stack: {e}")));
        // SAFETY: the queue owns the coroutine, and stays where it is.
        let queue: &'static Self = unsafe { &*ptr::from_ref(self) };
        Execution(Coroutine::with_stack(stack, move |yielder, ()| {
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
                        let number = queue.completed.load(Ordering::Relaxed).wrapping_add(1);
                        queue.completed.store(number, Ordering::Release);
                        Event::Completed
                    }
                };
                yielder.suspend(event);
            }
        }))
    }

    /// Suspends the coroutine of a queue, on which this thread runs.
    unsafe fn suspend(queue: *const (), again: bool) {
        // SAFETY: the queue is that of `advance`, whose coroutine has stored its yielder, which lives as long as it.
        let yielder = unsafe { &*(*queue.cast::<Self>()).yielder.load(Ordering::Relaxed) };
        yielder.suspend(Event::Waits { again });
    }
}

/// The index of the one of several requests that completes first, if those that have not ended are of one team: they
/// complete in their order.
pub fn first_of_one_team(requests: &[usize]) -> Option<usize> {
    let live = || (0..requests.len()).filter(|i| requests[*i] != 0);
    let begin = requests[live().next()?];
    let is_of_team = live().all(|i| requests[i] as u32 == begin as u32);
    let after = |i: &usize| ((requests[*i] >> 32) as u32).wrapping_sub((begin >> 32) as u32) as i32;
    live().min_by_key(after).filter(|_| is_of_team)
}

/// The queues of all teams that have had a non-blocking collective.
#[derive(Debug, Default)]
pub struct Queues {
    /// By the ids of the teams.
    table: Table<Arc<Queue>>,
    all: Mutex<Vec<Arc<Queue>>>,
}

impl Queues {
    /// Begins an operation on a team; returns its request, which is not 0.
    pub fn begin(&self, node: &'static Node, team: &Team, operation: Operation) -> u64 {
        let queue = self.table.get(team.id).unwrap_or_else(|| self.add(node, team));
        u64::from(queue.begin(node, operation)) << 32 | u64::from(queue.tag)
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

    /// The queue and number of a request; None if its team is destroyed, so that it is complete.
    fn find(&self, request: u64) -> Option<(&Arc<Queue>, u32)> {
        let id = (request as usize & 0xffff).checked_sub(1)?;
        let queue = self.table.get(id).filter(|queue| queue.tag == request as u32)?;
        Some((queue, (request >> 32) as u32))
    }

    /// Whether a request is complete; makes progress with it.
    pub fn test(&self, node: &'static Node, request: u64) -> bool {
        self.find(request).is_none_or(|(queue, number)| {
            if !queue.is_complete(number) {
                queue.test(node);
            }
            queue.is_complete(number)
        })
    }

    /// Waits until a request is complete.
    pub fn wait(&self, node: &'static Node, request: u64) {
        if let Some((queue, number)) = self.find(request) {
            queue.complete(node, number);
        }
    }

    /// Makes progress with what no thread waits for.
    pub fn make_progress(&self, node: &'static Node) -> Advance {
        let mut all = Advance::default();
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
    }

    /// Ends the queue of a team, whose members have completed all operations.
    pub fn leave(&self, node: &Node, team: usize) {
        if let Some(queue) = self.table.remove(team) {
            queue.shadow.leave(node);
            progress::COLLECTIVES.fetch_sub(1, Ordering::Relaxed);
            lock(&self.all).retain(|other| !Arc::ptr_eq(other, &queue));
        }
    }
}
