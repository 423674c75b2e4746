//! `oshrun --check` of jobs on several hosts: one list of what PEs of all hosts have found, whatever starts them.

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Outcome, Suite};

/// PEs 0 and 1 are on different hosts, and so are each PE and the next one.
const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::RoundRobin };

/// The exit status where there are findings.
const FOUND: i32 = 66;

/// What `--check=race` says of programs without it.
const NO_RACE: &str = "oshrun: --check=race has found no race between calls;";

/// Programs of `dev/diagnosis`, and what is said of each with an argument.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "races/no_quiet",
        &["PE 0's shmem_double_put_nbi at no_quiet.c:13 (run) and PE 1's shmem_double_get at no_quiet.c:16 (run) \
                race: the first writes, and the second reads the variable \"data\" on PE 1"],
    ),
    (
        "memory/put_past_block",
        &[
            "shmem_long_put at put_past_block.c:10 (run) writes 8 bytes past the end of the block of 64 bytes of \
                shmem_malloc at put_past_block.c:8 (run)",
            "found 4 times, by one PE or several",
        ],
    ),
    (
        "memory/get_before_written",
        &[
            "shmem_long_get at get_before_written.c:13 (run) reads 24 bytes on PE",
            "that nobody has written: byte 8 of the block of 64 bytes of shmem_malloc at get_before_written.c:9",
            "found 4 times, by one PE or several",
        ],
    ),
];

/// Adds the trials: each program with each launcher.
pub(crate) fn add(suite: &mut Suite) {
    for (number, &(source, expected)) in PROGRAMS.iter().enumerate() {
        for (l, launcher) in Launcher::ALL.into_iter().enumerate() {
            let launch = Launch { launcher, place: PLACE };
            let short = number == l % PROGRAMS.len();
            suite.add_launch(&format!("check::{source}"), launch, short, move |s, launch| {
                let run = |job: &Job| {
                    let mut cluster = s.stations.take()?;
                    let outcome = cluster.run_within(&oshrun(s), launch, job)?;
                    s.stations.give(cluster);
                    Ok(outcome)
                };
                check(s, source, expected, run)
            });
        }
    }
}

/// `oshrun`, which runs another launcher.
fn oshrun(s: &Setting) -> Vec<String> {
    let program = s.prefix.bin("oshrun").display().to_string();
    let options = ["--check=collective,memory,race", "--launcher", "command"].map(str::to_owned);
    [program].into_iter().chain(options).collect()
}

/// With an argument, what is expected is said; without one, nothing.
fn check(s: &Setting, source: &str, expected: &[&str], run: impl Fn(&Job) -> Result<Outcome>) -> Result<()> {
    let job = Job::new(PLACE.pes, &s.compile(&format!("../../diagnosis/{source}.c"), &["-g", "-O1"])?);
    let outcome = run(&job.clone().args(&["fault"]))?;
    ensure!(!outcome.hung && outcome.left == 0, "hangs, or leaves processes\n{outcome}");
    ensure!(shell_status(outcome.status) == FOUND, "the status is not {FOUND}\n{outcome}");
    for words in expected {
        ensure!(outcome.stderr.contains(words), "does not say \"{words}\"\n{outcome}");
    }
    let outcome = run(&job)?;
    ensure!(outcome.status.success(), "fails\n{outcome}");
    let lines = outcome.stderr.lines().filter(|line| line.contains("oshrun: "));
    let lines: Vec<_> = lines.collect();
    ensure!(matches!(lines[..], [line] if line.starts_with(NO_RACE)), "says something\n{outcome}");
    Ok(())
}
