//! The programs of `c/` for aarch64 and riscv64, run by an emulator. Its PEs do not reorder what processors of those
//! kinds may. The other test programs run likewise where FERROSHMEM_EMULATED is set.

use std::process::Command;

use anyhow::{Result, ensure};
use ferroshmem_conformance::programs::{programs, stem};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::target::{AARCH64, Processor, RISCV64};
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

/// A kind of processor, and what the emulator makes of it.
struct Machine {
    name: &'static str,
    processor: &'static Processor,
    /// What the emulator and the C library take from the environment.
    env: &'static [(&'static str, &'static str)],
    flags: &'static [&'static str],
    /// Programs that its emulator runs otherwise.
    otherwise: &'static [&'static str],
}

const MACHINES: [Machine; 4] = [
    Machine { name: "aarch64", processor: &AARCH64, env: &[], flags: &[], otherwise: &[] },
    TAGGED,
    // The emulator passes the program the kernel's list of pages, at other addresses than it tells it.
    Machine {
        name: "aarch64-39-bits",
        processor: &AARCH64,
        env: &[("QEMU_RESERVED_VA", "0x8000000000")],
        flags: &[],
        otherwise: &["globals"],
    },
    Machine { name: "riscv64", processor: &RISCV64, env: &[], flags: &[], otherwise: &[] },
];

/// The C library has the processor check tags in addresses of its memory; programs sign their return addresses. The
/// emulator (QEMU 7.2) faults in every program where the C library clears such memory by `dc zva`.
const TAGGED: Machine = Machine {
    name: "aarch64-tagged",
    processor: &AARCH64,
    env: &[("QEMU_CPU", "max"), ("GLIBC_TUNABLES", "glibc.mem.tagging=3")],
    flags: &["-mbranch-protection=standard"],
    otherwise: &["requests"],
};

/// Where branches lead is checked. Start and atomic operations of Debian's libraries do not say it.
const BRANCHES: Machine = Machine {
    name: "aarch64-branches",
    env: &[("QEMU_CPU", "max")],
    flags: &["-mbranch-protection=standard", "-march=armv8.1-a", "-nostartfiles"],
    ..TAGGED
};

const PE_COUNTS: [usize; 3] = [1, 2, 4];

/// What the quick form runs, with 2 PEs.
const QUICK: &[&str] = &[
    "amo", "collectives", "contexts", "globals", "lock", "ordering", "poll", "reduce", "signal", "teams", "threads",
    "wait",
];

/// How the quick form compiles them: an emulated PE that repeats an operation shows no other order of memory, and this
/// machine's own programs have all types.
const BRIEF: &[&str] = &["-DBRIEF", "-DFEW_TYPES"];

/// Programs about the machine's memory: the emulator says that memory has moved to huge pages, and moves none; and its
/// tables for a large mapping are resident.
const OTHERWISE: &[&str] = &["huge_bss", "huge_pages", "large_copies", "spaces"];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for source in programs() {
        for (machine, pes) in MACHINES.iter().flat_map(|m| PE_COUNTS.map(|pes| (m, pes))) {
            let program = stem(&source);
            if !OTHERWISE.contains(&program) && !machine.otherwise.contains(&program) {
                let long = machine.name != "aarch64" || pes != 2 || !QUICK.contains(&program);
                add(&mut suite, machine, source.clone(), pes, long);
            }
        }
    }
    add(&mut suite, &TAGGED, "emulated/tagged.c".to_owned(), 2, false);
    add(&mut suite, &BRANCHES, "emulated/branches.c".to_owned(), 2, false);
    suite.add_long("element_loops::aarch64".to_owned(), |_| element_loops());
    suite.run();
}

/// Loops over elements are right with vectors of 16, 32, 64 and 256 bytes, and are vector code. So are copies past the
/// caches.
fn element_loops() -> Result<()> {
    const SCALABLE: [&str; 8] = ["fadd", "fmul", "mul", "smax", "umin", "and", "orr", "eor"];

    let lengths = ["cortex-a72", "max,sve256=on,sve512=off", "a64fx", "max,sve2048=on"];
    let executable = AARCH64.run_unit_tests("ferroshmem-simd", &lengths)?;
    let objdump = Command::new("aarch64-linux-gnu-objdump").arg("--disassemble").arg(executable).output()?;
    let text = String::from_utf8_lossy(&objdump.stdout);
    let has = |name: &str, register: &str| {
        text.lines().filter_map(|line| line.split_once(&format!("\t{name}\t"))).any(|(_, to)| to.starts_with(register))
    };
    for name in SCALABLE {
        ensure!(has(name, "z"), "no loop with {name} of scalable vectors");
    }
    ensure!(has("stnp", "x"), "no non-temporal stores");
    Ok(())
}

fn add(suite: &mut Suite, machine: &'static Machine, source: String, pes: usize, long: bool) {
    let name = format!("{}::{}::{pes}pe", stem(&source), machine.name);
    let run = move |s: &Setting| {
        let prefix = s.prefix.clone().emulated(machine.processor)?;
        let brief = if long { &[][..] } else { BRIEF };
        let flags: Vec<_> = machine.flags.iter().chain(brief).copied().collect();
        let program = Build::new(&source, Compiler::Gcc).flags(&flags).run(&prefix, &s.cache)?;
        let job = machine.env.iter().fold(Job::new(pes, &program), |job, (name, value)| job.env(name, value));
        job.expect_success(&prefix, &s.scratch).map(drop)
    };
    suite.add_maybe_long(name, long, run);
}
