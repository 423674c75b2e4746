//! `oshrun` on several hosts: which launcher it becomes, with what command line and environment.
//! The launchers are scripts that print how they were called.

mod support;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use support::{Job, executable, oshrun, run};
use tempfile::TempDir;

/// Prints how it was called, by words in brackets; answers the queries to `srun` and `mpirun`.
const FAKE: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "mpirun (Open MPI) $OPENMPI_VERSION"; exit 0 ;;
  --mpi=list) printf 'MPI plugin types are...\n\tnone\n%b' "$SRUN_OFFERS" >&2; exit 0 ;;
esac
printf '%s' "${0##*/}"
for word in "$@"; do printf ' [%s]' "$word"; done
printf '\nGREETING=%s AGENT=%s JOB=%s\n' "$GREETING" "$HYDRA_LAUNCHER_EXTRA_ARGS" "$FERROSHMEM_JOB"
exit 42
"#;

/// A `PATH` with these launchers only, and the few programs that the script needs.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn with(launchers: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for launcher in launchers.iter().chain(&["ssh", "rsh"]) {
            executable(&dir.path().join(launcher), FAKE);
        }
        Self { dir }
    }

    fn oshrun(&self, line: &str) -> Command {
        let mut command = oshrun(&line.split_whitespace().collect::<Vec<_>>());
        let slurm = env::vars_os().map(|(name, _)| name);
        for name in slurm.filter(|n| n.to_string_lossy().starts_with("SLURM_")) {
            command.env_remove(name);
        }
        for name in ["SHMEM_DEBUG", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command.env("PATH", self.dir.path()).env("OPENMPI_VERSION", "4.1.4").env("SRUN_OFFERS", "\tpmix\n\tpmi2\n");
        command
    }

    /// Inside an allocation of two nodes with four cores each.
    fn oshrun_in_slurm(&self, line: &str) -> Command {
        let mut command = self.oshrun(line);
        command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NUM_NODES", "2").env("SLURM_JOB_CPUS_PER_NODE", "4(x2)");
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// The first line that a fake launcher printed, which ended the job with its own status.
fn called(command: &mut Command) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(42), "{}", ended.stderr);
    assert_eq!(ended.stderr, "");
    let line = ended.stdout.lines().next().unwrap();
    line.replace(env!("CARGO_BIN_EXE_oshrun"), "OSHRUN")
}

/// The one line by which it refuses.
fn refused(command: &mut Command) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    ended.stderr
}

#[test]
fn hydra_comes_first() {
    let all = Machine::with(&["mpiexec.hydra", "prterun", "mpirun", "srun"]);
    assert_eq!(
        called(&mut all.oshrun("--hosts a:4,b:2 ./a 1 --label")),
        "mpiexec.hydra [-launcher] [ssh] [-launcher-exec] [OSHRUN] [-hosts] [a:4,b:2] [-n] [6] [./a] [1] [--label]"
    );
    let options = "-n 3 --hosts a:4 --label --bind-to core --launcher-option -v --wdir /tmp -x V=x,=y";
    assert_eq!(
        called(&mut all.oshrun(&format!("{options} a"))),
        "mpiexec.hydra [-launcher] [ssh] [-launcher-exec] [OSHRUN] [-hosts] [a:4] [-bind-to] [core] [-prepend-rank] \
            [-v] [-n] [3] [-env] [V] [x,=y] [-wdir] [/tmp] [a]"
    );
    assert_eq!(
        called(&mut all.oshrun("-n 1 --hosts a:4 ./a 1 : -n 2 -x V=2 ./b")),
        "mpiexec.hydra [-launcher] [ssh] [-launcher-exec] [OSHRUN] [-hosts] [a:4] [-n] [1] [./a] [1] [:] [-n] [2] \
            [-env] [V] [2] [./b]"
    );
    let out = all.path("out");
    let line = format!("--hosts a:2 --output {} a", out.display());
    let files = called(&mut all.oshrun(&line));
    assert!(files.contains(&format!("[{}/pe.%r.err]", out.display())), "{files}");
    assert!(out.is_dir());
}

