//! Every interleaving of the waiting algorithms, by loom: no thread sleeps for ever, none
//! leaves a barrier early, locks exclude. The algorithms are the library's own, over a word
//! whose futex is modelled by a mutex and a condition variable. A lost wake-up shows as a
//! deadlock, which loom reports.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ferroshmem_core::barrier::{self, SocketTree, TaskBarrier};
use ferroshmem_core::job::region::ConnectionState;
use ferroshmem_core::message::inbox::{self, Reader};
use ferroshmem_core::offload::chunks::{Chunks, Counter};
use ferroshmem_core::offload::events::{self, EventWord};
use ferroshmem_core::stream::ring::{self, Ready, Words};
use ferroshmem_core::wait::ticket::{Half, LockWord};
use ferroshmem_core::wait::{
    Fairness, Next, Rest, WaitStrategy, Word, counter, flag, rendezvous, ticket,
};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A word with a modelled futex: its value, and a count of wake-ups under a lock.
struct ModelWord {
    value: AtomicU32,
    queue: Mutex<u32>,
    woken: Condvar,
}

impl ModelWord {
    fn new() -> Self {
        Self {
            value: AtomicU32::new(0),
            queue: Mutex::new(0),
            woken: Condvar::new(),
        }
    }
}

impl Word for ModelWord {
    fn load(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    fn swap(&self, value: u32) -> u32 {
        self.value.swap(value, Ordering::AcqRel)
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.value
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn fetch_add(&self, value: u32) -> u32 {
        self.value.fetch_add(value, Ordering::AcqRel)
    }

    fn watch(&self, _seen: u32) {
        thread::yield_now();
    }

    /// As the kernel does: compares under the queue's lock, then sleeps.
    fn sleep(&self, expected: u32, _bits: u32, _longest: Option<Duration>, _rest: Rest) {
        let mut wakes = self.queue.lock().unwrap();
        // The kernel reads the word itself, not a value that this thread may see late.
        if self.value.fetch_add(0, Ordering::AcqRel) == expected {
            let before = *wakes;
            while *wakes == before {
                wakes = self.woken.wait(wakes).unwrap();
            }
        }
    }

    fn wake(&self, _bits: u32) {
        *self.queue.lock().unwrap() += 1;
        self.woken.notify_all();
    }
}

/// Sleeps at once: spinning is only a faster way to the same states.
struct AlwaysSleep;

impl WaitStrategy for AlwaysSleep {
    fn after_idle_poll(&mut self) -> Next {
        Next::Sleep(Rest::UNTIL_WOKEN)
    }
}

/// Data written before a synchronisation and read after it: loom reports a race if the
/// algorithm does not order the two.
struct Cells([UnsafeCell<u32>; 3]);

// SAFETY: the accesses are ordered by what is tested; loom checks that they are.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn new() -> Self {
        Self([UnsafeCell::new(0), UnsafeCell::new(0), UnsafeCell::new(0)])
    }

    fn write(&self, i: usize, value: u32) {
        // SAFETY: see the type; loom tracks the access.
        self.0[i].with_mut(|p| unsafe { *p = value });
    }

    fn read(&self, i: usize) -> u32 {
        // SAFETY: see the type; loom tracks the access.
        self.0[i].with(|p| unsafe { *p })
    }
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

#[test]
fn a_posted_flag_wakes_all_waiters() {
    model(3, || {
        let word = Arc::new(ModelWord::new());
        let cells = Arc::new(Cells::new());
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let (word, cells) = (word.clone(), cells.clone());
                thread::spawn(move || {
                    flag::wait(&*word, 1, || AlwaysSleep);
                    assert_eq!(cells.read(0), 7);
                })
            })
            .collect();
        cells.write(0, 7);
        flag::post(&*word, 1);
        for w in waiters {
            w.join().unwrap();
        }
    });
}

