//! Deadlock detection: finds a job that can never end because a PE left it. The PE exited with
//! status 0, but without `shmem_finalize`, and others wait for it.
//!
//! Two rules, both applied only once such a PE exists:
//!
//! * A PE waits in a collective on a team that the exited PE is a member of and has not entered. It
//!   never will: a deadlock, as soon as the wait has lasted for [`SETTLED`].
//! * Every living PE has waited, each in one and the same wait, for [`SILENCE`]. The record of a
//!   wait other than for a team does not say which PE could end it, so all must be silent.

use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;

use super::waits::{Wait, WaitReason};

/// Time between checks: each check visits every PE.
const PERIOD: Duration = Duration::from_millis(50);
const SETTLED: Duration = Duration::from_millis(100);
const SILENCE: Duration = Duration::from_secs(1);

/// A wait that nothing will end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Deadlock {
    /// The PE that exited without `shmem_finalize`.
    pub exited: usize,
    /// The PE that waits.
    pub waiting: usize,
    /// The routine that it waits in.
    pub routine: String,
}

/// The waits last seen.
#[derive(Debug, Default)]
pub(super) struct DeadlockDetector {
    seen: Vec<Option<(Wait, Instant)>>,
    checked: Option<Instant>,
}

impl DeadlockDetector {
    /// When to check next; `None` means now.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.checked.map(|at| at + PERIOD)
    }

    /// Checks the `living` PEs, given those that have `exited` without `shmem_finalize`.
    pub(super) fn check(
        &mut self,
        now: Instant,
        control: &Control,
        exited: &[usize],
        living: &[usize],
    ) -> Option<Deadlock> {
        self.checked = Some(now);
        self.seen.resize(control.n_pes(), None);
        let mut silent = true;
        for &pe in living {
            let wait = Wait::read(control, pe);
            let seen = &mut self.seen[pe];
            if seen.as_ref().map(|(w, _)| w) != wait.as_ref() {
                *seen = wait.map(|w| (w, now));
            }
            let Some((wait, since)) = seen else {
                silent = false;
                continue;
            };
            let age = now - *since;
            silent &= age >= SILENCE;
            if age < SETTLED {
                continue;
            }
            if let Some(&gone) = exited.iter().find(|pe| missed(control, wait, **pe)) {
                return Some(Deadlock::new(gone, pe, wait));
            }
        }
        let (&first, &gone) = (living.first()?, exited.first()?);
        let (wait, _) = self.seen[first].as_ref().filter(|_| silent)?;
        Some(Deadlock::new(gone, first, wait))
    }

    /// Forgets all waits: the PEs could not run for a while.
    pub(super) fn reset(&mut self) {
        self.seen.clear();
    }
}

impl Deadlock {
    fn new(exited: usize, waiting: usize, wait: &Wait) -> Self {
        Self {
            exited,
            waiting,
            routine: wait.routine.clone(),
        }
    }
}

/// Whether `wait` is for a collective that the exited PE `gone` has not entered.
fn missed(control: &Control, wait: &Wait, gone: usize) -> bool {
    let WaitReason::Collective {
        team: Some(team),
        sequence,
        ..
    } = wait.reason
    else {
        return false;
    };
    if !wait.needs(gone) || team as usize >= ferroshmem_core::job::region::MAX_TEAMS {
        return false;
    }
    let entered = control
        .team_slot(team as usize, gone)
        .own
        .entered
        .load(Acquire);
    // The counters wrap: what counts is which is ahead.
    (entered.wrapping_sub(sequence) as i32) < 0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use ferroshmem_core::choice::Tuning;
    use ferroshmem_core::job::plan::Plan;
    use ferroshmem_core::job::region::WaitKind;
    use ferroshmem_core::platform::Machine;

    use super::*;
    use ferroshmem_core::config::HeapSettings;

    fn job(n: usize) -> Control {
        let plan = Plan::new(n, &Machine::here(), HeapSettings::default()).unwrap();
        Control::create(&plan, n, n, n, Tuning::default_for(n), 0)
            .unwrap()
            .1
    }

    fn wait(control: &Control, pe: usize, kind: WaitKind, sequence: u32) {
        let record = &control.pe_block(pe).wait;
        record.set_routine("shmem_test");
        record.stride.store(1, Relaxed);
        record.size.store(control.n_pes() as u32, Relaxed);
        record.sequence.store(sequence, Relaxed);
        record.serial.fetch_add(1, Relaxed);
        record.kind.store(kind as u32, Relaxed);
    }

    #[test]
    fn a_collective_that_an_exited_pe_missed() {
        let control = job(3);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut detector = DeadlockDetector::default();
        // PE 1 runs throughout, PE 2 has left after entering the collective.
        wait(&control, 0, WaitKind::Team, 5);
        control.team_slot(0, 2).own.entered.store(5, Relaxed);
        assert_eq!(detector.check(at(0), &control, &[2], &[0, 1]), None);
        assert_eq!(detector.check(at(2000), &control, &[2], &[0, 1]), None);
        // Not so the next one.
        wait(&control, 0, WaitKind::Team, 6);
        assert_eq!(detector.check(at(2050), &control, &[2], &[0, 1]), None);
        let found = detector.check(at(2150), &control, &[2], &[0, 1]).unwrap();
        assert_eq!(
            (found.exited, found.waiting, found.routine.as_str()),
            (2, 0, "shmem_test")
        );
    }

    #[test]
    fn counters_wrap() {
        let control = job(2);
        wait(&control, 0, WaitKind::Team, 1);
        let wait = Wait::read(&control, 0).unwrap();
        control.team_slot(0, 1).own.entered.store(u32::MAX, Relaxed);
        assert!(missed(&control, &wait, 1));
        control.team_slot(0, 1).own.entered.store(2, Relaxed);
        assert!(!missed(&control, &wait, 1));
    }

    #[test]
    fn other_waits_only_when_all_are_silent() {
        let control = job(3);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut detector = DeadlockDetector::default();
        wait(&control, 0, WaitKind::Point, 0);
        assert_eq!(detector.check(at(0), &control, &[2], &[0, 1]), None);
        assert_eq!(detector.check(at(5000), &control, &[2], &[0, 1]), None);
        wait(&control, 1, WaitKind::Lock, 0);
        assert_eq!(detector.check(at(5050), &control, &[2], &[0, 1]), None);
        wait(&control, 0, WaitKind::Point, 0);
        assert_eq!(detector.check(at(5900), &control, &[2], &[0, 1]), None);
        assert_eq!(detector.check(at(6500), &control, &[2], &[0, 1]), None);
        assert!(detector.check(at(6900), &control, &[2], &[0, 1]).is_some());
        detector.reset();
        assert_eq!(detector.check(at(6950), &control, &[2], &[0, 1]), None);
    }
}