#[test]
fn agents_and_what_is_inherited() {
    let hydra = Machine::with(&["mpiexec.hydra"]);
    let mut command = hydra.oshrun("--hosts a:1");
    command.args(["--launch-agent", "rsh -p 'x y'", "a"]);
    command.env("GREETING", "hello").env("FERROSHMEM_JOB", "5:0");
    let ended = run(&mut command);
    assert_eq!(
        ended.stdout,
        format!(
            "mpiexec.hydra [-launcher] [ssh] [-launcher-exec] [{}] [-hosts] [a:1] [-n] [1] [a]\n\
             GREETING=hello AGENT=--agent-command=rsh,-p,x%20y JOB=\n",
            env!("CARGO_BIN_EXE_oshrun")
        )
    );
}

#[test]
fn open_mpi_is_told_what_to_hand_on() {
    let machine = Machine::with(&["mpirun"]);
    let mut command = machine.oshrun("--hosts a:2,b:2 -x SHMEM_CHECK=1 -x OTHER --label --launch-agent rsh a");
    command.env("SHMEM_CHECK", "0").env("SMA_VERSION", "").env("OTHER", "1");
    assert_eq!(
        called(&mut command),
        "mpirun [--mca] [plm_rsh_agent] [rsh] [--host] [a:2,b:2] [--map-by] [slot] [--bind-to] [none] [--tag-output] \
            [-n] [4] [-x] [SMA_VERSION] [-x] [SHMEM_CHECK=1] [-x] [OTHER=1] [a]"
    );
    let mut command = machine.oshrun("--hosts a:2 --label --bind-to core --launch-agent rsh a");
    command.env("OPENMPI_VERSION", "5.0.8");
    let of_prte = "[--prtemca] [plm_ssh_agent] [rsh] [--host] [a:2] [--map-by] [slot] [--bind-to] \
        [core:overload-allowed] [--output] [tag] [-n] [2] [a]";
    assert_eq!(called(&mut command), format!("mpirun {of_prte}"));
    let both = Machine::with(&["mpirun", "prterun"]);
    let line = "--hosts a:2 --label --bind-to core --launch-agent rsh a";
    assert_eq!(called(&mut both.oshrun(line)), format!("prterun {of_prte}"));
    let forced = called(&mut both.oshrun("--hosts a:2 --launcher openmpi a"));
    assert!(forced.starts_with("mpirun [--host]"), "{forced}");
    let reports = called(&mut machine.oshrun("--hosts a:2 --bind-to numa --report-bindings a"));
    assert!(reports.contains("[--bind-to] [numa:overload-allowed] [--report-bindings]"), "{reports}");
    let line = refused(&mut machine.oshrun("--hosts a:2 --map-by spread a"));
    assert!(line.contains("--map-by cannot be had"), "{line}");
    let line = refused(&mut machine.oshrun("--hosts a:2 --output d a"));
    assert!(line.contains("--output cannot be had from Open MPI"), "{line}");
}

