//! Collects trials and hands them to the test runner.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use ferroshmem_cluster::hosts::{Launcher, applets, hide_kernel_symbols};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::cluster::{self, Clusters, Launch};
use crate::compile::{Build, Compiler};
use crate::job::Job;
use crate::prefix::Prefix;
use crate::tool::Missing;

/// The PE counts that every program runs at: one, powers of two and others, more than cores.
pub const PE_COUNTS: [usize; 6] = [1, 2, 3, 4, 7, 16];

/// Trials that are named with their times at the end.
const SLOWEST: usize = 5;

/// What goes wrong in a job, the status that it ends with, and words of its one line, of which there is none if there
/// are none.
pub type Fault = (&'static str, i32, &'static [&'static str]);

/// What trials need: the installation and places to write to.
#[derive(Debug)]
pub struct Setting {
    /// The installation that is tested.
    pub prefix: Prefix,
    /// Folder of the compiled programs.
    pub cache: PathBuf,
    /// Folder of output files.
    pub scratch: PathBuf,
    /// Hosts for jobs on several hosts.
    pub stations: Clusters,
}

impl Setting {
    /// Compiles a program of `c/` by gcc.
    pub fn compile(&self, source: &str, flags: &[&str]) -> Result<PathBuf> {
        Build::new(source, Compiler::Gcc).flags(flags).run(&self.prefix, &self.cache)
    }
}

/// The trials of one test binary.
#[derive(Debug)]
pub struct Suite {
    setting: Option<Arc<Setting>>,
    arguments: Arguments,
    trials: Vec<Trial>,
    /// The launchers that can start jobs on several hosts, once they have been listed.
    launchers: Option<Vec<Launcher>>,
    /// The time that each trial took.
    times: Arc<Mutex<Vec<(Duration, String)>>>,
    /// How many trials lacked what.
    missing: Arc<Mutex<BTreeMap<Missing, usize>>>,
}

impl Suite {
    /// Finds the installation; `folder` is the test binary's `CARGO_TARGET_TMPDIR`.
    pub fn new(folder: &str) -> Self {
        applets::dispatch();
        // Where this user may not do so, PEs that other launchers start take longer.
        let _ = hide_kernel_symbols();
        let mut arguments = Arguments::from_args();
        // Each trial is a job of several processes already.
        arguments.test_threads.get_or_insert(2);
        // Listing must work before anything is installed.
        let setting = (!arguments.list).then(|| {
            let prefix = Prefix::find().unwrap_or_else(|e| {
                eprintln!("{e:#}");
                std::process::exit(101);
            });
            let folder = Path::new(folder);
            Arc::new(Setting {
                prefix,
                cache: folder.join("programs"),
                scratch: folder.join(format!("scratch-{}", std::process::id())),
                stations: Clusters::default(),
            })
        });
        Self { setting, arguments, trials: Vec::new(), launchers: None, times: Arc::default(), missing: Arc::default() }
    }

    /// Adds a trial.
    pub fn add<F>(&mut self, name: String, run: F)
    where
        F: FnOnce(&Setting) -> Result<()> + Send + 'static,
    {
        self.add_maybe_long(name, false, run);
    }

    /// Adds a trial of a job that must end well.
    pub fn add_job<F>(&mut self, name: String, job: F)
    where
        F: FnOnce(&Setting) -> Result<Job> + Send + 'static,
    {
        self.add(name, |s| job(s)?.expect_success(&s.prefix, &s.scratch).map(drop));
    }

    /// Adds trials of jobs in which something goes wrong: what does, the status that a job ends with, and words of its
    /// one line. Nothing may be left.
    pub fn add_faults<F>(&mut self, faults: &'static [Fault], job: F)
    where
        F: Fn(&Setting, &str) -> Result<Job> + Copy + Send + 'static,
    {
        for (way, status, words) in faults {
            self.add(format!("fault::{way}"), move |s| {
                job(s, way)?.expect_failure(&s.prefix, &s.scratch, *status, words)
            });
        }
    }

    /// Adds a trial that is ignored unless asked for (`--include-ignored`), as it takes long and
    /// others show the same.
    pub fn add_long<F>(&mut self, name: String, run: F)
    where
        F: FnOnce(&Setting) -> Result<()> + Send + 'static,
    {
        self.add_maybe_long(name, true, run);
    }

    /// Adds a trial, which is ignored unless asked for if it is `long`.
    pub fn add_maybe_long<F>(&mut self, name: String, long: bool, run: F)
    where
        F: FnOnce(&Setting) -> Result<()> + Send + 'static,
    {
        let trial = self.trial(name, run);
        self.trials.push(trial.with_ignored_flag(long));
    }

    /// Adds a program's trials on several hosts. `number` is the program's among others: the next one
    /// has other launches. `job` is made for a number of PEs. Most trials are ignored unless asked for
    /// (`--include-ignored`), all of a program that takes `long`.
    pub fn add_on_cluster<F>(&mut self, name: &str, number: usize, long: bool, job: F)
    where
        F: Fn(&Setting, usize) -> Result<Job> + Clone + Send + 'static,
    {
        for (launch, short) in cluster::launches(number) {
            let job = job.clone();
            self.add_launch(name, launch, short && !long, move |s, launch| succeed(s, launch, job));
        }
    }

    /// The same with one trial; `short` is whether it is not ignored.
    pub fn add_one_on_cluster<F>(&mut self, name: &str, number: usize, short: bool, job: F)
    where
        F: Fn(&Setting, usize) -> Result<Job> + Send + 'static,
    {
        let launch = cluster::launch(number);
        self.add_launch(name, launch, short, move |s, launch| succeed(s, launch, job));
    }

    /// The launchers by which jobs can run on several hosts.
    pub fn launchers(&mut self) -> &[Launcher] {
        self.launchers.get_or_insert_with(cluster::launchers)
    }

    /// Adds a trial on several hosts that checks more than success.
    pub fn add_launch<F>(&mut self, name: &str, launch: Launch, short: bool, run: F)
    where
        F: FnOnce(&Setting, Launch) -> Result<()> + Send + 'static,
    {
        if self.launchers().contains(&launch.launcher) {
            let trial = self.trial(format!("{name}::{launch}"), move |s| run(s, launch));
            self.trials.push(trial.with_ignored_flag(!short));
        }
    }

    fn trial<F>(&self, name: String, run: F) -> Trial
    where
        F: FnOnce(&Setting) -> Result<()> + Send + 'static,
    {
        let setting = self.setting.clone();
        let times = self.times.clone();
        let missing = self.missing.clone();
        Trial::ignorable_test(name.clone(), move || {
            let setting = setting.ok_or("only listed")?;
            let begin = Instant::now();
            let result = run(&setting);
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            times.push((begin.elapsed(), name));
            let Err(error) = result else {
                return Ok(Completion::Completed);
            };
            let Some(lack) = error.downcast_ref::<Missing>() else {
                return Err(Failed::from(format!("{error:#}")));
            };
            let mut missing = missing.lock().unwrap_or_else(PoisonError::into_inner);
            *missing.entry(lack.clone()).or_default() += 1;
            Ok(Completion::ignored_with(lack.to_string()))
        })
    }

    /// Runs the trials and exits.
    pub fn run(self) -> ! {
        let conclusion = libtest_mimic::run(&self.arguments, self.trials);
        if let Some(setting) = &self.setting {
            let _ = std::fs::remove_dir(&setting.scratch);
        }
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.sort_unstable_by(|a, b| b.cmp(a));
        for (time, name) in times.iter().take(SLOWEST) {
            println!("slow: {:.1} s {name}", time.as_secs_f32());
        }
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<_> = missing.iter().collect();
        missing.sort_unstable_by_key(|(_, trials)| Reverse(**trials));
        for (lack, trials) in missing {
            println!("skipped: {lack}: {trials} trials");
        }
        conclusion.exit()
    }
}

fn succeed<F>(s: &Setting, launch: Launch, job: F) -> Result<()>
where
    F: FnOnce(&Setting, usize) -> Result<Job>,
{
    let mut job = job(s, launch.place.pes)?;
    job.command.splice(0..0, s.prefix.emulator().iter().cloned());
    s.stations.expect_success(launch, &job).map(drop)
}
