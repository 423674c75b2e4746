//! Builds the programs: for the library that is tested, with a spoiler, and for others.

use std::path::PathBuf;

use anyhow::Result;
use ferroshmem_conformance::make::{make, make_with};
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::suite::Setting;

/// Where they are made.
pub(crate) const FOLDER: &str = "pgas-microbench";

/// A program of the library that is tested.
pub(crate) fn program(s: &Setting, name: &str) -> Result<PathBuf> {
    let oshcc = s.prefix.bin("oshcc");
    Ok(make(FOLDER, &["all"], &oshcc, &s.cache)?.join(name))
}

/// Between program and library, it spoils an operation of each kind.
const SPOILER: &str = "dev/conformance/c/microbench/spoiler.c";

/// The same program, where wrong data come of some operations. It only has to notice them, not to be quick.
pub(crate) fn spoiled_program(s: &Setting, name: &str) -> Result<PathBuf> {
    let (oshcc, spoiler) = (s.prefix.bin("oshcc"), workspace().join(SPOILER));
    let goals = ["all", &format!("LDLIBS={} -lm", spoiler.display())];
    Ok(make_with(FOLDER, &goals, ("OSHCC", &oshcc), "-DSHMEM_NO_INLINE -O0", &s.cache)?.join(name))
}
