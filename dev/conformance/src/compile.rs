//! Compiles test programs, each once per content and flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::prefix::{Prefix, crate_folder};

/// The compiler under the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compiler {
    /// gcc and g++.
    Gcc,
    /// clang and clang++.
    Clang,
}

impl Compiler {
    /// Those that are installed.
    pub fn installed() -> Vec<Self> {
        [Self::Gcc, Self::Clang]
            .into_iter()
            .filter(|c| on_path(c.c()))
            .collect()
    }

    fn c(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    fn cxx(self) -> &'static str {
        match self {
            Self::Gcc => "g++",
            Self::Clang => "clang++",
        }
    }

    /// Name in test names.
    pub fn name(self) -> &'static str {
        self.c()
    }
}

/// Whether a command is on the `PATH`.
pub fn on_path(command: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(command).is_file())
}

/// Whether a compiler finds a header: wrappers of other libraries may be installed without.
pub fn has_header(compiler: &Path, header: &str) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-E", "-x", "c", "-"]);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A compiler that ends before it has read all fails.
        let _ = writeln!(input, "#include <{header}>");
    }
    child.wait().is_ok_and(|status| status.success())
}

/// What is compiled, and by which wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// C11 by `oshcc`.
    C,
    /// C++17 by `oshc++`.
    Cxx,
    /// C by the plain compiler: no header, no library.
    PlainC,
}

/// One program to build.
#[derive(Debug, Clone)]
pub struct Build {
    /// Source files, relative to `dev/conformance/c`.
    pub sources: Vec<String>,
    /// Language of the sources.
    pub language: Language,
    /// Compiler under the wrapper.
    pub compiler: Compiler,
    /// Further flags.
    pub flags: Vec<String>,
}

impl Build {
    /// A build of one source file; the language is told by its suffix.
    pub fn new(source: &str, compiler: Compiler) -> Self {
        let language = if source.ends_with(".cpp") {
            Language::Cxx
        } else {
            Language::C
        };
        Self {
            sources: vec![source.to_owned()],
            language,
            compiler,
            flags: Vec::new(),
        }
    }

    /// The same with further flags.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|f| (*f).to_owned()));
        self
    }

    /// Builds the program in `cache`, if it is not there; returns its path.
    pub fn run(&self, prefix: &Prefix, cache: &Path) -> Result<PathBuf> {
        let folder = crate_folder().join("c");
        let name = Path::new(&self.sources[0])
            .file_stem()
            .context("a source has a name")?;
        let program = cache.join(format!(
            "{}-{:016x}",
            name.display(),
            self.key(prefix, &folder)?
        ));
        let lock = lock_of(&program);
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if program.exists() {
            return Ok(program);
        }
        fs::create_dir_all(cache)?;
        let temporary = program.with_extension(format!("{}", std::process::id()));
        let mut command = self.command(prefix);
        command.arg("-I").arg(&folder).arg("-o").arg(&temporary);
        command.args(self.sources.iter().map(|s| folder.join(s)));
        // After the sources: libraries among the flags resolve what the sources need.
        command.args(&self.flags);
        let output = command
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        if !output.status.success() {
            bail!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        }
        fs::rename(&temporary, &program)?;
        Ok(program)
    }

    fn command(&self, prefix: &Prefix) -> Command {
        let (wrapper, standard): (OsString, _) = match self.language {
            Language::C => (prefix.bin("oshcc").into(), "-std=gnu11"),
            Language::Cxx => (prefix.bin("oshc++").into(), "-std=gnu++17"),
            Language::PlainC => (self.compiler.c().into(), "-std=gnu11"),
        };
        let mut command = Command::new(wrapper);
        command
            .env("OSHMEM_CC", self.compiler.c())
            .env("OSHMEM_CXX", self.compiler.cxx())
            .args([
                standard, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
            ]);
        command
    }

    /// Hash of all that the program depends on; the shared library is loaded at run time
    /// and does not count, the static one does.
    fn key(&self, prefix: &Prefix, folder: &Path) -> Result<u64> {
        static HEADERS: OnceLock<u64> = OnceLock::new();
        let mut hash = DefaultHasher::new();
        HEADERS
            .get_or_init(|| hash_folder(&prefix.include()))
            .hash(&mut hash);
        prefix.include().hash(&mut hash);
        self.flags.hash(&mut hash);
        (self.language, self.compiler).hash(&mut hash);
        for file in self
            .sources
            .iter()
            .map(String::as_str)
            .chain(["check.h", "neighbours.h"])
        {
            let path = folder.join(file);
            fs::read(&path)
                .with_context(|| path.display().to_string())?
                .hash(&mut hash);
        }
        // Programs in folders of their own may be in several files.
        for source in &self.sources {
            if let Some((sub, _)) = source.split_once('/') {
                hash_folder(&folder.join(sub)).hash(&mut hash);
            }
        }
        if self.flags.iter().any(|f| f.starts_with("-static")) {
            let library = fs::metadata(prefix.library("libshmem.a"))?;
            (library.len(), library.modified()?).hash(&mut hash);
        }
        Ok(hash.finish())
    }
}

/// Trials that need the same program at the same time build it once.
fn lock_of(program: &Path) -> Arc<Mutex<()>> {
    static LOCKS: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    locks.entry(program.to_owned()).or_default().clone()
}

fn hash_folder(folder: &Path) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            hash_folder(&path).hash(&mut hash);
        } else {
            fs::read(&path).unwrap_or_default().hash(&mut hash);
        }
    }
    hash.finish()
}
