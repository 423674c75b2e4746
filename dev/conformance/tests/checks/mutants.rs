//! Mutants: each synchronisation of a program taken out in turn, and whether `oshrun` names it. The programs are some
//! of this repository's, and with `FERROSHMEM_MUTANTS=DIR` the C files of a folder, such as public programs: of one
//! file each, beside what they include.
//!
//! A mutant is named by a finding, by a line of the library, or by the report of a hang. Synchronisations are left
//! alone that the program does not reach, and those that the calls beside them stand for, too: before a barrier or a
//! call that begins with one, beside a collective, and beside a call for the time, for which alone they are made. Of a
//! given folder, all that are not named are listed: whether the program needs them, only its reader can tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Outcome, Suite};

/// The folder, if one is given.
const FOLDER: &str = "FERROSHMEM_MUTANTS";

/// Examples, with arguments that make them small.
const EXAMPLES: &[(&str, &str)] = &[("ring", "4"), ("stencil", "4 16")];

/// Numbers of PEs: a mutant that is not named with the first may be with the next.
const PES: [&str; 2] = ["2", "4"];

/// Of 100 mutants, so many are named at least.
const NAMED: usize = 80;

/// Kinds of synchronisations, by a part of a routine's name. The first that fits counts.
const KINDS: &[(&str, &str)] = &[
    ("put_signal", "signal"),
    ("signal_set", "signal"),
    ("signal_add", "signal"),
    ("wait", "wait"),
    ("barrier", "barrier"),
    ("sync", "barrier"),
    ("quiet", "quiet"),
    ("fence", "fence"),
];

/// Calls that begin with a barrier.
const WITH_BARRIER: &[&str] =
    &["shmem_barrier", "shmem_finalize", "shmem_free", "shmem_malloc", "shmem_calloc", "shmem_align", "shfree"];

pub(crate) fn add(suite: &mut Suite) {
    let given = std::env::var_os(FOLDER).map(PathBuf::from);
    let programs: Vec<(PathBuf, String)> = match &given {
        Some(folder) => c_files(folder).into_iter().map(|path| (path.clone(), arguments_beside(&path))).collect(),
        None => EXAMPLES.iter().map(|(n, a)| (workspace().join(format!("examples/{n}.c")), (*a).to_owned())).collect(),
    };
    let is_given = given.is_some();
    suite.add("mutants".into(), move |s| {
        let mut all = Counts::default();
        for (path, arguments) in &programs {
            let program = Program { path, arguments };
            let counts = program.counts(s).with_context(|| path.display().to_string())?;
            println!("{}: {counts}", path.display());
            all.add(&counts);
        }
        println!("all: {all}");
        let (named, of) = all.total();
        if is_given {
            println!("not named:\n{}", all.unnamed);
            return Ok(());
        }
        ensure!(of > 0 && named * 100 >= of * NAMED, "{named} of {of} mutants are named\n{all}\n{}", all.unnamed);
        Ok(())
    });
}

fn c_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the programs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    paths.sort_unstable();
    paths
}

/// The arguments of a program, which a file beside it may have: `NAME.args`.
fn arguments_beside(path: &Path) -> String {
    fs::read_to_string(path.with_extension("args")).unwrap_or_default()
}

/// Mutants by kind: how many are named, and how many there are.
#[derive(Debug, Default)]
struct Counts {
    kinds: BTreeMap<&'static str, (usize, usize)>,
    unnamed: String,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        for (kind, (named, of)) in &other.kinds {
            let sum = self.kinds.entry(kind).or_default();
            *sum = (sum.0 + named, sum.1 + of);
        }
        self.unnamed += &other.unnamed;
    }

    fn total(&self) -> (usize, usize) {
        self.kinds.values().fold((0, 0), |sum, (named, of)| (sum.0 + named, sum.1 + of))
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (kind, (named, of)) in &self.kinds {
            write!(f, "{kind} {named}/{of} ")?;
        }
        let (named, of) = self.total();
        write!(f, "named {named}/{of}")
    }
}

/// A program.
struct Program<'a> {
    path: &'a Path,
    arguments: &'a str,
}

