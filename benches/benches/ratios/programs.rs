//! The programs in `c/`, their series, and the limits of those.

use ferroshmem_benches::{Bar, Build, Compiler, Source};

/// Names and values of environment variables.
pub(crate) type Variables = &'static [(&'static str, &'static str)];

/// A program and its series.
#[derive(Debug)]
pub(crate) struct Program {
    /// How it is built.
    pub build: Build,
    /// Number of PEs.
    pub pes: usize,
    /// Further options of `oshrun`.
    pub options: &'static [&'static str],
    /// Variables of the PEs.
    pub variables: Variables,
    /// Instead of the bare hardware, the library with these variables is what it is compared with.
    pub beside: Option<Variables>,
    /// Its series; those without limit are only printed.
    pub series: Vec<(String, Option<Bar>)>,
}

impl Program {
    /// A program of one source file, on two PEs with a core each.
    fn new(file: &'static str) -> Self {
        Self {
            build: Build::new(file),
            pes: 2,
            options: &["--bind-to", "core"],
            variables: &[],
            beside: None,
            series: Vec::new(),
        }
    }

    /// The same with further series of one limit.
    fn measures(mut self, names: impl IntoIterator<Item = String>, bar: Option<Bar>) -> Self {
        self.series.extend(names.into_iter().map(|name| (name, bar)));
        self
    }
}

/// All programs.
pub(crate) fn all() -> Vec<Program> {
    let mut programs = Vec::new();
    for compiler in Compiler::installed() {
        for native_only in [false, true] {
            programs.push(scalars(compiler, native_only));
        }
    }
    programs.extend([blocks(), exchange(), messages(), atomics(), latency()]);
    programs.extend([4, 16, 64, 512].map(crowd));
    programs.extend([spawn(), groups(), calls()]);
    programs.push(traced());
    programs.extend([begun(), offload()]);
    programs.extend(with_workers());
    programs
}

/// Begun collectives that go on while PEs leave their cores: the part of the time that is theirs.
fn begun() -> Program {
    let names = pairs(&["sum", "broadcast", "fcollect", "alltoall"], &["64KiB", "256KiB", "1MiB", "8MiB"]);
    Program::new("begun.c").measures(names, Some(Bar::Bandwidth(0.9)))
}

/// A PE with an idle core, and a worker of the library on it.
fn offload() -> Program {
    let names = |names: &[&str]| Vec::from_iter(names.iter().map(|&name| name.to_owned()));
    let sizes = ["8MiB", "16MiB", "64MiB"];
    let packed = ["iput", "iget"];
    Program {
        pes: 1,
        options: &["--bind-to", "none"],
        variables: &[("SHMEM_WORKERS", "1")],
        ..Program::new("offload.c")
    }
    .measures(pairs(&["one/put", "one/get"], &sizes), Some(Bar::Bandwidth(1.3)))
    .measures(pairs(&["two/put", "two/get"], &sizes), Some(Bar::Bandwidth(0.95)))
    .measures(pairs(&["one"], &packed), Some(Bar::Bandwidth(1.3)))
    .measures(pairs(&["two"], &packed), Some(Bar::Bandwidth(0.95)))
    .measures(pairs(&["call", "start"], &["awake"]), Some(Bar::Nanoseconds(300.0)))
    .measures(pairs(&["call", "start"], &["asleep"]), Some(Bar::Nanoseconds(2_000.0)))
    .measures(names(&["line/awake"]), None)
    .measures(pairs(&["idle/put"], &["4KiB", "16KiB", "64KiB"]), Some(Bar::Bandwidth(0.98)))
    .measures(names(&["caches/beside"]), Some(Bar::Time(1.1)))
    .measures(names(&["caches/after"]), None)
}

/// What does not change where workers are allowed: PEs that fill the cores, and short puts. Those of two jobs differ by
/// their pages more than by the bar, which `idle/put` of [`offload`] has.
fn with_workers() -> Vec<Program> {
    let beside = |name: &str, variables| {
        let blocks = Program::new("blocks.c");
        Program {
            build: blocks.build.clone().named(name),
            variables,
            beside: Some(&[("SHMEM_WORKERS", "0")]),
            ..blocks
        }
    };
    let large = ["64KiB", "1024KiB", "2048KiB", "8192KiB", "65536KiB"];
    let full = beside("workers/2-PEs", &[("SHMEM_WORKERS", "auto")])
        .measures(pairs(&["put", "get"], &large), Some(Bar::Bandwidth(0.98)));
    let short =
        Program { pes: 1, options: &["--bind-to", "none"], ..beside("workers/1-PE", &[("SHMEM_WORKERS", "1")]) }
            .measures(pairs(&["put"], &["4KiB", "16KiB", "64KiB"]), None);
    vec![full, short]
}

/// Every combination of two words, as names of series.
fn pairs(first: &[&str], second: &[&str]) -> Vec<String> {
    let with = |a: &&str| second.iter().map(move |b| format!("{a}/{b}")).collect::<Vec<_>>();
    first.iter().flat_map(with).collect()
}