#[test]
fn a_flag_posted_twice_is_not_missed() {
    model(4, || {
        let word = Arc::new(ModelWord::new());
        let waiter = {
            let word = word.clone();
            thread::spawn(move || {
                flag::wait_until_changed(&*word, 0, || AlwaysSleep);
                flag::wait(&*word, 2, || AlwaysSleep);
            })
        };
        flag::post(&*word, 1);
        flag::post(&*word, 2);
        waiter.join().unwrap();
    });
}

#[test]
fn a_counter_gives_each_post_once_and_returns_to_zero() {
    model(4, || {
        let word = Arc::new(ModelWord::new());
        let poster = {
            let word = word.clone();
            thread::spawn(move || {
                counter::post(&*word);
                counter::post(&*word);
            })
        };
        counter::take(&*word, &mut AlwaysSleep);
        counter::take(&*word, &mut AlwaysSleep);
        poster.join().unwrap();
        assert_eq!(word.load(), 0);
    });
}

/// The word of a lock, with a modelled futex on each half: its value, and the wake-ups so far.
struct ModelLock {
    value: AtomicU64,
    wakes: Mutex<Vec<(Half, u32)>>,
    woken: Condvar,
}

impl ModelLock {
    fn new() -> Self {
        Self {
            value: AtomicU64::new(0),
            wakes: Mutex::new(Vec::new()),
            woken: Condvar::new(),
        }
    }
}

impl LockWord for ModelLock {
    fn load(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.value
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    fn watch(&self, _seen: u64) {
        thread::yield_now();
    }

    fn sleep(&self, half: Half, expected: u64, bits: u32, _rest: Rest) {
        let of = |word: u64| (word >> (32 * half as u32)) as u32;
        let mut wakes = self.wakes.lock().unwrap();
        if of(self.value.fetch_add(0, Ordering::AcqRel)) == of(expected) {
            let before = wakes.len();
            let is_mine = |(at, of): &(Half, u32)| *at == half && of & bits != 0;
            while !wakes[before..].iter().any(is_mine) {
                wakes = self.woken.wait(wakes).unwrap();
            }
        }
    }

    fn wake(&self, half: Half, bits: u32) {
        self.wakes.lock().unwrap().push((half, bits));
        self.woken.notify_all();
    }
}

/// Waiters may be overtaken so often, and at any time.
fn overtaken(overtakes: u32) -> Fairness {
    let clock = || 0;
    Fairness { overtakes, clock }
}

/// Each of three threads takes the lock once, the last one twice: each turn sees what the one before
/// wrote, none sleeps for ever, and the lock is as new afterwards.
#[test]
fn a_ticket_lock_excludes_and_hands_over() {
    for overtakes in [0, 1] {
        model(3, move || {
            let lock = Arc::new(ModelLock::new());
            let cells = Arc::new(Cells::new());
            let add = move |lock: &ModelLock, cells: &Cells| {
                ticket::acquire(lock, overtaken(overtakes), || AlwaysSleep);
                cells.write(0, cells.read(0) + 1);
                ticket::release(lock, overtaken(overtakes));
            };
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let (lock, cells) = (lock.clone(), cells.clone());
                    thread::spawn(move || add(&lock, &cells))
                })
                .collect();
            add(&lock, &cells);
            add(&lock, &cells);
            for o in others {
                o.join().unwrap();
            }
            assert_eq!(cells.read(0), 4);
            assert_eq!(lock.load(), 0);
        });
    }
}

