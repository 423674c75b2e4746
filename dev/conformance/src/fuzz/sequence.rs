//! A sequence: all that a seed determines.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use ferroshmem_cluster::hosts::{Distribution, Impairment, Launcher, Placement};
use ferroshmem_config as config;
use ferroshmem_fuzz::Random;
use ferroshmem_tuning::Collective;

use super::shrink::LeftOut;
use crate::cluster::Launch;
use crate::compile::{Build, Compiler};
use crate::job::Job;
use crate::prefix::Prefix;

/// The program, below `c/`.
const SOURCE: &str = "fuzz/fuzz.c";

/// Flags of each build of it. The library must wrap around where sums overflow, as the model does. With -Og, gcc
/// inlines what it does with -O1, and takes half as long.
const FLAGS: &[&str] = &["-Og", "-fwrapv"];

/// Numbers of PEs: one, powers of two and others, more than there are cores.
const PES: &[usize] = &[1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 12, 16];

/// Where the PEs are.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// On this machine, by `oshrun`.
    Node,
    /// On several hosts, whose links are so.
    Hosts(Launch, Option<Impairment>),
}

/// A random sequence, and the job that it runs in.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// What determines all the rest.
    pub seed: u64,
    /// Number of PEs.
    pub pes: usize,
    /// Threads of each PE.
    pub threads: usize,
    /// Phases, each between two barriers.
    pub steps: usize,
    /// Bytes of the largest symmetric array.
    pub area: usize,
    /// Environment of the job.
    pub env: Vec<(String, String)>,
    /// How the program is compiled: a number of [`Sequence::builds`].
    pub build: usize,
    /// Whether PEs kill themselves and the others go on.
    pub loses: bool,
    /// Whether new processes take the numbers of PEs that fail, which they do on one node alone.
    pub replaces: bool,
    /// Where the PEs are.
    pub place: Place,
}

impl Sequence {
    /// The sequence of a seed, with at most that many PEs; on hosts if launchers are given.
    pub fn new(seed: u64, steps: usize, most_pes: usize, launchers: &[Launcher]) -> Self {
        let mut random = Random::new(seed);
        let pes = if most_pes > 16 && random.once_in(3) {
            1 + random.below(most_pes)
        } else {
            random.pick(PES).min(most_pes)
        };
        let threads = if random.once_in(3) { 2 + random.below(3) } else { 1 };
        let area = match random.below(10) {
            0 => 4096,
            1 => 1 << 20,
            2 => 200_000,
            _ => 32768,
        };
        let mut sequence = Self {
            seed,
            pes,
            threads,
            steps: (steps * 4 / (3 + pes / 2)).max(1),
            area,
            env: environment(&mut random),
            build: random.below(6).saturating_sub(2),
            loses: false,
            replaces: false,
            place: Place::Node,
        };
        if launchers.is_empty() {
            sequence.loses = random.once_in(3);
            sequence.replaces = sequence.loses && random.once_in(2);
        } else {
            sequence.put_on_hosts(&mut random, launchers);
        }
        sequence
    }

    fn put_on_hosts(&mut self, random: &mut Random, launchers: &[Launcher]) {
        self.pes = self.pes.clamp(2, 8);
        self.area = self.area.min(200_000);
        let hosts = 2 + random.below(self.pes.min(4) - 1);
        let distribution = random.pick(&[Distribution::Block, Distribution::RoundRobin]);
        // Full hosts: a launcher that fills hosts one after the other leaves none empty then.
        self.pes -= self.pes % hosts;
        let place = Placement { pes: self.pes, hosts, distribution };
        let launcher = random.pick(launchers);
        let links = random.once_in(2).then(|| Impairment {
            delay: Duration::from_micros(random.pick(&[0, 50, 500, 2000])),
            loss: random.pick(&[0.0, 0.001, 0.01]),
            rate: 0,
        });
        // A lost packet takes TCP 0.2 s or more.
        self.steps = match links {
            Some(_) => (self.steps / 12).max(2),
            None => (self.steps / 4).max(2),
        };
        self.place = Place::Hosts(Launch { launcher, place }, links);
        // One launcher of several nodes goes on without a PE, and each node has to keep one.
        if random.once_in(3) && launchers.contains(&Launcher::SlurmPmi2) {
            self.loses = true;
            self.pes = self.pes.max(2 * hosts);
            let place = Placement { pes: self.pes, ..place };
            self.place = Place::Hosts(Launch { launcher: Launcher::SlurmPmi2, place }, links);
        }
    }

    /// The ways to compile the program: with inlined operations, and without; the names of the profiling
    /// interface; another compiler.
    pub fn builds() -> Vec<Build> {
        let build = |compiler, flags: &[&str]| Build::new(SOURCE, compiler).flags(FLAGS).flags(flags);
        vec![
            build(Compiler::Gcc, &[]),
            build(Compiler::Gcc, &["-DSHMEM_NO_INLINE"]),
            build(Compiler::Gcc, &["-DPROFILING_NAMES"]),
            build(Compiler::Clang, &[]),
        ]
    }

