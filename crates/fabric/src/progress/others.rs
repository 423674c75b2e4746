//! Endpoints beside the first, each with its completion queue and work requests: threads with contexts of their own
//! issue and complete operations there without a common lock.

use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use crate::am::Flush;
use crate::completion::LAST;
use crate::endpoint::Endpoint;
use crate::event_count::EventCount;
use crate::issue::Issuer;
use crate::queue::CompletionQueue;

/// The places of these endpoints, each opened by the first context that needs it.
pub(super) struct ContextEndpoints(Box<[OnceLock<Option<Issuer>>]>);

/// What the progress thread remembers of them.
#[derive(Default)]
pub(super) struct PollCounts {
    /// How often threads of the program had polled each one.
    polls: [usize; ContextEndpoints::MOST],
}

impl ContextEndpoints {
    const MOST: usize = EventCount::MOST_READY - 1;

    /// As many as are asked for, and a last one, where the provider is known to gain by them and local memory needs no
    /// registration, which would be for one domain.
    pub(super) fn new(first: &Issuer, endpoints: usize) -> ContextEndpoints {
        let endpoint = &first.completions.endpoint;
        let n = match endpoint.is_by_tcp() && !endpoint.registers {
            true => endpoints.min(ContextEndpoints::MOST - 1) + 1,
            false => 0,
        };
        ContextEndpoints((0..n).map(|_| OnceLock::new()).collect())
    }

    /// What issues operations of contexts with this number: the first endpoint's issuer, if there is no other.
    #[inline(never)] // once for all routines
    pub(super) fn get<'a>(&'a self, first: &'a Issuer, number: usize) -> &'a Issuer {
        let place = self.place(number);
        let issuer = place.and_then(|place| place.get_or_init(|| open(first)).as_ref());
        issuer.unwrap_or(first)
    }

    /// As [`get`](Self::get), if the endpoint has been opened; else the first endpoint's issuer.
    #[inline(never)] // once for all routines
    pub(super) fn get_opened<'a>(&'a self, first: &'a Issuer, number: usize) -> &'a Issuer {
        let opened = self.place(number).and_then(OnceLock::get);
        opened.and_then(Option::as_ref).unwrap_or(first)
    }

    fn place(&self, number: usize) -> Option<&OnceLock<Option<Issuer>>> {
        let last = self.0.len().checked_sub(1)?;
        self.0.get(if number == LAST { last } else { number.checked_rem(last)? })
    }

    pub(super) fn opened(&self) -> impl Iterator<Item = &Issuer> {
        self.0.iter().filter_map(|place| place.get()?.as_ref())
    }

    /// Polls, for the progress thread, endpoints that have operations under way and that no thread of the program has
    /// polled since the last call, or all that have, if threads sleep until something happens; returns how many
    /// operations were completed.
    pub(super) fn serve(&self, served: &mut PollCounts, has_waiters: bool) -> usize {
        let mut total = 0;
        for (place, before) in self.0.iter().zip(&mut served.polls) {
            let Some(Some(issuer)) = place.get() else {
                continue;
            };
            let completions = &issuer.completions;
            let polls = completions.polls();
            if completions.is_busy() && (has_waiters || *before == polls) {
                issuer.flush();
                total += completions.poll_uncounted(Flush::All);
            }
            *before = polls;
        }
        total
    }

    /// What the progress thread may block on, behind `ready`: the number of descriptors, and whether threads of the
    /// program poll endpoints that have operations under way: then these are to be looked at again soon.
    pub(super) fn ready<'a>(
        &'a self,
        served: &PollCounts,
        ready: &mut [BorrowedFd<'a>; EventCount::MOST_READY],
    ) -> Blocking {
        let mut blocking = Blocking { n: 1, is_soon: false, may_sleep: true };
        for (place, before) in self.0.iter().zip(&served.polls) {
            let Some(Some(Issuer { completions, .. })) = place.get() else {
                continue;
            };
            if !completions.is_busy() {
                continue;
            }
            match completions.endpoint.ready() {
                Some(fd) if completions.polls() == *before => {
                    blocking.may_sleep &= completions.endpoint.may_sleep();
                    ready[blocking.n] = fd;
                    blocking.n += 1;
                }
                _ => blocking.is_soon = true,
            }
        }
        blocking
    }
}

/// How the progress thread is to block.
#[derive(Clone, Copy)]
pub(super) struct Blocking {
    /// Descriptors.
    pub n: usize,
    /// For a short time only.
    pub is_soon: bool,
    /// At all.
    pub may_sleep: bool,
}

