//! Compiles test programs, each once per content and flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::generated;
use crate::prefix::{Prefix, crate_folder};
use crate::tool::{self, Missing};

/// Programs about functions that are not inlined, and about how compilers select them. Optimised, they run the same
/// code of the library, and take gcc four to nine times as long.
const UNOPTIMISED: &[&str] = &[
    "active_set.c", "generated/every_generic.c", "reduce.c", "requests.c", "spaces.c", "streams.c", "team_lists.c",
    "teams.c", "wait.c",
];

/// Programs that call inlined functions for many types, and others that compute little, with folders of them. gcc
/// inlines the same with -Og, in half the time; of the former, a variant has a type of each size with -O3.
const BARELY_OPTIMISED: &[&str] = &[
    "amo.c", "faults/", "generated/every_prototype.c", "nodes/", "overloads.cpp", "rma_types.c", "spawn/independent.c",
    "spawn/remote.c", "spawn/same_node.c",
];

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
        [Self::Gcc, Self::Clang].into_iter().filter(|c| on_path(c.c())).collect()
    }

    /// Asks for the compiler of a language, for the processor that programs of `prefix` are for.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn need(self, language: Language, prefix: &Prefix) -> Result<(), Missing> {
        let gcc = |name: &str| tool::command(&prefix.compiler(name), &prefix.compiler_package(name));
        match (self, language) {
            (Self::Gcc, Language::Cxx) => gcc("g++"),
            (Self::Gcc, _) => gcc("gcc"),
            (Self::Clang, Language::Cxx) => tool::command("clang++", "clang"),
            (Self::Clang, _) => tool::command("clang", "clang"),
        }
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
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
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
    /// A build of one source file; its suffix determines the language.
    pub fn new(source: &str, compiler: Compiler) -> Self {
        let language = if source.ends_with(".cpp") { Language::Cxx } else { Language::C };
        Self { sources: vec![source.to_owned()], language, compiler, flags: Vec::new() }
    }

    /// The same with further flags.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|f| (*f).to_owned()));
        self
    }

    /// Builds the program in `cache`, if it is not there; returns its path. Its objects are kept, too:
    /// programs that are linked in several ways are compiled once.
    pub fn run(&self, prefix: &Prefix, cache: &Path) -> Result<PathBuf> {
        self.compiler.need(self.language, prefix)?;
        let folder = crate_folder().join("c");
        // A generated source says nothing of such flags.
        let texts = self.sources.iter().map(|source| fs::read_to_string(folder.join(source)).unwrap_or_default());
        let text = texts.collect::<String>();
        let mut reduced = self.clone();
        reduced.flags.retain(|flag| matters(flag, &text));
        reduced.build(prefix, &folder, cache)
    }

    fn build(&self, prefix: &Prefix, folder: &Path, cache: &Path) -> Result<PathBuf> {
        let mut hash = DefaultHasher::new();
        for source in &self.sources {
            self.key(source, prefix, folder, cache)?.hash(&mut hash);
        }
        self.flags.hash(&mut hash);
        if self.flags.iter().any(|f| f.starts_with("-static")) {
            let library = fs::metadata(prefix.library("libshmem.a"))?;
            (library.len(), library.modified()?).hash(&mut hash);
        }
        let program = cache.join(format!("{}-{:016x}", stem(&self.sources[0])?, hash.finish()));
        once(&program, |temporary| {
            let mut command = self.command(prefix);
            command.arg("-o").arg(temporary);
            for source in &self.sources {
                command.arg(self.object(source, prefix, folder, cache)?);
            }
            // After the objects: libraries among the flags resolve what the objects need.
            command.args(&self.flags);
            succeed(&mut command)
        })?;
        Ok(program)
    }

    /// Compiles a source in `cache`, if that was not done before; returns the object's path.
    fn object(&self, source: &str, prefix: &Prefix, folder: &Path, cache: &Path) -> Result<PathBuf> {
        let key = self.key(source, prefix, folder, cache)?;
        let object = cache.join(format!("{}-{key:016x}.o", stem(source)?));
        once(&object, |temporary| {
            let mut command = self.command(prefix);
            command.arg("-c").arg("-I").arg(folder);
            let mut path = folder.join(source);
            if generated::concerns(source) {
                let generated = generated::folder(cache)?;
                command.arg("-I").arg(&generated);
                if !path.exists() {
                    path = generated.join(source);
                }
            }
            command.arg("-o").arg(temporary).arg(path);
            command.args(self.flags.iter().filter(|flag| !is_for_linker(flag)));
            succeed(&mut command)
        })?;
        Ok(object)
    }

    fn command(&self, prefix: &Prefix) -> Command {
        let [c, cxx] = [self.compiler.c(), self.compiler.cxx()].map(|name| prefix.compiler(name));
        let (wrapper, standard): (OsString, _) = match self.language {
            Language::C => (prefix.wrapper(self.language).into(), "-std=gnu11"),
            Language::Cxx => (prefix.wrapper(self.language).into(), "-std=gnu++17"),
            Language::PlainC => (c.clone().into(), "-std=gnu11"),
        };
        let mut command = Command::new(wrapper);
        command
            .env("OSHMEM_CC", c)
            .env("OSHMEM_CXX", cxx)
            // Line numbers only: all debugging information is a fifth of the time.
            .args([standard, self.level(), "-g1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        command
    }

    /// How far the program is optimised, without a flag that says it.
    fn level(&self) -> &'static str {
        match self.sources[0].as_str() {
            _ if self.compiler == Compiler::Clang => "-O2",
            called if is_unoptimised(called) => "-O0",
            inlined if BARELY_OPTIMISED.iter().any(|path| inlined.starts_with(path)) => "-Og",
            _ => "-O2",
        }
    }

    /// Hash of all that an object depends on.
    fn key(&self, source: &str, prefix: &Prefix, folder: &Path, cache: &Path) -> Result<u64> {
        static HEADERS: OnceLock<u64> = OnceLock::new();
        let mut hash = DefaultHasher::new();
        HEADERS.get_or_init(|| hash_folder(&prefix.include())).hash(&mut hash);
        prefix.include().hash(&mut hash);
        let flags = self.flags.iter().filter(|flag| !is_for_linker(flag));
        flags.for_each(|flag| flag.hash(&mut hash));
        (self.language, self.compiler, self.level()).hash(&mut hash);
        let mut source_path = folder.join(source);
        if generated::concerns(source) {
            // Its name tells the texts.
            let generated = generated::folder(cache)?;
            generated.file_name().hash(&mut hash);
            if !source_path.exists() {
                source_path = generated.join(source);
            }
        }
        let common = ["check.h", "neighbours.h", "sevens.h"].map(|file| folder.join(file));
        for path in common.iter().chain([&source_path]) {
            fs::read(path).with_context(|| path.display().to_string())?.hash(&mut hash);
        }
        // Programs in folders of their own may be in several files.
        if let Some((sub, _)) = source.split_once('/') {
            hash_folder(&folder.join(sub)).hash(&mut hash);
        }
        Ok(hash.finish())
    }
}

