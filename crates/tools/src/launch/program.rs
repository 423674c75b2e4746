//! From the name of a program to the file and the block of strings that `execve` takes.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf, absolute};

use clap::ValueEnum;
use ferroshmem_config::{self as config, JOB};
use ferroshmem_core::job::service::Program;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::check_options::What;
use super::failure::Failure;
use super::{linkage, peers};

/// A program that is ready to be run.
#[derive(Debug)]
pub(super) struct Executable {
    /// The name that the user gave, for messages.
    pub name: String,
    /// Absolute path of the file.
    pub path: CString,
    /// Its arguments, from the name of the program on.
    pub arguments: Vec<CString>,
    /// Its environment as `NAME=VALUE`, without [`JOB`].
    pub environment: Vec<CString>,
    /// Directory to run it in, if not the present one.
    pub wdir: Option<CString>,
}

impl Executable {
    /// Finds the program of a section, as `execvp` would, and makes sure that it can be
    /// run as far as that can be known.
    pub(super) fn find(section: &Program) -> Result<Self, Failure> {
        let name = section.command.to_string_lossy().into_owned();
        if let Some(dir) = &section.directory {
            check_directory(dir)?;
        }
        let path = locate(&section.command, section.directory.as_deref()).map_err(|e| {
            match (e, section.command.as_bytes().contains(&b'/')) {
                (Errno::ENOENT, false) if is_here(section) => Failure::not_found(format!(
                    "cannot run \"{name}\": no such program in PATH; the one here is ./{name}"
                )),
                _ => cannot_run(&name, e),
            }
        })?;
        let mut given = section.environment.clone();
        if let Some(library) = linkage::check(&name, &path, &given)? {
            peers::translate(&mut given, &library);
        }
        let mut environment: BTreeMap<OsString, OsString> = config::inherited_all().collect();
        environment.extend(given);
        environment.remove(OsStr::new(JOB.name));
        let mut arguments = vec![c_string(section.command.clone())];
        arguments.extend(section.arguments.iter().cloned().map(c_string));
        Ok(Self {
            name,
            path: c_string(path.into_os_string()),
            arguments,
            environment: environment
                .into_iter()
                .map(|(mut pair, value)| {
                    pair.push("=");
                    pair.push(value);
                    c_string(pair)
                })
                .collect(),
            wdir: section.directory.clone().map(|d| c_string(d.into_os_string())),
        })
    }
}

/// Strings of the command line and the environment hold no NUL.
fn c_string(text: OsString) -> CString {
    CString::new(text.into_vec()).expect("a string that came from the kernel holds no NUL")
}

fn check_directory(dir: &Path) -> Result<(), Failure> {
    let shown = dir.display();
    match fs::metadata(dir) {
        Ok(m) if m.is_dir() => Ok(()),
        Ok(_) => Err(Failure::usage(format!("--wdir \"{shown}\": not a directory"))),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Err(Failure::usage(format!("--wdir \"{shown}\": no such directory")))
        }
        Err(e) => Err(Failure::usage(format!("--wdir \"{shown}\": {e}"))),
    }
}

/// The line for a program that `execve` refuses, or would.
pub(super) fn cannot_run(name: &str, error: Errno) -> Failure {
    let line = |why: &str| format!("cannot run \"{name}\": {why}");
    match error {
        Errno::ENOENT if name.contains('/') => Failure::not_found(line("no such file")),
        Errno::ENOENT if What::from_str(name, false).is_ok() => {
            Failure::not_found(line(&format!("no such program in PATH; if it is a check: --check={name}")))
        }
        Errno::ENOENT => Failure::not_found(line("no such program in PATH")),
        Errno::EISDIR => Failure::not_runnable(line("it is a directory")),
        Errno::EACCES => Failure::not_runnable(line("permission denied: is it executable?")),
        Errno::ENOEXEC => {
            Failure::not_runnable(line("not a program of this machine, nor a script that begins with #!"))
        }
        other => Failure::not_runnable(line(other.desc())),
    }
}

/// What the PEs of a section have to load before their program, if its file is here and was compiled for another
/// OpenSHMEM library. Says so in a line.
pub(super) fn translator(section: &Program) -> Option<PathBuf> {
    let path = locate(&section.command, section.directory.as_deref()).ok()?;
    linkage::translator(&section.command.to_string_lossy(), &path, &section.environment)
}

/// Finds the file: a name with a slash is a path relative to `wdir`; any other is searched in
/// `PATH`.
fn locate(program: &OsStr, wdir: Option<&Path>) -> Result<PathBuf, Errno> {
    let here = wdir.unwrap_or(Path::new("."));
    if program.as_bytes().contains(&b'/') {
        return runnable(&here.join(program));
    }
    let path = config::search_path().unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut reason = Errno::ENOENT;
    for dir in std::env::split_paths(&path).filter(|_| !program.is_empty()) {
        match runnable(&here.join(dir).join(program)) {
            Ok(found) => return Ok(found),
            // As execvp: search on, but remember that a file was found.
            Err(Errno::EACCES) => reason = Errno::EACCES,
            Err(_) => {}
        }
    }
    Err(reason)
}

/// Whether the program would be found by its path.
fn is_here(section: &Program) -> bool {
    runnable(&section.directory.as_deref().unwrap_or(Path::new(".")).join(&section.command)).is_ok()
}

fn runnable(path: &Path) -> Result<PathBuf, Errno> {
    let errno = |e: std::io::Error| e.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    if fs::metadata(path).map_err(errno)?.is_dir() {
        return Err(Errno::EISDIR);
    }
    access(path, AccessFlags::X_OK)?;
    absolute(path).map_err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(program: &str) -> Result<PathBuf, Errno> {
        locate(OsStr::new(program), None)
    }

    #[test]
    fn programs_are_found_as_the_shell_finds_them() {
        assert!(reason("sh").unwrap().is_absolute());
        assert_eq!(reason("/bin/sh"), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(reason("no-such-program-anywhere"), Err(Errno::ENOENT));
        assert_eq!(reason("./no-such-file"), Err(Errno::ENOENT));
        assert_eq!(reason("/"), Err(Errno::EISDIR));
        assert_eq!(reason("/etc/passwd"), Err(Errno::EACCES));
        assert_eq!(reason(""), Err(Errno::ENOENT));
    }

    #[test]
    fn a_path_is_seen_from_the_directory_of_the_section() {
        let found = locate(OsStr::new("./sh"), Some(Path::new("/bin"))).unwrap();
        assert_eq!(found, PathBuf::from("/bin/sh"));
    }
}
