//! Programs that a guide shows.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::compile::{self, Build, Compiler};
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
    let source = compile::source(&s.scratch, &format!("{name}.c"), program)?;
    let source = source.to_str().context("a path in UTF-8")?;
    Build::new(source, Compiler::Gcc).run(&s.prefix, &s.cache)
}
