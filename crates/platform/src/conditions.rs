//! How quiet the machine is while something is measured: what other processes and the hypervisor take of its
//! cores, and how fast a core runs.
//!
//! Two [`Reading`]s bound a measurement; [`Reading::until`] gives its [`Conditions`], and
//! [`Conditions::disturbance`] says by a fixed rule whether its times are to be trusted.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use super::{Cores, process};

/// What the kernel has counted until one moment, and the time of some fixed work then.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    at: Instant,
    counters: Counters,
    work: f64,
    load: f64,
    megahertz: Option<f64>,
}

/// Sums since the machine was started, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counters {
    /// Cores that this process may use.
    cores: usize,
    /// Seconds that these cores ran processes.
    busy: f64,
    /// Seconds that the hypervisor kept these cores from running.
    stolen: f64,
    /// Seconds that this process ran, and its children that have ended, and theirs.
    own: f64,
    /// Seconds in which at least one thread of the machine waited for a core, if the kernel counts them.
    stalled: Option<f64>,
}

/// The state of the machine during a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// How long it took.
    pub seconds: f64,
    /// Cores that this process may use.
    pub cores: usize,
    /// The part of these cores' time that other processes took, from 0 to 1.
    pub others: f64,
    /// The part of these cores' time that the hypervisor took, from 0 to 1.
    pub steal: f64,
    /// The part of the time in which a thread waited for a core, if the kernel counts it.
    pub stalled: Option<f64>,
    /// The load average of the minute before the end.
    pub load: f64,
    /// Nanoseconds of fixed work on a core, before or after, whichever was longer.
    pub work: f64,
    /// The cores' mean frequency at the end, if the kernel tells it.
    pub megahertz: Option<f64>,
}

/// What made times longer than they are on a quiet machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    /// Other processes took this part of the cores' time.
    Others(f64),
    /// The hypervisor took this part of the cores' time.
    Steal(f64),
    /// For this part of the time a thread waited for a core although there was one for each process.
    Stalled(f64),
    /// Fixed work took this many times as long as at other times.
    Slow(f64),
}

impl Reading {
    /// Reads the counters, and times some fixed work for about a millisecond; none where `/proc` is missing.
    pub fn take() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).ok();
        let counters = Counters::parse(
            &read("/proc/stat")?,
            &read("/proc/self/stat")?,
            read("/proc/pressure/cpu").as_deref(),
            &Cores::of_this_process(),
            rustix::param::clock_ticks_per_second() as f64,
        )?;
        Some(Self {
            at: Instant::now(),
            counters,
            work: fixed_work(),
            load: read("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0.0),
            megahertz: megahertz(&Cores::of_this_process()),
        })
    }

    /// Nanoseconds of the fixed work.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// The conditions between this reading and a later one. Jobs that ran between the two must have been waited
    /// for: their time counts as that of other processes else.
    pub fn until(&self, later: &Self) -> Conditions {
        let seconds = later.at.duration_since(self.at).as_secs_f64();
        Conditions {
            load: later.load,
            work: self.work.max(later.work),
            megahertz: later.megahertz,
            ..self.counters.until(&later.counters, seconds)
        }
    }
}

impl Counters {
    /// From the texts of `/proc/stat`, `/proc/self/stat` and `/proc/pressure/cpu`.
    fn parse(stat: &str, own: &str, pressure: Option<&str>, cores: &Cores, ticks: f64) -> Option<Self> {
        let (mut busy, mut stolen) = (0.0, 0.0);
        for line in stat.lines().filter_map(|line| line.strip_prefix("cpu")) {
            let mut words = line.split_ascii_whitespace();
            // The first line, of all cores, has no number.
            let Some(core) = words.next().filter(|_| !line.starts_with(' ')) else {
                continue;
            };
            if !cores.contains(core.parse().ok()?) {
                continue;
            }
            // user nice system idle iowait irq softirq steal; interrupts belong to no process.
            let times: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
            busy += times.get(..3)?.iter().sum::<f64>();
            stolen += times.get(7).copied().unwrap_or(0.0);
        }
        let stalled = pressure
            .and_then(|text| text.lines().find(|line| line.starts_with("some ")))
            .and_then(|line| line.split_once("total=")?.1.trim().parse::<f64>().ok());
        Some(Self {
            cores: cores.count(),
            busy: busy / ticks,
            stolen: stolen / ticks,
            own: process::ticks(own.as_bytes())? as f64 / ticks,
            stalled: stalled.map(|microseconds| microseconds / 1e6),
        })
    }

