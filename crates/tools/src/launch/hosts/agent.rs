//! The agent: what Hydra runs to reach a host. `oshrun` takes the place of `ssh`, runs it, and ends the
//! job when it fails: Hydra itself would wait for that host for ever.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_bootstrap::environment::{HYDRA_REACHES_HOSTS_BY, value};
use ferroshmem_platform::child::end_with_parent;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{AccessFlags, Pid, access, getppid};

use super::launch::{HostLaunch, HostSource};
use super::launcher::in_path;
use super::list::Host;
use crate::launch::failure::Failure;

/// Begins the word by which `oshrun` knows that it is to be the agent, and the command to run.
const MARK: &str = "--agent-command=";
/// `ssh`, with limits: 30 s for a host that does not answer, a minute for one that no longer does.
const SSH: [&str; 7] =
    ["ssh", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"];
/// How long Hydra may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// The command by which a host is reached, and its first arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    command: Vec<OsString>,
}

impl Agent {
    /// What Hydra is to reach the hosts of `launch` by; None if it needs or has a way of its own.
    pub(super) fn of(launch: &HostLaunch) -> Result<Option<Self>, Failure> {
        if !launch.agent.is_empty() {
            let command = launch.agent.iter().map(OsString::from).collect();
            return Ok(Some(Self { command }));
        }
        let HostSource::Hosts(hosts) = &launch.source else {
            return Ok(None);
        };
        let of_hydra = |word: &OsString| {
            let word = word.as_bytes();
            [&b"-launcher"[..], b"-bootstrap", b"-rmk"]
                .iter()
                .any(|option| word.starts_with(option) || word.starts_with(&[b"-", *option].concat()))
        };
        if hosts.iter().all(Host::is_this_host)
            || launch.extra.iter().any(of_hydra)
            || HYDRA_REACHES_HOSTS_BY.iter().any(|v| value(v).is_some())
        {
            return Ok(None);
        }
        if in_path(SSH[0]).is_none() {
            return Err(Failure::usage(
                "other hosts are reached by ssh, which is not in PATH: install it (Debian: openssh-client), or name \
                    another command by --launch-agent",
            ));
        }
        let command = SSH.map(OsString::from).to_vec();
        Ok(Some(Self { command }))
    }

    /// Fails if `command` of `--launch-agent` cannot be run.
    pub(super) fn check(command: &[String]) -> Result<(), Failure> {
        let Some(program) = command.first() else {
            return Ok(());
        };
        let path = Path::new(program);
        let why = if !program.contains('/') {
            in_path(program).is_none().then_some("no such program in PATH")
        } else if !path.exists() {
            Some("no such file")
        } else if !path.is_file() || access(path, AccessFlags::X_OK).is_err() {
            Some("it cannot be executed")
        } else {
            None
        };
        match why {
            Some(why) => Err(Failure::usage(format!(
                "--launch-agent \"{program}\": {why}; give a command that reaches a host as ssh does"
            ))),
            None => Ok(()),
        }
    }

    /// The command as one word without spaces, which Hydra passes on.
    pub(super) fn to_word(&self) -> OsString {
        let words: Vec<Vec<u8>> = self.command.iter().map(|w| encoded(w.as_bytes())).collect();
        OsString::from_vec([MARK.as_bytes(), &words.join(&b","[..])].concat())
    }

    fn from_word(word: &OsStr) -> Option<Self> {
        let text = word.as_bytes().strip_prefix(MARK.as_bytes())?;
        let words = text.split(|b| *b == b',').map(decoded);
        let command = words.collect::<Option<Vec<_>>>()?;
        Some(Self { command })
    }
}

/// Whether `oshrun` was started as the agent: the exit status of the command that reaches the host.
pub(in crate::launch) fn run(arguments: &[OsString]) -> Option<u8> {
    // Hydra gives `-x` or `-X` first, against or for the forwarding of X.
    let at = usize::from(["-x", "-X"].iter().any(|word| arguments.first().is_some_and(|first| first == word)));
    let agent = Agent::from_word(arguments.get(at)?)?;
    let (before, after) = (&arguments[..at], &arguments[at + 1..]);
    let launcher = getppid();
    let (program, options) = agent.command.split_first()?;
    let mut command = Command::new(program);
    command.args(options).args(before).args(after);
    end_with_parent(&mut command);
    let status = match command.status() {
        Ok(status) if status.success() => return Some(0),
        Ok(status) => ended(status),
        Err(e) => format!("cannot be run: {e}"),
    };
    // Hydra ends its agents when a job is over.
    if getppid() == launcher {
        let host = after.first().map_or_else(Default::default, |h| h.to_string_lossy());
        let program = program.to_string_lossy();
        Failure::system(format!(
            "{program} to host \"{host}\" {status}: it cannot be reached, or Hydra's proxy does not run there; ended \
                the job; try \"{program} {host} true\""
        ))
        .report();
        end(launcher);
    }
    Some(1)
}

fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with status {code}"),
        None => format!("was killed ({status})"),
    }
}

/// Ends Hydra's `mpiexec`, the parent of this process.
fn end(launcher: Pid) {
    let _ = kill(launcher, Signal::SIGTERM);
    let begin = Instant::now();
    while getppid() == launcher {
        if begin.elapsed() > GRACE {
            let _ = kill(launcher, Signal::SIGKILL);
            return;
        }
        sleep(Duration::from_millis(10));
    }
}

/// Letters, digits and a few more as they are, other bytes as `%` and two digits.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_./=:@".contains(&byte) {
            text.push(byte);
        } else {
            text.extend(format!("%{byte:02x}").as_bytes());
        }
    }
    text
}

/// What [`encoded`] was given.
fn decoded(text: &[u8]) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            rest = after;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    Some(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_survives_hydra_splitting_at_spaces() {
        let words = ["/a b/rsh", "-p", "x, y%20", "", "\u{e4}"];
        let agent = Agent { command: words.map(OsString::from).to_vec() };
        let word = agent.to_word();
        assert!(!word.as_bytes().contains(&b' '), "{word:?}");
        assert_eq!(Agent::from_word(&word), Some(agent));
        assert_eq!(Agent::from_word(OsStr::new("-n")), None);
    }

    #[test]
    fn no_other_command_line_is_the_agents() {
        for line in [&["-n", "2", "a"][..], &[], &["a", "--agent-command=true"], &["a", "-x", "--agent-command=x"]] {
            let words: Vec<OsString> = line.iter().map(OsString::from).collect();
            assert_eq!(run(&words), None);
        }
    }
}
