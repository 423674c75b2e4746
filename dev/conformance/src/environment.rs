//! Environments of Python, into which packages of an index are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tool::{self, Missing};

/// An environment of its own.
#[derive(Debug)]
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Makes one, in place of what is in the folder.
    ///
    /// # Errors
    /// If there is no Python for it.
    pub fn make(folder: PathBuf) -> Result<Self> {
        tool::command("python3", "python3")?;
        let venv = ["-m", "venv", "--clear", "--without-pip"];
        let missing = || Missing::package("python3 -m venv", "python3-venv");
        succeed(Command::new("python3").args(venv).arg(&folder)).map_err(|_| missing())?;
        let made = Self { folder };
        // One of its own takes 5 s to install. The machine's has the option since 22.3.
        if succeed(made.pip(&[]).arg("--version")).is_err() {
            succeed(Command::new(made.python()).args(["-m", "ensurepip"])).map_err(|_| missing())?;
        }
        Ok(made)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its Python.
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// A command of pip for it, which runs in its folder, and keeps nothing: a wheel that it has made with an earlier
    /// installation of this library would test that one.
    pub fn pip(&self, arguments: &[&str]) -> Command {
        let own = self.folder.join("bin/pip3").exists();
        let mut command = Command::new(if own { self.python() } else { "python3".into() });
        command.args(["-m", "pip"]);
        if !own {
            command.arg("--python").arg(self.python());
        }
        // Where there is no network, it would wait for minutes.
        command.args(["--quiet", "--retries", "1", "--timeout", "30"]).args(arguments);
        command.current_dir(&self.folder).env("PIP_NO_CACHE_DIR", "1");
        command
    }

    /// Runs a command of pip that needs nothing but the package index.
    ///
    /// # Errors
    /// If it fails: the index cannot be reached.
    pub fn fetch(&self, arguments: &[&str]) -> Result<(), Missing> {
        let reason = |error: anyhow::Error| error.to_string().lines().last().unwrap_or_default().to_owned();
        succeed(&mut self.pip(arguments)).map_err(|error| Missing(format!("no package index: {}", reason(error))))
    }
}

/// Runs a command, which must end well.
///
/// # Errors
/// With what it has printed, if it does not.
pub fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}\n{}", errors.trim_end());
    Ok(())
}
