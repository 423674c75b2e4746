//! Programs that lose PEs at random points, and end with the right answer: `examples/resilient_*.c`.
//!
//! PEs are killed from outside, by SIGKILL or SIGSEGV, at any time after PE 0 has said that the job is resilient: also
//! while the others recover, or a process starts that replaces one. Few kills in every run of the tests; 1,500 by
//!
//!     cargo test -p ferroshmem-conformance --test kills -- --ignored

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::guide;
use ferroshmem_conformance::job::{Outcome, Running};
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The programs, what they say of a right answer, and how many steps take some tenths of a second.
const PROGRAMS: [(&str, &str, &str); 2] =
    [("stencil", "as the serial result", "2000"), ("cg", "as the known solution", "1000")];
const MODES: [&str; 2] = ["shrink", "replace"];

/// Kills of each program and mode: in every run of the tests, and by hand.
const FEW: usize = 8;
const MANY: usize = 250;

fn main() {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for program in PROGRAMS {
        for mode in MODES {
            let name = program.0;
            suite.add(format!("{name}::{mode}::{FEW}"), move |s| lose(s, program, mode, FEW));
            suite.add_long(format!("{name}::{mode}::{MANY}"), move |s| lose(s, program, mode, MANY));
        }
    }
    // Without oshrun, the PEs notice each other's end.
    for (kills, short) in [(FEW, true), (MANY, false)] {
        for (program, hosts) in PROGRAMS.into_iter().flat_map(|program| [1, 2].map(|hosts| (program, hosts))) {
            let place = Placement { pes: 5, hosts, distribution: Distribution::Block };
            let launch = Launch { launcher: Launcher::SlurmPmi2, place };
            let name = format!("{}::launcher::{kills}", program.0);
            suite.add_launch(&name, launch, short, move |s, launch| lose_by(s, launch, program, kills));
        }
    }
    // A whole host is lost: each takes seconds.
    for (cuts, short) in [(1, true), (40, false)] {
        for (program, hosts) in PROGRAMS.into_iter().flat_map(|program| [2, 3].map(|hosts| (program, hosts))) {
            let place = Placement { pes: 2 * hosts, hosts, distribution: Distribution::Block };
            let launch = Launch { launcher: Launcher::SlurmPmi2, place };
            suite.add_launch(&format!("{}::host::{cuts}", program.0), launch, short, move |s, launch| {
                lose_hosts(s, launch, program, cuts)
            });
        }
    }
    for mode in MODES {
        suite.add(format!("records::{mode}"), move |s| records(s, mode));
    }
    suite.add("guide".into(), guide);
    suite.run();
}

/// The program of the guide prints what is said there.
fn guide(s: &Setting) -> Result<()> {
    guide::prints(s, "resilience.md", 1, 3)
}

/// A job that loses a PE has a profile, a trace and lines of its status.
fn records(s: &Setting, mode: &str) -> Result<()> {
    let executable = s.compile("../../../examples/resilient_stencil.c", &["-O2"])?;
    let file = |end: &str| s.scratch.join(format!("lost-{mode}{end}")).display().to_string();
    let (page, trace) = (file(".html"), file(".json"));
    let (profile, status) = (format!("--profile={page}"), "--status=0.05");
    let job = Job::new(3, &executable).args(&[mode, "3000"]);
    let job = job.options(&["-n", "3", "--verbose", &profile, "--trace", &trace, status]);
    let plan = Plan { pes: 3, kills: vec![(1, Signal::SIGKILL, 0.0)] };
    let (_, outcome) = run(s, &job, &plan, Duration::ZERO)?;
    let lines = outcome.stderr.clone();
    ensure!(check(outcome, &plan, PROGRAMS[0])? == 1, "{lines}");
    for words in [" calls is in ", "the profile is in ", " from shmem_init to ", " of 3 PEs wait"] {
        ensure!(lines.contains(words), "no \"{words}\": {lines}");
    }
    let calls: serde_json::Value = serde_json::from_str(&fs::read_to_string(&trace)?)?;
    let text = calls.to_string();
    let lost = if mode == "replace" { "shmemx_replace" } else { "shmemx_team_shrink" };
    ensure!(text.contains(lost) && fs::metadata(&page)?.len() > 0, "no {lost} in the trace");
    Ok(())
}

/// What is done to one job.
#[derive(Debug, Clone)]
struct Plan {
    pes: usize,
    /// PE, signal and time after the last one, from 0 to 1 of the time that the job takes without failures.
    kills: Vec<(usize, Signal, f64)>,
}

