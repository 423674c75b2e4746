//! `--profile` and `--trace`: where the PEs record, and what is made of it when the job has ended.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ferroshmem_config::{PROFILE_DIR, TRACE_SIZE, inherited};

use super::failure::{Failure, print_line};
use super::options::CommandLine;
use super::pages::Pages;
use super::values::{PeList, Window, pe_list, window};
use crate::trace::{Format, Part};

/// The page that `--profile` writes without a name.
const PAGE: &str = "oshrun-profile.html";

/// What each PE keeps of a trace where the user has not said.
const TRACE: &str = "64m";

/// Options of profiles and traces.
#[derive(Debug, Args)]
#[command(next_help_heading = "Profiles")]
pub(super) struct ProfilingArgs {
    /// Shows where the time of the PEs goes: a summary, and a page (--profile=FILE.html, else oshrun-profile.html)
    #[arg(long, value_name = "FILE.html", num_args = 0..=1, require_equals = true, default_missing_value = PAGE)]
    profile: Option<PathBuf>,
    /// Writes every call of every PE to FILE: a page (.html), Chrome's JSON (.json) or Perfetto's format (.pftrace)
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    /// Where the PEs record for --profile and --trace, kept afterwards: a directory that all hosts share
    #[arg(long, value_name = "DIR")]
    profile_dir: Option<PathBuf>,
    /// Runs nothing: --profile and --trace are of what the PEs of an earlier job recorded in its --profile-dir
    #[arg(long, value_name = "DIR", conflicts_with = "profile_dir")]
    profile_from: Option<PathBuf>,
    /// Traces have this part of the time, in seconds from the start of the trace
    #[arg(long, value_name = "FROM:TO", requires = "trace", value_parser = window)]
    trace_window: Option<Window>,
    /// Traces have these PEs: 0-7,12
    #[arg(long, value_name = "LIST", requires = "trace", value_parser = pe_list)]
    trace_pes: Option<PeList>,
}

/// What is asked for of a job that runs now.
#[derive(Debug)]
pub(super) struct Profiling {
    pages: Pages,
    directory: Option<PathBuf>,
}

/// What is asked for of a job that has ended.
#[derive(Debug)]
pub(super) struct SavedRecords {
    pages: Pages,
    directory: PathBuf,
}

/// What the options ask for.
#[derive(Debug)]
pub(super) enum Asked {
    /// Of the job, if anything.
    Job(Option<Profiling>),
    /// Of one that has ended.
    SavedRecords(SavedRecords),
}

impl ProfilingArgs {
    /// What they ask for.
    pub(super) fn read(self) -> Result<Asked, Failure> {
        let format = |file: PathBuf| match Format::of(&file) {
            Some(format) => Ok((file, format)),
            None => Err(Failure::usage(format!(
                "--trace {}: end the name in .html for a page, .json for Chrome's viewer, or .pftrace for Perfetto",
                file.display()
            ))),
        };
        let traces = self.trace.into_iter().map(format).collect::<Result<Vec<_>, _>>()?;
        let is_asked = self.profile.is_some() || !traces.is_empty();
        let Window(from, to) = self.trace_window.unwrap_or_default();
        let pages =
            Pages { profile: self.profile, traces, part: Part { from, to, pes: self.trace_pes.unwrap_or_default().0 } };
        if let Some(directory) = self.profile_from {
            if !is_asked {
                return Err(Failure::usage(
                    "--profile-from DIR: say what is to be made of the records, by --profile or --trace FILE",
                ));
            }
            return Ok(Asked::SavedRecords(SavedRecords { pages, directory }));
        }
        let directory = self.profile_dir;
        let profiling = Profiling { pages, directory };
        Ok(Asked::Job((is_asked || profiling.directory.is_some()).then_some(profiling)))
    }
}

impl SavedRecords {
    /// Writes it. The status to exit with.
    pub(super) fn write(&self) -> Result<u8, Failure> {
        self.pages.create()?;
        let written = self.pages.write(&self.directory);
        self.pages.remove_empty();
        written.map(|()| 0).map_err(Failure::system)
    }
}

/// A job whose PEs record.
#[derive(Debug)]
pub(super) struct Session {
    profiling: Profiling,
    directory: PathBuf,
}

impl Session {
    /// Makes the directory, and has the PEs of `options` record there.
    pub(super) fn begin(profiling: Profiling, options: &mut CommandLine) -> Result<Self, Failure> {
        profiling.pages.create()?;
        let directory = directory(&profiling, options.hosts.is_some()).map_err(|(path, e)| {
            Failure::usage(format!(
                "cannot make the directory \"{}\" that PEs record in: {e}: name another by --profile-dir",
                path.display()
            ))
        })?;
        let is_traced = !profiling.pages.traces.is_empty();
        for section in &mut options.sections {
            let is_set = |name: &str| section.environment.iter().any(|(n, _)| n == name);
            let size = is_set(TRACE_SIZE.name) || inherited(TRACE_SIZE.name.as_ref()).is_some();
            let mut set = |name: &str, value: OsString| section.environment.push((name.into(), value));
            set(PROFILE_DIR.name, directory.clone().into());
            match (is_traced, size) {
                (true, false) => set(TRACE_SIZE.name, TRACE.into()),
                (false, true) => set(TRACE_SIZE.name, "0".into()),
                _ => {}
            }
        }
        Ok(Self { profiling, directory })
    }

    /// The job has ended, if it `has_run`: writes what is asked for. A failure is printed, and leaves the job's status
    /// as it is.
    pub(super) fn finish(&self, has_run: bool) {
        let written = if has_run { self.profiling.pages.write(&self.directory) } else { Ok(()) };
        match written {
            Ok(()) if has_run && self.profiling.directory.is_some() => {
                print_line(&format!("the PEs' records are in {}", self.directory.display()));
            }
            Ok(()) => {}
            Err(line) => print_line(&line),
        }
        self.profiling.pages.remove_empty();
        if self.profiling.directory.is_none() {
            // What remains costs disk space alone.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// The directory to record in, made. Other hosts mostly share the current one.
fn directory(profiling: &Profiling, on_hosts: bool) -> Result<PathBuf, (PathBuf, io::Error)> {
    if let Some(named) = &profiling.directory {
        let made = fs::create_dir_all(named).and_then(|()| {
            clear(named)?;
            fs::canonicalize(named)
        });
        return made.map_err(|e| (named.clone(), e));
    }
    let above = if on_hosts { std::env::current_dir().unwrap_or_default() } else { std::env::temp_dir() };
    for number in 0.. {
        let path = above.join(format!(".oshrun-profile-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err((path, e)),
        }
    }
    unreachable!("a number is free")
}

/// Removes what PEs of an earlier job recorded there.
fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("pe.");
        if number.is_some_and(|n| n.parse::<usize>().is_ok()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