#[test]
fn slurm_inside_an_allocation() {
    let machine = Machine::with(&["mpiexec.hydra", "srun"]);
    let common = "[--kill-on-bad-exit=1] [--input=0]";
    assert_eq!(called(&mut machine.oshrun_in_slurm("a 1")), format!("srun [--mpi=pmix] [--ntasks=8] {common} [a] [1]"));
    let mut command = machine.oshrun_in_slurm("-n 3 -x GREETING=a,b --wdir /tmp a");
    let ended = run(command.env("SRUN_OFFERS", "\\tpmi2\\n"));
    let line = format!("srun [--mpi=pmi2] [--ntasks=3] {common} [--chdir] [/tmp] [a]");
    assert_eq!(ended.stdout, format!("{line}\nGREETING=a,b AGENT= JOB=\n"));
    let mut command = machine.oshrun_in_slurm("a");
    let neither = refused(command.env("SRUN_OFFERS", ""));
    assert!(neither.contains("neither PMIx nor PMI-2"), "{neither}");
    let reports = called(&mut machine.oshrun_in_slurm("--report-bindings --bind-to socket a"));
    assert!(reports.contains("[--cpu-bind=verbose,sockets]"), "{reports}");
    let out = machine.path("out");
    let line = format!("-n 11 --bind-to core --output {} a", out.display());
    let files = called(&mut machine.oshrun_in_slurm(&line));
    let expected = format!("[--output={}/pe.%2t.out]", out.display());
    assert!(files.contains("[--cpu-bind=cores]") && files.contains(&expected), "{files}");
    // Hosts of one's own, or a launcher of one's own.
    let named = called(&mut machine.oshrun_in_slurm("--hosts a:2 a"));
    assert_eq!(named, "mpiexec.hydra [-hosts] [a:2] [-n] [2] [a]");
    let hydra = called(&mut machine.oshrun_in_slurm("--launcher hydra a"));
    assert_eq!(hydra, "mpiexec.hydra [-n] [8] [a]");
    let several = refused(&mut machine.oshrun_in_slurm("-n 1 a : -n 1 b"));
    assert!(several.contains("Slurm's srun"), "{several}");
    let outside = refused(&mut machine.oshrun("--hosts a:2 --launcher slurm a"));
    assert!(outside.contains("salloc"), "{outside}");
}

/// A launcher that goes on when a PE ends is told so; others are refused.
#[test]
fn resilient_jobs_need_a_launcher_that_goes_on() {
    let slurm = Machine::with(&["srun"]);
    let line = called(&mut slurm.oshrun_in_slurm("--resilient a"));
    assert_eq!(line, "srun [--mpi=pmi2] [--ntasks=8] [--kill-on-bad-exit=0] [--no-kill] [--input=0] [a]");
    let neither = refused(slurm.oshrun_in_slurm("--resilient a").env("SRUN_OFFERS", "\tpmix\n"));
    assert!(neither.contains("srun does not offer PMI-2"), "{neither}");
    let open_mpi = called(&mut Machine::with(&["mpirun"]).oshrun("--hosts a:2 --resilient a"));
    assert!(open_mpi.starts_with("mpirun [--enable-recovery] [--host] [a:2]"), "{open_mpi}");
    let others = Machine::with(&["mpiexec.hydra", "prterun"]);
    let prte = called(&mut others.oshrun("--hosts a:2 --launcher prte --resilient a"));
    assert!(prte.starts_with("prterun [--rtos] [recoverable] [--host] [a:2]"), "{prte}");
    let hydra = refused(&mut others.oshrun("--hosts a:2 --resilient a"));
    assert!(hydra.contains("--resilient cannot be had"), "{hydra}");
}

/// Each launcher has options of its own for cores, PEs per host and standard input.
#[test]
fn cores_places_and_input_in_each_launchers_words() {
    let line = "--hosts a:4,b --ppn 2 --cores 3";
    let hydra = Machine::with(&["mpiexec.hydra"]);
    assert_eq!(
        called(&mut hydra.oshrun(&format!("{line} a"))),
        "mpiexec.hydra [-launcher] [ssh] [-launcher-exec] [OSHRUN] [-hosts] [a:2,b:2] [-bind-to] [core:3] [-n] [4] [a]"
    );
    let refusal = refused(&mut hydra.oshrun(&format!("{line} --stdin 1 a")));
    assert!(refusal.contains("--stdin cannot be had"), "{refusal}");
    let open_mpi = Machine::with(&["mpirun"]);
    assert_eq!(
        called(&mut open_mpi.oshrun(&format!("{line} --stdin none a"))),
        "mpirun [--host] [a:2,b:2] [--map-by] [slot:PE=3] [--bind-to] [core] [--stdin] [none] [-n] [4] [a]"
    );
    let slurm = Machine::with(&["srun", "mpiexec.hydra"]);
    let options = "-N 2 -c 3 -i 1 a";
    assert_eq!(
        called(&mut slurm.oshrun_in_slurm(options)),
        "srun [--mpi=pmix] [--ntasks=4] [--kill-on-bad-exit=1] [--input=1] [--cpus-per-task=3] [--ntasks-per-node=2] \
            [--cpu-bind=cores] [a]"
    );
    let line = called(&mut slurm.oshrun_in_slurm("-n 2 -o job.%t a"));
    assert!(line.contains(" [--output=job.%t] [a]") && !line.contains("--error"), "{line}");
    let options = "--launcher hydra --ppn 2 a";
    assert_eq!(called(&mut slurm.oshrun_in_slurm(options)), "mpiexec.hydra [-ppn] [2] [-n] [4] [a]");
}

