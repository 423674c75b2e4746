//! Running commands so that the user sees which.

use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Prints a command and runs it.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("+ {}", line(command));
    let program = command.get_program().to_owned();
    command.status().with_context(|| format!("cannot run {}", program.display()))
}

/// Prints a command and runs it.
///
/// # Errors
/// If it cannot be started or does not end well.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("failed ({status}): {}", line(command));
    }
    Ok(())
}

/// What a command prints.
///
/// # Errors
/// If it cannot be started or does not end well.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", line(command)))?;
    if !output.status.success() {
        bail!("{}: {}", line(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command can be started and ends well; it prints nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A path as the user would write it: relative where it is below the current directory.
pub(crate) fn shown(path: &Path) -> &Path {
    let here = env::current_dir().unwrap_or_default();
    match path.strip_prefix(here) {
        Ok(below) if !below.as_os_str().is_empty() => below,
        _ => path,
    }
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.display(), word(value?))));
    let program = command.get_program();
    let program = if env::var_os("CARGO").as_deref() == Some(program) { "cargo".to_owned() } else { word(program) };
    let arguments = command.get_args().map(word);
    set.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn word(word: &OsStr) -> String {
    let text = shown(Path::new(word)).to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_pasted() {
        let mut command = Command::new("cc");
        command.args(["-c", "a file.c"]).env("MODE", "x y").env_remove("HOME");
        assert_eq!(line(&command), "MODE='x y' cc -c 'a file.c'");
    }
}
