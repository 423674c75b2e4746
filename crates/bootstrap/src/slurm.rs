//! Slurm, which starts processes by a step of its own beside the step of this job: none of its interfaces to processes
//! does. By PMIx it refuses, and its PMI-2 runs `srun` without `--overlap`, which waits for this step to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::environment::{self, SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES, value};
use crate::program::one_each;
use crate::{Bootstrap, Error, Program};

/// What the kernel lets one argument of a process have, with the zero that ends it.
const LONGEST_SCRIPT: usize = (128 << 10) - 1;

/// A client of a step's server, whose job grows by steps.
#[derive(Debug)]
pub(crate) struct Step {
    client: Box<dyn Bootstrap>,
    /// The interface by which the processes of a step know each other, as `srun --mpi` has it.
    interface: &'static str,
    /// The commands of the steps that this process has started.
    started: Mutex<Vec<Child>>,
}

impl Step {
    pub(crate) fn new(client: Box<dyn Bootstrap>, interface: &'static str) -> Self {
        Self { client, interface, started: Mutex::default() }
    }
}

impl Bootstrap for Step {
    fn launcher(&self) -> &str {
        self.client.launcher()
    }

    fn rank(&self) -> usize {
        self.client.rank()
    }

    fn size(&self) -> usize {
        self.client.size()
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.client.exchange(mine)
    }

    fn barrier(&self) -> Result<(), Error> {
        self.client.barrier()
    }

    fn abort(&self, status: i32, message: &str) {
        self.client.abort(status, message);
    }

    fn start(&self, programs: &[Program<'_>], parents: &str) -> Result<Option<OwnedFd>, Error> {
        let script = script(programs);
        if script.len() > LONGEST_SCRIPT {
            return Err(Error::NotStarted(format!(
                "arguments and variables take {} bytes of one argument, which has at most {LONGEST_SCRIPT}",
                script.len()
            )));
        }
        let n: usize = programs.iter().map(|program| program.processes).sum();
        let mut command = Command::new("srun");
        command
            .arg(format!("--mpi={}", self.interface))
            // Beside this step, which has the cores of the job.
            .args(["--overlap", "--overcommit", "--input=none", "--export=ALL"])
            .args(placement(programs, n)?)
            .args([OsStr::new("/bin/sh"), OsStr::new("-c"), &script])
            .stdin(Stdio::null());
        environment::leave_step(&mut command);
        command.env(environment::PARENTS.name, parents);
        let not_run = |e: io::Error| Error::NotStarted(format!("cannot run srun: {e}"));
        let child = command.spawn().map_err(not_run)?;
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let mut started = self.started.lock().unwrap_or_else(|e| e.into_inner());
        // Those that have ended would be kept by the kernel until they are waited for.
        started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        // Also where there is no descriptor: the step runs.
        started.push(child);
        Ok(ended.ok())
    }

    /// They are a step of their own.
    fn ends_with_started(&self) -> bool {
        false
    }

    fn parents(&self) -> Option<String> {
        environment::take_parents()
    }

    fn finalize(&self) {
        self.client.finalize();
        let started = std::mem::take(&mut *self.started.lock().unwrap_or_else(|e| e.into_inner()));
        for mut child in started {
            // Slurm kills what a step leaves, srun too, and with it the step that it has started. The program may
            // have waited for it itself.
            let _ = child.wait();
        }
    }
}

/// Where the processes of a step are: on the hosts that are given, or spread over those of this step.
fn placement(programs: &[Program<'_>], n: usize) -> Result<Vec<String>, Error> {
    let given = programs.iter().find_map(|program| program.hosts);
    let mut words = vec![format!("--ntasks={n}")];
    let Some(given) = given else {
        let nodes = value(&SLURM_STEP_NUM_NODES).and_then(|nodes| nodes.parse().ok());
        let nodes: usize = nodes.unwrap_or(1);
        words.push(format!("--nodes={}", nodes.min(n)));
        words.extend(value(&SLURM_STEP_NODELIST).filter(|_| nodes <= n).map(|list| format!("--nodelist={list}")));
        return Ok(words);
    };
    let mut hosts = Vec::with_capacity(n);
    for program in programs {
        let list = program.hosts.unwrap_or(given).to_string_lossy();
        hosts.extend(one_each(&list, program.processes));
    }
    words.push("--distribution=arbitrary".to_owned());
    words.push(format!("--nodelist={}", hosts.join(",")));
    Ok(words)
}

/// What each process of a step runs: the program that has its number.
fn script(programs: &[Program<'_>]) -> OsString {
    let mut text = Vec::new();
    let mut end = 0;
    for program in programs {
        end += program.processes;
        text.extend(format!("if [ \"$SLURM_PROCID\" -lt {end} ]; then cd ").bytes());
        quote(&mut text, program.directory.as_os_str());
        // A name with `=` is no variable behind the shell.
        text.extend(b" && exec /usr/bin/env --");
        for variable in program.variables {
            text.push(b' ');
            quote(&mut text, variable);
        }
        text.extend(b" /bin/sh -c 'exec \"$0\" \"$@\"' ");
        quote(&mut text, program.file.as_os_str());
        for argument in program.arguments {
            text.push(b' ');
            quote(&mut text, argument);
        }
        text.extend(b"; exit 127; fi\n");
    }
    OsString::from_vec(text)
}

/// Adds a word for the shell.
fn quote(text: &mut Vec<u8>, word: &OsStr) {
    text.push(b'\'');
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(byte),
        }
    }
    text.push(b'\'');
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_shell_runs_the_program_of_a_number() {
        let words = ["it's", "two\nlines", "", "$HOME `x` \\"].map(OsString::from);
        let variables = ["A=b = 'c'"].map(OsString::from);
        let arguments = [&[OsString::from("%s|")][..], &words].concat();
        let first = Program {
            file: Path::new("/usr/bin/printf"),
            arguments: &arguments,
            variables: &[],
            directory: Path::new("/"),
            processes: 2,
            hosts: None,
        };
        let second = Program {
            file: Path::new("/bin/sh"),
            arguments: &["-c", "printf '%s %s' \"$A\" \"$PWD\""].map(OsString::from),
            variables: &variables,
            directory: Path::new("/tmp"),
            processes: 1,
            ..first
        };
        let script = script(&[first, second]);
        let output_of = |number: &str| {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(&script).env("SLURM_PROCID", number);
            String::from_utf8(shell.output().unwrap().stdout).unwrap()
        };
        assert_eq!(output_of("0"), "it's|two\nlines||$HOME `x` \\|");
        assert_eq!(output_of("1"), output_of("0"));
        assert_eq!(output_of("2"), "b = 'c' /tmp");
    }

    #[test]
    fn hosts_that_are_given_are_one_for_each_process() {
        let program = |processes, hosts| Program {
            file: Path::new("p"),
            arguments: &[],
            variables: &[],
            directory: Path::new("/"),
            processes,
            hosts,
        };
        let programs = [program(1, None), program(3, Some(OsStr::new("a,b")))];
        let words = placement(&programs, 4).unwrap();
        let expected = ["--ntasks=4", "--distribution=arbitrary", "--nodelist=a,a,a,b"];
        assert_eq!(words, expected);
    }
}