/// None: the provider has no room for another endpoint.
#[cold]
fn open(first: &Issuer) -> Option<Issuer> {
    let endpoint = &first.completions.endpoint;
    let info = endpoint.info.duplicate()?;
    // In a domain of its own, as providers have locks for each domain.
    let own = Endpoint::open(endpoint.library.clone(), info, false).ok()?;
    let shared = first.completions.shared.clone();
    let completions = CompletionQueue::new(own.into(), shared, None);
    Some(Issuer::new(completions, first.inject_bytes, false))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
    use std::time::Duration;

    use crate::{Config, Context, Events, Fabric, Remote};

    /// Ends the process if nothing happens for long.
    struct Watched;

    impl Events for Watched {
        fn peer_failed(&self, pe: usize, reason: &str) {
            eprintln!("PE {pe} failed: {reason}");
            std::process::abort();
        }

        fn memory_changed(&self) {}

        fn tick(&self) {}
    }

    fn open(pe: usize) -> Fabric {
        let config = Config { interface: Some("lo".into()), pe, n_pes: 2, endpoints: 2, ..Config::default() };
        Fabric::open(&config, Arc::new(Watched)).unwrap()
    }

    /// Two PEs of one process, of which the second has this memory.
    fn pair(words: &'static [AtomicU64]) -> [Fabric; 2] {
        let pair = [open(0), open(1)];
        let (base, len) = (words.as_ptr().cast_mut().cast(), size_of_val(words));
        // SAFETY: the memory lives as long as the process.
        unsafe { pair[1].share(0, base, len, len).unwrap() };
        let addresses = pair.each_ref().map(Fabric::address);
        for fabric in &pair {
            let mut all = addresses.iter().map(Vec::as_slice).enumerate();
            fabric.connect(2, &mut all).unwrap();
        }
        pair
    }

    #[test]
    fn own_endpoints_take_no_lock_of_the_first_or_of_each_other() {
        const PUTS: u64 = 1000;
        const NAME: &str = "progress::others::tests::own_endpoints_take_no_lock_of_the_first_or_of_each_other";

        if crate::libfabric::Library::open(None).is_err() {
            println!("skipped: libfabric is not installed (package libfabric1)");
            return;
        }
        if std::env::var_os("FABRIC_TEST_ALONE").is_none() {
            // In a process of its own: libfabric maps and frees memory, which other tests watch in this one.
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let alone = alone.args(["--exact", NAME]).env("FABRIC_TEST_ALONE", "1");
            assert!(alone.status().unwrap().success());
            return;
        }
        let words = Box::leak((0..PUTS).map(|_| AtomicU64::new(0)).collect::<Box<[_]>>());
        let words: &'static [AtomicU64] = words;
        let [fabric, _target] = pair(words);
        let put = |context: &Context, i: u64, value: u64| {
            let at = Remote { pe: 1, segment: 0, offset: 8 * i as usize };
            // SAFETY: a word that is readable, to a word of the segment.
            unsafe { fabric.put(context, at, (&raw const value).cast(), 8) };
        };
        let contexts = [Context::default(), Context::default()];
        for (number, context) in contexts.iter().enumerate() {
            context.use_own_endpoint(number);
            put(context, 0, 1);
            fabric.quiet(context);
        }
        let progress = fabric.progress_of_tests();
        let issuers: Vec<_> = progress.others.opened().collect();
        assert_eq!(issuers.len(), 2);
        // As threads hold them that issue and complete by the first endpoint and by the other one.
        let _first = (progress.first.hold(), progress.polling_first.lock().unwrap());
        let _second = issuers[1].hold();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                for i in 0..PUTS {
                    put(&contexts[0], i, 7 + i);
                    if i % 100 == 99 {
                        fabric.quiet(&contexts[0]);
                    }
                }
                is_done.store(true, Release);
            });
            let mut stalls = 0;
            let mut before = 0;
            while !is_done.load(Acquire) {
                std::thread::sleep(Duration::from_millis(10));
                let now = words.iter().filter(|word| word.load(Relaxed) > 1).count();
                stalls = if now == before { stalls + 1 } else { 0 };
                before = now;
                if stalls > 2000 {
                    eprintln!("{now} of {PUTS} puts: a thread waits for a lock of another endpoint");
                    std::process::abort();
                }
            }
        });
        for (i, word) in (0..).zip(words) {
            assert_eq!(word.load(Acquire), 7 + i);
        }
    }
}
