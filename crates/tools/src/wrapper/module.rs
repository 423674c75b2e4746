//! The module `shmem`: its compiled form belongs to one compiler, so the wrapper makes it at the first use of each.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use ferroshmem_config as config;

use super::arguments::Arguments;
use super::compiler::Compiler;
use super::prefix::Prefix;

/// The folder in the user's cache that has the module for this compiler; none for other languages.
///
/// A compiler that cannot compile the module compiles programs with `shmem.fh` nevertheless. So the reason is a note,
/// which comes once: then there is an empty folder.
pub(super) fn folder(prefix: &Prefix, compiler: &Compiler, arguments: &Arguments) -> Option<PathBuf> {
    let source = prefix.include().join("shmem.f90");
    let has_compiler = compiler.files().next().is_some();
    if !arguments.dialect.is_fortran() || !has_compiler || !source.is_file() {
        return None;
    }
    let made = match config::cache_home() {
        Some(cache) => made_in(&cache.join("ferroshmem/fortran"), &source, compiler),
        None => Err(io::Error::other("HOME is not set")),
    };
    made.inspect_err(|why| {
        let source = source.display();
        eprintln!(
            "oshfort: note: no module shmem: {why}; give the program a folder by XDG_CACHE_HOME, or compile {source}"
        );
    })
    .ok()
}

/// The folder for this compiler and source in `cache`.
fn made_in(cache: &Path, source: &Path, compiler: &Compiler) -> io::Result<PathBuf> {
    let mut key = DefaultHasher::new();
    compiler.command(&[]).for_each(|word| word.hash(&mut key));
    for file in compiler.files().chain([source.to_owned()]) {
        let metadata = fs::metadata(&file)?;
        (file, metadata.len(), metadata.modified()?).hash(&mut key);
    }
    let folder = cache.join(format!("{:016x}", key.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    // Another wrapper may be doing the same.
    let own = folder.with_extension(process::id().to_string());
    fs::create_dir_all(&own)?;
    let words: Vec<&OsStr> = compiler.command(&[]).collect();
    let mut compile = Command::new(words[0]);
    compile.args(&words[1..]).arg("-c").arg(source).args(["-o", "shmem.o"]).current_dir(&own);
    let output = compile.output()?;
    if !output.status.success() {
        let (compiler, source) = (words[0].display(), source.display());
        eprintln!("oshfort: note: no module shmem: {compiler} cannot compile {source}; shmem.fh needs no module");
    }
    if fs::rename(&own, &folder).is_err() {
        fs::remove_dir_all(&own)?;
    }
    Ok(folder)
}
