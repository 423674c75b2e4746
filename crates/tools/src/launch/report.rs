//! The report of what each PE does: a line for those that do the same, and what follows from all of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;
use ferroshmem_layout::PeState;
use nix::unistd::Pid;

use super::activity::{self, CpuActivity};
use super::deadlock::{is_behind, missed};
use super::waits::{Wait, WaitReason};
use crate::inspect::{self, Inspector, Process, SourcePlace};

/// Most lines for PEs that wait, and as many for the others.
const MOST_LINES: usize = 40;
/// How long processes are looked at: of the PEs that are left then, no place in the program is shown.
const LOOK: Duration = Duration::from_secs(10);

/// What the PEs of a job do.
pub(super) struct Report {
    lines: Vec<String>,
    reads_terminal: bool,
    is_traced: bool,
}

/// The PEs of a node.
pub(super) struct NodePes<'a> {
    control: &'a Control,
    /// Their numbers in the job, by their numbers among those of the node.
    numbers: Vec<usize>,
    /// Whether the job has others.
    has_others: bool,
}

impl<'a> NodePes<'a> {
    /// All PEs of a job.
    pub(super) fn all(control: &'a Control) -> Self {
        Self { control, numbers: (0..control.n_pes()).collect(), has_others: false }
    }

    /// Those of a node among several, by their numbers in the job.
    pub(super) fn of_node(control: &'a Control, numbers: Vec<usize>) -> Self {
        Self { control, numbers, has_others: true }
    }

    /// Whether PE `index` of the node is one of those that `wait` needs, and has not come.
    fn missed(&self, wait: &Wait, index: usize) -> bool {
        if self.has_others {
            // Waits within the node have its own numbers, those for other nodes the job's: of the team of all PEs, all
            // are members by both.
            return is_behind(self.control, wait, index, |team| team == 0);
        }
        missed(self.control, wait, index)
    }
}

/// A PE that waits.
struct Waiter {
    /// Its number in the job, and among those of the node.
    pe: usize,
    index: usize,
    wait: Wait,
    /// The word waited for, if there is one: `the lock "a"`.
    object: Option<String>,
    place: Option<SourcePlace>,
    /// Names of the locks that the PE holds, as far as that is known.
    holds: Vec<String>,
}

/// PEs that wait alike.
struct Group {
    words: String,
    pes: Vec<usize>,
    shortest: f64,
    longest: f64,
    missing: Vec<usize>,
    place: Option<SourcePlace>,
}

impl Report {
    /// Looks at the `living` PEs: their numbers among those of the node, and their processes.
    pub(super) fn new(node: &NodePes<'_>, living: &[(usize, Pid)]) -> Self {
        let control = node.control;
        let mut this = Self { lines: Vec::new(), reads_terminal: false, is_traced: false };
        let (waiting, others): (Vec<_>, Vec<_>) = living.iter().partition(|(pe, _)| Wait::read(control, *pe).is_some());
        let pids: Vec<Pid> = others.iter().map(|(_, pid)| *pid).collect();
        let others: Vec<_> = others.into_iter().zip(activity::observe(&pids)).collect();
        let until = Instant::now() + LOOK;
        let mut inspector = Inspector::default();
        let mut waiters = Vec::new();
        let mut doing: BTreeMap<(PeActivity, String), Vec<usize>> = BTreeMap::new();
        let all = waiting.into_iter().map(|who| (who, CpuActivity::Runs)).chain(others);
        for ((pe, pid), activity) in all {
            let process = (Instant::now() < until).then(|| inspector.process(pid));
            // Those that did not wait may do so now, and the reverse.
            if let Some(wait) = Wait::read(control, pe) {
                waiters.push(Waiter::new(node, pe, wait, process.as_ref()));
                continue;
            }
            let state = PeState::from_word(control.pe_block(pe).state.load(Acquire));
            let (mut what, mut place) = (PeActivity::of(state, activity), String::new());
            if matches!(activity, CpuActivity::Runs | CpuActivity::Sleeps | CpuActivity::Stopped)
                && let Some(sight) = process.map(|process| process.look(false))
            {
                this.note(&sight.activity);
                if sight.activity == inspect::Activity::Traced {
                    what = PeActivity::Traced;
                }
                place = place_of(&sight, activity);
            }
            let pes = doing.entry((what, place)).or_default();
            pes.push(node.numbers[pe]);
        }
        let state = |pe: usize| PeState::from_word(control.pe_block(pe).state.load(Acquire));
        let failed: Vec<_> = (0..control.n_pes()).filter(|pe| state(*pe) == PeState::Failed).collect();
        if !failed.is_empty() {
            let pes = failed.into_iter().map(|pe| node.numbers[pe]).collect();
            doing.insert((PeActivity::Failed, String::new()), pes);
        }
        waiters.sort_unstable_by_key(|waiter| waiter.pe);
        let groups = groups(node, &waiters);
        let shown = groups.iter().map(Group::line);
        this.lines = cut(shown.collect());
        let mut doing: Vec<_> = doing.into_iter().collect();
        doing.sort_by_key(|((what, _), pes)| (*what, pes[0]));
        let others = doing.iter().map(|((what, place), pes)| what.line(pes, place));
        this.lines.extend(cut(others.collect()));
        this.lines.extend(verdicts(node, &waiters, living));
        this
    }

