//! Public suites, unchanged: `openshmem-org/tests-sos`, `openshmem-org/tests-uh`, and the examples of
//! `openshmem-org/specification`. FERROSHMEM_SUITES names a folder with checkouts of these names; nothing of them is
//! kept here. This library's wrappers compile them, and each `oshcc` of FERROSHMEM_PEERS (with colons between them):
//! that of another OpenSHMEM, whose programs this library runs as they are.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fmt, fs};

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::compile::once;
use ferroshmem_conformance::environment::succeed;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::{self, Missing};
use ferroshmem_conformance::{Job, Language, Suite, npb};

const SUITES_VARIABLE: &str = "FERROSHMEM_SUITES";
const PEERS_VARIABLE: &str = "FERROSHMEM_PEERS";

/// Folders of programs, and the numbers of PEs.
const FOLDERS: [(&str, &[usize]); 8] = [
    ("tests-sos/test/unit", &[2, 3, 4, 8]),
    ("tests-sos/test/spec-example", &[2, 3, 4, 8]),
    ("tests-sos/test/performance/shmem_perf_suite", &[2]),
    ("tests-sos/test/performance/tests", &[2]),
    ("tests-uh/feature_tests/C", &[4]),
    ("tests-uh/feature_tests/Fortran", &[4]),
    ("tests-uh/performance_tests/micro_benchmarks", &[4]),
    ("specification/example_code", &[4]),
];

/// Those of programs that an emulator runs, or that another library's wrapper has compiled.
const FEW: [usize; 2] = [2, 4];

/// What the text of a source of tests-sos has where a macro makes another program of it, the macro, and which program.
const FORMS: [(&str, &str, &str); 3] = [
    ("ENABLE_DEPRECATED_TESTS", "ENABLE_DEPRECATED_TESTS", "deprecated"),
    ("TEST_PSHMEM", "TEST_PSHMEM", "pshmem"),
    ("defined(ENABLE_THREADS)", "ENABLE_THREADS", "threads"),
];

/// Programs in which each PE puts, or gets, 160 GB.
const LONG: [&str; 2] = ["put_performance", "get_performance"];

/// Programs that compare the version of the library with that of the header.
const OF_VERSION: [&str; 2] = ["test_shmem_query", "shmem_info"];

/// Programs in Fortran that fail or wait, as they must: a collective without elements, or without PE 0.
const WRONG: [&str; 4] =
    ["test_shmem_collect_04", "test_shmem_fcollect_04", "test_shmem_broadcast_04", "test_shmem_broadcast_05"];

/// Programs that are no Fortran: IAND and its like with integers of two kinds, a statement after CONTAINS.
const NOT_FORTRAN: [&str; 4] =
    ["test_shmem_and_01_int8", "test_shmem_or_01_int8", "test_shmem_xor_01_int8", "test_shmem_synchronization"];

/// Programs that end the job, and with which status.
const GLOBAL_EXIT: [(&str, i32); 2] = [("test_shmem_global_exit", 99), ("shmem_global_exit_example", 1)];

/// For a job that neither computes nor prints.
const LIMIT: Duration = Duration::from_secs(60);

/// A program of a suite.
#[derive(Debug, Clone)]
struct Program {
    source: PathBuf,
    /// The macro that it is compiled with, and what that makes of it.
    form: Option<(&'static str, &'static str)>,
    pes: &'static [usize],
}

/// Who compiles it.
#[derive(Debug, Clone)]
enum Wrapper {
    Own,
    /// The `oshcc` of another library.
    Peer(PathBuf),
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(root) = env::var_os(SUITES_VARIABLE).map(PathBuf::from) else {
        suite.add("checkouts".to_owned(), |_| {
            let words = "names no folder with checkouts of tests-sos, tests-uh and specification";
            Err(Missing(format!("{SUITES_VARIABLE} {words}")).into())
        });
        suite.run();
    };
    let peers = env::var_os(PEERS_VARIABLE).unwrap_or_default();
    let peers = env::split_paths(&peers).filter(|path| path.is_file()).map(Wrapper::Peer);
    let mut number = 0;
    for wrapper in [Wrapper::Own].into_iter().chain(peers) {
        let all = FOLDERS.iter().flat_map(|(folder, pes)| programs(&root.join(folder), pes));
        for program in all.filter(|program| wrapper.may_compile(program)) {
            let name = format!("{wrapper}::{}", program.name(&root));
            if matches!(wrapper, Wrapper::Own) && program.pes.contains(&2) {
                let (root, program) = (root.clone(), program.clone());
                let job = move |s: &Setting, pes| Ok(Job::new(pes, &program.compile(s, &root, &Wrapper::Own)?));
                suite.add_one_on_cluster(&name, number, false, job);
                number += 1;
            }
            let (root, wrapper) = (root.clone(), wrapper.clone());
            suite.add_long(name, move |s| program.run(s, &root, &wrapper));
        }
    }
    for name in ["ep", "mg", "bt", "sp"] {
        let root = root.clone();
        suite.add_long(format!("openshmem-npbs/Fortran/{name}"), move |s| nas_in_fortran(s, &root, name));
    }
    suite.add_long("CloverLeaf_OpenSHMEM".to_owned(), move |s| clover_leaf(s, &root));
    suite.run();
}

