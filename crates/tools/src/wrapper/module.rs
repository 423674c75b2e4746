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
use crate::terminal::print_line;

/// The folder in the user's cache that has the module for this compiler; none for other languages.
///
/// A compiler that cannot compile the module compiles programs with `shmem.fh` nevertheless, so the reason is a note.
/// One that finds an error in the source will find it again: then the folder is empty, and the note comes once.
pub(super) fn folder(prefix: &Prefix, compiler: &Compiler, arguments: &Arguments) -> Option<PathBuf> {
    let source = prefix.include().join("shmem.f90");
    let has_compiler = compiler.files().next().is_some();
    if !arguments.dialect.is_fortran() || !has_compiler || !source.is_file() {
        return None;
    }
    let made = match config::cache_home() {
        Some(cache) => made_in(&cache.join("ferroshmem/fortran"), &source, compiler),
        None => Err("neither HOME nor XDG_CACHE_HOME names a folder for it".to_owned()),
    };
    let say = |why: &String| {
        print_line("oshfort: ", &format!("note: no module shmem: {why}; programs with shmem.fh need none"));
    };
    made.inspect_err(say).ok()
}

/// The folder for this compiler and source in `cache`.
fn made_in(cache: &Path, source: &Path, compiler: &Compiler) -> Result<PathBuf, String> {
    let failed = |why: io::Error| format!("{}: {why} (XDG_CACHE_HOME names another folder)", cache.display());
    let mut key = DefaultHasher::new();
    compiler.command(&[]).for_each(|word| word.hash(&mut key));
    for file in compiler.files().chain([source.to_owned()]) {
        let metadata = fs::metadata(&file).map_err(failed)?;
        (file, metadata.len(), metadata.modified().map_err(failed)?).hash(&mut key);
    }
    let folder = cache.join(format!("{:016x}", key.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    // Another wrapper may be doing the same.
    let own = folder.with_extension(process::id().to_string());
    fs::create_dir_all(&own).map_err(failed)?;
    let words: Vec<&OsStr> = compiler.command(&[]).collect();
    let mut compile = Command::new(words[0]);
    compile.args(&words[1..]).arg("-c").arg(source).args(["-o", "shmem.o"]).current_dir(&own);
    let output = compile.output().map_err(failed)?;
    if output.status.success() {
        if fs::rename(&own, &folder).is_err() {
            fs::remove_dir_all(&own).map_err(failed)?;
        }
        return Ok(folder);
    }
    fs::remove_dir_all(&own).map_err(failed)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if names_a_line(&errors, source) {
        fs::create_dir_all(&folder).map_err(failed)?;
    }
    let error = errors.lines().map(str::trim).find(|line| line.contains("rror")).unwrap_or_default();
    Err(format!("{} cannot compile {} ({}): {error}", words[0].display(), source.display(), output.status))
}

/// Whether the errors are in the source, as gfortran, flang and ifx write it; a full disk is not.
fn names_a_line(errors: &str, source: &Path) -> bool {
    let parts = source.to_str().into_iter().flat_map(|source| errors.split(source).skip(1));
    let mut after = parts.filter_map(|rest| rest.strip_prefix([':', '(']));
    after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
