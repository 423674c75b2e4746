//! What `--profile` and `--trace` write, from the records of the PEs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::failure::{Failure, print_line};
use crate::profile::{self, Analysis, Clock, PeRecord, Symbols};
use crate::trace::{self, Format, Part};

/// The files, and what they show.
#[derive(Debug)]
pub(super) struct Pages {
    /// The profile's page.
    pub profile: Option<PathBuf>,
    /// Traces.
    pub traces: Vec<(PathBuf, Format)>,
    /// What traces have.
    pub part: Part,
}

impl Pages {
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.profile.iter().chain(self.traces.iter().map(|t| &t.0))
    }

    /// Makes the files that are not there: a job may take hours until they are written.
    pub(super) fn create(&self) -> Result<(), Failure> {
        for file in self.files() {
            let opened = File::options().append(true).create(true).open(file);
            opened.map_err(|e| {
                Failure::usage(format!(
                    "cannot write \"{}\": {e}: give a file in a directory that you may write to",
                    file.display()
                ))
            })?;
        }
        Ok(())
    }

    /// Removes those that are empty, as nothing was recorded.
    pub(super) fn remove_empty(&self) {
        for file in self.files().filter(|f| fs::metadata(f).is_ok_and(|m| m.is_file() && m.len() == 0)) {
            let _ = fs::remove_file(file);
        }
    }

    /// Writes them, and says so. What failed, else.
    pub(super) fn write(&self, directory: &Path) -> Result<(), String> {
        let unreadable = |e: io::Error| format!("cannot read \"{}\", where the PEs recorded: {e}", directory.display());
        let (records, others) = profile::read_all(directory).map_err(unreadable)?;
        if let Some((file, e)) = others.first() {
            let file = file.display();
            print_line(&format!("{} records were left out: \"{file}\": {e}", others.len()));
        }
        if records.is_empty() {
            return Err(
                "no PE has recorded anything: the programs must be linked with this FerroSHMEM, call shmem_init, and \
                    reach the directory (--profile-dir)"
                    .to_owned(),
            );
        }
        let clock = Clock::new(&records);
        let mut symbols = Symbols::default();
        if let Some(file) = &self.profile {
            let analysis = Analysis::new(&records, &clock, &mut symbols);
            let findings = analysis.findings();
            for line in analysis.summary(&findings) {
                print_line(&line);
            }
            save(file, |to| io::Write::write_all(to, analysis.page(&findings).as_bytes()))?;
            print_line(&format!("the profile is in {}", file.display()));
        }
        if self.traces.is_empty() {
            return Ok(());
        }
        if !self.part.pes.is_empty() && !records.iter().any(|r| self.part.pes.contains(&r.pe)) {
            return Err("there is no record of any PE of --trace-pes".to_owned());
        }
        if !records.iter().any(PeRecord::is_traced) {
            return Err(
                "the PEs have recorded sums and no single calls: run the job with --trace, and SHMEM_TRACE_SIZE unset \
                    or large enough"
                    .to_owned(),
            );
        }
        let trace = trace::Trace::new(&records, &clock, &mut symbols, self.part.clone());
        for (file, format) in &self.traces {
            let hidden = save(file, |to| trace.write(*format, to))?;
            let mut line = format!("{} in {}", trace.describe(), file.display());
            if hidden > 0 {
                line +=
                    &format!(", {} of them in sums: the page says how to see all of a part", profile::count(hidden));
            }
            print_line(&line);
        }
        Ok(())
    }
}

/// Writes a file, through a buffer.
fn save<T>(path: &Path, write: impl FnOnce(&mut dyn io::Write) -> io::Result<T>) -> Result<T, String> {
    let written = File::create(path).and_then(|file| {
        let mut to = io::BufWriter::with_capacity(1 << 16, file);
        let result = write(&mut to)?;
        io::Write::flush(&mut to)?;
        Ok(result)
    });
    written.map_err(|e| {
        format!("cannot write \"{}\": {e}: make room there, or name a file on another disk", path.display())
    })
}
