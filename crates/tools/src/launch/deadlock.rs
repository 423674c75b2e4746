//! Deadlock detection: finds a job that can never end.
//!
//! Two rules apply once a PE has exited with status 0, but without `shmem_finalize`:
//!
//! * A PE waits in a collective on a team that the exited PE is a member of and has not entered. It
//!   never will: a deadlock, as soon as the wait has lasted for [`SETTLED`].
//! * Every living PE has waited, each in one and the same wait, for [`SILENCE`]. The record of a
//!   wait other than for a team does not say which PE could end it, so all must be silent.
//!
//! One applies always, to PEs of which one thread at a time calls the library:
//!
//! * PEs wait in a cycle: each in a collective on a team that the next one has not entered, since that
//!   one waits in another collective.
//! * A PE waits for one that has called `shmem_finalize`: in a collective, of its own job or of a group, that this one
//!   has not entered, or for a job to be connected with both.

use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;
use ferroshmem_layout::{MAX_TEAMS, SHADOW};

use super::waits::{Wait, WaitReason};

/// Time between checks for PEs that exited: each check visits every PE.
const PERIOD: Duration = Duration::from_millis(50);
const SETTLED: Duration = Duration::from_millis(100);
const SILENCE: Duration = Duration::from_secs(1);
/// Time between checks for cycles, which cost a running job as little as can be.
const CIRCLE_PERIOD: Duration = Duration::from_secs(1);

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

/// PEs of which each waits for the next, and the last for the first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cycle(pub Vec<(usize, Wait)>);

impl Cycle {
    /// The line for it; `called_at` says of a PE where it waits.
    pub(super) fn line(&self, called_at: impl Fn(usize) -> String) -> String {
        let says = self.0.iter().enumerate().map(|(i, (pe, wait))| {
            let (next, _) = &self.0[(i + 1) % self.0.len()];
            format!("PE {pe} {} for PE {next}{}", wait.place(), called_at(*pe))
        });
        let says: Vec<String> = says.collect();
        format!(
            "PEs wait for each other: {}; ended the job (all members of a team must call its collectives, in the same \
                order)",
            says.join(", ")
        )
    }
}

/// The waits last seen.
#[derive(Debug, Default)]
pub(super) struct DeadlockDetector {
    seen: Vec<Option<(Wait, Instant)>>,
    checked: Option<Instant>,
    circles_checked: Option<Instant>,
}

impl DeadlockDetector {
    /// When to check next; `None` means now.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.checked.map(|at| at + PERIOD)
    }

    /// When to look for cycles next.
    pub(super) fn next_check_of_cycles(&self, now: Instant) -> Instant {
        self.circles_checked.map_or(now, |at| at + CIRCLE_PERIOD)
    }

    /// Looks for a cycle among the `living` PEs that have each been in one wait since the last look.
    /// `one_caller` says of a PE whether one thread at a time calls the library.
    pub(super) fn check_cycles(
        &mut self,
        now: Instant,
        control: &Control,
        living: &[usize],
        one_caller: impl Fn(usize) -> bool,
    ) -> Option<Cycle> {
        self.circles_checked = Some(now);
        self.seen.resize(control.n_pes(), None);
        let mut stuck: Vec<(usize, Wait)> = Vec::new();
        for &pe in living {
            let Some(wait) = self.see(now, control, pe) else {
                continue;
            };
            if now - wait.1 >= SILENCE && matches!(wait.0.reason, WaitReason::Collective { .. }) {
                stuck.push((pe, wait.0.clone()));
            }
        }
        // A PE waits for ever if it waits for one that does. Those are left that do in any case.
        loop {
            let waits_for_stuck = |(pe, wait): &(usize, Wait)| {
                let next = stuck.iter().find(|(other, _)| missed(control, wait, *other));
                next.is_some_and(|(other, _)| other != pe)
            };
            let kept: Vec<bool> = stuck.iter().map(waits_for_stuck).collect();
            if kept.iter().all(|kept| *kept) {
                break;
            }
            let mut kept = kept.into_iter();
            stuck.retain(|_| kept.next().unwrap_or(false));
        }
        if !stuck.iter().all(|(pe, _)| one_caller(*pe)) {
            return None;
        }
        Cycle::of(control, &stuck)
    }

    /// The wait of a PE, and since when it was seen in it.
    fn see(&mut self, now: Instant, control: &Control, pe: usize) -> Option<&(Wait, Instant)> {
        let wait = Wait::read(control, pe);
        let seen = &mut self.seen[pe];
        if seen.as_ref().map(|(w, _)| w) != wait.as_ref() {
            *seen = wait.map(|w| (w, now));
        }
        seen.as_ref()
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
            let Some((wait, since)) = self.see(now, control, pe) else {
                silent = false;
                continue;
            };
            let age = now - *since;
            // PEs of another job may end the wait, or of another node.
            let is_silent = !matches!(wait.reason, WaitReason::Connection { .. } | WaitReason::Remote(_));
            silent &= is_silent && age >= SILENCE;
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

    /// The waits of the `living` PEs that have lasted, when they were seen last.
    pub(super) fn lasting(&self, now: Instant, living: &[usize]) -> Vec<(usize, &Wait)> {
        let lasts = |(_, since): &&(Wait, Instant)| now - *since >= SILENCE;
        let wait = |pe: &usize| Some((*pe, &self.seen.get(*pe)?.as_ref().filter(lasts)?.0));
        living.iter().filter_map(wait).collect()
    }

    /// Forgets all waits: the PEs could not run for a while.
    pub(super) fn reset(&mut self) {
        self.seen.clear();
    }
}

