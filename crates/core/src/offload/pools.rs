//! Pools of the program's threads, such as rayon's: a pool is given jobs when there are chunks, and its idle threads
//! run them.
//!
//! A job takes chunks until there are none. One that a pool runs late, because its threads were busy, finds none and
//! ends; until then it counts as a thread that is busy, so that a pool that computes is asked for nothing.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Has one thread of a pool run a job, once.
type Submit<'p> = dyn Fn(PoolTask) + Send + Sync + 'p;

/// What a thread of a pool runs.
#[derive(Debug)]
pub struct PoolTask {
    jobs: Arc<AtomicU32>,
    /// Takes a chunk and does it; whether there was one.
    help: fn() -> bool,
}

impl PoolTask {
    /// Takes chunks until there are none, or, because other jobs of the pool wait, has taken some.
    pub fn run(self) {
        /// They take about a millisecond.
        const MOST: usize = 64;

        for _ in 0..MOST {
            if !(self.help)() {
                break;
            }
        }
    }
}

impl Drop for PoolTask {
    fn drop(&mut self) {
        self.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A pool.
struct Pool {
    threads: u32,
    /// Jobs that the pool has and has not ended.
    jobs: Arc<AtomicU32>,
    submit: Box<Submit<'static>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, jobs, .. } = self;
        f.debug_struct("Pool").field("threads", threads).field("jobs", jobs).finish_non_exhaustive()
    }
}

impl Pool {
    fn idle(&self) -> u32 {
        let jobs = self.jobs.load(Ordering::Relaxed);
        self.threads.saturating_sub(jobs)
    }
}

/// The pools that are lent.
#[derive(Debug)]
pub(super) struct Pools {
    /// Their threads.
    threads: AtomicU32,
    pools: Mutex<Vec<Pool>>,
}

impl Pools {
    pub(super) const fn none() -> Self {
        Self { threads: AtomicU32::new(0), pools: Mutex::new(Vec::new()) }
    }

    /// Their threads.
    #[inline]
    pub(super) fn threads(&self) -> u32 {
        self.threads.load(Ordering::Relaxed)
    }

    /// Whether there is a pool.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.threads() > 0
    }

    /// How many threads are not known to be busy.
    pub(super) fn idle(&self) -> u32 {
        match self.any() {
            true => self.with(|pools| pools.iter().map(Pool::idle).sum()),
            false => 0,
        }
    }

    /// Gives pools jobs, at most `wanted`, which call `help`.
    #[cold]
    pub(super) fn submit(&self, wanted: u32, help: fn() -> bool) {
        self.with(|pools| {
            let mut wanted = wanted;
            for pool in pools {
                let jobs = wanted.min(pool.idle());
                wanted -= jobs;
                for _ in 0..jobs {
                    pool.jobs.fetch_add(1, Ordering::Relaxed);
                    (pool.submit)(PoolTask { jobs: Arc::clone(&pool.jobs), help });
                }
            }
        });
    }

    /// Adds a pool of `threads` threads, until the result is dropped.
    ///
    /// # Safety
    /// The result is dropped before what `submit` borrows ends.
    pub(super) unsafe fn add<'p>(
        &'static self,
        threads: usize,
        submit: Box<dyn Fn(PoolTask) + Send + Sync + 'p>,
    ) -> LentPool {
        // SAFETY: only the lifetime differs, and the caller promises to end the use of the box before it.
        let submit = unsafe { std::mem::transmute::<Box<Submit<'p>>, Box<Submit<'static>>>(submit) };
        let jobs = Arc::new(AtomicU32::new(0));
        let lent = LentPool { pools: self, jobs: Arc::clone(&jobs) };
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        self.with(|pools| pools.push(Pool { threads, jobs, submit }));
        lent
    }

    fn with<R>(&self, body: impl FnOnce(&mut Vec<Pool>) -> R) -> R {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let result = body(&mut pools);
        let threads = pools.iter().map(|pool| pool.threads).sum();
        self.threads.store(threads, Ordering::Relaxed);
        result
    }

    /// In a child of `fork`, which has none of their threads, and may not take the lock.
    pub(super) fn forget_in_child(&self) {
        self.threads.store(0, Ordering::Relaxed);
    }
}

/// A pool that is lent, until it is dropped.
#[derive(Debug)]
pub struct LentPool {
    pools: &'static Pools,
    jobs: Arc<AtomicU32>,
}

impl Drop for LentPool {
    fn drop(&mut self) {
        // The lock waits for threads that give the pool jobs.
        self.pools.with(|pools| {
            pools.retain(|pool| !Arc::ptr_eq(&pool.jobs, &self.jobs));
        });
    }
}