/// Loops of 8-byte operations, by each compiler, with and without the test of the PE.
fn scalars(compiler: Compiler, native_only: bool) -> Program {
    let source = |file, element_wise| Source { file, element_wise };
    let mut build = Build::new("scalars.c").named(&format!("8-byte/{}", compiler.name()));
    build.sources = vec![source("scalars.c", false), source("kernels.c", false), source("bare.c", true)];
    build.compiler = compiler;
    // A loop of a few instructions takes up to twice as long where it crosses a line of 64 bytes.
    build.flags.push("-falign-loops=64");
    if native_only {
        build.name += "/native-only";
        build.flags.push("-DSHMEM_NATIVE_ONLY");
    }
    let bar = Bar::Time(if native_only { 1.1 } else { 2.0 });
    let names = pairs(&["p", "g", "put", "get"], &["heap", "global"]);
    Program { build, ..Program::new("scalars.c") }
        .measures(names, Some(bar))
        .measures(pairs(&["get64"], &["heap", "global"]), Some(Bar::Time(if native_only { 1.2 } else { 2.0 })))
}

fn blocks() -> Program {
    let sizes = [
        "4KiB", "16KiB", "64KiB", "256KiB", "1024KiB", "2048KiB", "4096KiB", "8192KiB", "16384KiB", "32768KiB",
        "65536KiB",
    ];
    Program::new("blocks.c").measures(pairs(&["put", "get"], &sizes), Some(Bar::Bandwidth(0.95)))
}

fn exchange() -> Program {
    let bar = Some(Bar::Bandwidth(0.95));
    Program::new("exchange.c")
        .measures(pairs(&["put_signal"], &["64KiB", "256KiB", "1024KiB", "8192KiB"]), bar)
        .measures(pairs(&["isx"], &["1024KiB", "8192KiB", "32768KiB"]), bar)
}

/// Messages, beside a word that is put and waited for, and beside bare copies.
fn messages() -> Program {
    Program::new("messages.c")
        .measures(pairs(&["short"], &["0B", "8B", "32B", "256B", "4096B"]), None)
        .measures(pairs(&["long"], &["16KiB", "64KiB"]), None)
        .measures(pairs(&["long"], &["256KiB", "1024KiB", "8192KiB"]), None)
}

fn atomics() -> Program {
    let bar = Some(Bar::Time(1.1));
    let integer = ["fetch_add", "add", "inc", "compare_swap"];
    let any = ["swap", "set", "fetch_chain"];
    Program::new("atomics.c")
        .measures(pairs(&integer, &["int", "long"]), bar)
        .measures(pairs(&any, &["int", "long", "double"]), bar)
        // Plain stores and loads overlap: they take less than any test of the PE.
        .measures(pairs(&["set_release", "fetch"], &["int", "long", "double"]), None)
}

fn latency() -> Program {
    let one = |name: &str| [name.to_owned()];
    Program::new("latency.c")
        .measures(one("barrier_all"), Some(Bar::Time(1.5)))
        .measures(one("p+wait_until"), Some(Bar::Time(1.15)))
        .measures(one("lock+unlock"), Some(Bar::Time(2.0)))
}

/// PEs started while a job runs, beside as many processes.
fn spawn() -> Program {
    let sizes = ["1-PE", "2-PEs", "8-PEs", "32-PEs"].map(str::to_owned);
    Program { pes: 1, options: &[], ..Program::new("spawn.c") }.measures(sizes, Some(Bar::Time(1.5)))
}

/// PEs of another job, beside those of the own one.
fn groups() -> Program {
    let one_sided = ["p", "g", "put/64KiB", "add", "fetch_add", "p+wait_until"];
    let collectives = ["broadcast", "fcollect", "alltoall", "sum"];
    Program { options: &[], ..Program::new("groups.c") }
        .measures(one_sided.map(str::to_owned), Some(Bar::Time(1.05)))
        .measures(["first-contact", "sync"].map(str::to_owned), None)
        .measures(pairs(&collectives, &["8B", "64KiB"]), None)
}

/// Kernels that PEs of another job run.
fn calls() -> Program {
    let numbers = ["1", "4", "16", "64", "256", "1024"];
    Program { pes: 1, options: &[], ..Program::new("calls.c") }
        .measures(pairs(&["waited"], &["40B", "64KiB"]), Some(Bar::Time(1.5)))
        .measures(pairs(&["one-spawn"], &["1", "16"]), None)
        .measures(pairs(&["batch"], &numbers[..2]), None)
        .measures(pairs(&["batch"], &numbers[2..]), Some(Bar::Time(0.3)))
        .measures(pairs(&["stream", "one-batch"], &numbers), None)
}

/// Recorded calls, beside 100 ns each.
fn traced() -> Program {
    const RECORDS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/records");
    // Without it, PEs say that they cannot record.
    let _ = std::fs::create_dir_all(RECORDS);
    let calls = ["p", "g", "put/64B", "atomic_add", "fence"].map(str::to_owned);
    Program { variables: &[("SHMEM_PROFILE_DIR", RECORDS), ("SHMEM_TRACE_SIZE", "64m")], ..Program::new("traced.c") }
        .measures(calls, Some(Bar::Time(1.0)))
}

/// More PEs than cores.
fn crowd(pes: usize) -> Program {
    let one = |name: &str| [name.to_owned()];
    let mut program = Program::new("crowd.c");
    if pes == 64 {
        program = program.measures(one("barrier_all"), Some(Bar::Time(2.0)));
    }
    if pes >= 16 {
        program = program.measures(one("barrier_all/yields"), Some(Bar::Time(1.5)));
    }
    if pes <= 16 {
        program = program.measures(one("lock+unlock"), Some(Bar::Time(0.5)));
    }
    Program { build: program.build.named(&format!("{pes}-PEs")), pes, options: &[], ..program }
}