    fn note(&mut self, activity: &inspect::Activity) {
        if let inspect::Activity::Sleeps(name, Some(file)) = activity {
            self.reads_terminal |= name == "read" && is_terminal(file);
        }
        self.is_traced |= *activity == inspect::Activity::Traced;
    }

    /// The lines.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Whether a user is asked for input, or a debugger is at work: then the job waits for a person.
    pub(super) fn waits_for_user(&self) -> bool {
        self.reads_terminal || self.is_traced
    }
}

fn is_terminal(file: &Path) -> bool {
    file.starts_with("/dev/pts") || file.starts_with("/dev/tty") || file == Path::new("/dev/console")
}

/// The first lines, and how many more there are.
fn cut(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("and {more} more lines"));
    }
    lines
}

/// In which system call, and where in the program: `, in read of /dev/pts/0, at ask.c:12 (main)`.
fn place_of(sight: &inspect::ProcessState, activity: CpuActivity) -> String {
    let mut words = String::new();
    if let (inspect::Activity::Sleeps(name, file), CpuActivity::Sleeps) = (&sight.activity, activity) {
        words = format!(", in {name}");
        if let Some(file) = file {
            words.push_str(&format!(" of {}", file.display()));
        }
    }
    if let Some(place) = &sight.place {
        words.push_str(&format!(", at {place}"));
    } else if sight.activity == inspect::Activity::Hidden {
        words.push_str(
            " (the system does not let its stack be read: allow ptrace, as by sysctl kernel.yama.ptrace_scope=1)",
        );
    }
    words
}

impl Waiter {
    fn new(node: &NodePes<'_>, index: usize, wait: Wait, process: Option<&Process>) -> Self {
        let name = |address| process.and_then(|p| p.variable(address));
        let object = match wait.reason {
            WaitReason::Object(kind, address) => {
                let named = name(address);
                let at = named.unwrap_or_else(|| format!("at {address:#x}"));
                let within = wait.block.map(|(start, len)| {
                    let offset = address - start;
                    format!(" (byte {offset} of an allocation of {len} bytes)")
                });
                let condition = wait.condition.map(|c| {
                    let now = process.and_then(|p| p.word(address, c.width));
                    c.words(now)
                });
                let (within, condition) = (within.unwrap_or_default(), condition.unwrap_or_default());
                Some(format!("{kind} {at}{within}{condition}"))
            }
            _ => None,
        };
        let held = node.control.pe_block(index).held.iter();
        let held = held.map(|word| word.load(Relaxed)).filter(|lock| *lock != 0);
        let holds = held.map(|lock| {
            let at = name(lock).unwrap_or_else(|| format!("at {lock:#x}"));
            format!("the lock {at}")
        });
        Self {
            pe: node.numbers[index],
            index,
            holds: holds.collect(),
            object,
            place: process.and_then(|p| p.look(true).place),
            wait,
        }
    }

    /// Routine and object: `in shmem_set_lock for the lock "a"`.
    fn words(&self) -> String {
        match &self.object {
            Some(object) => format!("in {} for {object}", self.wait.routine),
            None => self.wait.place().to_string(),
        }
    }

    /// The lock without what else is known of it: as others name it.
    fn lock(&self) -> Option<&str> {
        let object = self.object.as_deref()?;
        let name = object.split(" (byte").next().unwrap_or(object);
        matches!(self.wait.reason, WaitReason::Object("the lock", _)).then_some(name)
    }
}

