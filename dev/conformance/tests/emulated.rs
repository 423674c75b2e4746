//! The programs of `c/` for aarch64 and riscv64, run by an emulator. Its PEs do not reorder what processors of those
//! kinds may. The other test programs run likewise where FERROSHMEM_EMULATED is set.

use ferroshmem_conformance::programs::{programs, stem};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::target::{AARCH64, RISCV64};
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

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
    let programs = programs().into_iter().filter(|source| !OTHERWISE.contains(&stem(source)));
    for source in programs {
        for (processor, pes) in [&AARCH64, &RISCV64].into_iter().flat_map(|p| PE_COUNTS.map(|pes| (p, pes))) {
            let source = source.clone();
            let name = format!("{}::{}::{pes}pe", stem(&source), processor.name);
            let long = *processor != AARCH64 || pes != 2 || !QUICK.contains(&stem(&source));
            let flags = if long { &[] } else { BRIEF };
            let run = move |s: &Setting| {
                let prefix = s.prefix.clone().emulated(processor)?;
                let program = Build::new(&source, Compiler::Gcc).flags(flags).run(&prefix, &s.cache)?;
                Job::new(pes, &program).expect_success(&prefix, &s.scratch).map(drop)
            };
            suite.add_maybe_long(name, long, run);
        }
    }
    suite.run();
}