/// Who has drawn a ticket is overtaken as often as is allowed, and no more.
#[test]
fn a_waiter_for_a_lock_is_overtaken_so_often_and_no_more() {
    for overtakes in [0, 1, 2] {
        model(3, move || {
            let lock = Arc::new(ModelLock::new());
            let cells = Arc::new(Cells::new());
            let fairness = overtaken(overtakes);
            assert!(ticket::try_acquire(&*lock));
            let held = lock.load();
            let waiter = {
                let (lock, cells) = (lock.clone(), cells.clone());
                thread::spawn(move || {
                    ticket::acquire(&*lock, fairness, || AlwaysSleep);
                    cells.write(0, 1);
                    ticket::release(&*lock, fairness);
                })
            };
            if lock.load() != held {
                // It waits, or sleeps already.
                assert!(!ticket::try_acquire(&*lock));
                for _ in 0..=overtakes {
                    ticket::release(&*lock, fairness);
                    ticket::acquire(&*lock, fairness, || AlwaysSleep);
                }
                assert_eq!(cells.read(0), 1);
            }
            ticket::release(&*lock, fairness);
            waiter.join().unwrap();
            assert_eq!(lock.load(), 0);
        });
    }
}

/// A lock that is released by a thread that does not hold it stays usable.
#[test]
fn a_free_lock_is_not_released() {
    let fairness = overtaken(1);
    model(1, move || {
        let lock = ModelLock::new();
        ticket::release(&lock, fairness);
        assert!(ticket::try_acquire(&lock) && !ticket::try_acquire(&lock));
        ticket::release(&lock, fairness);
        assert_eq!(lock.load(), 0);
    });
}

/// Members, and how often threads are preempted: more of both takes minutes.
const SIZES: [(usize, usize); 2] = [(2, 2), (3, 1)];

/// Two barriers in a row: `size` members write their cell, synchronise, read all cells,
/// synchronise, and write again.
fn barrier_model<B>(
    size: usize,
    preemptions: usize,
    barrier: impl Fn() -> B + Sync + Send + 'static,
) where
    B: Fn(usize, u32) + Send + Sync + 'static,
{
    model(preemptions, move || {
        let barrier = Arc::new(barrier());
        let cells = Arc::new(Cells::new());
        let member = move |me: usize, barrier: &B, cells: &Cells| {
            cells.write(me, me as u32 + 1);
            barrier(me, 1);
            for i in 0..size {
                assert_eq!(cells.read(i), i as u32 + 1);
            }
            barrier(me, 2);
            cells.write(me, 0);
        };
        let others: Vec<_> = (1..size)
            .map(|me| {
                let (barrier, cells) = (barrier.clone(), cells.clone());
                thread::spawn(move || member(me, &barrier, &cells))
            })
            .collect();
        member(0, &barrier, &cells);
        for o in others {
            o.join().unwrap();
        }
    });
}

fn central_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let (arrivals, release) = (ModelWord::new(), ModelWord::new());
        move |_, epoch| {
            let all = size as u32;
            let nothing = || ();
            barrier::central(&arrivals, &release, all, epoch, || AlwaysSleep, nothing);
        }
    });
}

#[test]
fn the_central_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        central_barrier(size, preemptions);
    }
}

/// Three flags of each member, for even and odd epochs, as the slots of a team have them.
fn lanes(size: usize) -> Vec<[[ModelWord; 3]; 2]> {
    let three = || [ModelWord::new(), ModelWord::new(), ModelWord::new()];
    (0..size).map(|_| [three(), three()]).collect()
}

fn dissemination_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let lanes = lanes(size);
        move |me, epoch| {
            let lane = |m: usize, k: usize| &lanes[m][epoch as usize % 2][k];
            let post = |m, k| flag::post(lane(m, k), epoch);
            let wait = |k| flag::wait(lane(me, k), epoch, || AlwaysSleep);
            barrier::dissemination(me, size, post, wait);
        }
    });
}

#[test]
fn the_dissemination_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        dissemination_barrier(size, preemptions);
    }
}

fn tree_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let lanes = lanes(size);
        move |me, epoch| {
            // Of three members none is the third child: lane 2 can be the release.
            let lane = |m: usize, k: usize| &lanes[m][epoch as usize % 2][k.min(2)];
            let post = |m, k| flag::post(lane(m, k), epoch);
            let wait = |k| flag::wait(lane(me, k), epoch, || AlwaysSleep);
            barrier::tree(me, size, post, wait);
        }
    });
}