/// The groups of PEs that wait alike, by their first PE.
fn groups(node: &NodePes<'_>, waiters: &[Waiter]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<(String, u32, Option<SourcePlace>), usize> = BTreeMap::new();
    for waiter in waiters {
        let (words, seconds) = (waiter.words(), waiter.wait.seconds());
        let sequence = match waiter.wait.reason {
            WaitReason::Collective { sequence, .. } => sequence,
            _ => 0,
        };
        let key = (words.clone(), sequence, waiter.place.clone());
        let index = *known.entry(key).or_insert(groups.len());
        if index == groups.len() {
            let absent = |index: &usize| node.missed(&waiter.wait, *index);
            let missing = (0..node.numbers.len()).filter(absent);
            groups.push(Group {
                words,
                pes: Vec::new(),
                shortest: seconds,
                longest: seconds,
                missing: missing.map(|index| node.numbers[index]).collect(),
                place: waiter.place.clone(),
            });
        }
        let group = &mut groups[index];
        group.pes.push(waiter.pe);
        group.shortest = group.shortest.min(seconds);
        group.longest = group.longest.max(seconds);
    }
    groups
}

impl Group {
    fn line(&self) -> String {
        let waits = if self.pes.len() == 1 { "waits" } else { "wait" };
        let mut line = format!("{} {waits} {} since ", subject(&self.pes), self.words);
        if self.longest - self.shortest >= 1.0 {
            line.push_str(&format!("{:.1} to ", self.shortest));
        }
        line.push_str(&format!("{:.1} s", self.longest));
        if let Some(place) = &self.place {
            line.push_str(&format!(", called at {place}"));
        }
        if !self.missing.is_empty() {
            let have = if self.missing.len() == 1 { "has" } else { "have" };
            line.push_str(&format!("; {} {have} not come", subject(&self.missing)));
        }
        line
    }
}

/// What follows from the waits of all PEs.
fn verdicts(node: &NodePes<'_>, waiters: &[Waiter], living: &[(usize, Pid)]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(different_collectives(waiters));
    if let Some(line) = cycle(node, waiters) {
        lines.push(line);
    } else if waiters.len() == living.len() && !living.is_empty() && !node.has_others {
        lines.extend(all_wait(node, waiters));
    }
    lines
}

/// PEs that are in different collectives, each of which is for all of them.
fn different_collectives(waiters: &[Waiter]) -> Option<String> {
    let mut first: BTreeMap<(Option<u32>, u64, u32), &Waiter> = BTreeMap::new();
    for waiter in waiters {
        let WaitReason::Collective { team, sequence, work_array, .. } = waiter.wait.reason else {
            continue;
        };
        let other = *first.entry((team, work_array, sequence)).or_insert(waiter);
        let (a, b) = (&other.wait.routine, &waiter.wait.routine);
        let in_same = other.wait.needs(waiter.pe) && waiter.wait.needs(other.pe);
        if a != b && in_same {
            return Some(format!(
                "PE {} is in {a} while PE {} is in {b} of the same team: all members must call the same collectives, \
                    in the same order",
                other.pe, waiter.pe
            ));
        }
    }
    None
}

/// A cycle of PEs of which each waits for the next.
fn cycle(node: &NodePes<'_>, waiters: &[Waiter]) -> Option<String> {
    // The PE that each waits for, and why.
    let next = |waiter: &Waiter| {
        if let Some(lock) = waiter.lock() {
            let holder = waiters.iter().position(|w| w.holds.iter().any(|l| l == lock))?;
            return Some((holder, format!("{}, which PE {} holds", waiter.words(), waiters[holder].pe)));
        }
        let absent = |other: &Waiter| node.missed(&waiter.wait, other.index);
        let other = waiters.iter().position(absent)?;
        let words = format!("{}, to which PE {} has not come", waiter.words(), waiters[other].pe);
        Some((other, words))
    };
    let edges: Vec<Option<(usize, String)>> = waiters.iter().map(next).collect();
    for start in 0..waiters.len() {
        let mut path = Vec::new();
        let mut at = start;
        while let Some((other, _)) = &edges[at]
            && !path.contains(&at)
        {
            path.push(at);
            at = *other;
        }
        if let Some(from) = path.iter().position(|index| *index == at) {
            let says = path[from..].iter().filter_map(|index| {
                let (_, words) = edges[*index].as_ref()?;
                Some(format!("PE {} {words}", waiters[*index].pe))
            });
            let says: Vec<String> = says.collect();
            return Some(format!("PEs wait for each other: {}", says.join("; ")));
        }
    }
    None
}

