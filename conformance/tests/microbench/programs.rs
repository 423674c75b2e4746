//! Builds the programs: for the library that is tested, with a spoiler, and for others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;

const CFLAGS: &str = "-O3 -std=gnu11 -Wall -Wextra -Werror";

/// A goal of the `Makefile`, and which of its variables names the compiler wrapper.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    OpenShmem,
    Mpi,
}

/// Builds a goal once in a run of the tests; returns the programs' folder, which has the name.
pub fn make(
    s: &Setting,
    name: &str,
    goal: Goal,
    wrapper: &Path,
    flags: Option<&str>,
) -> Result<PathBuf> {
    static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let folder = s.cache.join("microbench").join(name);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.contains(&folder) {
        return Ok(folder);
    }
    let (goal, variable) = match goal {
        Goal::OpenShmem => ("all", "OSHCC"),
        Goal::Mpi => ("mpi", "MPICC"),
    };
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(crate_folder().with_file_name("pgas-microbench"));
    // Whatever is there may have been made with other headers.
    make.args(["-B", goal]);
    make.arg(format!("{variable}={}", wrapper.display()));
    make.arg(format!("BUILD={}", folder.display()));
    make.arg(format!("CFLAGS={CFLAGS} {}", flags.unwrap_or_default()));
    let output = make.output().context("cannot run make")?;
    if !output.status.success() {
        bail!("{make:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    made.push(folder.clone());
    Ok(folder)
}

/// A program of the library that is tested.
pub fn program(s: &Setting, name: &str) -> Result<PathBuf> {
    let oshcc = s.prefix.bin("oshcc");
    Ok(make(s, "ferroshmem", Goal::OpenShmem, &oshcc, None)?.join(name))
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
pub fn spoiled_program(s: &Setting, name: &str) -> Result<PathBuf> {
    let (oshcc, spoiler) = (s.prefix.bin("oshcc"), s.cache.join("spoiler.c"));
    fs::create_dir_all(&s.cache)?;
    fs::write(&spoiler, SPOILER)?;
    let flags = format!("-DSHMEM_NO_INLINE {}", spoiler.display());
    Ok(make(s, "spoiled", Goal::OpenShmem, &oshcc, Some(&flags))?.join(name))
}