#[test]
fn the_tree_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        tree_barrier(size, preemptions);
    }
}

#[test]
#[ignore = "takes minutes"]
fn barriers_hold_three_members_that_are_preempted_twice() {
    for barrier in [central_barrier, dissemination_barrier, tree_barrier] {
        barrier(3, 2);
    }
}

/// Two members on a socket and one on another, whose leaders exchange flags; then each member on its own.
#[test]
fn the_barrier_of_sockets_holds_all_members() {
    const MAPS: [&[&[u32]]; 3] = [&[&[0, 1], &[2]], &[&[0], &[1]], &[&[0], &[1], &[2]]];

    for sockets in MAPS {
        let size = sockets.iter().map(|members| members.len()).sum();
        let preemptions = if size == 2 { 2 } else { 1 };
        barrier_model(size, preemptions, move || {
            let lanes = lanes(size);
            move |me, epoch| {
                let own = sockets.iter().position(|s| s.contains(&(me as u32)));
                let own = own.expect("each member is on a socket");
                let position = sockets[own].iter().position(|m| *m as usize == me);
                let tree = SocketTree {
                    mine: sockets[own],
                    position: position.expect("it is there"),
                    own,
                    count: sockets.len(),
                    exchanges: sockets.len() == 2,
                };
                // Of the flags of the tree, no member uses more than three.
                let lane = |m: usize, k: usize| {
                    let k = [0, 0, 0, 0, 2, 0, 1, 0, 0, 1][k];
                    &lanes[m][epoch as usize % 2][k]
                };
                let leader = |socket: usize| sockets[socket][0] as usize;
                let post = |m, k| flag::post(lane(m, k), epoch);
                let wait = |k| flag::wait(lane(me, k), epoch, || AlwaysSleep);
                barrier::by_sockets(&tree, leader, post, wait);
            }
        });
    }
}

/// The last member to arrive works alone, and all members see its result.
#[test]
fn the_last_to_arrive_works_for_all() {
    model(2, || {
        let words = Arc::new((ModelWord::new(), ModelWord::new()));
        let cells = Arc::new(Cells::new());
        let member = |me: usize, words: &(ModelWord, ModelWord), cells: &Cells| {
            cells.write(me, me as u32 + 1);
            let work = || cells.write(2, cells.read(0) + cells.read(1));
            barrier::central(&words.0, &words.1, 2, 1, || AlwaysSleep, work);
            assert_eq!(cells.read(2), 3);
        };
        let other = {
            let (words, cells) = (words.clone(), cells.clone());
            thread::spawn(move || member(1, &words, &cells))
        };
        member(0, &words, &cells);
        other.join().unwrap();
    });
}

/// Two tasks, two members, two epochs: each task is done once, after all members have arrived,
/// and all members see the results of both.
#[test]
fn shared_tasks_are_done_once_before_any_member_leaves() {
    model(2, || {
        let words: Arc<[ModelWord; 5]> = Arc::new(std::array::from_fn(|_| ModelWord::new()));
        let cells = Arc::new(Cells::new());
        let member = |me: usize, w: &[ModelWord; 5], cells: &Cells| {
            let barrier = TaskBarrier {
                arrivals: &w[0],
                next: &w[1],
                done: &w[2],
                arrived: &w[3],
                finished: &w[4],
            };
            cells.write(me, 1);
            let task = |i: u32| cells.write(i as usize, cells.read(i as usize) + 1);
            for (epoch, expected) in [(1, 2), (2, 3)] {
                barrier.arrive(2, epoch, 2, || AlwaysSleep, task);
                assert_eq!((cells.read(0), cells.read(1)), (expected, expected));
            }
        };
        let other = {
            let (words, cells) = (words.clone(), cells.clone());
            thread::spawn(move || member(1, &words, &cells))
        };
        member(0, &words, &cells);
        other.join().unwrap();
    });
}