/// Every PE of the job waits.
fn all_wait(node: &NodePes<'_>, waiters: &[Waiter]) -> Option<String> {
    let may_end = |w: &Waiter| match &w.wait.reason {
        WaitReason::Connection { .. } | WaitReason::Remote(_) => true,
        // One that has all its members is about to end.
        WaitReason::Collective { team: Some(_), .. } => {
            !(0..node.numbers.len()).any(|index| node.missed(&w.wait, index))
        }
        _ => false,
    };
    if waiters.iter().any(may_end) {
        return None;
    }
    let others = match node.numbers.len() > waiters.len() {
        true => "all PEs that have not ended wait",
        false => "all PEs wait",
    };
    let locks = waiters.iter().any(|w| w.lock().is_some());
    let known = waiters.iter().any(|w| !w.holds.is_empty());
    let how = match locks && !known {
        true => "; SHMEM_CHECK=1 shows which PE holds which lock",
        false => "",
    };
    let values = waiters.iter().find(|w| matches!(w.wait.reason, WaitReason::Object(kind, _) if kind != "the lock"));
    Some(match values {
        Some(w) => format!("no PE will write what PE {} waits for: {others}{how}", w.pe),
        None => format!("no PE can go on: {others}{how}"),
    })
}

/// What a PE does that waits in no routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PeActivity {
    Computes,
    Sleeps,
    Stopped,
    Traced,
    Outside,
    Starts,
    Leaves,
    Failed,
}

impl PeActivity {
    fn of(state: PeState, activity: CpuActivity) -> Self {
        match (state, activity) {
            (_, CpuActivity::Stopped) => Self::Stopped,
            (PeState::Started, _) => Self::Starts,
            (PeState::Finalized, _) => Self::Leaves,
            (_, CpuActivity::Runs) => Self::Computes,
            (_, CpuActivity::Sleeps) => Self::Sleeps,
            (_, CpuActivity::Gone) => Self::Outside,
        }
    }

    /// The line for these PEs, which are at `place`.
    fn line(self, pes: &[usize], place: &str) -> String {
        let (one, several) = match self {
            Self::Computes => ("computes, or polls memory in the program", "compute, or poll memory in the program"),
            Self::Sleeps if place.starts_with(", in ") => ("sleeps in the program", "sleep in the program"),
            Self::Sleeps => (
                "sleeps in the program, or waits there for input, output or a lock",
                "sleep in the program, or wait there for input, output or a lock",
            ),
            Self::Stopped => ("is stopped, by a signal or a debugger", "are stopped, by a signal or a debugger"),
            Self::Traced => ("is in the hands of a debugger", "are in the hands of a debugger"),
            Self::Outside => {
                ("was in the program, in no routine that waits", "were in the program, in no routine that waits")
            }
            Self::Starts => ("is not in shmem_init yet", "are not in shmem_init yet"),
            Self::Failed => ("has failed", "have failed"),
            Self::Leaves => {
                ("is past shmem_finalize, and has not ended", "are past shmem_finalize, and have not ended")
            }
        };
        let what = if pes.len() == 1 { one } else { several };
        format!("{} {what}{place}", subject(pes))
    }
}

/// `PE 3`, or `PEs 0-2, 5`.
pub(super) fn subject(pes: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &pe in pes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == pe => *last = pe,
            _ => ranges.push((pe, pe)),
        }
    }
    let shown = ranges.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if pes.len() == 1 { format!("PE {shown}") } else { format!("PEs {shown}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        assert_eq!(subject(&[3]), "PE 3");
        assert_eq!(subject(&[0, 1, 2, 5, 7, 8]), "PEs 0-2, 5, 7-8");
        let line = PeActivity::of(PeState::Initialized, CpuActivity::Runs).line(&[2], ", at a.c:1 (f)");
        assert_eq!(line, "PE 2 computes, or polls memory in the program, at a.c:1 (f)");
        let line = PeActivity::of(PeState::Started, CpuActivity::Stopped).line(&[1, 2], "");
        assert_eq!(line, "PEs 1-2 are stopped, by a signal or a debugger");
        let line = PeActivity::Sleeps.line(&[1], ", in read of /dev/pts/0");
        assert_eq!(line, "PE 1 sleeps in the program, in read of /dev/pts/0");
    }

    #[test]
    fn long_reports_are_cut() {
        let lines = |n| cut((0..n).map(|i: usize| i.to_string()).collect());
        assert_eq!(lines(MOST_LINES).len(), MOST_LINES);
        assert_eq!(lines(MOST_LINES + 3).last().unwrap(), "and 3 more lines");
    }
}