impl Plan {
    /// One PE is left, and each is killed once if none is replaced.
    fn random(seed: u64, mode: &str) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let pes = rng.usize(2..6);
        let mut victims: Vec<usize> = (0..pes).collect();
        rng.shuffle(&mut victims);
        victims.pop();
        let count = rng.usize(1..=victims.len().min(3));
        let mut kills = Vec::new();
        for i in 0..count {
            let pe = if mode == "replace" { victims[rng.usize(0..victims.len())] } else { victims[i] };
            let signal = if rng.bool() { Signal::SIGKILL } else { Signal::SIGSEGV };
            // Some follow each other closely, so that they meet a recovery.
            let pause = if i > 0 && rng.bool() { rng.f64() / 20.0 } else { rng.f64() };
            kills.push((pe, signal, pause));
        }
        Self { pes, kills }
    }
}

/// Loses PEs in jobs until so many were lost.
fn lose(s: &Setting, program: (&str, &str, &str), mode: &str, kills: usize) -> Result<()> {
    let (name, _, steps) = program;
    let source = format!("../../../examples/resilient_{name}.c");
    let executable = s.compile(&source, &["-O2", "-lm"])?;
    let before = Machine::now();
    let (mut lost, mut seed) = (0, 0);
    let mut takes = HashMap::new();
    while lost < kills {
        let plan = Plan::random(seed, mode);
        let job = |mode: &str| {
            let pes = plan.pes.to_string();
            let job = Job::new(plan.pes, &executable).args(&[mode, steps]);
            job.options(&["-n", &pes, "--verbose", "--hang-timeout", "30"])
        };
        if let Entry::Vacant(unknown) = takes.entry(plan.pes) {
            let (took, _) = run(s, &job(mode), &Plan { kills: Vec::new(), ..plan.clone() }, Duration::ZERO)?;
            unknown.insert(took);
        }
        let (_, outcome) = run(s, &job(mode), &plan, takes[&plan.pes])?;
        let now = check(outcome, &plan, program).with_context(|| format!("seed {seed}, {plan:?}"))?;
        lost += now;
        seed += 1;
        ensure!(seed as usize <= 4 * kills + 20, "{seed} jobs have lost {lost} PEs: kills come too late");
    }
    let left = before.left_files();
    ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
    Ok(())
}

/// The same in jobs of another launcher, where a kill is that of any PE that was not killed yet, and one is left on
/// each host.
fn lose_by(s: &Setting, launch: Launch, program: (&str, &str, &str), kills: usize) -> Result<()> {
    /// How long a job may take to start, and to compute.
    const START: Duration = Duration::from_secs(60);
    const WATCHDOG: Duration = Duration::from_secs(60);

    let (name, right, steps) = program;
    let source = format!("../../../examples/resilient_{name}.c");
    let executable = s.compile(&source, &["-O2", "-lm"])?;
    let mut cluster = s.stations.take()?;
    let (mut lost, mut seed) = (0, 0);
    let mut takes = HashMap::new();
    while lost < kills {
        let mut plan = Plan::random(seed, "shrink");
        plan.pes = plan.pes.max(launch.place.hosts + 1);
        let launch = Launch { place: Placement { pes: plan.pes, ..launch.place }, ..launch };
        let job = Job::new(plan.pes, &executable).args(&["shrink", steps]);
        let mut process = cluster.command(launch, &job)?.spawn()?;
        // Who they are is known before the first may be killed.
        let begin = Instant::now();
        let hosts = &["a", "b"][..launch.place.hosts];
        let mut pes: Vec<(&str, i32)> = Vec::new();
        while pes.len() < plan.pes && begin.elapsed() < START {
            pes.clear();
            for host in hosts {
                pes.extend(cluster.pes_on(host, &job)?.into_iter().map(|pid| (*host, pid)));
            }
            sleep(Duration::from_millis(10));
        }
        process.wait_for("resilient", START)?;
        let begin = Instant::now();
        let known = takes.get(&plan.pes).copied();
        if let Some(takes) = known {
            fastrand::Rng::with_seed(seed).shuffle(&mut pes);
            for host in hosts {
                if let Some(left) = pes.iter().position(|(of, _)| of == host) {
                    pes.remove(left);
                }
            }
            for ((_, signal, pause), (host, pid)) in plan.kills.iter().zip(pes) {
                sleep(Duration::mul_f64(takes, *pause));
                // It may have ended.
                let _ = cluster.cluster.kill(host, pid, *signal);
            }
        } else {
            // The first job of so many PEs loses none: it says how long one takes.
            process.wait_for(right, WATCHDOG)?;
            takes.insert(plan.pes, begin.elapsed());
        }
        let outcome = cluster.finish(vec![process], WATCHDOG)?.remove(0);
        ensure!(!outcome.hung && outcome.left == 0, "seed {seed}, {plan:?}: {outcome}");
        lost += count_lost(&outcome, &plan, program).with_context(|| format!("seed {seed}, {plan:?}"))?;
        seed += u64::from(known.is_some());
        ensure!(seed as usize <= 4 * kills + 20, "{seed} jobs have lost {lost} PEs: kills come too late");
    }
    s.stations.give(cluster);
    Ok(())
}

