//! How the programs of `nas/` and `pgas-microbench/stream/` refuse what they cannot do: with one line.

use anyhow::{Context, Result, ensure};

use crate::job::{Job, Outcome, shell_status};
use crate::suite::Setting;

/// Status 1, nothing but one line of `program` with these words on standard error; the line.
pub fn refusal<'a>(outcome: &'a Outcome, program: &str, words: &[&str]) -> Result<&'a str> {
    ensure!(!outcome.hung, "hangs\n{outcome}");
    ensure!(outcome.left == 0, "processes are left\n{outcome}");
    ensure!(shell_status(outcome.status) == 1, "status is not 1\n{outcome}");
    ensure!(outcome.stdout.is_empty(), "output\n{outcome}");
    let line = outcome.stderr.trim_end();
    ensure!(line.starts_with(&format!("{program}: ")) && line.lines().count() == 1, "not one line\n{outcome}");
    for word in words {
        ensure!(line.contains(word), "does not say \"{word}\"\n{outcome}");
    }
    Ok(line)
}

/// A job of `program` is refused where the symmetric heap is `small`; with the size that the
/// error message names, the job runs.
pub fn heap_refusal(s: &Setting, job: Job, program: &str, small: &str) -> Result<()> {
    let limited = job.clone().env("SHMEM_SYMMETRIC_SIZE", small);
    let outcome = limited.run(&s.prefix, &s.scratch)?;
    let line = refusal(&outcome, program, &["symmetric heap", "MiB"])?;
    let enough = line.split("SHMEM_SYMMETRIC_SIZE=").nth(1);
    let enough = enough.with_context(|| format!("no size to set\n{outcome}"))?;
    job.env("SHMEM_SYMMETRIC_SIZE", enough)
        .expect_success(&s.prefix, &s.scratch)
        .with_context(|| format!("with {enough}"))?;
    Ok(())
}