/// A copy of a checkout.
fn copied(s: &Setting, checkout: &Path, name: &str) -> Result<PathBuf> {
    if !checkout.is_dir() {
        return Err(Missing(format!("{} is not there", checkout.display())).into());
    }
    let folder = s.scratch.join(name);
    fs::create_dir_all(&folder)?;
    succeed(Command::new("cp").arg("-rT").arg(checkout.join(".")).arg(&folder))?;
    Ok(folder)
}

fn make(folder: &Path, words: &[String]) -> Result<()> {
    tool::command("make", "make")?;
    succeed(Command::new("make").arg("-C").arg(folder).args(words))
}

/// One of the NAS benchmarks in Fortran, class S. They take their time by Open MPI's `MPI_WTIME`.
fn nas_in_fortran(s: &Setting, root: &Path, name: &str) -> Result<()> {
    const PES: usize = 4;
    tool::command("mpifort.openmpi", "libopenmpi-dev")?;
    let says = |what: &str| {
        let output = Command::new("mpifort.openmpi").arg(format!("--showme:{what}")).output()?;
        anyhow::Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (compile, link) = (says("compile")?, says("link")?);
    let oshfort = s.prefix.bin("oshfort").display().to_string();
    let definitions = [
        ("SHMEMF77", oshfort.as_str()),
        ("FLINK", &oshfort),
        ("FMPI_LIB", &link),
        ("FFLAGS", &format!("-O1 -w -fallow-argument-mismatch -fallow-invalid-boz {compile}")),
        ("CC", "cc"),
        ("RAND", "randi8"),
        ("BINDIR", "../bin"),
        ("NPROCS", &PES.to_string()),
        ("CLASS", "S"),
    ];
    let definitions = definitions.map(|(name, value)| format!("{name}={value}"));
    let folder = copied(s, &root.join("openshmem-npbs/Fortran"), &format!("npb-{name}"))?;
    // Its makefiles include it.
    fs::write(folder.join("config/make.def"), "")?;
    let words: Vec<_> = definitions.into_iter().chain([name.to_owned()]).collect();
    make(&folder, &words)?;
    let program = folder.join(format!("bin/{name}.S.{PES}"));
    let outcome = Job::new(PES, &program).expect_success(&s.prefix, &s.scratch)?;
    npb::reports(&outcome, &name.to_uppercase(), &[("Verification", "SUCCESSFUL")])
}

/// CloverLeaf comes to the same sums over its grid with 4 PEs as with one.
fn clover_leaf(s: &Setting, root: &Path) -> Result<()> {
    let [fortran, c] = ["oshfort", "oshcc"].map(|name| s.prefix.bin(name));
    let words = [
        "COMPILER=GNU".to_owned(),
        "OPTIONS=-cpp".to_owned(),
        format!("MPI_COMPILER={}", fortran.display()),
        format!("C_MPI_COMPILER={}", c.display()),
    ];
    let folder = copied(s, &root.join("CloverLeaf_OpenSHMEM"), "clover")?;
    make(&folder, &words)?;
    let directory = folder.display().to_string();
    let sums = |pes: &str| {
        fs::copy(folder.join("clover_bm_short.in"), folder.join("clover.in"))?;
        let job = Job::new(0, &folder.join("clover_leaf")).options(&["-n", pes, "--wdir", &directory]);
        job.env("OMP_NUM_THREADS", "1").expect_success(&s.prefix, &s.scratch)?;
        let text = fs::read_to_string(folder.join("clover.out"))?;
        ensure!(text.contains("Calculation complete"), "{text}");
        let last = text.lines().rfind(|line| line.trim_start().starts_with("step:"));
        Ok(last.context("no sums")?.to_owned())
    };
    let (alone, together) = (sums("1")?, sums("4")?);
    ensure!(alone == together, "{alone}\n{together}");
    Ok(())
}

/// The programs of a folder, and of those in it.
fn programs(folder: &Path, pes: &'static [usize]) -> Vec<Program> {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for source in paths {
        if source.is_dir() {
            all.extend(programs(&source, pes));
        } else if let Some(text) = program_text(&source) {
            let forms = FORMS.into_iter().filter(|(used, ..)| text.contains(used));
            let forms = forms.map(|(_, name, words)| Some((name, words)));
            all.extend([None].into_iter().chain(forms).map(|form| Program { source: source.clone(), form, pes }));
        }
    }
    all
}