/// Whether gcc does not optimise a program of this source, relative to `dev/conformance/c`, unless a flag says it.
pub fn is_unoptimised(source: &str) -> bool {
    UNOPTIMISED.contains(&source)
}

/// Whether a flag changes the program of a source that says `text`. Where -DBRIEF and -DFEW_TYPES change nothing, the
/// program is that of other tests, which is compiled already.
fn matters(flag: &str, text: &str) -> bool {
    match flag {
        "-DBRIEF" => ["BRIEF", "REPEAT("].iter().any(|word| text.contains(word)),
        "-DFEW_TYPES" => ["FEW_TYPES", "_TYPES("].iter().any(|word| text.contains(word)),
        _ => true,
    }
}

/// Whether a flag changes how objects are linked, but not how sources are compiled.
fn is_for_linker(flag: &str) -> bool {
    let names = ["-static", "-static-pie", "-no-pie", "-shared"];
    names.contains(&flag) || flag.starts_with("-Wl,") || flag.starts_with("-l") || !flag.starts_with('-')
}

fn stem(source: &str) -> Result<String> {
    let name = Path::new(source).file_stem();
    Ok(name.context("a source has a name")?.display().to_string())
}

/// The file `name` with this text, in a folder of `folder` that no other text has. So trials may write the same source
/// at the same time, and a later run does not find an older text.
pub fn source(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let file = folder.join(format!("{:016x}", hash.finish())).join(name);
    once(&file, |temporary| Ok(fs::write(temporary, text)?))?;
    Ok(file)
}

