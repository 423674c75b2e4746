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
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
            .map_err(|_| Missing::package("python3 -m venv", "python3-venv"))?;
        Ok(Self { folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its Python.
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// A command of its pip, which runs in its folder, and keeps nothing: a wheel that it has made with an earlier
    /// installation of this library would test that one.
    pub fn pip(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.python());
        // Where there is no network, it would wait for minutes.
        command.args(["-m", "pip", "--quiet", "--retries", "1", "--timeout", "30"]);
        command.args(arguments).current_dir(&self.folder).env("PIP_NO_CACHE_DIR", "1");
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
