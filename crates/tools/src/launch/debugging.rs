//! `--debugger` and `--gdb`: debuggers beside the PEs, and gdb for a PE that is about to end badly.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use clap::{Args, ValueEnum};
use ferroshmem_config::{GDB, WAIT_FOR_DEBUGGER};
use ferroshmem_platform::number_list;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{Pid, getpgrp, getpid, setpgid, tcgetpgrp, tcsetpgrp};
use rustix::stdio::stdin;

use super::failure::Failure;
use super::values::number_set;

/// Options for debuggers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks and debugging")]
pub(super) struct DebuggingArgs {
    /// Runs COMMAND beside each PE, which waits for it in shmem_init; {pid}, {pe} and {program} stand for those of the
    /// PE
    #[arg(long, value_name = "COMMAND")]
    debugger: Option<String>,
    /// The PEs that --debugger is for, as 0,4-7
    #[arg(long, value_name = "PES", default_value = "all")]
    debug_pes: String,
    /// A PE that is about to end badly first shows its threads by gdb, or (--gdb=interactive) gives it the terminal
    #[arg(
        long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "backtrace"
    )]
    gdb: Option<GdbMode>,
}

/// What gdb does on a PE that is about to end badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GdbMode {
    /// Prints where each thread is.
    Backtrace,
    /// Talks to the user.
    Interactive,
}

/// Debuggers to start beside PEs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Debugger {
    command: String,
    /// The PEs, ascending.
    pes: Vec<usize>,
}

/// Debuggers to start, and variables for the PEs.
type Asked = (Option<Debugger>, Vec<(&'static str, String)>);

impl DebuggingArgs {
    /// Which debuggers to start, of a job of so many PEs, on other hosts if `on_hosts`; and the variables that the PEs
    /// need.
    pub(super) fn read(self, n_pes: usize, on_hosts: bool) -> Result<Asked, Failure> {
        let mut variables = Vec::new();
        if let Some(mode) = self.gdb {
            let value = match mode {
                GdbMode::Backtrace => "1",
                GdbMode::Interactive => "interactive",
            };
            variables.push((GDB.name, value.to_owned()));
        }
        let Some(command) = self.debugger else {
            return Ok((None, variables));
        };
        if on_hosts {
            return Err(Failure::usage(
                "--debugger starts debuggers on this host: on others, give -x SHMEM_WAIT_FOR_DEBUGGER=PE, and attach \
                    there to the process that the PE names",
            ));
        }
        let pes = match self.debug_pes.as_str() {
            "all" => (0..n_pes).collect(),
            list => Vec::from_iter(number_set(list).unwrap_or_default()),
        };
        if pes.is_empty() || pes.iter().any(|pe| *pe >= n_pes) {
            return Err(Failure::usage(format!(
                "--debug-pes {}: give numbers of PEs, 0 to {}, as 0,2-3, or all",
                self.debug_pes,
                n_pes - 1
            )));
        }
        variables.push((WAIT_FOR_DEBUGGER.name, number_list::list(&pes)));
        Ok((Some(Debugger { command, pes }), variables))
    }
}

/// The debuggers that run.
#[derive(Debug, Default)]
pub(super) struct Debuggers {
    running: HashMap<Pid, usize>,
    /// One has the terminal.
    has_terminal: bool,
}

impl Debuggers {
    /// Starts the debugger of PE `pe`, which runs `program` as process `pid`, if it is to have one.
    pub(super) fn start(&mut self, debugger: &Debugger, (pe, pid): (usize, Pid), program: &str) -> io::Result<()> {
        if debugger.pes.binary_search(&pe).is_err() {
            return Ok(());
        }
        let line = debugger.command.replace("{pid}", &pid.to_string());
        let line = line.replace("{pe}", &pe.to_string());
        let line = line.replace("{program}", &quoted(program));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &line]);
        // Of several, each needs a terminal or files of its own.
        let alone = debugger.pes.len() == 1;
        let takes_terminal = alone && is_foreground();
        if !alone {
            command.stdin(Stdio::null());
        }
        if takes_terminal {
            // SAFETY: between fork and exec, the closure only makes system calls.
            unsafe { command.pre_exec(take_terminal) };
        }
        let child = command.spawn()?;
        self.has_terminal |= takes_terminal;
        self.running.insert(Pid::from_raw(child.id() as i32), pe);
        Ok(())
    }

    /// Whether one runs.
    pub(super) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// The process `pid` has ended: the PE whose debugger it was.
    pub(super) fn ended(&mut self, pid: Pid) -> Option<usize> {
        let pe = self.running.remove(&pid)?;
        if self.running.is_empty() && std::mem::take(&mut self.has_terminal) {
            // What the terminal has to say to background processes is no matter here.
            let _ = put_in_foreground(getpgrp());
        }
        Some(pe)
    }
}

/// The line for a debugger that has ended before its PE could go on.
pub(super) fn not_attached(pe: usize, status: ExitStatus) -> String {
    format!("the debugger of PE {pe} ended ({status}) before it was attached; ended the job (--debugger)")
}

fn is_foreground() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// Keys are to act on this process alone.
fn take_terminal() -> io::Result<()> {
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    put_in_foreground(getpid())
}

/// Gives the terminal to a process group. It would stop this process for that in the background.
fn put_in_foreground(group: Pid) -> io::Result<()> {
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTOU);
    let before = stops.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let done = tcsetpgrp(stdin(), group);
    before.thread_set_mask()?;
    Ok(done?)
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pes: &str, on_hosts: bool) -> Result<Vec<usize>, String> {
        let args = DebuggingArgs { debugger: Some("gdb -p {pid}".to_owned()), debug_pes: pes.to_owned(), gdb: None };
        let read = args.read(4, on_hosts);
        read.map(|(d, _)| d.unwrap().pes).map_err(|f| f.to_string())
    }

    #[test]
    fn pes_are_chosen() {
        assert_eq!(read("all", false), Ok(vec![0, 1, 2, 3]));
        assert_eq!(read("1-2", false), Ok(vec![1, 2]));
        assert_eq!(read("3,0-1,1", false), Ok(vec![0, 1, 3]));
        for bad in ["4", "x", "", "0,x"] {
            assert!(read(bad, false).unwrap_err().contains("0 to 3"), "{bad}");
        }
        let hosts = read("all", true).unwrap_err();
        assert!(hosts.contains("SHMEM_WAIT_FOR_DEBUGGER"), "{hosts}");
    }

    #[test]
    fn pes_learn_what_they_do() {
        let args = DebuggingArgs {
            debugger: Some("true".to_owned()),
            debug_pes: "0,2".to_owned(),
            gdb: Some(GdbMode::Interactive),
        };
        let (_, variables) = args.read(3, false).unwrap();
        let expected = [("SHMEM_GDB", "interactive".to_owned()), ("SHMEM_WAIT_FOR_DEBUGGER", "0,2".to_owned())];
        assert_eq!(variables, expected);
    }
}