/// Without other hosts, nothing is handed over.
#[test]
fn this_host_alone_is_oshruns_own() {
    let machine = Machine::with(&["mpiexec.hydra", "srun"]);
    for line in ["--hosts localhost:2", "-n 2 --hosts localhost:3"] {
        let mut command = machine.oshrun(&format!("{line} /bin/sh -c"));
        let ended = run(command.arg("echo pe of ${FERROSHMEM_JOB#*:}"));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let mut lines: Vec<&str> = ended.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["pe of 0", "pe of 1"]);
    }
    let mut one_node = machine.oshrun_in_slurm("-n 1 /bin/true");
    assert_eq!(run(one_node.env("SLURM_JOB_NUM_NODES", "1")).code, Some(0));
    let mut in_a_task = machine.oshrun_in_slurm("-n 1 /bin/true");
    assert_eq!(run(in_a_task.env("SLURM_STEP_ID", "0")).code, Some(0));
    let line = refused(&mut machine.oshrun("-n 3 --hosts localhost:2 /bin/true"));
    assert!(line.contains("have slots for 2;"), "{line}");
}

#[test]
fn what_cannot_be_is_one_line() {
    let none = Machine::with(&[]);
    let line = refused(&mut none.oshrun("--hosts a:2 a"));
    assert!(line.contains("mpiexec.hydra") && line.contains("openmpi-bin"), "{line}");
    let machine = Machine::with(&["mpiexec.hydra"]);
    let file = machine.path("hosts");
    fs::write(&file, "a slots=2\nb slots=two\n").unwrap();
    let file = file.display();
    for (options, word) in [
        ("--hosts a:0", "slots from 1"),
        ("--hosts a:1,,b:1", "without a name"),
        ("--hosts=-v:1", "an option"),
        ("--hosts a:4096,a", "slots"),
        ("--hosts a:1 --hostfile x", "--hostfile"),
        ("-n 9 --hosts a:4,b:4", "have slots for 8;"),
        ("--hostfile no-such-file", "No such file"),
        (&format!("--hostfile {file}"), "line 2"),
        ("--launcher hydra", "--hosts"),
        ("--hosts a:1 --launcher openmpi", "openmpi-bin"),
        ("--hosts a:1 --launcher mpd", "hydra"),
        ("--hosts a:1 --launch-agent no-such-agent", "no such program in PATH"),
        ("--hosts a:1 --launch-agent /no/such/agent", "no such file"),
        ("--hosts a:1 --launch-agent /etc/passwd", "cannot be executed"),
        ("--hostfile /dev/zero", "give a file or a pipe"),
        ("--hosts a:1 --timeout 3", "coreutils"),
        ("--hosts a:1 -o job.%t", "--output DIR"),
        ("--hosts a:1 --", "by other launchers"),
    ] {
        let program = if options.ends_with("--") { "-a" } else { "a" };
        let line = refused(&mut machine.oshrun(&format!("{options} {program}")));
        assert!(line.contains(word), "{options}: {line}");
    }
}

#[test]
fn a_launcher_that_is_not_there_ends_as_in_a_shell() {
    let ended = run(&mut Machine::with(&[]).oshrun("--launcher command no-such-launcher a"));
    let line = "oshrun: cannot run \"no-such-launcher\": no such program in PATH\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(127), line));
}

