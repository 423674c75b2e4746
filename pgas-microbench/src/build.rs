//! Building programs: by a compiler wrapper, or by the makefiles that users have too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::implementation::{Family, Implementation};
use crate::plan::Suite;

/// Runs a command that builds something.
///
/// # Errors
/// If it fails; its messages are in the error.
pub fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed: {}", errors.trim());
    }
    Ok(())
}

/// Builds programs, with every library in a folder of its own.
#[derive(Debug)]
pub struct Builder {
    folder: PathBuf,
    built: BTreeMap<(Suite, String, String), Result<PathBuf, String>>,
}

impl Builder {
    /// Builds below `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), built: BTreeMap::new() }
    }

    /// A program of a suite, which is built at the first call.
    ///
    /// # Errors
    /// If it cannot be built; the compiler's messages are in the error, each time.
    pub fn program(&mut self, suite: Suite, program: &str, with: &Implementation) -> Result<PathBuf> {
        let folder = &self.folder;
        let result = self
            .built
            .entry((suite, program.to_owned(), with.slug()))
            .or_insert_with(|| make(folder, suite, program, with).map_err(|e| format!("{e:#}")));
        result.clone().map_err(anyhow::Error::msg)
    }
}

fn make(folder: &Path, suite: Suite, program: &str, with: &Implementation) -> Result<PathBuf> {
    let library = format!("{}-{:016x}", with.slug(), content(with)?);
    let build = folder.join(library).join(suite.folder());
    let target = build.join(program);
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate lies in a workspace")?.join(suite.folder());
    let variable = if with.family.is_mpi() { "MPICC" } else { "OSHCC" };
    // Two commands that make a program at once spoil each other's files.
    fs::create_dir_all(&build)?;
    let lock = File::create(build.join("lock"))?;
    lock.lock()?;
    run(Command::new("make")
        .envs(with.environment())
        .args(["--silent", "-C"])
        .arg(source)
        .arg(&target)
        .arg(format!("{variable}={}", with.compiler.display()))
        .arg(format!("BUILD={}", build.display())))?;
    Ok(target)
}

/// A hash of what programs are built from beside their source: the compiler wrapper, and this library's headers
/// and libraries, which change while their version stays.
fn content(with: &Implementation) -> Result<u64> {
    let mut files = vec![with.compiler.clone()];
    if with.family == Family::FerroShmem {
        let prefix = with.compiler.parent().and_then(Path::parent);
        for folder in ["include", "lib"] {
            let folder = prefix.context("the wrapper lies in bin/")?.join(folder);
            files_below(&folder, &mut files)?;
        }
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in &files {
        let read = || format!("cannot read {}", file.display());
        file.hash(&mut hash);
        fs::read(file).with_context(read)?.hash(&mut hash);
    }
    Ok(hash.finish())
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let read = || format!("cannot read {}", folder.display());
    for entry in folder.read_dir().with_context(read)? {
        let path = entry?.path();
        // Links lead to files of the same folder, or have no target.
        if path.is_dir() {
            files_below(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An installation whose wrapper writes the header into what it "compiles".
    fn installation(prefix: &Path) -> Implementation {
        for folder in ["bin", "include/shmem", "lib"] {
            fs::create_dir_all(prefix.join(folder)).unwrap();
        }
        fs::write(prefix.join("bin/oshcc"), "#!/bin/sh\n").unwrap();
        fs::write(prefix.join("include/shmem/native.h"), "old").unwrap();
        fs::write(prefix.join("lib/libshmem.so"), "old").unwrap();
        Implementation {
            compiler: prefix.join("bin/oshcc"),
            ..Implementation::without_library(Family::FerroShmem, "1", "oshcc")
        }
    }

    #[test]
    fn programs_of_other_headers_or_libraries_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let library = installation(folder.path());
        let first = content(&library).unwrap();
        assert_eq!(content(&library).unwrap(), first);
        let mut seen = vec![first];
        for changed in ["include/shmem/native.h", "lib/libshmem.so", "bin/oshcc"] {
            fs::write(folder.path().join(changed), "new").unwrap();
            let now = content(&library).unwrap();
            assert!(!seen.contains(&now), "{changed}");
            seen.push(now);
        }
        let other = tempfile::tempdir().unwrap();
        assert_ne!(content(&installation(other.path())).unwrap(), first);
    }

    #[test]
    fn a_changed_header_builds_programs_again() {
        if Command::new("make").arg("--version").output().is_err() {
            println!("skipped: make is not installed (package make)");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let library = installation(&folder.path().join("prefix"));
        // Copies the header instead of compiling: `-o FILE` names the program.
        let script = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\n\
                      cp \"$(dirname \"$0\")/../include/shmem/native.h\" \"$2\"\n";
        fs::write(&library.compiler, script).unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&library.compiler, executable).unwrap();
        let built = |folder: &Path| {
            let mut builder = Builder::new(folder);
            fs::read_to_string(builder.program(Suite::Microbench, "latency", &library).unwrap()).unwrap()
        };
        assert_eq!(built(folder.path()), "old");
        fs::write(folder.path().join("prefix/include/shmem/native.h"), "new").unwrap();
        assert_eq!(built(folder.path()), "new");
    }
}