/// The same where a host is lost in each job: it is cut off, or all of its PEs are killed. The others have copies of
/// what it had.
fn lose_hosts(s: &Setting, launch: Launch, (name, right, _): (&str, &str, &str), cuts: usize) -> Result<()> {
    const START: Duration = Duration::from_secs(60);
    const OVER_WITHIN: Duration = Duration::from_secs(120);
    /// Seconds within which a host is lost, and steps that take some tenths of one.
    const TIMEOUT: &str = "8";
    const STEPS: &str = "300";

    let source = format!("../../../examples/resilient_{name}.c");
    let executable = s.compile(&source, &["-O2", "-lm"])?;
    let mut cluster = s.stations.take()?;
    let (mut lost, mut seed) = (0, 0);
    while lost < cuts {
        let mut rng = fastrand::Rng::with_seed(seed);
        // The first host has the launcher.
        let (hosts, host) = (&["a", "b", "c"][..launch.place.hosts], ["b", "c"][rng.usize(1..launch.place.hosts) - 1]);
        let job = Job::new(launch.place.pes, &executable).args(&["shrink", STEPS]).env("SHMEM_FABRIC_TIMEOUT", TIMEOUT);
        let mut process = cluster.command(launch, &job)?.spawn()?;
        process.wait_for("resilient", START)?;
        sleep(Duration::from_millis(rng.u64(0..300)));
        let is_cut = rng.bool();
        if is_cut {
            cluster.cluster.link_down(host)?;
        } else {
            let signal = if rng.bool() { Signal::SIGKILL } else { Signal::SIGSEGV };
            // It may have ended.
            let _ = cluster.signal_pes(host, &job, signal);
        }
        cluster.wait_until_over(hosts, &job, &process, OVER_WITHIN).with_context(|| format!("seed {seed}"))?;
        let finished = cluster.finish_cut(host, process, OVER_WITHIN);
        let (outcome, has_ended) = finished.with_context(|| format!("seed {seed}, {host}, cut: {is_cut}"))?;
        let says = outcome.stdout.matches(right).count();
        ensure!(says >= launch.place.pes - 2, "seed {seed}, {host}, cut: {is_cut}: {says} are right\n{outcome}");
        lost += usize::from(outcome.stderr.contains(&format!("node {host} is not heard of any more")));
        seed += 1;
        if !has_ended {
            cluster = s.stations.take()?;
        }
        ensure!(seed as usize <= 4 * cuts + 10, "{seed} jobs have lost {lost} hosts: faults come too late");
    }
    s.stations.give(cluster);
    Ok(())
}

/// Runs a job, which takes so long without failures, and kills PEs; how long it took once it was resilient.
fn run(s: &Setting, job: &Job, plan: &Plan, takes: Duration) -> Result<(Duration, Outcome)> {
    let running = Running::start(job, &s.prefix, &s.scratch)?;
    running.wait_for_output("resilient");
    let begin = Instant::now();
    for (pe, signal, pause) in &plan.kills {
        sleep(takes.mul_f64(*pause));
        if let Some(pid) = process_of(&running.stderr_so_far(), *pe)
            && running.is_process(pid)
        {
            let _ = kill(pid, *signal);
        }
    }
    let outcome = running.finish(job.watchdog)?;
    Ok((begin.elapsed(), outcome))
}

/// The process that `oshrun` has started last for a PE.
fn process_of(stderr: &str, pe: usize) -> Option<Pid> {
    let begin = format!("oshrun: PE {pe}: ");
    let line = stderr.lines().rev().find(|line| line.starts_with(&begin))?;
    let (_, number) = line.split_once(", process ")?;
    let number = number.split(',').next()?.trim().parse();
    number.ok().map(Pid::from_raw)
}

/// How many PEs the job has lost, if it has ended well.
fn check(outcome: Outcome, plan: &Plan, program: (&str, &str, &str)) -> Result<usize> {
    count_lost(&outcome.ended(0)?, plan, program)
}

/// How many PEs the job has lost, if each other PE says that the answer is right.
fn count_lost(outcome: &Outcome, plan: &Plan, (_, right, _): (&str, &str, &str)) -> Result<usize> {
    let count = |text: &str, word: &str| text.lines().filter(|line| line.contains(word)).count();
    let lost = count(&outcome.stderr, "; the job goes on without it");
    let started = count(&outcome.stderr, " is started again");
    ensure!(lost <= plan.kills.len(), "{lost} PEs are lost\n{outcome}");
    let says = count(&outcome.stdout, right);
    ensure!(says + lost >= plan.pes + started, "{says} PEs have the right answer\n{outcome}");
    Ok(lost)
}
