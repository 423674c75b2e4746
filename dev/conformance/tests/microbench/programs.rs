//! Builds the programs: for the library that is tested, with a spoiler, and for others.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use ferroshmem_conformance::make::{make, make_with};
use ferroshmem_conformance::suite::Setting;

/// Where they are made.
pub(crate) const FOLDER: &str = "pgas-microbench";

/// A program of the library that is tested.
pub(crate) fn program(s: &Setting, name: &str) -> Result<PathBuf> {
    let oshcc = s.prefix.bin("oshcc");
    Ok(make(FOLDER, &["all"], &oshcc, &s.cache)?.join(name))
}

/// A tool between program and library that spoils an operation of each kind.
const SPOILER: &str = r"
#include <pshmem.h>
#include <shmem.h>
void shmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    pshmem_putmem(dest, source, bytes - 1, pe);
}
long shmem_long_atomic_fetch_add(long *dest, long value, int pe)
{
    return pshmem_long_atomic_fetch_add(dest, value + 1, pe);
}
int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t count)
{
    return pshmem_double_sum_reduce(team, dest, source, count - 1);
}
";

/// The same program, where wrong data come of some operations.
pub(crate) fn spoiled_program(s: &Setting, name: &str) -> Result<PathBuf> {
    let (oshcc, spoiler) = (s.prefix.bin("oshcc"), s.cache.join("spoiler.c"));
    fs::create_dir_all(&s.cache)?;
    fs::write(&spoiler, SPOILER)?;
    let flags = format!("-DSHMEM_NO_INLINE {}", spoiler.display());
    Ok(make_with(FOLDER, &["all"], ("OSHCC", &oshcc), &flags, &s.cache)?.join(name))
}