    fn until(&self, later: &Self, seconds: f64) -> Conditions {
        // Two readings in one tick are no time, of which nothing is a part.
        let all = (seconds * later.cores as f64).max(f64::MIN_POSITIVE);
        let busy = later.busy - self.busy;
        let own = later.own - self.own;
        let stalled = self.stalled.zip(later.stalled);
        Conditions {
            seconds,
            cores: later.cores,
            others: ((busy - own) / all).clamp(0.0, 1.0),
            steal: ((later.stolen - self.stolen) / all).clamp(0.0, 1.0),
            stalled: stalled.map(|(from, to)| ((to - from) / seconds.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)),
            load: 0.0,
            work: 0.0,
            megahertz: None,
        }
    }
}

impl Conditions {
    /// What disturbed a measurement with so many processes, if anything did. `fastest` is the least time of the
    /// fixed work in any reading.
    ///
    /// The rule, in which the times in parentheses are what the kernel's counters, of 10 ms, cannot tell:
    /// other processes took more than 5 % of the cores' time (and 30 ms of each core); or the hypervisor more than
    /// 2 % (and 20 ms); or a thread waited for a core for more than 10 % of the time (and 30 ms) where processes do
    /// not outnumber cores; or the fixed work took more than 1.1 times the fastest.
    pub fn disturbance(&self, fastest: f64, processes: usize) -> Option<Disturbance> {
        let over = |part: f64, limit: f64, seconds: f64| part * self.seconds > limit * self.seconds + seconds;
        let slow = self.work / fastest;
        if over(self.others, 0.05, 0.03) {
            Some(Disturbance::Others(self.others))
        } else if over(self.steal, 0.02, 0.02) {
            Some(Disturbance::Steal(self.steal))
        } else if slow > 1.1 {
            Some(Disturbance::Slow(slow))
        } else {
            self.stalled.filter(|part| processes <= self.cores && over(*part, 0.10, 0.03)).map(Disturbance::Stalled)
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Others(part) => {
                let percent = part * 100.0;
                write!(f, "other processes took {percent:.0} % of the cores' time")
            }
            Self::Steal(part) => {
                let percent = part * 100.0;
                write!(f, "the hypervisor took {percent:.0} % of the cores' time")
            }
            Self::Stalled(part) => {
                let percent = part * 100.0;
                write!(f, "threads waited for a core {percent:.0} % of the time")
            }
            Self::Slow(times) => {
                write!(f, "the processor ran at 1/{times:.2} of its speed")
            }
        }
    }
}