/// The text of a source that is a program by itself, without MPI.
fn program_text(source: &Path) -> Option<String> {
    let name = stem(source);
    let text = fs::read_to_string(source).ok()?;
    let is_wanted = match extension(source) {
        "c" | "cpp" => text.contains("main") && !text.contains("mpi.h") && !LONG.contains(&name),
        "f" | "f90" => !NOT_FORTRAN.contains(&name) && !WRONG.iter().any(|begin| name.starts_with(begin)),
        _ => false,
    };
    is_wanted.then_some(text)
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(OsStr::to_str).unwrap_or_default()
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(OsStr::to_str).unwrap_or_default()
}

impl Program {
    fn name(&self, root: &Path) -> String {
        let path = self.source.strip_prefix(root).unwrap_or(&self.source).display();
        self.form.map_or(path.to_string(), |(_, words)| format!("{path} ({words})"))
    }

    /// It ends well with each number of PEs.
    fn run(&self, s: &Setting, root: &Path, wrapper: &Wrapper) -> Result<()> {
        let program = self.compile(s, root, wrapper)?;
        let few = matches!(wrapper, Wrapper::Peer(_)) || !s.prefix.emulator().is_empty();
        let one = [self.pes[0]];
        let pes: &[usize] = match few {
            true if self.pes.len() > 1 => &FEW,
            true => &one,
            false => self.pes,
        };
        for pes in pes {
            self.ends(s, &program, *pes).with_context(|| format!("{pes} PEs"))?;
        }
        Ok(())
    }

    fn ends(&self, s: &Setting, program: &Path, pes: usize) -> Result<()> {
        let mut job = Job::new(pes, program);
        job.watchdog = LIMIT;
        let outcome = job.run(&s.prefix, &s.scratch)?;
        if let Some((_, status)) = GLOBAL_EXIT.iter().find(|(name, _)| *name == stem(&self.source)) {
            return outcome.ended(*status).map(drop);
        }
        let outcome = outcome.successful(LIMIT)?;
        // A test of tests-uh that has failed says so, and ends well.
        ensure!(!outcome.stdout.contains("Failed"), "{outcome}");
        Ok(())
    }

    fn compile(&self, s: &Setting, root: &Path, wrapper: &Wrapper) -> Result<PathBuf> {
        let compiler = wrapper.compiler(s, &self.source)?;
        let mut hash = DefaultHasher::new();
        (&self.source, self.form, &compiler, fs::metadata(s.prefix.library("libshmem.so"))?.modified()?)
            .hash(&mut hash);
        let program = s.cache.join(format!("{}-{:016x}", stem(&self.source), hash.finish()));
        once(&program, |temporary| {
            let sos = root.join("tests-sos/test");
            let mut command = Command::new(&compiler);
            command.args(["-O2", "-w", "-o"]).arg(temporary).arg(&self.source);
            for folder in ["include", "performance/shmem_perf_suite"] {
                command.arg("-I").arg(sos.join(folder));
            }
            if extension(&self.source) == "c" {
                command.args(["-std=gnu11", "-pthread", "-fopenmp"]);
            }
            command.args(self.form.map(|(name, _)| format!("-D{name}")));
            if stem(&self.source) == "mt_lock_test" {
                command.arg(sos.join("unit/mt_lock.c"));
            }
            succeed(command.arg("-lm"))
        })
        .map_err(|error| match wrapper {
            Wrapper::Own => error,
            Wrapper::Peer(_) => Missing(format!("{wrapper} does not compile it")).into(),
        })?;
        Ok(program)
    }
}

impl Wrapper {
    /// Fortran is for this library alone.
    fn may_compile(&self, program: &Program) -> bool {
        let is_c = matches!(extension(&program.source), "c" | "cpp");
        matches!(self, Self::Own) || is_c && !OF_VERSION.contains(&stem(&program.source))
    }

    /// The compiler of the source's language.
    fn compiler(&self, s: &Setting, source: &Path) -> Result<PathBuf> {
        let own = |name: &str| s.prefix.bin(name);
        Ok(match (self, extension(source)) {
            (Self::Own, "c") => s.prefix.wrapper(Language::C),
            (Self::Own, "cpp") => s.prefix.wrapper(Language::Cxx),
            (Self::Own, _) if s.prefix.emulator().is_empty() => own("oshfort"),
            (Self::Peer(oshcc), "c") => oshcc.clone(),
            (Self::Peer(oshcc), "cpp") => {
                let names = ["oshc++", "oshcxx"].map(|name| oshcc.with_file_name(name));
                names.into_iter().find(|name| name.is_file()).with_context(|| format!("no C++ beside {self}"))?
            }
            _ => return Err(Missing("oshfort is for this machine's processor alone".to_owned()).into()),
        })
    }
}

impl fmt::Display for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("oshcc"),
            Self::Peer(oshcc) => write!(f, "{}", oshcc.display()),
        }
    }
}
