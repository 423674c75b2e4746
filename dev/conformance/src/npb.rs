//! The report of a NAS benchmark.

use anyhow::{Context, Result, ensure};

use crate::job::{Outcome, shell_status};

/// The value of a line of the report.
pub fn fact<'a>(outcome: &'a Outcome, label: &str) -> Result<&'a str> {
    let mut lines = outcome.stdout.lines().filter_map(|l| l.split_once(" = "));
    let line = lines.find(|(name, _)| name.trim() == label);
    let (_, value) = line.with_context(|| format!("no line \"{label}\"\n{outcome}"))?;
    Ok(value.trim())
}

/// The value of a line, as a number.
pub fn number(outcome: &Outcome, label: &str) -> Result<f64> {
    Ok(fact(outcome, label)?.parse()?)
}

/// The report is there, and has these values.
pub fn reports(outcome: &Outcome, name: &str, expected: &[(&str, &str)]) -> Result<()> {
    ensure!(outcome.stdout.contains(&format!("{name} Benchmark Completed.")), "{outcome}");
    for (label, expected) in expected {
        let value = fact(outcome, label)?;
        ensure!(value == *expected, "{label} is {value}, not {expected}\n{outcome}");
    }
    Ok(())
}

/// Rate and time are those of so many millions of operations.
pub fn rate_fits(outcome: &Outcome, millions: f64) -> Result<()> {
    let (total, seconds) = (number(outcome, "Mop/s total")?, number(outcome, "Time in seconds")?);
    // Times have four digits after the point, rates two.
    ensure!(
        (total * seconds - millions).abs() <= total * 0.0001 + seconds * 0.01,
        "rate and time do not fit\n{outcome}"
    );
    Ok(())
}

/// The program has noticed that its result is wrong.
pub fn notices(outcome: &Outcome) -> Result<()> {
    ensure!(!outcome.hung, "hangs\n{outcome}");
    ensure!(shell_status(outcome.status) == 1, "status is not 1\n{outcome}");
    let verification = fact(outcome, "Verification")?;
    ensure!(verification == "UNSUCCESSFUL", "{outcome}");
    Ok(())
}