/// A side of a connection ends while its members come: all of them are connected, or none.
#[test]
fn members_agree_whether_they_are_connected() {
    model(3, || {
        let words = || Arc::new(ModelWord::new());
        let (arrived, epoch, state) = (words(), words(), words());
        let member = || {
            let (arrived, epoch, state) = (arrived.clone(), epoch.clone(), state.clone());
            thread::spawn(move || {
                if arrived.fetch_add(1) == 1 {
                    rendezvous::connect(&*state);
                    epoch.swap(1);
                }
                // As `Rendezvous::wait` does.
                loop {
                    let is_over = ConnectionState::is_over(state.load());
                    if epoch.load() == 1 || is_over {
                        return state.load() != ConnectionState::Abandoned as u32;
                    }
                    thread::yield_now();
                }
            })
        };
        let members = [member(), member()];
        rendezvous::end(&*state);
        let [one, other] = members.map(|member| member.join().unwrap());
        assert_eq!(one, other);
        let at_last = state.load();
        assert!(ConnectionState::is_over(at_last));
        assert_eq!(at_last == ConnectionState::Failed as u32, one);
    });
}

/// An inbox of eight cells, whose data are beside it.
struct ModelInbox {
    tail: AtomicU64,
    head: AtomicU64,
    words: [AtomicU64; 8],
    data: [UnsafeCell<u32>; 8],
}

// SAFETY: the accesses are ordered by what is tested; loom checks that they are.
unsafe impl Sync for ModelInbox {}
// SAFETY: as above.
unsafe impl Send for ModelInbox {}

impl ModelInbox {
    /// Whose position is `at`.
    fn at(at: u64) -> Self {
        Self {
            tail: AtomicU64::new(at),
            head: AtomicU64::new(at),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
            data: std::array::from_fn(|_| UnsafeCell::new(0)),
        }
    }

    fn send(&self, value: u32) {
        let position = loop {
            if let Some(position) = inbox::reserve(self, 1) {
                break position;
            }
            thread::yield_now();
        };
        // SAFETY: see the type; loom tracks the access.
        self.data[position as usize % 8].with_mut(|p| unsafe { *p = value });
        inbox::commit(self, position, 1);
    }

    fn receive(&self, reader: &mut Reader) -> u32 {
        let cell = loop {
            if let Some(cell) = reader.next(self) {
                break cell;
            }
            thread::yield_now();
        };
        // SAFETY: see the type; loom tracks the access.
        let value = self.data[cell].with(|p| unsafe { *p });
        reader.release(self);
        value
    }
}

impl inbox::Cells for ModelInbox {
    fn count(&self) -> usize {
        8
    }

    fn tail(&self) -> u64 {
        self.tail.load(Ordering::Relaxed)
    }

    fn move_tail(&self, from: u64, to: u64) -> bool {
        let order = Ordering::Relaxed;
        self.tail.compare_exchange(from, to, order, order).is_ok()
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    fn move_head(&self, to: u64) {
        self.head.store(to, Ordering::Release);
    }

    fn first_word(&self, cell: usize) -> u64 {
        self.words[cell].load(Ordering::Acquire)
    }

    fn set_first_word(&self, cell: usize, word: u64) {
        self.words[cell].store(word, Ordering::Release);
    }

    fn clear(&self, cell: usize) {
        self.words[cell].store(0, Ordering::Relaxed);
    }
}

/// Two PEs write, the owner reads: each one's records come whole and in its order.
#[test]
fn an_inbox_keeps_each_writers_order() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(6));
        let writers: Vec<_> = [10, 20]
            .map(|first| {
                let inbox = inbox.clone();
                thread::spawn(move || (first..first + 2).for_each(|value| inbox.send(value)))
            })
            .into();
        let mut reader = Reader::new(&*inbox);
        let mut values: Vec<u32> = (0..4).map(|_| inbox.receive(&mut reader)).collect();
        let first: Vec<u32> = values.iter().copied().filter(|v| *v < 20).collect();
        assert_eq!(first, [10, 11]);
        values.sort_unstable();
        assert_eq!(values, [10, 11, 20, 21]);
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A writer that finds the ring full writes over what was read, and over nothing else.
#[test]
fn an_inbox_that_is_full_gives_room_when_it_was_read() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(0));
        (0..8).for_each(|value| inbox.send(value));
        assert!(inbox::reserve(&*inbox, 1).is_none());
        let writer = {
            let inbox = inbox.clone();
            thread::spawn(move || inbox.send(8))
        };
        let mut reader = Reader::new(&*inbox);
        for value in 0..9 {
            assert_eq!(inbox.receive(&mut reader), value);
        }
        writer.join().unwrap();
    });
}

