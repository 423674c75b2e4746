//! Programs that a guide shows.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::compile::{self, Build, Compiler};
use crate::job::Job;
use crate::prefix::crate_folder;
use crate::suite::Setting;

/// The text of a page of `docs/`.
pub fn page(name: &str) -> Result<String> {
    let path = crate_folder().join("../../docs").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// That the `number`th program in C of a page prints, as so many PEs, lines that the page has.
///
/// # Errors
/// If it does not.
pub fn prints(s: &Setting, name: &str, number: usize, pes: usize) -> Result<()> {
    let page = page(name)?;
    let (before, _) = page.match_indices("```c\n").nth(number - 1).context("no program")?;
    let compiled = compile(s, &page[before..], &format!("{}-{number}", name.trim_end_matches(".md")))?;
    let outcome = Job::new(pes, &compiled).expect_success(&s.prefix, &s.scratch)?;
    let printed = outcome.stdout.trim();
    let is_shown = |line: &str| page.contains(&format!("`{line}`"));
    ensure!(!printed.is_empty() && printed.lines().all(is_shown), "{outcome}");
    Ok(())
}

/// Compiles the first program in C of a text, as `name`.c, by the wrapper of the installation.
pub fn compile(s: &Setting, text: &str, name: &str) -> Result<PathBuf> {
    let (_, program) = text.split_once("```c\n").context("no program")?;
    let (program, _) = program.split_once("```").context("no end")?;
    let source = compile::source(&s.scratch, &format!("{name}.c"), program)?;
    let source = source.to_str().context("a path in UTF-8")?;
    Build::new(source, Compiler::Gcc).run(&s.prefix, &s.cache)
}
