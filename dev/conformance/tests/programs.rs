//! Every program of `c/` at every number of PEs, and in every way of compiling and running.

use ferroshmem_conformance::compile::is_unoptimised;
use ferroshmem_conformance::programs::{programs, stem};
use ferroshmem_conformance::suite::{PE_COUNTS, Setting};
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

/// The number of PEs at which the variants run: with neighbours on both sides, not a power
/// of two.
const VARIANT_PES: usize = 3;

/// Programs that call the library and little else: compiled otherwise, they run the same code of it, and
/// show nothing about the inlined functions that the others do not.
const CALLING: &[&str] = &[
    "active_set", "collectives", "copies", "fork", "huge_bss", "info", "initialize", "large_copies", "late", "memory",
    "reduce", "resources", "streams", "teams_many", "wait",
];

/// Programs about functions that are inlined.
const INLINED: &[&str] = &[
    "aliasing", "amo", "contexts", "every_generic", "lock", "ordering", "overloads", "pointers", "rma_sizes",
    "rma_types",
];

/// Programs that copy many bytes, in all ways: they run with short copies past the caches, too.
const COPYING: &[&str] = &["copies", "ordering", "rma_sizes", "signal"];

/// Programs whose copies a thread of the library shares in one way of running, however short they are.
const SHARING: &[&str] = &[
    "collectives", "contexts", "copies", "large_copies", "lock", "messages", "offload", "ordering", "reduce",
    "rma_sizes", "signal", "teams", "thread_contexts", "threads",
];

/// Whether it is the turn of another one of `turns` than `one` with the program of this number.
fn is_out<T: PartialEq>(turns: &[T], one: &T, number: usize) -> bool {
    let turn = turns.iter().position(|turn| turn == one);
    turn.is_some_and(|turn| turn != number % turns.len())
}

/// Ways of compiling and running beside the plain one.
struct Variant {
    name: &'static str,
    compiler: Compiler,
    flags: &'static [&'static str],
    env: Variables,
}

type Variables = &'static [(&'static str, &'static str)];

