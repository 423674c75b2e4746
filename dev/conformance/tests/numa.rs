//! Memory on NUMA nodes, in a virtual machine that has several.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_cluster::machines::{Job, Machines, NumaNode, Setup, run_trials};
use ferroshmem_conformance::{Build, Compiler, Prefix};
use libtest_mimic::{Failed, Trial};

/// Processors are emulated there.
const WATCHDOG: Duration = Duration::from_secs(240);

/// Two sockets with two PEs' cores each (emulated processors take turns on those of this machine; with three on each,
/// QEMU 7.2 boots nothing), high-bandwidth memory beside the first, and memory as behind CXL.
const KINDS: &[NumaNode] = &[
    NumaNode { processors: 2, memory: 320, speed: Some((200, 100)) },
    NumaNode { processors: 2, memory: 320, speed: Some((200, 100)) },
    NumaNode { processors: 0, memory: 192, speed: Some((800, 130)) },
    NumaNode { processors: 0, memory: 192, speed: Some((40, 300)) },
];

/// Two PEs' cores on each of two sockets.
const TWO: &[NumaNode] = &[socket(2); 2];

/// Four on each of four.
const FOUR: &[NumaNode] = &[socket(4); 4];

const fn socket(processors: usize) -> NumaNode {
    NumaNode { processors, memory: 320, speed: None }
}

/// Programs: one looks where memory is, one calls all collectives, one hardly any.
const SPACES: &str = "spaces.c";
const SOCKETS: &str = "sockets.c";
const HELLO: &str = "../../../examples/hello.c";

/// What `oshmem_info` says of [`KINDS`].
const INFO: &[&str] = &[
    "ordinary memory, 204800 MB/s, 100 ns",
    "high-bandwidth memory (SHMEMX_MEM_HIGH_BW), 819200 MB/s, 130 ns",
    "slower memory (SHMEMX_MEM_LARGE_CAP), 40960 MB/s, 300 ns",
    "memory on a chosen NUMA node (shmemx_space_create): yes",
];

fn main() -> ExitCode {
    let trial = |name: &str, numa, test: fn(&mut Machine) -> Result<()>| {
        Trial::test(name, move || {
            let run = || test(&mut Machine::boot(numa)?);
            run().map_err(|error| Failed::from(format!("{error:#}")))
        })
    };
    let trials = vec![
        trial("2-sockets-and-kinds-of-memory", KINDS, |machine| {
            let shown = machine.run("oshmem_info", &[])?;
            for part in INFO {
                ensure!(shown.contains(part), "{part} is not in:\n{shown}");
            }
            // As many PEs as cores, each with memory of its own socket.
            let shown = machine.oshrun("4", &["--report-bindings"], SPACES, &["2", "3"])?;
            for part in
                ["PE 1: CPUs 1: 1 core of socket 0, NUMA node 0", "PE 2: CPUs 2: 1 core of socket 1, NUMA node 1"]
            {
                ensure!(shown.contains(part), "{part} is not in:\n{shown}");
            }
            // Two on each of the sockets, two and one; then all on one, and on places that are not known.
            machine.follows_sockets("4", &[], SOCKETS, 2)?;
            machine.follows_sockets("3", &["--bind-to", "hwthread"], SOCKETS, 2)?;
            machine.follows_sockets("2", &["--bind-to", "core"], HELLO, 1)?;
            machine.follows_sockets("4", &["--bind-to", "none"], HELLO, 1)?;
            machine.measures_distances()
        }),
        // Ignored unless asked for (`--include-ignored`), as the one that follows: emulated, it takes 40 s.
        trial("report", TWO, |machine| {
            let report = ["--quick", "--time", "0", "--pes", "4", "--force", "--report", "/tmp/report"];
            let shown = machine.run("oshtune", &report)?;
            for part in ["cores of two sockets (4 pairs): ", " 4 PEs\n", " sockets", "wrote /tmp/report/tuning.toml"] {
                ensure!(shown.contains(part), "{part} is not in:\n{shown}");
            }
            Ok(())
        })
        .with_ignored_flag(true),
        // Emulated, 16 processors take minutes. Maps of four sockets and of sockets of different sizes are in the tests
        // of the collectives, too.
        trial("4-sockets", FOUR, |machine| {
            machine.follows_sockets("16", &[], SOCKETS, 4)?;
            machine.follows_sockets("13", &["-x", "SHMEM_BROADCAST_ALGORITHM=sockets"], SOCKETS, 4)
        })
        .with_ignored_flag(true),
    ];
    run_trials(|| Ok(trials))
}

