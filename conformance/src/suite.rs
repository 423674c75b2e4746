//! Collects trials and hands them to the test runner.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::prefix::Prefix;

/// The PE counts that every program runs at: one, powers of two and others, more than cores.
pub const PE_COUNTS: [usize; 7] = [1, 2, 3, 4, 7, 8, 16];

/// What trials need: the installation and places to write to.
#[derive(Debug)]
pub struct Setting {
    /// The installation that is tested.
    pub prefix: Prefix,
    /// Folder of the compiled programs.
    pub cache: PathBuf,
    /// Folder of output files.
    pub scratch: PathBuf,
}

/// The trials of one test binary.
#[derive(Debug)]
pub struct Suite {
    setting: Option<Arc<Setting>>,
    arguments: Arguments,
    trials: Vec<Trial>,
}

impl Suite {
    /// Finds the installation; `folder` is the test binary's `CARGO_TARGET_TMPDIR`.
    pub fn new(folder: &str) -> Self {
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
            })
        });
        Self {
            setting,
            arguments,
            trials: Vec::new(),
        }
    }

    /// Adds a trial.
    pub fn add<F>(&mut self, name: String, run: F)
    where
        F: FnOnce(&Setting) -> Result<()> + Send + 'static,
    {
        let setting = self.setting.clone();
        self.trials.push(Trial::test(name, move || {
            let setting = setting.ok_or("only listed")?;
            run(&setting).map_err(|e| Failed::from(format!("{e:#}")))
        }));
    }

    /// Runs the trials and exits.
    pub fn run(self) -> ! {
        let conclusion = libtest_mimic::run(&self.arguments, self.trials);
        if let Some(setting) = &self.setting {
            let _ = std::fs::remove_dir(&setting.scratch);
        }
        conclusion.exit()
    }
}