const fn clang(name: &'static str, flags: &'static [&'static str]) -> Variant {
    Variant { name, compiler: Compiler::Clang, flags, env: &[] }
}

const fn gcc(name: &'static str, flags: &'static [&'static str]) -> Variant {
    Variant { name, compiler: Compiler::Gcc, flags, env: &[] }
}

/// One by gcc that runs with these variables.
const fn gcc_env(name: &'static str, env: Variables) -> Variant {
    Variant { name, compiler: Compiler::Gcc, flags: &[], env }
}

impl Variant {
    /// Whether it may find in the program of this source what no other program shows.
    fn tells(&self, source: &str) -> bool {
        match stem(source) {
            // They are compiled so without a flag.
            _ if is_unoptimised(source) && matches!(self.name, "gcc-unoptimised" | "gcc-no-inline") => false,
            any if self.name == "gcc-non-temporal" => COPYING.contains(&any),
            any if self.name == "gcc-shared-tables" => any == "team_lists",
            any if self.name.ends_with("workers") => SHARING.contains(&any),
            // Neither changes how bytes are copied, and it is the program that takes longest.
            "copies" if matches!(self.name, "gcc-checked" | "gcc-small-heap") => false,
            calling if CALLING.contains(&calling) => self.compiler == Compiler::Gcc && self.flags.is_empty(),
            // Compilers select its functions before they optimise; they are those of every_prototype.
            "every_generic" => match self.compiler {
                Compiler::Gcc => self.flags.is_empty(),
                Compiler::Clang => self.name == "clang-unoptimised",
            },
            _ if self.name == "clang-unoptimised" => false,
            // It calls each function by itself: what -O3 changes are loops. Unoptimised, it inlines nothing anyway, and
            // calls what `clang-native` and `gcc-checked` call.
            "every_prototype" => !matches!(self.name, "gcc-o3" | "gcc-no-inline" | "gcc-unoptimised"),
            _ => true,
        }
    }

    /// Whether the program takes long for what it may show. The plain `every_prototype` has the same functions
    /// optimised by the other compiler, and a program for each kind of function is compiled in this way. Programs
    /// that are not about inlined functions take turns with the ways of inlining them and with those of not, and all
    /// with ways of running that are alike: `number` is the program's.
    fn is_long(&self, program: &str, number: usize) -> bool {
        let is_out = |turns: &[&str]| is_out(turns, &self.name, number);
        if is_out(&["gcc-slow-path", "gcc-small-heap"]) || is_out(&["gcc-workers", "gcc-checked-workers"]) {
            return true;
        }
        match program {
            "every_prototype" => matches!(self.name, "clang" | "gcc-native"),
            inlined if INLINED.contains(&inlined) => false,
            _ => {
                is_out(&["gcc-native", "gcc-o3", "clang"])
                    || is_out(&["gcc-no-inline", "gcc-unoptimised", "clang-native"])
            }
        }
    }
}

/// The plain programs are compiled with -O2, but for those that [`Build`] optimises less. Where a variant leaves out a
/// branch of the inlined functions, -Og shows the same in less time; where it inlines nothing, or the other compiler
/// optimises the same, no optimisation. A type of each size shows what the other types of the size do.
const VARIANTS: &[Variant] = &[
    clang("clang", &["-DFEW_TYPES"]),
    clang("clang-unoptimised", &["-O0"]),
    clang("clang-native", &["-DSHMEM_NATIVE_ONLY", "-O0", "-DFEW_TYPES"]),
    gcc("gcc-native", &["-DSHMEM_NATIVE_ONLY", "-Og", "-DFEW_TYPES"]),
    gcc("gcc-no-inline", &["-DSHMEM_NO_INLINE", "-O0", "-DFEW_TYPES"]),
    gcc("gcc-unoptimised", &["-O0"]),
    gcc("gcc-o3", &["-O3", "-march=native", "-DFEW_TYPES"]),
    gcc_env("gcc-checked", &[("SHMEM_CHECK", "1")]),
    gcc_env("gcc-slow-path", &[("SHMEM_FAST_PATH", "0")]),
    gcc_env("gcc-small-heap", &[("SHMEM_SYMMETRIC_SIZE", "256m"), ("SHMEM_DEBUG", "1")]),
    gcc_env("gcc-non-temporal", &[("SHMEM_NON_TEMPORAL_THRESHOLD", "1k")]),
    gcc_env("gcc-workers", &[("SHMEM_WORKERS", "1"), ("SHMEM_SHARE_THRESHOLD", "1"), ("SHMEM_OFFLOAD_THRESHOLD", "1")]),
    gcc_env(
        "gcc-checked-workers",
        &[
            ("SHMEM_CHECK", "1"),
            ("SHMEM_WORKERS", "2"),
            ("SHMEM_SHARE_THRESHOLD", "1"),
            ("SHMEM_OFFLOAD_THRESHOLD", "1"),
        ],
    ),
    gcc_env("gcc-shared-tables", &[("SHMEM_TEAM_TABLE", "0")]),
    gcc_env(
        "gcc-sockets",
        &[
            ("SHMEM_SOCKETS", "0,1,0"),
            ("SHMEM_BARRIER_ALGORITHM", "sockets"),
            ("SHMEM_REDUCE_ALGORITHM", "sockets"),
            ("SHMEM_BROADCAST_ALGORITHM", "sockets"),
            ("SHMEM_COLLECT_ALGORITHM", "sockets"),
            ("SHMEM_FCOLLECT_ALGORITHM", "sockets"),
        ],
    ),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let compilers = Compiler::installed();
    for (number, source) in programs().into_iter().enumerate() {
        for pes in PE_COUNTS {
            let source = source.clone();
            let name = format!("{}::{pes}pe", stem(&source));
            // An odd number of PEs, more than cores, and many more: one of these with each program.
            let long = is_out(&[3, 7, 16], &pes, number);
            let run = move |s: &Setting| {
                let program = s.compile(&source, &[])?;
                Job::new(pes, &program).expect_success(&s.prefix, &s.scratch).map(drop)
            };
            suite.add_maybe_long(name, long, run);
        }
        let alone = source.clone();
        suite.add(format!("{}::without-launcher", stem(&source)), move |s| {
            let program = s.compile(&alone, &[])?;
            Job::new(0, &program).expect_success(&s.prefix, &s.scratch).map(drop)
        });
        let installed = VARIANTS.iter().filter(|v| compilers.contains(&v.compiler));
        for variant in installed.filter(|variant| variant.tells(&source)) {
            let source = source.clone();
            let name = format!("{}::{}", stem(&source), variant.name);
            let long = variant.is_long(stem(&source), number);
            let run = move |s: &Setting| {
                let build = Build::new(&source, variant.compiler).flags(variant.flags);
                let program = build.run(&s.prefix, &s.cache)?;
                let mut job = Job::new(VARIANT_PES, &program);
                for (name, value) in variant.env {
                    job = job.env(name, value);
                }
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            };
            suite.add_maybe_long(name, long, run);
        }
    }
    suite.run();
}