/// With a page to be written afterwards, `oshrun` does not become the launcher.
#[test]
fn what_waits_for_the_launcher_passes_signals_on() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGKILL] {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let launcher = format!(
            "sleep 1000 & end() {{ kill $!; echo $1; exit 42; }}; for s in INT QUIT TERM USR1; do trap \"end $s\" $s; \
                done; : >{}; wait",
            path("started").display()
        );
        let mut command = oshrun(&["--launcher", "command", "--profile-dir"]);
        let mut job = Job::start(command.arg(path("records")).args(["sh", "-c", &launcher]), "");
        job.wait_for(&path("started"));
        job.signal(signal);
        let ended = job.wait_for_all();
        let word = match signal {
            libc::SIGKILL => "TERM\n".to_owned(),
            _ => format!("{}\n", &nix::sys::signal::Signal::try_from(signal).unwrap().as_str()[3..]),
        };
        let code = (signal != libc::SIGKILL).then_some(42);
        assert_eq!((ended.code, ended.stdout), (code, word), "{}", ended.stderr);
    }
}

#[test]
fn a_host_file_has_an_end() {
    let machine = Machine::with(&["mpiexec.hydra"]);
    let file = machine.path("hosts");
    fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    let line = refused(&mut machine.oshrun(&format!("--hostfile {} a", file.display())));
    assert!(line.contains("longer than"), "{line}");
}

/// Hydra itself waits for ever for a host that its agent does not reach.
#[test]
fn a_host_that_cannot_be_reached_ends_the_job() {
    let machine = Machine::with(&[]);
    // A launcher that does as Hydra does: runs the agent, and does not look how it ends.
    let hydra = r#"#!/bin/sh
trap 'exit 7' TERM
while [ "$1" != -launcher-exec ]; do shift; done
"$2" -x $HYDRA_LAUNCHER_EXTRA_ARGS nowhere hydra_pmi_proxy --port 1 &
if [ "$REACHED" ]; then wait $!; exit 42; fi
while :; do wait; done
"#;
    executable(&machine.path("mpiexec.hydra"), hydra);
    let agent = machine.path("my agent");
    executable(&agent, "#!/bin/sh\nprintf '[%s]' \"$@\"; exit $AGENT_ENDS\n");
    let start = |status: &str| {
        let mut command = machine.oshrun("--hosts a:2");
        command.arg("--launch-agent").arg(format!("'{}' -p 'x y'", agent.display()));
        command.arg("a").env("AGENT_ENDS", status);
        command
    };
    for status in ["255", "1", "127"] {
        // The agent ends a moment after the launcher.
        let ended = Job::start(&mut start(status), "").wait_for_all();
        assert_eq!(ended.code, Some(7), "{}", ended.stderr);
        assert_eq!(ended.stdout, "[-p][x y][-x][nowhere][hydra_pmi_proxy][--port][1]");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        let words = format!("host \"nowhere\" ended with status {status}");
        assert!(ended.stderr.contains(&words), "{}", ended.stderr);
    }
    // An agent that ends well has done its part.
    let ended = run(start("0").env("REACHED", "1"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(42), ""));
}

#[test]
fn it_says_what_it_becomes() {
    let machine = Machine::with(&["mpiexec.hydra"]);
    let hydra = machine.path("mpiexec.hydra");
    let line = format!(
        "oshrun: 2 PEs on a:2 by Hydra's mpiexec: {} -launcher ssh -launcher-exec {} -hosts a:2 -n 2 sh -c 'exit 1'\n",
        hydra.display(),
        env!("CARGO_BIN_EXE_oshrun")
    );
    for (options, debug) in [("-v --hosts a:2", false), ("--hosts a:2", true)] {
        let mut command = machine.oshrun(options);
        command.args(["sh", "-c", "exit 1"]);
        if debug {
            command.env("SHMEM_DEBUG", "1");
        }
        assert_eq!(run(&mut command).stderr, line);
    }
}
