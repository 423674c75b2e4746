//! Waiting for a store to a cache line: by the processor's instructions for it where user programs may
//! use them, else by polls. Both leave the core's other hardware thread, and its power, to others.

use std::hint::spin_loop;

/// Polls where the processor has no instruction for it: some 4 microseconds. An offer of the core takes some 0.3, in
/// which a store is not seen: with 16 polls, that was half of the time of a wait.
const POLLS: u32 = 128;

/// Returns once `unchanged` does not hold, or after a moment of at most some 25 microseconds (100 on
/// ARM). A store to the cache line of `at` is what can change it; where it depends on other memory, too,
/// the moment limits the delay.
///
/// Callers look again themselves: it orders nothing.
///
/// # Safety
/// `at` is readable.
#[inline(never)] // once in the library, not in every routine that waits
pub unsafe fn watch(at: *const u8, unchanged: &mut dyn FnMut() -> bool) {
    match processor::method() {
        Method::Polls => {
            for _ in 0..POLLS {
                if !unchanged() {
                    return;
                }
                spin_loop();
            }
        }
        method => {
            // A store between the look and the wait ends the wait, since the line is watched by then.
            // SAFETY: the caller promises that `at` is readable.
            unsafe { processor::arm(method, at) };
            if unchanged() {
                processor::wait(method);
            }
        }
    }
}

/// How to wait for a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Polls,
    /// `umonitor` and `umwait` (Intel).
    #[cfg(target_arch = "x86_64")]
    Umwait,
    /// `monitorx` and `mwaitx` (AMD).
    #[cfg(target_arch = "x86_64")]
    Mwaitx,
    /// A load that takes a reservation, and `wfe`.
    #[cfg(target_arch = "aarch64")]
    Wfe,
}

#[cfg(target_arch = "x86_64")]
mod processor {
    use super::Method;
    use crate::Features;
    use std::arch::asm;
    use std::arch::x86_64::_rdtsc;

    /// Ticks of the time-stamp counter: 10 to 25 µs.
    const MOMENT: u32 = 50_000;

    #[inline]
    pub(super) fn method() -> Method {
        select(Features::here())
    }

    #[inline]
    pub(super) fn select(features: Features) -> Method {
        if features.has(Features::UMWAIT) {
            Method::Umwait
        } else if features.has(Features::MWAITX) {
            Method::Mwaitx
        } else {
            Method::Polls
        }
    }

    /// # Safety
    /// `at` is readable.
    pub(super) unsafe fn arm(method: Method, at: *const u8) {
        match method {
            Method::Polls => {}
            // SAFETY: the processor has the instruction (`select`), which at most reads the line.
            Method::Umwait => unsafe {
                asm!("umonitor {at}", at = in(reg) at, options(nostack, preserves_flags));
            },
            // SAFETY: as above; extensions and hints are 0.
            Method::Mwaitx => unsafe {
                asm!("monitorx", in("rax") at, in("ecx") 0, in("edx") 0,
                     options(nostack, preserves_flags));
            },
        }
    }

    pub(super) fn wait(method: Method) {
        match method {
            Method::Polls => {}
            Method::Umwait => {
                /// The state with the faster wake-up (C0.1).
                const FAST: u32 = 1;
                // SAFETY: every x86-64 processor has the counter.
                let deadline = unsafe { _rdtsc() } + u64::from(MOMENT);
                // SAFETY: the processor has the instruction. It returns at the deadline at last.
                unsafe {
                    asm!("umwait {state:e}", state = in(reg) FAST,
                         in("edx") (deadline >> 32) as u32, in("eax") deadline as u32,
                         options(nostack));
                }
            }
            Method::Mwaitx => {
                /// No deeper state than C0, whose wake-up is the fastest.
                const STAY_AWAKE: u32 = 0xf0;
                /// The wait ends after the ticks in EBX.
                const TIMER: u32 = 1 << 1;
                // SAFETY: the processor has the instruction. It returns after `MOMENT` at last. The
                // compiler keeps RBX for itself, so it gets its value back.
                unsafe {
                    asm!("xchg {ticks}, rbx", "mwaitx", "xchg {ticks}, rbx",
                         ticks = inout(reg) u64::from(MOMENT) => _,
                         in("eax") STAY_AWAKE, in("ecx") TIMER,
                         options(nostack, preserves_flags));
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    use super::Method;
    use std::arch::asm;

    #[inline]
    pub(super) fn method() -> Method {
        /// The kernel's event stream ends each `wfe` after at most 100 µs.
        const EVENT_STREAM: usize = 1 << 2;

        if rustix::param::linux_hwcap().0 & EVENT_STREAM != 0 { Method::Wfe } else { Method::Polls }
    }

    /// # Safety
    /// `at` is readable.
    pub(super) unsafe fn arm(method: Method, at: *const u8) {
        if method == Method::Wfe {
            // SAFETY: reads one byte, as the caller allows. A store to the line clears the reservation,
            // which is the event that ends `wfe`. The load acquires, so that the look comes after it.
            unsafe {
                asm!("ldaxrb {byte:w}, [{at}]", byte = out(reg) _, at = in(reg) at,
                     options(nostack, preserves_flags));
            }
        }
    }

    pub(super) fn wait(method: Method) {
        if method == Method::Wfe {
            // SAFETY: waits for an event.
            unsafe { asm!("wfe", options(nostack, preserves_flags)) }
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod processor {
    use super::Method;

    pub(super) fn method() -> Method {
        Method::Polls
    }

    pub(super) unsafe fn arm(_: Method, _: *const u8) {}

    pub(super) fn wait(_: Method) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_method_is_what_the_processor_has() {
        use crate::Features;
        let select = |word| processor::select(Features(word));
        assert_eq!(select(0), Method::Polls);
        assert_eq!(select(!(Features::UMWAIT | Features::MWAITX)), Method::Polls);
        assert_eq!(select(Features::UMWAIT), Method::Umwait);
        assert_eq!(select(Features::UMWAIT | Features::MWAITX), Method::Umwait);
        assert_eq!(select(Features::MWAITX), Method::Mwaitx);
    }

    #[test]
    fn a_change_and_the_moment_end_it() {
        let word = AtomicU32::new(0);
        // Nothing changes: it returns nevertheless.
        let at = || word.as_ptr().cast_const().cast();
        let a_moment = || {
            // SAFETY: the word outlives the threads.
            unsafe { watch(at(), &mut || word.load(Ordering::Acquire) == 0) };
        };
        a_moment();
        let mut looks = 0;
        // SAFETY: as above.
        unsafe {
            watch(at(), &mut || {
                looks += 1;
                false
            });
        }
        assert_eq!(looks, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    a_moment();
                }
            });
            word.store(1, Ordering::Release);
        });
    }
}
