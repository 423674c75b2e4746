//! The collectives of one team.
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
//! An exchange of few bytes ([`exchange`](super::exchange)) needs no coroutine, if nothing else is under way when it
//! begins. Who has the lock ends it before it resumes the coroutine.
//!
//! A worker may lose its core while it has the lock. So no thread waits for the lock as such: who waits for a request
//! lets the worker run on its own core, and who tests in vain for long does, too.

use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::node::Node;
use ferroshmem_core::offload;
use ferroshmem_core::team::Team;
use ferroshmem_core::transport::request::COMPLETE;
use ferroshmem_core::wait::progress::{Advance, make_progress};
use ferroshmem_core::wait::suspension::{self, Suspension};
use ferroshmem_layout::WaitKind;
use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};
use ferroshmem_platform::{Held, ShortLock};

use super::exchange::Exchange;

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
pub(super) enum Start {
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
pub(super) struct Queue {
    /// The low half of the team's handle.
    pub(super) tag: u32,
    pub(super) shadow: Team,
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
    pub(super) has_ended: AtomicBool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.begun.load(Ordering::Relaxed);
        write!(f, "{} of {of} collectives on team {}", self.completed.load(Ordering::Relaxed), self.shadow.id)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
    pub(super) fn new(node: &Node, team: &Team) -> Self {
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

    pub(super) fn is_complete(&self, number: u32) -> bool {
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
    pub(super) fn request(&self, number: u32) -> u64 {
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
    pub(super) fn group<'a>(&'a self, node: &'a Node, name: &'static str) -> Group<'a> {
        Group::of_node_group(node, name, &self.shadow, WaitKind::Team)
    }

    /// Begins a collective; returns its number.
    ///
    /// # Safety
    /// The arrays of an exchange are as the collective needs them, until it is complete.
    #[inline]
    pub(super) unsafe fn start(&self, node: &'static Node, start: &Start) -> u32 {
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
    pub(super) unsafe fn begin_exchange(&self, node: &'static Node, group: &Group<'_>, exchange: &Exchange) -> u32 {
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
    pub(super) fn begin(&self, node: &'static Node, mut operation: Operation) -> u32 {
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
    pub(super) fn make_progress(&self, node: &'static Node) -> Advance {
        if !self.is_busy() || self.waiters.load(Ordering::Relaxed) > 0 {
            return Advance::default();
        }
        let has_advanced = self.advance(node).unwrap_or(false);
        Advance { has_advanced, is_under_way: self.is_busy() }
    }

    /// Makes progress for a thread that tests for one of the operations.
    pub(super) fn test(&self, node: &'static Node) {
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
    pub(super) fn complete(&self, node: &'static Node, number: u32) {
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
    pub(super) fn drain(&self, node: &'static Node) {
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
