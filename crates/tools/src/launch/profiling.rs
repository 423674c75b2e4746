//! `--profile` and `--trace`: where the PEs record, and what is made of it when the job has ended.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;

use clap::Args;
use ferroshmem_core::config::{PROFILE_DIR, TRACE_SIZE, inherited};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::failure::{Failure, say};
use super::options::CommandLine;
use crate::profile::{self, Analysis, Clock, Symbols};
use crate::trace::{self, Format};

/// The page that `--profile` writes without a name.
const PAGE: &str = "oshrun-profile.html";

/// What each PE keeps of a trace where the user has not said.
const TRACE: &str = "64m";

/// Options of profiles and traces.
#[derive(Debug, Args)]
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
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Profiling {
    profile: Option<PathBuf>,
    traces: Vec<(PathBuf, Format)>,
    directory: Option<PathBuf>,
}

impl ProfilingArgs {
    /// What they ask for, None if for nothing.
    pub(super) fn read(self) -> Result<Option<Profiling>, Failure> {
        let format = |file: PathBuf| match Format::of(&file) {
            Some(format) => Ok((file, format)),
            None => Err(Failure::usage(format!(
                "--trace {}: end the name in .html for a page, .json for Chrome's viewer, or .pftrace for Perfetto",
                file.display()
            ))),
        };
        let traces = self
            .trace
            .into_iter()
            .map(format)
            .collect::<Result<Vec<_>, _>>()?;
        let is_asked = self.profile.is_some() || !traces.is_empty();
        Ok(
            (is_asked || self.profile_dir.is_some()).then_some(Profiling {
                profile: self.profile,
                traces,
                directory: self.profile_dir,
            }),
        )
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
        let targets = profiling
            .profile
            .iter()
            .chain(profiling.traces.iter().map(|t| &t.0));
        for file in targets {
            // Before the job, which may take hours.
            File::create(file).map_err(|e| {
                Failure::usage(format!(
                    "cannot write \"{}\": {e}: give a file in a directory that you may write to",
                    file.display()
                ))
            })?;
        }
        let directory = directory(&profiling, options.hosts.is_some()).map_err(|(path, e)| {
            Failure::usage(format!(
                "cannot make the directory \"{}\" that PEs record in: {e}: name another by --profile-dir",
                path.display()
            ))
        })?;
        let is_traced = !profiling.traces.is_empty();
        for section in &mut options.sections {
            let is_set = |name: &str| section.variables.iter().any(|(n, _)| n == name);
            let size = is_set(TRACE_SIZE.name) || inherited(TRACE_SIZE.name.as_ref()).is_some();
            let mut set =
                |name: &str, value: OsString| section.variables.push((name.into(), value));
            set(PROFILE_DIR.name, directory.clone().into());
            match (is_traced, size) {
                (true, false) => set(TRACE_SIZE.name, TRACE.into()),
                // Unset counts as no trace.
                (false, true) => set(TRACE_SIZE.name, OsString::new()),
                _ => {}
            }
        }
        Ok(Self {
            profiling,
            directory,
        })
    }

    /// The job has ended: writes what is asked for. A failure is printed, and leaves the job's status as it is.
    pub(super) fn finish(&self) {
        if let Err(line) = self.write() {
            say(&line);
        }
        if self.profiling.directory.is_none() {
            // What remains costs disk space alone.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    fn write(&self) -> Result<(), String> {
        let unreadable = |e: io::Error| {
            format!(
                "cannot read \"{}\", where the PEs recorded: {e}",
                self.directory.display()
            )
        };
        let (records, others) = profile::read_all(&self.directory).map_err(unreadable)?;
        if let Some((file, e)) = others.first() {
            let file = file.display();
            say(&format!(
                "{} records were left out: \"{file}\": {e}",
                others.len()
            ));
        }
        if records.is_empty() {
            return Err(
                "no PE has recorded anything: the programs must be linked with this FerroSHMEM, call shmem_init, and reach the directory (--profile-dir)".to_owned(),
            );
        }
        let clock = Clock::new(&records);
        let mut symbols = Symbols::default();
        let analysis = Analysis::new(&records, &clock, &mut symbols);
        if let Some(file) = &self.profiling.profile {
            let findings = analysis.findings();
            for line in analysis.summary(&findings) {
                say(&line);
            }
            save(file, |to| {
                io::Write::write_all(to, analysis.page(&findings).as_bytes())
            })?;
            say(&format!("the profile is in {}", file.display()));
        }
        for (file, format) in &self.profiling.traces {
            let trace = trace::Trace::new(&records, &clock, &mut symbols);
            save(file, |to| trace.write(*format, to))?;
            say(&format!("{} in {}", trace.describe(), file.display()));
        }
        if self.profiling.directory.is_some() {
            say(&format!(
                "the PEs' records are in {}",
                self.directory.display()
            ));
        }
        Ok(())
    }

    /// Runs `body` in a process of its own, which may become another program, and waits for it; signals to this process are
    /// passed on. The status to exit with.
    pub(super) fn apart(body: impl FnOnce() -> Failure) -> Result<u8, Failure> {
        // SAFETY: this process has one thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => exit(body().report().into()),
            Ok(ForkResult::Parent { child }) => Ok(wait_for(child)),
            Err(e) => Err(Failure::system(format!("cannot start a process: {e}"))),
        }
    }
}

static CHILD: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

extern "C" fn pass_on(number: i32) {
    let child = CHILD.load(std::sync::atomic::Ordering::Relaxed);
    if let Ok(signal) = Signal::try_from(number) {
        // It may have ended.
        let _ = kill(Pid::from_raw(child), signal);
    }
}

fn wait_for(child: Pid) -> u8 {
    CHILD.store(child.as_raw(), std::sync::atomic::Ordering::Relaxed);
    // The terminal sends this one to the child, too.
    // SAFETY: the signal is ignored.
    let _ = unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) };
    for passed in [
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
    ] {
        // SAFETY: the handler calls kill alone.
        let _ = unsafe { signal(passed, SigHandler::Handler(pass_on)) };
    }
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, status)) => return status as u8,
            Ok(WaitStatus::Signaled(_, signal, _)) => return 128 + signal as u8,
            Err(nix::errno::Errno::EINTR) | Ok(_) => {}
            Err(_) => return 1,
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
    let above = if on_hosts {
        std::env::current_dir().unwrap_or_default()
    } else {
        std::env::temp_dir()
    };
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

/// Writes a file, through a buffer.
fn save(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), String> {
    let written = File::create(path).and_then(|file| {
        let mut to = io::BufWriter::with_capacity(1 << 16, file);
        write(&mut to)?;
        io::Write::flush(&mut to)
    });
    written.map_err(|e| {
        format!(
            "cannot write \"{}\": {e}: make room there, or name a file on another disk",
            path.display()
        )
    })
}