/// The shared words of a stream's ring, and of its reader's list.
struct ModelRing {
    tail: AtomicU64,
    is_queued: AtomicU32,
    next: AtomicU32,
}

impl Words for ModelRing {
    fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    fn set_tail(&self, to: u64) {
        self.tail.store(to, Ordering::Release);
    }

    fn is_queued(&self) -> bool {
        self.is_queued.load(Ordering::Relaxed) != 0
    }

    fn queue(&self) -> bool {
        self.is_queued.swap(1, Ordering::AcqRel) == 0
    }

    fn unqueue(&self) {
        self.is_queued.store(0, Ordering::Release);
    }

    fn next(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    fn set_next(&self, next: u32) {
        self.next.store(next, Ordering::Relaxed);
    }
}

struct ModelReady(AtomicU32);

impl Ready for ModelReady {
    fn first(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.0
            .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    fn take(&self) -> u32 {
        self.0.swap(0, Ordering::Acquire)
    }

    fn fence(&self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// A reader that sees all writers closed finds all that they published, by the list of ready rings alone: the end of a
/// stream. A ring that is published again while the reader takes the list is on it once more.
#[test]
fn all_items_of_closed_writers_are_found() {
    const WRITERS: usize = 2;
    model(2, || {
        let rings: &'static [ModelRing; WRITERS] =
            Box::leak(Box::new([0; WRITERS].map(|_| ModelRing {
                tail: AtomicU64::new(0),
                is_queued: AtomicU32::new(0),
                next: AtomicU32::new(0),
            })));
        let ready: &'static ModelReady = Box::leak(Box::new(ModelReady(AtomicU32::new(0))));
        let closed: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let cells: &'static [Cells; WRITERS] =
            Box::leak(Box::new([0; WRITERS].map(|_| Cells::new())));
        let items = [2, 1];
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                thread::spawn(move || {
                    for i in 0..items[w] {
                        cells[w].write(i, 7);
                        ring::publish(&rings[w], ready, w as u32, i as u64 + 1);
                    }
                    closed.fetch_add(1, Ordering::AcqRel);
                })
            })
            .collect();
        let mut read = [0; WRITERS];
        let mut take = || {
            let mut active = Vec::new();
            ring::take_ready(ready, |n| &rings[n as usize], |n| active.push(n as usize));
            for w in active {
                while read[w] < rings[w].tail() as usize {
                    assert_eq!(cells[w].read(read[w]), 7);
                    read[w] += 1;
                }
            }
        };
        while closed.load(Ordering::Acquire) < WRITERS as u64 {
            take();
            thread::yield_now();
        }
        take();
        assert_eq!(read, items);
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A counter of chunks.
struct ModelCounter(AtomicU64);

impl Counter for ModelCounter {
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn store(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    fn replace(&self, old: u64, new: u64) -> bool {
        self.0
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn add(&self, value: u64) -> u64 {
        self.0.fetch_add(value, Ordering::AcqRel)
    }
}

/// An event counter.
struct ModelEvents(ModelWord);

impl EventWord for ModelEvents {
    fn load(&self) -> u32 {
        self.0.load()
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.0.replace(old, new)
    }

    fn add(&self, value: u32) -> u32 {
        self.0.fetch_add(value)
    }

    fn sleep(&self, expected: u32, _longest: Option<Duration>) {
        self.0.sleep(expected, 1, None, Rest::UNTIL_WOKEN);
    }

    fn wake(&self, _threads: u32) {
        self.0.wake(1);
    }
}

/// Where it says what the chunks are.
const WHAT: usize = 2;

/// A place for transfers, whose chunks write to an array.
struct ModelPlace {
    chunks: Chunks<ModelCounter>,
    events: ModelEvents,
    /// The array that the chunks write, then what they write.
    cells: Cells,
    is_closed: AtomicU32,
}

impl ModelPlace {
    fn new() -> Self {
        let counter = || ModelCounter(AtomicU64::new(0));
        Self {
            chunks: Chunks::over(counter(), counter()),
            events: ModelEvents(ModelWord::new()),
            cells: Cells::new(),
            is_closed: AtomicU32::new(0),
        }
    }

    fn help(&self) -> bool {
        let Some(chunk) = self.chunks.take() else {
            return false;
        };
        self.cells.write(chunk as usize, self.cells.read(WHAT));
        self.chunks.finish();
        true
    }

    /// What a worker does.
    fn work(&self) {
        let is_closed = || self.is_closed.load(Ordering::Acquire) != 0;
        loop {
            while self.help() {}
            if is_closed() {
                return;
            }
            events::wait(&self.events, None, || self.chunks.remain() || is_closed());
        }
    }

    fn offer(&self, what: u32, chunks: u32) {
        self.cells.write(WHAT, what);
        self.chunks.offer(chunks);
        events::post(&self.events, chunks);
    }

    /// Waits for what helpers have taken, and looks at the result.
    fn complete(&self, what: u32, chunks: u32) {
        while self.help() {}
        while self.chunks.finished() != chunks {
            thread::yield_now();
        }
        for chunk in 0..chunks as usize {
            assert_eq!(self.cells.read(chunk), what);
        }
    }
}

/// Each chunk is done once, with what its transfer says, though the place is used again at once.
#[test]
fn chunks_are_done_once_and_before_their_transfer_is_complete() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let worker = {
            let place = place.clone();
            thread::spawn(move || place.work())
        };
        for (what, chunks) in [(7, 2), (8, 1)] {
            place.offer(what, chunks);
            place.complete(what, chunks);
        }
        place.is_closed.store(1, Ordering::Release);
        events::post(&place.events, 1);
        worker.join().unwrap();
    });
}

/// A helper that sleeps, or is about to, is woken: the thread that offers does nothing itself.
#[test]
fn an_event_wakes_helpers_that_are_about_to_sleep() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let place = place.clone();
                thread::spawn(move || {
                    while place.chunks.finished() == 0 && !place.help() {
                        let is_work = || place.chunks.remain() || place.chunks.finished() != 0;
                        events::wait(&place.events, None, is_work);
                    }
                    // As the next transfer would wake the others.
                    events::post(&place.events, 2);
                })
            })
            .collect();
        place.offer(3, 1);
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(place.cells.read(0), 3);
    });
}

/// A thread of OpenMP that waits in a barrier takes chunks, and goes on once all have come: the last one wakes it. The thread that
/// comes last has shared a copy before.
#[test]
fn a_thread_that_is_kept_in_a_barrier_goes_on_when_all_have_come() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let come = Arc::new(AtomicU32::new(0));
        let kept = {
            let (place, come) = (place.clone(), come.clone());
            thread::spawn(move || {
                come.fetch_add(1, Ordering::AcqRel);
                let waits = || come.load(Ordering::Acquire) < 2;
                while waits() {
                    while place.help() {}
                    if waits() {
                        let is_needed = || place.chunks.remain() || !waits();
                        events::wait(&place.events, None, is_needed);
                    }
                }
            })
        };
        place.offer(5, 2);
        place.complete(5, 2);
        come.fetch_add(1, Ordering::AcqRel);
        events::post(&place.events, u32::MAX);
        kept.join().unwrap();
    });
}
