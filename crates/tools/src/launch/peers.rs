//! Programs that were compiled for another OpenSHMEM library: they load a small library of its name, which translates
//! what differs (docs/compat.md).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ferroshmem_config::inherited;

use super::failure::Failure;
use super::linkage::{OWN, symbols};

/// Another OpenSHMEM library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Peer {
    /// Open MPI's: liboshmem.
    Openmpi,
    /// Sandia's: libsma.
    Sandia,
    /// OSSS's: libshmem.so.0.
    Osss,
}

/// What PEs load before their libraries.
const PRELOAD: &str = "LD_PRELOAD";

impl Peer {
    /// Whose library has this name, if it is none of this project.
    pub(super) fn of(soname: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|peer| soname.starts_with(peer.library_begin()))
    }

    /// How the name of the library begins; its version follows.
    fn library_begin(self) -> &'static str {
        match self {
            Self::Openmpi => "liboshmem.so",
            Self::Sandia => "libsma.so",
            Self::Osss => "libshmem.so.0",
        }
    }

    /// Whose it is, for messages.
    pub(super) fn whose(self) -> &'static str {
        match self {
            Self::Openmpi => "Open MPI's",
            Self::Sandia => "Sandia's or Cray's",
            Self::Osss => "OSSS's",
        }
    }

    /// The name that `--compat` knows.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }

    /// Where an installation has what translates.
    fn folder(self) -> PathBuf {
        libraries().join("ferroshmem/compat").join(self.name())
    }

    /// What translates for programs that load the library by this name, if it is installed.
    pub(super) fn translator(self, soname: &str) -> Option<PathBuf> {
        Some(self.folder().join(soname)).filter(|file| file.is_file())
    }

    /// The only one of this library.
    ///
    /// # Errors
    /// If it is not installed.
    pub(super) fn only_translator(self) -> Result<PathBuf, Failure> {
        let folder = self.folder();
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.min().ok_or_else(|| {
            let folder = folder.display();
            Failure::usage(format!("--compat={} needs {folder}: run oshrun from where it is installed", self.name()))
        })
    }
}

/// The folder of the installation's libraries.
pub(super) fn libraries() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().and_then(Path::parent).unwrap_or(&program).join("lib")
}

/// Has the PEs of a section load what translates before all others, then what they were to load before, which are
/// tools, and then this library: others that the program names may have routines of the standard, too.
pub(super) fn translate(environment: &mut Vec<(OsString, OsString)>, translator: &Path) {
    let own = libraries().join(OWN);
    let mut all = vec![translator.to_owned()];
    all.extend(preloaded(environment));
    all.push(own);
    set(environment, &all);
}

/// Has the PEs of a section load a library before all others.
pub(super) fn preload(environment: &mut Vec<(OsString, OsString)>, library: &Path) {
    let mut all = vec![library.to_owned()];
    all.extend(preloaded(environment));
    set(environment, &all);
}

fn set(environment: &mut Vec<(OsString, OsString)>, libraries: &[PathBuf]) {
    let words: Vec<_> = libraries.iter().map(|library| library.as_os_str()).collect();
    environment.push((PRELOAD.into(), words.join(OsStr::new(":"))));
}

/// What the PEs of a section load before their libraries.
fn preloaded(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let given = environment.iter().rev().find(|(name, _)| name == PRELOAD).map(|(_, value)| value.clone());
    let value = given.or_else(|| inherited(PRELOAD.as_ref())).unwrap_or_default();
    std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Whether they do so.
pub(super) fn is_preloaded(environment: &[(OsString, OsString)], library: &Path) -> bool {
    preloaded(environment).iter().any(|file| file == library)
}

/// The routines that a program calls by names that none of these libraries has: at most three.
pub(super) fn missing<'a>(undefined: &'a BTreeSet<String>, libraries: &[PathBuf]) -> Vec<&'a str> {
    let defined: Vec<_> = libraries.iter().filter_map(|file| symbols(file)).collect();
    let is_there = |name: &str| defined.iter().any(|symbols| symbols.defined.contains(name));
    undefined.iter().map(String::as_str).filter(|name| name.contains("shmem") && !is_there(name)).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_say_whose_they_are() {
        assert_eq!(Peer::of("liboshmem.so.40"), Some(Peer::Openmpi));
        assert_eq!(Peer::of("libsma.so.3"), Some(Peer::Sandia));
        assert_eq!(Peer::of("libshmem.so.0"), Some(Peer::Osss));
        assert_eq!(Peer::of("libshmem.so.1"), None);
        assert_eq!(Peer::of("libshmem.so.2"), None);
    }

    #[test]
    fn what_is_loaded_before_comes_first() {
        let mut environment = vec![(PRELOAD.into(), "a.so".into())];
        assert!(!is_preloaded(&environment, Path::new("/b.so")));
        preload(&mut environment, Path::new("/b.so"));
        assert_eq!(environment.last().unwrap().1, "/b.so:a.so");
        assert!(is_preloaded(&environment, Path::new("/b.so")));
        translate(&mut environment, Path::new("/c.so"));
        let own = libraries().join(OWN);
        assert_eq!(environment.last().unwrap().1, format!("/c.so:/b.so:a.so:{}", own.display()).as_str());
    }
}
