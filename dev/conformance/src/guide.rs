//! Programs that a guide shows.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::prefix::crate_folder;
use crate::suite::Setting;

/// The text of a page of `docs/`.
pub fn page(name: &str) -> Result<String> {
    let path = crate_folder().join("../../docs").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// Compiles the first program in C of a text, as `name`.c, by the wrapper of the installation.
pub fn compile(s: &Setting, text: &str, name: &str) -> Result<PathBuf> {
    let (_, program) = text.split_once("```c\n").context("no program")?;
    let (program, _) = program.split_once("```").context("no end")?;
    fs::create_dir_all(&s.scratch)?;
    let source = s.scratch.join(name).with_extension("c");
    fs::write(&source, program)?;
    let compiled = source.with_extension("");
    let mut compiler = Command::new(s.prefix.bin("oshcc"));
    compiler.args(["-O2", "-Wall", "-Werror", "-o"]);
    let status = compiler.arg(&compiled).arg(&source).status()?;
    ensure!(status.success(), "the program is not compiled");
    Ok(compiled)
}
