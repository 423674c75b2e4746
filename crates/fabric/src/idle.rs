//! How a thread waits: it polls, then gives up its core between polls, then sleeps until the
//! helper thread has seen something happen.

use std::time::{Duration, Instant};

use crate::bell::Bell;

/// So long a core is given up between polls before sleep, if nobody wants it, and if somebody does.
const YIELDS: Duration = Duration::from_millis(2);
const CROWDED: Duration = Duration::from_micros(100);

/// Gives up the core for a moment; says whether somebody took it.
pub fn yield_core() -> bool {
    /// It takes longer only then.
    const TAKEN: Duration = Duration::from_micros(2);

    let begin = Instant::now();
    std::thread::yield_now();
    begin.elapsed() > TAKEN
}

/// A wait since something happened last.
pub(crate) struct Idle {
    spin: Duration,
    polls: u32,
    since: Option<Instant>,
    wanted: bool,
}

impl Idle {
    /// Polls for as long as `spin` before anything else.
    pub(crate) fn new(spin: Duration) -> Idle {
        Idle {
            spin,
            polls: 0,
            since: None,
            wanted: false,
        }
    }

    /// Something has happened.
    pub(crate) fn reset(&mut self) {
        *self = Idle::new(self.spin);
    }

    /// After a poll in vain; `done` says that there is no need to sleep.
    pub(crate) fn pause(&mut self, bell: &Bell, done: &mut dyn FnMut() -> bool) {
        self.polls += 1;
        if !self.polls.is_multiple_of(8) && !self.spin.is_zero() {
            std::hint::spin_loop();
            return;
        }
        let now = Instant::now();
        let waited = now - *self.since.get_or_insert(now);
        let yields = if self.wanted { CROWDED } else { YIELDS };
        if waited < self.spin {
            std::hint::spin_loop();
        } else if waited < self.spin + yields {
            self.wanted |= yield_core();
        } else {
            bell.sleep(done);
        }
    }
}
