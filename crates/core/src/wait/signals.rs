//! Where a PE sleeps that waits for variables which other PEs update and then notify it of.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use ferroshmem_fabric::Fabric;

use super::record::WaitReason;
use super::strategy::{Next, WaitStrategy, Waiter};
use crate::futex;
use ferroshmem_layout::SignalLine;

/// First and longest sleep between polls of a waiter that is notified of most updates.
pub const NOTIFIED: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));
/// The same for one that may not be.
pub const UNNOTIFIED: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));

/// Wakes the threads that sleep until a signal of their PE changes. Called after the update.
#[inline]
pub fn notify(signals: &SignalLine) {
    // With the fence in `wait`: either this sees the sleeper, or the sleeper's last poll sees
    // the update.
    fence(Ordering::SeqCst);
    if signals.sleepers.load(Ordering::Relaxed) != 0 {
        signals.updates.fetch_add(1, Ordering::Relaxed);
        futex::wake(&signals.updates, futex::ANY);
    }
}

/// Waits until `condition` gives a result, asleep if it takes long: until a PE notifies of an update
/// of `signals`, something arrives over `fabric`, or the sleep is over.
pub fn wait<R>(
    signals: &SignalLine,
    fabric: Option<&'static Fabric>,
    reason: &WaitReason<'_>,
    (first, longest): (Duration, Duration),
    mut condition: impl FnMut() -> Option<R>,
) -> R {
    let mut waiter = Waiter::internode(fabric, *reason);
    let mut sleep = first;
    loop {
        if let Some(result) = condition() {
            return result;
        }
        let Next::Sleep(rest) = waiter.after_idle_poll() else {
            continue;
        };
        signals.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // A count that is read after an update brings what the update's thread had written before.
        let updates = signals.updates.load(Ordering::Acquire);
        let result = condition();
        if result.is_none() {
            let begin = Instant::now();
            rest.sleep(&signals.updates, updates, futex::ANY, Some(sleep));
            sleep = (sleep * 2).min(longest);
            if fabric.is_some() && signals.updates.load(Ordering::Relaxed) != updates {
                waiter.reset(begin.elapsed());
            }
        }
        signals.sleepers.fetch_sub(1, Ordering::Relaxed);
        if let Some(result) = result {
            return result;
        }
    }
}