/// Has `make` write the file, if it is not there. Trials that need the same file at the same time, of this
/// test program and of others, make it once.
pub fn once(file: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let lock = lock_of(file);
    let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
    if file.exists() {
        return Ok(());
    }
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    // Held until the end of this function; the kernel releases it if this process dies.
    let others = File::create(name)?;
    others.lock()?;
    if file.exists() {
        return Ok(());
    }
    let temporary = file.with_extension(format!("{}.o", std::process::id()));
    make(&temporary)?;
    Ok(fs::rename(&temporary, file)?)
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn lock_of(program: &Path) -> Arc<Mutex<()>> {
    static LOCKS: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    locks.entry(program.to_owned()).or_default().clone()
}

fn hash_folder(folder: &Path) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
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

#[cfg(test)]
mod tests {
    use super::{BARELY_OPTIMISED, UNOPTIMISED, is_for_linker, matters, once};
    use crate::prefix::crate_folder;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// Another test program that makes the same file has the lock of another open file, not this process's
    /// mutex.
    #[test]
    fn files_that_others_make_are_waited_for() {
        let folder = std::env::temp_dir().join(format!("ferroshmem-once-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("program");
        let other = fs::File::create(folder.join("program.lock")).unwrap();
        other.lock().unwrap();
        let made = AtomicBool::new(false);
        thread::scope(|scope| {
            let ours = scope.spawn(|| {
                once(&file, |_| {
                    made.store(true, Ordering::Relaxed);
                    Ok(())
                })
            });
            // It finishes without waiting if it makes the file itself.
            let inode = format!(":{} ", other.metadata().unwrap().ino());
            let waits = |line: &str| line.contains("->") && line.contains(&inode);
            let blocked = || fs::read_to_string("/proc/locks").unwrap().lines().any(waits);
            while !ours.is_finished() && !blocked() {
                thread::yield_now();
            }
            fs::write(&file, "theirs").unwrap();
            other.unlock().unwrap();
            ours.join().unwrap().unwrap();
        });
        assert!(!made.load(Ordering::Relaxed), "the file was made twice");
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        once(&folder.join("second"), |path| Ok(fs::write(path, "ours")?)).unwrap();
        assert_eq!(fs::read(folder.join("second")).unwrap(), b"ours");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn linkings_share_objects() {
        for flag in ["-static", "-no-pie", "-Wl,-z,now", "-lm", "/a/libtool.so"] {
            assert!(is_for_linker(flag), "{flag}");
        }
        for flag in ["-flto", "-fno-pie", "-O3", "-DROLE=1", "-fPIC"] {
            assert!(!is_for_linker(flag), "{flag}");
        }
    }

    #[test]
    fn programs_that_flags_do_not_change_are_those_of_others() {
        for (text, both) in [("REPEAT(2, 1)", [true, false]), ("RMA_TYPES(TEST)", [false, true]), ("main", [false; 2])]
        {
            assert_eq!(["-DBRIEF", "-DFEW_TYPES"].map(|flag| matters(flag, text)), both, "{text}");
        }
        assert!(matters("-DMIXED", "main"));
    }

    /// Beside `check.h`, only sources themselves say what the flags change.
    #[test]
    fn headers_say_nothing_of_flags() {
        let folders = fs::read_dir(crate_folder().join("c")).unwrap().map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = folders.partition(|path| path.is_dir());
        let below = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
        let headers = files.into_iter().chain(below).filter(|path| path.extension().is_some_and(|e| e == "h"));
        for path in headers.filter(|path| !path.ends_with("check.h")) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(["-DBRIEF", "-DFEW_TYPES"].iter().all(|flag| !matters(flag, &text)), "{}", path.display());
        }
    }

    #[test]
    fn programs_that_are_optimised_less_exist() {
        let is_there = |path: &str| path.starts_with("generated/") || crate_folder().join("c").join(path).exists();
        assert!(UNOPTIMISED.iter().chain(BARELY_OPTIMISED).all(|path| is_there(path)));
    }
}
