//! Jobs that grow: PEs started while a job runs, groups, what jobs lend each other, and what may go wrong.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use ferroshmem_conformance::compile::on_path;
use ferroshmem_conformance::guide;
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::{Fault, Setting};
use ferroshmem_conformance::{Job, Suite};

/// PEs in either group.
const SIZES: [(usize, &str); 6] = [(1, "1"), (2, "2"), (3, "1"), (1, "7"), (4, "8"), (16, "16")];

/// Ways of compiling and running the test of memory beside the plain one: flags of the compiler, and a variable.
const VARIANTS: [(&str, &[&str], &str, &str); 10] = [
    ("native", &["-DSHMEM_NATIVE_ONLY"], "", ""),
    ("no-inline", &["-DSHMEM_NO_INLINE"], "", ""),
    ("unoptimised", &["-O0"], "", ""),
    ("checked", &[], "SHMEM_CHECK", "1"),
    ("slow-path", &[], "SHMEM_FAST_PATH", "0"),
    ("small-heap", &[], "SHMEM_SYMMETRIC_SIZE", "16m"),
    ("reproducible", &[], "SHMEM_REPRODUCIBLE", "1"),
    ("tree", &[], "SHMEM_BARRIER_ALGORITHM", "tree"),
    ("rsag", &[], "SHMEM_REDUCE_ALGORITHM", "rsag"),
    ("non-temporal", &[], "SHMEM_NON_TEMPORAL_THRESHOLD", "1k"),
];

/// What goes wrong, the status that the job ends with, and words of the one line that says so.
const FAULTS: &[Fault] = &[
    ("child-crashes", 139, &["job 1", "SIGSEGV"]),
    ("child-fails", 5, &["job 1: PE 1", "status 5"]),
    ("child-leaves", 1, &["job 1", "PE 1", "without shmem_finalize"]),
    ("child-ends-all", 9, &[]),
    ("child-misuses", 1, &["job 1, PE", "PE 1234 is out of range"]),
    ("parent-crashes", 134, &["PE 1", "SIGABRT"]),
    ("parent-leaves", 1, &["PE 0", "without shmem_finalize"]),
    ("never-initialises", 1, &["job 1", "without shmem_init"]),
    ("sleeps", 1, &["job 1: PE 0", "did not call shmem_init", "--spawn-timeout"]),
    ("fails-early", 3, &["job 1", "status 3"]),
    ("after-disconnect", 1, &["shmem_long_p", "no connected group"]),
    ("disconnected-twice", 1, &["shmemx_group_disconnect", "not a live group"]),
    ("no-such-pe", 1, &["PE 1234", "PEs 0 to 1"]),
    ("no-memory", 135, &["bus error", "of another job: this node is out of memory"]),
    ("stack", 135, &["on the stack", "of another job"]),
    ("split", 1, &["shmem_team_split_strided", "team is that of a group"]),
    ("destroy", 1, &["shmem_team_destroy", "disconnect the group"]),
    ("collective-on-stack", 1, &["dest", "is not a symmetric address"]),
    ("null", 1, &["command is a null pointer"]),
    ("bad-root", 1, &["PE_root = 2"]),
    ("bad-mask", 1, &["config_mask"]),
    ("bad-variable", 1, &["no value", "NAME=VALUE"]),
];

/// What is refused, after which the job goes on, and words of the line that says why.
const REFUSED: [(&str, &[&str]); 6] = [
    ("missing", &["./no-such-program", "no such file"]),
    ("folder", &["/tmp", "directory"]),
    ("not-executable", &["/etc/passwd", "ermission denied"]),
    ("no-folder", &["/no/such/folder", "no such directory"]),
    ("none", &["npes", "1 or more"]),
    ("too-many", &["100000", "4096"]),
];

/// Which of 2 parents and 3 children call `shmem_finalize` and not `shmemx_group_disconnect`, and which come late, as
/// bits.
const LEAVE: [(&str, &str); 7] = [
    ("0x01", "0x00"),
    ("0x02", "0x02"),
    ("0x02", "0x1d"),
    ("0x10", "0x10"),
    ("0x10", "0x0f"),
    ("0x15", "0x0a"),
    ("0x0a", "0x0a"),
];