impl Program<'_> {
    /// Nothing may be found in the program itself.
    fn counts(&self, s: &Setting) -> Result<Counts> {
        fs::create_dir_all(&s.scratch)?;
        let source = fs::read_to_string(self.path)?;
        let built = self.build(s, &source)?;
        for pes in PES {
            let outcome = self.run(s, &built, pes)?;
            ensure!(outcome.status.success() && !outcome.stderr.contains("race"), "is not clean\n{outcome}");
        }
        let mut counts = Counts::default();
        for mutant in mutants(&source) {
            let mut text = source.clone();
            text.replace_range(mutant.range.clone(), &mutant.instead);
            if !self.reaches(s, &source, &mutant)? {
                continue;
            }
            let built = self.build(s, &text)?;
            let mut named = false;
            for pes in PES {
                named = named || is_named(&self.run(s, &built, pes)?);
            }
            let count = counts.kinds.entry(mutant.kind).or_default();
            *count = (count.0 + usize::from(named), count.1 + 1);
            if !named {
                let line = source[..mutant.range.start].lines().count().max(1);
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                writeln!(counts.unnamed, "{name}:{line}: {}", &source[mutant.range])?;
            }
        }
        Ok(counts)
    }

    /// Whether a call is made: one that ends the job in its place does.
    fn reaches(&self, s: &Setting, source: &str, mutant: &Mutant) -> Result<bool> {
        let mut text = source.to_owned();
        text.replace_range(mutant.range.clone(), "__builtin_trap()");
        let built = self.build(s, &text)?;
        for pes in PES {
            let job = self.job(&built, &["-n", pes, "--timeout", "60"]);
            if !job.run(&s.prefix, &s.scratch)?.status.success() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn build(&self, s: &Setting, source: &str) -> Result<PathBuf> {
        let (file, program) = (s.scratch.join("mutant.c"), s.scratch.join("mutant"));
        let object = s.scratch.join("mutant.o");
        fs::write(&file, source)?;
        let include = self.path.parent().unwrap_or(self.path);
        let oshcc = |command: &mut Command| {
            let output = command.output()?;
            ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(())
        };
        let compiler = s.prefix.bin("oshcc");
        let flags = ["-g", "-O1", "-w", "-fsanitize=thread", "-c", "-I"];
        oshcc(Command::new(&compiler).args(flags).arg(include).arg(&file).arg("-o").arg(&object))?;
        oshcc(Command::new(&compiler).arg("-o").arg(&program).arg(&object).args(["-lshmem-accesses", "-lm"]))?;
        Ok(program)
    }

    fn run(&self, s: &Setting, program: &Path, pes: &str) -> Result<Outcome> {
        let check = ["--check=collective,race", "--hang-timeout", "2", "--timeout", "60", "-n", pes];
        self.job(program, &check).run(&s.prefix, &s.scratch)
    }

    fn job(&self, program: &Path, options: &[&str]) -> Job {
        let arguments: Vec<&str> = self.arguments.split_whitespace().collect();
        Job::new(0, program).options(options).args(&arguments)
    }
}

/// Whether a report says what is wrong: findings, though the program may have failed, lines of the library, hangs.
fn is_named(outcome: &Outcome) -> bool {
    let says = |words: &str| outcome.stderr.contains(words);
    let found = shell_status(outcome.status) == super::FOUND || says(" race: ");
    found || says("ferroshmem: PE") || says("has made progress") || says("deadlock")
}

/// A call that is taken out.
#[derive(Debug, PartialEq, Eq)]
struct Mutant {
    kind: &'static str,
    range: Range<usize>,
    instead: String,
}

/// The synchronisations that are statements of their own.
fn mutants(source: &str) -> Vec<Mutant> {
    let code = without_comments(source);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let starts = code.match_indices("shmem_").map(|(at, _)| at);
    for at in starts.filter(|at| !code[..*at].ends_with(is_word)) {
        let rest = &code[at..];
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let kind = KINDS.iter().find(|(part, _)| name.contains(part)).map(|(_, kind)| *kind);
        let Some(kind) = kind.filter(|_| !name.contains("init") && !name.contains("SYNC")) else {
            continue;
        };
        let Some(arguments) = arguments(rest, name.len()) else {
            continue;
        };
        let end = name.len() + arguments.1;
        let before = code[..at].trim_end();
        let is_statement = before.ends_with([';', '{', '}', ')', ':']) || before.ends_with("else");
        let after = rest[end..].trim_start();
        let Some(next) = after.strip_prefix(';').filter(|_| is_statement) else {
            continue;
        };
        let next = next.trim_start_matches(|c: char| c.is_whitespace() || c == '}');
        if WITH_BARRIER.iter().any(|call| next.starts_with(call)) || is_beside(before, next) {
            continue;
        }
        let instead = match name.contains("put_signal") {
            // The put stays.
            true => {
                let a = arguments.0;
                let without = [&a[..a.len() - 4], &a[a.len() - 1..]].concat();
                format!("{}({})", name.replace("_signal", ""), without.join(","))
            }
            false => "(void)0".to_owned(),
        };
        found.push(Mutant { kind, range: at..at + end, instead });
    }
    found
}

/// Whether one of two statements, the end of one text and the beginning of another, is a collective, or for the time.
fn is_beside(before: &str, after: &str) -> bool {
    const WORDS: [&str; 6] = ["time", "_to_all", "_reduce", "broadcast", "collect", "alltoall"];
    let last = before.trim_end_matches(|c: char| c.is_whitespace() || ";{}".contains(c));
    let last = &last[last.rfind([';', '{', '}']).unwrap_or(0)..];
    let next = &after[..after.find(';').unwrap_or(after.len())];
    [last, next].iter().any(|statement| WORDS.iter().any(|word| statement.to_lowercase().contains(word)))
}

/// The arguments of the call whose name has `len` bytes, and the bytes from there to the call's end.
fn arguments(call: &str, len: usize) -> Option<(Vec<&str>, usize)> {
    let rest = &call[len..];
    let open = rest.len() - rest.trim_start().len();
    if !rest[open..].starts_with('(') {
        return None;
    }
    let (mut depth, mut first, mut all) = (0, open + 1, Vec::new());
    for (at, c) in rest.char_indices().skip(open) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 1 => {
                all.push(&rest[first..at]);
                first = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            all.push(&rest[first..at]);
            return Some((all, at + 1));
        }
    }
    None
}

/// The source with blanks in place of comments and of lines of the preprocessor, as long as it is.
fn without_comments(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let end = match rest {
            r if r.starts_with("/*") => r.find("*/").map_or(r.len(), |at| at + 2),
            r if r.starts_with("//") => r.find('\n').unwrap_or(r.len()),
            r if r.starts_with('#') && out.trim_end_matches([' ', '\t']).ends_with(['\n', '\0']) => {
                r.find('\n').unwrap_or(r.len())
            }
            r => {
                let c = r.chars().next().unwrap_or_default();
                out.push(if c.is_ascii() { c } else { ' ' });
                (1..c.len_utf8()).for_each(|_| out.push(' '));
                rest = &r[c.len_utf8()..];
                continue;
            }
        };
        out.extend(rest[..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    out
}
