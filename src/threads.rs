//! Threads of the program that take part in the library's large copies.
#![cfg_attr(feature = "rayon", allow(unsafe_code))]

use ferroshmem_core::offload;

use crate::handle::Handle;

impl Handle<'_> {
    /// Lends the calling thread as long as it is `free`: it makes parts of large copies on the node that other threads
    /// of this PE have begun. Returns how many parts it has made. `free` is called before each part, and at least once
    /// a millisecond. (Extension: `shmemx_thread_lend`)
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicBool, Ordering};
    /// # let world = ferroshmem::World::init()?;
    /// let (job, window) = (world.handle(), world.alloc::<u64>(1 << 20)?.open());
    /// let done = AtomicBool::new(false);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| job.lend_while(|| !done.load(Ordering::Acquire)));
    ///     window.put(world.my_pe().next(), 0, &vec![1; 1 << 20]).expect("they fit");
    ///     done.store(true, Ordering::Release);
    /// });
    /// # drop(window);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn lend_while(self, free: impl Fn() -> bool) -> u32 {
        offload::lend_until(free)
    }
}

#[cfg(feature = "rayon")]
mod pools {
    use ferroshmem_core::offload::{self, PoolTask};
    use rayon::ThreadPool;

    use crate::world::World;

    impl World {
        /// Lends a pool's idle threads while `body` runs: they make parts of large copies on the node. A thread that
        /// runs jobs of the pool is not waited for. (Feature `rayon`)
        ///
        /// ```
        /// # let world = ferroshmem::World::init()?;
        /// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
        /// let window = world.alloc::<f64>(1 << 20)?.open();
        /// world.lend_pool(&pool, || window.put(world.my_pe().next(), 0, &vec![1.0; 1 << 20]))?;
        /// # drop(window);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn lend_pool<R>(&self, pool: &ThreadPool, body: impl FnOnce() -> R) -> R {
            let submit = Box::new(|job: PoolTask| pool.spawn(move || job.run()));
            // SAFETY: dropped at the end of this function, also by a panic, and the pool is borrowed until then.
            let _lent = unsafe { offload::lend_pool(pool.current_num_threads(), submit) };
            body()
        }

        /// Lends the idle threads of rayon's global pool until the world is dropped, as [`lend_pool`](Self::lend_pool)
        /// does those of another one. It starts the pool, if nothing has. (Feature `rayon`)
        ///
        /// ```
        /// # let world = ferroshmem::World::init()?;
        /// world.lend_global_pool();
        /// let window = world.alloc::<u8>(1 << 20)?.open();
        /// window.put(world.my_pe().next(), 0, &vec![7; 1 << 20])?; // idle threads of the pool copy, too
        /// assert_eq!(window.close()[..], [7; 1 << 20]);
        /// # Ok::<(), ferroshmem::Error>(())
        /// ```
        pub fn lend_global_pool(&self) {
            self.global_pool.get_or_init(|| {
                let submit = Box::new(|job: PoolTask| rayon::spawn(move || job.run()));
                // SAFETY: `submit` borrows nothing.
                unsafe { offload::lend_pool(rayon::current_num_threads(), submit) }
            });
        }
    }
}