/// What all PEs call but one of 2 parents and 3 children, which is in `shmem_finalize`, and words of the line: which PE
/// waits where, and for which one.
const FINALIZES: [(&str, &str, [&str; 2]); 16] = [
    ("barrier", "0", ["in shmemx_group_barrier", "PE 0 of job 0"]),
    ("barrier", "1", ["in shmemx_group_barrier", "PE 1 of job 0"]),
    ("barrier", "4", ["in shmemx_group_barrier", "PE 2 of job 1"]),
    ("late", "1", ["in shmemx_group_barrier", "PE 1 of job 0"]),
    ("late", "3", ["in shmemx_group_barrier", "PE 1 of job 1"]),
    ("disconnects", "3", ["in shmemx_group_barrier", "shmemx_group_disconnect"]),
    ("team", "1", ["in shmem_team_sync", "PE 1 of job 0"]),
    ("team", "2", ["in shmem_team_sync", "PE 0 of job 1"]),
    ("broadcast", "0", ["in shmemx_group_broadcastmem", "PE 0 of job 0"]),
    ("reduce", "2", ["in shmemx_long_group_sum_reduce", "PE 0 of job 1"]),
    ("kernel", "0", ["PE 1 waits in shmemx_kernel_wait", "has left the group"]),
    ("accept", "0", ["PE 0 has finished shmem_finalize", "PE 1 waits in shmem_finalize"]),
    ("accept", "1", ["PE 1 has called shmem_finalize", "PE 0 waits in shmemx_port_accept"]),
    ("spawn", "1", ["PE 1 has called shmem_finalize", "PE 0 waits in shmemx_spawn"]),
    ("world", "0", ["PE 0 has finished shmem_finalize", "PE 1 waits in shmem_finalize"]),
    ("world", "4", ["PE 2 has finished shmem_finalize", "waits in shmem_finalize"]),
];

/// Where spawned PEs run.
const PLACES: [&str; 7] = ["hwthread", "none", "cpus", "host", "cores", "several", "compiled-before"];

/// Where they cannot run, and words of the line that says why.
const NO_PLACES: [(&str, &str); 6] = [
    ("corse", "bind_to is \"corse\": give auto, hwthread, core"),
    ("no-cores", "cores is \"0\": give 1 or more"),
    ("no-such-cpu", "give CPUs that oshrun may use"),
    ("no-list", "give a list such as 0-3,8"),
    ("other-host", "host is \"no-such-host\": give"),
    ("differ", "bind_to differs between programs"),
];