/// A machine, and the library that is there.
struct Machine {
    machines: Machines,
    prefix: Prefix,
}

impl Machine {
    fn boot(numa: &[NumaNode]) -> Result<Self> {
        let prefix = Prefix::find()?;
        let mut setup = Setup::in_target()?;
        setup.machines = 1;
        setup.numa = numa.to_vec();
        let machines = Machines::boot(&setup)?;
        println!("booted in {:.0?}", machines.boot_time);
        Ok(Self { machines, prefix })
    }

    /// Starts PEs of a program; what they print.
    fn oshrun(&mut self, pes: &str, options: &[&str], source: &str, arguments: &[&str]) -> Result<String> {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        let build = Build::new(source, Compiler::Gcc).flags(&["-DBRIEF"]);
        let program = build.run(&self.prefix, &cache)?;
        let program = program.to_string_lossy();
        // A PE that polls takes the time of one that computes.
        let all = [&["-n", pes, "-x", "SHMEM_SPIN=0"], options, &[&program], arguments].concat();
        self.run("oshrun", &all)
    }

    /// Starts PEs of a program, which are to find themselves on so many sockets.
    fn follows_sockets(&mut self, pes: &str, options: &[&str], source: &str, sockets: usize) -> Result<()> {
        let options = [options, &["-x", "SHMEM_DEBUG=1"]].concat();
        let shown = self.oshrun(pes, &options, source, &[])?;
        let expected = match sockets {
            1 => "PEs on one socket".to_owned(),
            _ => format!("PEs on {sockets} sockets, barriers by sockets"),
        };
        ensure!(shown.contains(&expected), "{expected} is not in:\n{shown}");
        Ok(())
    }

    /// Has `oshtune` measure between the cores of two sockets with two cores each. Emulated times mean nothing.
    fn measures_distances(&mut self) -> Result<()> {
        let oshtune = self.prefix.bin("oshtune");
        let oshtune = oshtune.to_string_lossy();
        let job = ["-n", "4", "--bind-to", "hwthread", &oshtune, "--measure=distances", "--time=0", "--quick"];
        let shown = self.run("oshrun", &job)?;
        let pair = |a: u32, b: u32, distance: &str| {
            format!(r#"{{"Pair":{{"pes":[{a},{b}],"cpus":[{a},{b}],"distance":"{distance}","flag":"#)
        };
        let far = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| pair(a, b, "Machine"));
        let names = ["alpha", "socket_alpha", "socket_flag", "socket_line"];
        let parameters = names.map(|name| format!(r#"{{"Parameter":["{name}","#));
        for part in far.iter().chain(&parameters).chain([&pair(2, 3, "Cache")]) {
            ensure!(shown.contains(part), "{part} is not in:\n{shown}");
        }
        Ok(())
    }

    /// Runs a command of the library; what it prints.
    fn run(&mut self, command: &str, arguments: &[&str]) -> Result<String> {
        let command = self.prefix.bin(command).into();
        let arguments = arguments.iter().map(OsString::from);
        let command: Vec<OsString> = [command].into_iter().chain(arguments).collect();
        let mut job = Job::same(1, 1, &command);
        job.timeout = WATCHDOG;
        let outcome = self.machines.run(&job)?;
        println!("ran in {:.0?}", outcome.time);
        ensure!(outcome.success(), "{outcome}");
        Ok(outcome.to_string())
    }
}