    /// The job, without what is left out.
    pub fn job(&self, prefix: &Prefix, cache: &Path, left_out: &LeftOut) -> Result<Job> {
        let builds = Self::builds();
        let program = builds[self.build % builds.len()].run(prefix, cache)?;
        let words = self.arguments(left_out);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut job = Job::new(self.pes, &program).args(&words);
        job.env.clone_from(&self.env);
        Ok(job)
    }

    fn arguments(&self, left_out: &LeftOut) -> Vec<String> {
        let mut words = vec![self.seed.to_string(), self.steps.to_string()];
        words.extend(["threads".to_owned(), self.threads.to_string()]);
        words.extend(["area".to_owned(), self.area.to_string()]);
        if self.loses {
            words.push("loses".to_owned());
        }
        if self.replaces {
            words.push("replaces".to_owned());
        }
        if !left_out.is_empty() {
            words.extend(["drop".to_owned(), left_out.to_string()]);
        }
        words
    }

    /// The command that runs the program again, as one would type it, for PEs on one node.
    pub fn command(&self, program: &str, left_out: &LeftOut) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={value} "));
        format!("{}oshrun -n {} {program} {}", env.collect::<String>(), self.pes, self.arguments(left_out).join(" "))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.threads > 1 { format!(" of {} threads", self.threads) } else { String::new() };
        write!(f, "seed {}: {} PEs{threads}, {} steps", self.seed, self.pes, self.steps)?;
        if self.loses {
            f.write_str(", PEs fail")?;
        }
        if self.replaces {
            f.write_str(" and are replaced")?;
        }
        if let Place::Hosts(launch, links) = &self.place {
            write!(f, ", {launch}")?;
            if let Some(links) = links {
                write!(f, ", links {links}")?;
            }
        }
        for (name, value) in &self.env {
            write!(f, ", {name}={value}")?;
        }
        Ok(())
    }
}

/// The environment: what changes how the library does things, but not what it does.
fn environment(random: &mut Random) -> Vec<(String, String)> {
    let mut env = Vec::new();
    let mut set = |name: &str, value: &str| env.push((name.to_owned(), value.to_owned()));
    if random.once_in(2) {
        for collective in Collective::ALL {
            if random.once_in(2) {
                let choice = random.pick(collective.choices());
                set(config::algorithm(collective).name, &choice.to_string());
            }
        }
    }
    if random.once_in(4) {
        set(config::CHECK.name, "1");
    }
    if random.once_in(6) {
        set(config::FAST_PATH.name, "0");
    }
    if random.once_in(6) {
        set(config::REPRODUCIBLE.name, "1");
    }
    if random.once_in(6) {
        // Threads that outnumber the cores by far would spin for most of the time.
        set(config::SPIN.name, random.pick(&["1", "5000"]));
    }
    if random.once_in(4) {
        set(config::SYMMETRIC_SIZE.name, random.pick(&["64m", "1g"]));
    }
    if random.once_in(2) {
        // Not at all, words alone, all that a message has room for.
        let values = ["0", "8", "5000", "5000,50"];
        set(config::AGGREGATE.name, random.pick(&values));
    }
    if random.once_in(6) {
        // Inlined operations go through the library then.
        set(config::COUNTERS.name, "1");
    }
    if random.once_in(6) {
        // Of contexts of threads, between hosts.
        set(config::ENDPOINTS.name, "1");
    }
    if random.once_in(4) {
        // They make copies, and execute non-blocking collectives, of any size.
        set(config::WORKERS.name, random.pick(&["1", "2"]));
        set(config::OFFLOAD_THRESHOLD.name, "1");
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_reach_every_setting() {
        let all: Vec<Sequence> = (0..2000).map(|seed| Sequence::new(seed, 100, 16, &[])).collect();
        for collective in Collective::ALL {
            for choice in collective.choices() {
                let forced = (config::algorithm(collective).name.to_owned(), choice.to_string());
                let drawn = all.iter().filter(|s| s.env.contains(&forced)).count();
                assert!(drawn > 5, "{forced:?} is drawn {drawn} times");
            }
        }
        for pes in PES {
            assert!(all.iter().any(|s| s.pes == *pes), "{pes} PEs are never drawn");
        }
        for build in 0..Sequence::builds().len() {
            assert!(all.iter().any(|s| s.build == build), "build {build} is never drawn");
        }
        for threads in 1..=4 {
            assert!(all.iter().any(|s| s.threads == threads), "{threads} threads");
        }
        for replaces in [false, true] {
            let fail = all.iter().any(|s| s.loses && s.replaces == replaces && s.pes > 2);
            assert!(fail, "PEs never fail, or replaced: {replaces}");
        }
    }

    #[test]
    fn hosts_are_full() {
        let mut lose = 0;
        for seed in 0..500 {
            let sequence = Sequence::new(seed, 100, 16, &Launcher::ALL);
            let Place::Hosts(launch, _) = sequence.place else {
                panic!("{sequence} is on one node");
            };
            assert_eq!(launch.place.pes, sequence.pes);
            assert_eq!(sequence.pes % launch.place.hosts, 0, "{sequence}");
            lose += usize::from(sequence.loses && sequence.pes > launch.place.hosts);
        }
        assert!(lose > 100, "PEs fail in {lose} sequences");
    }
}