impl Cycle {
    /// The cycle that is reached from the first of the `stuck` PEs, if there are any. Each of them waits
    /// for another one.
    fn of(control: &Control, stuck: &[(usize, Wait)]) -> Option<Self> {
        let mut path: Vec<usize> = Vec::new();
        let mut at = 0;
        while !path.contains(&at) {
            path.push(at);
            let (_, wait) = stuck.get(at)?;
            at = stuck.iter().position(|(pe, _)| missed(control, wait, *pe))?;
        }
        let start = path.iter().position(|index| *index == at)?;
        Some(Self(path[start..].iter().map(|i| stuck[*i].clone()).collect()))
    }
}

impl Deadlock {
    fn new(exited: usize, waiting: usize, wait: &Wait) -> Self {
        Self { exited, waiting, routine: wait.routine.clone() }
    }
}

/// Whether `wait` is for a collective that PE `gone` has not entered.
pub(super) fn missed(control: &Control, wait: &Wait, gone: usize) -> bool {
    wait.needs(gone) && is_behind(control, wait, gone, |_| true)
}

/// Whether PE `index` of the node has not entered the collective on a team that `wait` is in, if the team is one that
/// is `asked` for.
pub(super) fn is_behind(control: &Control, wait: &Wait, index: usize, asked: impl Fn(u32) -> bool) -> bool {
    let WaitReason::Collective { team: Some(team), sequence, .. } = wait.reason else {
        return false;
    };
    if !asked(team) || team as usize % SHADOW >= MAX_TEAMS {
        return false;
    }
    let entered = control.team_slot(team as usize, index).own.entered.load(Acquire);
    // The counters wrap: what counts is which is ahead.
    (entered.wrapping_sub(sequence) as i32) < 0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use ferroshmem_core::job::plan::Plan;
    use ferroshmem_layout::WaitKind;
    use ferroshmem_platform::Machine;
    use ferroshmem_tuning::Tuning;

    use super::*;
    use ferroshmem_config::HeapSettings;

    fn job(n: usize) -> Control {
        let plan = Plan::new(n, &Machine::here(), HeapSettings::default()).unwrap();
        Control::create(&plan, n, n, n, Tuning::default_for(n), 0).unwrap().1
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
        assert_eq!((found.exited, found.waiting, found.routine.as_str()), (2, 0, "shmem_test"));
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
    /// PE `pe` waits in a collective on `team`, its first.
    fn wait_on(control: &Control, pe: usize, team: usize) {
        control.team_slot(team, pe).own.entered.store(1, Relaxed);
        control.pe_block(pe).wait.team.store(team as u32, Relaxed);
        wait(control, pe, WaitKind::Team, 1);
    }

    #[test]
    fn pes_that_wait_in_a_cycle() {
        let control = job(4);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut detector = DeadlockDetector::default();
        let mut check = |ms, living: &[usize]| {
            let cycle = detector.check_cycles(at(ms), &control, living, |_| true)?;
            Some(cycle.0.iter().map(|(pe, _)| *pe).collect::<Vec<_>>())
        };
        // PE 3 waits for all, each of the others for another one.
        for (pe, team) in [(0, 5), (1, 6), (2, 7), (3, 0)] {
            wait_on(&control, pe, team);
        }
        for (team, pes) in [(5, [1, 2]), (6, [0, 2]), (7, [0, 1])] {
            for pe in pes {
                control.team_slot(team, pe).own.entered.store(1, Relaxed);
            }
        }
        // All have entered what the others wait in: none is stuck.
        for pe in 0..3 {
            control.team_slot(0, pe).own.entered.store(1, Relaxed);
            for team in [5, 6, 7] {
                control.team_slot(team, 3).own.entered.store(1, Relaxed);
            }
        }
        assert_eq!(check(0, &[0, 1, 2, 3]), None);
        assert_eq!(check(3000, &[0, 1, 2, 3]), None);
        // 0 waits for 1, 1 for 2, 2 for 0; 3 only for 0.
        for (team, pe) in [(5, 1), (6, 2), (7, 0), (0, 0)] {
            control.team_slot(team, pe).own.entered.store(0, Relaxed);
        }
        assert_eq!(check(4000, &[0, 1, 2, 3]), Some(vec![0, 1, 2]));
        // One of them is in a wait that any PE may end.
        wait(&control, 1, WaitKind::Point, 0);
        assert_eq!(check(5000, &[0, 1, 2, 3]), None);
        assert_eq!(check(9000, &[0, 1, 2, 3]), None);
    }

    #[test]
    fn a_cycle_is_named() {
        let control = job(2);
        let start = Instant::now();
        let mut detector = DeadlockDetector::default();
        wait_on(&control, 0, 5);
        wait_on(&control, 1, 6);
        let later = start + Duration::from_secs(2);
        let mut check = |now, one_caller| {
            let found = detector.check_cycles(now, &control, &[0, 1], |_| one_caller);
            found.map(|cycle| cycle.line(|_| String::new()))
        };
        assert_eq!(check(start, true), None);
        // A second thread of a PE may come to the collective.
        assert_eq!(check(later, false), None);
        let line = check(later, true).unwrap();
        assert_eq!(
            line,
            "PEs wait for each other: \
             PE 0 in shmem_test on team 5 (start 0, stride 1, size 2) for PE 1, \
             PE 1 in shmem_test on team 6 (start 0, stride 1, size 2) for PE 0; ended the job \
             (all members of a team must call its collectives, in the same order)"
        );
    }
}