/// Nanoseconds of a chain of multiplications, which depends on nothing but the processor's clock: the least of
/// several times, so that a thread that takes the core for a while does not count.
fn fixed_work() -> f64 {
    const STEPS: u32 = 10_000;
    const TRIALS: usize = 25;
    let trial = |_| {
        let start = Instant::now();
        let mut x = black_box(1_u64);
        for _ in 0..STEPS {
            x = (x ^ (x >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        black_box(x);
        start.elapsed().as_nanos() as f64
    };
    (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min)
}

/// The mean frequency of some cores, if the kernel tells it.
fn megahertz(cores: &Cores) -> Option<f64> {
    let frequency = |core: usize| -> Option<f64> {
        let file = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        let kilohertz: f64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
        Some(kilohertz / 1e3)
    };
    let all: Vec<f64> = cores.iter().filter_map(frequency).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    /// `/proc/stat` with the ticks of two cores: processes, idle, stolen.
    fn stat(cores: [[u32; 3]; 2]) -> String {
        let line = |[busy, idle, stolen]: [u32; 3]| {
            let (user, system) = (busy - busy / 4, busy / 4);
            format!("{user} 0 {system} {idle} 936 0 7570 {stolen} 0 0")
        };
        let [first, second] = cores.map(line);
        format!("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {first}\ncpu1 {second}\nintr 13558178 0\n")
    }

    fn counters(cores: [[u32; 3]; 2], own: u32, stalled: u64) -> Counters {
        let (user, children) = (own / 3, own - own / 3);
        let this = format!("77 (a (b) c) R 1 77 77 0 -1 4194304 98 0 0 0 {user} 0 {children} 0 20 0 1 0 5 6 7");
        let pressure = format!("some avg10=92.88 avg60=41.29 avg300=22.18 total={stalled}\nfull avg10=0.00 total=0\n");
        let mask = Cores::default().with(0).with(1);
        Counters::parse(&stat(cores), &this, Some(&pressure), &mask, 100.0).unwrap()
    }

    /// Conditions of 10 s that took these ticks.
    fn ten_seconds(busy: u32, stolen: u32, own: u32, stalled: u64) -> Conditions {
        let before = counters([[600_000, 98_847, 6544], [500_000, 85_018, 7201]], 300, 5_000_000);
        let (half, rest) = (busy / 2, busy - busy / 2);
        let after = counters(
            [[600_000 + half, 98_947, 6544 + stolen], [500_000 + rest, 85_218, 7201]],
            300 + own,
            5_000_000 + stalled,
        );
        Conditions { work: 20_000.0, ..before.until(&after, 10.0) }
    }

    #[test]
    fn counters_are_those_of_the_cores_in_use() {
        let mask = Cores::default().with(1);
        let text = stat([[400, 3, 1], [800, 4, 2]]);
        let own = "1 (x) R 1 1 1 0 -1 0 0 0 0 0 10 20 30 40 20 0";
        let one = Counters::parse(&text, own, None, &mask, 100.0).unwrap();
        let expected = Counters { cores: 1, busy: 8.0, stolen: 0.02, own: 1.0, stalled: None };
        assert_eq!(one, expected);
        for damaged in ["", "cpu0 1 2", "cpu1 a b c d"] {
            let read = Counters::parse(damaged, "1 (x) R 1", None, &mask, 100.0);
            assert_eq!(read, None, "{damaged}");
        }
    }

    #[test]
    fn the_rule_on_recorded_numbers() {
        let judged = |conditions: Conditions, processes| {
            let found = conditions.disturbance(20_000.0, processes);
            found.map(|disturbance| disturbance.to_string())
        };
        // Two PEs alone, whose 20 s are their own; launcher and kernel take a little.
        let quiet = ten_seconds(2_000, 3, 1_960, 200_000);
        assert!((quiet.others - 0.02).abs() < 1e-9 && (quiet.steal - 0.0015).abs() < 1e-9);
        assert_eq!(judged(quiet, 2), None);
        // A compilation beside them.
        let compiled = ten_seconds(2_000, 3, 1_400, 6_000_000);
        assert_eq!(judged(compiled, 2).unwrap(), "other processes took 30 % of the cores' time");
        // A neighbour of this virtual machine.
        let stolen = ten_seconds(1_800, 160, 1_780, 0);
        assert_eq!(judged(stolen, 2).unwrap(), "the hypervisor took 8 % of the cores' time");
        // Kernel threads on the PEs' cores; PEs that outnumber cores wait for each other.
        let waited = ten_seconds(2_000, 0, 1_990, 3_000_000);
        assert_eq!(judged(waited, 2).unwrap(), "threads waited for a core 30 % of the time");
        assert_eq!(judged(waited, 16), None);
        let throttled = Conditions { work: 25_000.0, ..quiet };
        assert_eq!(judged(throttled, 2).unwrap(), "the processor ran at 1/1.25 of its speed");
        let first_of_all = Conditions { work: 20_000.0, ..quiet };
        assert_eq!(first_of_all.disturbance(20_000.0, 2), None);
    }

    #[test]
    fn short_measurements_are_judged_by_more_than_a_tick() {
        // 40 ms in which 3 ticks of 8 were not this process's: no more than the counters' error.
        let before = counters([[100, 0, 0], [100, 0, 0]], 0, 0);
        let after = counters([[104, 0, 0], [104, 0, 0]], 5, 0);
        let short = Conditions { work: 1.0, ..before.until(&after, 0.04) };
        assert!(short.others > 0.3);
        assert_eq!(short.disturbance(1.0, 2), None);
    }

    #[test]
    fn a_process_that_is_not_waited_for_disturbs() {
        let mut spinning = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let from = Reading::take().unwrap();
        let mut found = None;
        // Long enough for any machine on which the process gets a core at all.
        for _ in 0..600 {
            std::thread::sleep(Duration::from_millis(100));
            let conditions = from.until(&Reading::take().unwrap());
            // A share of many cores may be less than the rule asks for.
            if conditions.others * conditions.seconds * conditions.cores as f64 > 0.2 {
                found = Some(conditions);
                break;
            }
        }
        spinning.kill().unwrap();
        spinning.wait().unwrap();
        let conditions = found.expect("the time of another process is counted");
        assert!(conditions.work > 0.0 && conditions.work.is_finite());
    }
}