/// What goes wrong with a program that no launcher has started, and words of the line.
const ALONE: [(&str, &[&str]); 5] = [
    ("child-crashes", &["job 1", "SIGSEGV"]),
    ("child-fails", &["job 1: PE 1", "status 5"]),
    ("child-ends-all", &[]),
    ("fails-early", &["job 1", "status 3"]),
    ("parent-fails", &["has ended without shmem_finalize"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (parents, children) in SIZES {
        suite.add_job(format!("memory::{parents}+{children}"), move |s| memory(s, parents, children, &[]));
    }
    for (name, flags, variable, value) in VARIANTS {
        suite.add_job(format!("memory::{name}"), move |s| Ok(memory(s, 2, "3", flags)?.env(variable, value)));
    }
    for pes in [1, 2, 5] {
        suite.add_job(format!("lend::{pes}pe"), move |s| {
            let borrow = program(s, "lend", &["-DBORROW"])?;
            Ok(Job::new(pes, &program(s, "lend", &[])?).args(&[&borrow.to_string_lossy()]))
        });
    }
    for (number, pes) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
        suite.add(format!("guide::program-{number}"), move |s| guide::prints(s, "spawn.md", number, pes));
    }
    for way in ["3", "beside", "rounds", "several"] {
        for pes in [1, 3, 4] {
            suite.add_job(format!("grow::{way}::{pes}pe"), move |s| grow(s, pes, way));
        }
        suite.add_job(format!("grow::{way}::without-launcher"), move |s| grow(s, 0, way));
    }
    suite.add_job("grow::thousand".into(), |s| grow(s, 1, "thousand"));
    suite.add_faults(FAULTS, |s, way| {
        let job = Job::new(2, &program(s, "faults", &[])?).args(&[way]);
        // Of no matter to PEs that come to shmem_init.
        Ok(job.options(&["-n", "2", "--spawn-timeout", "5"]))
    });
    for way in PLACES {
        suite.add(format!("place::{way}"), move |s| {
            let job = Job::new(1, &program(s, "place", &[])?).args(&[way]);
            let outcome = job.expect_success(&s.prefix, &s.scratch)?;
            ensure!(outcome.stdout.is_empty(), "{outcome}");
            Ok(())
        });
    }
    for (way, words) in NO_PLACES {
        suite.add(format!("place::refused::{way}"), move |s| {
            let job = Job::new(1, &program(s, "place", &[])?).args(&[way]);
            let outcome = job.run(&s.prefix, &s.scratch)?;
            ensure!(outcome.stdout == "refused\n", "{outcome}");
            outcome.ended_saying(Some(0), &[words])
        });
    }
    for (finalizes, late) in LEAVE {
        suite.add(format!("leave::{finalizes}-{late}"), move |s| leave(s, finalizes, late));
    }
    for (way, member, words) in FINALIZES {
        suite.add(format!("finalizes::{way}-{member}"), move |s| {
            let job = Job::new(2, &program(s, "finalizes", &[])?).args(&[way, member]);
            job.run(&s.prefix, &s.scratch)?.ended_saying(Some(1), &words)
        });
    }
    suite.add("finalizes::world-checked".into(), |s| {
        let job = Job::new(2, &program(s, "finalizes", &[])?).args(&["world", "0"]);
        let outcome = job.env("SHMEM_CHECK", "1").run(&s.prefix, &s.scratch)?;
        let words = "PE 0 has called shmem_finalize while PE 1 waits in shmem_barrier_all";
        ensure!(outcome.left == 0 && shell_status(outcome.status) == 1 && outcome.stderr.contains(words), "{outcome}");
        Ok(())
    });
    for (way, words) in REFUSED {
        suite.add(format!("refused::{way}"), move |s| refused(s, way, words));
    }
    suite.add("fault::other-version".into(), |s| {
        let job = Job::new(2, &program(s, "faults", &[])?).args(&["other-version"]);
        job.run(&s.prefix, &s.scratch)?.ended_saying(Some(1), &["come from different FerroSHMEM builds"])
    });
    suite.add_job("memory::without-launcher".into(), |s| memory(s, 0, "3", &[]));
    for (way, words) in ALONE {
        suite.add(format!("fault::without-launcher::{way}"), move |s| fault_alone(s, way, words));
    }
    for launcher in [HYDRA, OPEN_MPI] {
        if on_path(launcher.command) {
            launcher.add(&mut suite);
        }
    }
    suite.run();
}

/// A launcher on one node, which starts jobs, and PEs for jobs.
#[derive(Clone, Copy)]
struct Launcher {
    name: &'static str,
    command: &'static str,
    options: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const HYDRA: Launcher = Launcher { name: "hydra", command: "mpiexec.hydra", options: &[], variables: &[] };

const OPEN_MPI: Launcher = Launcher {
    name: "openmpi",
    command: "mpirun.openmpi",
    options: &["--oversubscribe", "--bind-to", "none"],
    variables: &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")],
};

/// How `remote.c` starts PEs, and how many parents there are; how many PEs are started, and how they behave.
const BY_LAUNCHER: [(&str, &str, &str, &str); 6] = [
    ("accept-spawn-first", "1", "1", "connect-child"),
    ("accept-spawn", "3", "2", "connect-child-late"),
    ("accept-spawn-several", "2", "3", "connect-child"),
    ("accept-spawn-finalize", "2", "2", "connect-child-late-finalize"),
    ("accept-spawn-rounds", "1", "2", "connect-child-brief"),
    ("accept-spawn-rounds", "2", "1", "connect-child-brief-more"),
];

/// What is refused where a launcher starts PEs, after which the job goes on: program and first argument, and words of
/// the line.
const REFUSED_BY_LAUNCHER: [(&str, &str, &str); 9] = [
    ("faults", "missing", "cannot run \"./no-such-program\": no such file"),
    ("faults", "folder", "cannot run \"/tmp\""),
    ("faults", "not-executable", "cannot run \"/etc/passwd\": permission denied"),
    ("faults", "no-folder", "\"/no/such/folder\": no such directory"),
    ("faults", "none", "npes"),
    ("faults", "too-many", "100000"),
    ("place", "other-host", "host is \"no-such-host\", which has no address"),
    ("place", "corse", "the launcher of this job places PEs itself"),
    ("remote", "refused-long", "of its message, which has at most"),
];

/// What ends the job where a launcher has started the PEs, and words of the line that says so; there is none if the
/// launcher is quicker.
const FAULTS_BY_LAUNCHER: [(&str, &str); 6] = [
    ("never-initialises", "have not all called shmem_init within 5 s"),
    ("sleeps", "have not all called shmem_init within 5 s"),
    ("child-crashes", ""),
    ("child-misuses", "PE 1234 is out of range"),
    ("parent-crashes", ""),
    ("child-ends-all", ""),
];

impl Launcher {
    /// A job of one of this suite's programs.
    fn job(self, s: &Setting, name: &str, pes: &str, args: &[&str]) -> Result<Job> {
        let program = program(s, name, &[])?;
        let program = program.to_string_lossy();
        let words = [self.options, &["-n", pes, &program], args].concat();
        let job = Job::new(0, Path::new(self.command)).args(&words);
        let variables = self.variables.iter();
        Ok(variables.fold(job, |job, (name, value)| job.env(name, value)))
    }

    /// Adds the trials of jobs that it has started, and in which it starts PEs.
    fn add(self, suite: &mut Suite) {
        let by = format!("by-{}", self.name);
        for (way, parents, children, child) in BY_LAUNCHER {
            let trial = move |s: &Setting| {
                let job = self.job(s, "remote", parents, &[way, children, child])?;
                let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                ensure!(outcome.stderr.is_empty(), "{outcome}");
                let started = outcome.stdout.matches("started on").count();
                ensure!(started >= children.parse()?, "{started} PEs\n{outcome}");
                Ok(())
            };
            let name = format!("{by}::{way}::{parents}+{children}");
            // Open MPI takes a second for each spawn.
            let long = way.ends_with("rounds") && self.name != HYDRA.name;
            suite.add_maybe_long(name, long, trial);
        }
        for (name, way, words) in REFUSED_BY_LAUNCHER {
            // PMIx has messages of any length.
            if self.name != HYDRA.name && way == "refused-long" {
                continue;
            }
            suite.add(format!("{by}::refused::{way}"), move |s| {
                let outcome = self.job(s, name, "2", &[way])?.run(&s.prefix, &s.scratch)?;
                ensure!(outcome.stdout.matches("refused").count() == 2, "not all PEs go on\n{outcome}");
                outcome.ended_saying(Some(0), &[words])
            });
        }
        for (way, words) in FAULTS_BY_LAUNCHER {
            suite.add(format!("{by}::fault::{way}"), move |s| {
                let before = Machine::now();
                let limit = if words.contains("within 5 s") { "5" } else { "60" };
                let job = self.job(s, "faults", "2", &[way])?;
                let job = job.env("SHMEM_SPAWN_TIMEOUT", limit);
                let outcome = job.run(&s.prefix, &s.scratch)?;
                ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
                ensure!(shell_status(outcome.status) != 0, "{outcome}");
                let lines = outcome.stderr.matches("ferroshmem:").count();
                ensure!(
                    lines == 1 && outcome.stderr.contains(words) || words.is_empty() && lines == 0,
                    "not one line with \"{words}\"\n{outcome}"
                );
                let left = before.left_files();
                ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
                Ok(())
            });
        }
    }
}

fn program(s: &Setting, name: &str, flags: &[&str]) -> Result<PathBuf> {
    s.compile(&format!("spawn/{name}.c"), flags)
}

fn memory(s: &Setting, parents: usize, children: &str, flags: &[&str]) -> Result<Job> {
    Ok(Job::new(parents, &program(s, "memory", flags)?).args(&[children]))
}

fn grow(s: &Setting, pes: usize, way: &str) -> Result<Job> {
    Ok(Job::new(pes, &program(s, "grow", &[])?).args(&[way]))
}

/// A fault of a program that no launcher has started. How it ends is known to the test alone: it is killed, or leaves.
fn fault_alone(s: &Setting, way: &str, words: &[&str]) -> Result<()> {
    let before = Machine::now();
    let job = Job::new(0, &program(s, "faults", &[])?).args(&[way]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
    let lines = outcome.stderr.lines().count();
    ensure!(
        lines == usize::from(!words.is_empty()) && words.iter().all(|word| outcome.stderr.contains(word)),
        "not one line with {words:?}\n{outcome}"
    );
    let left = before.left_files();
    ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
    Ok(())
}

/// Some PEs finalise while others disconnect: all come to an end.
fn leave(s: &Setting, finalizes: &str, late: &str) -> Result<()> {
    let job = Job::new(2, &program(s, "leave", &[])?).args(&[finalizes, late]);
    job.run(&s.prefix, &s.scratch)?.ended_saying(Some(0), &[])
}

/// One line of the root says why, and the job goes on.
fn refused(s: &Setting, way: &str, words: &[&str]) -> Result<()> {
    let job = Job::new(2, &program(s, "faults", &[])?).args(&[way]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(outcome.stdout.matches("refused").count() == 2, "not all PEs go on\n{outcome}");
    outcome.ended_saying(Some(0), words)
}
