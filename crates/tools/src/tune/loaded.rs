//! The tuning that a job runs with.

use std::io::ErrorKind;
use std::path::PathBuf;

use ferroshmem_config::TuningFilePath;
use ferroshmem_tuning::Tuning;

use super::document::FileError;
use super::file::TuningFile;

/// The tuning in force, and where it comes from.
#[derive(Debug)]
pub struct Loaded {
    /// What the PEs receive.
    pub tuning: Tuning,
    /// Where it comes from.
    pub source: TuningSource,
}

/// Where a tuning comes from.
#[derive(Debug)]
pub enum TuningSource {
    /// There is no tuning file: the model's defaults.
    Defaults,
    /// This file.
    File(PathBuf),
    /// The model's defaults, because this file is of no use.
    Ignored(PathBuf, FileError),
}

impl Loaded {
    /// Reads `file` if there is such a file. `cores`: cores of this machine that a job may use.
    pub fn find(file: Option<TuningFilePath>, cores: usize) -> Self {
        let defaults = |source| Self { tuning: Tuning::default_for(cores), source };
        let Some(TuningFilePath { path, named }) = file else {
            return defaults(TuningSource::Defaults);
        };
        match TuningFile::read(&path) {
            Ok(file) => Self { tuning: file.tuning(), source: TuningSource::File(path) },
            Err(FileError::Unreadable(e)) if e.kind() == ErrorKind::NotFound && !named => {
                defaults(TuningSource::Defaults)
            }
            Err(error) => defaults(TuningSource::Ignored(path, error)),
        }
    }

    /// One line for the user if a file is ignored.
    pub fn complaint(&self) -> Option<String> {
        match &self.source {
            TuningSource::Ignored(path, error) => Some(format!("ignoring the tuning file {}: {error}", path.display())),
            _ => None,
        }
    }
}
