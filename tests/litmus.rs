//! The tests of memory order in `dev/litmus`, decided by herd7: the outcome that each describes is impossible, and
//! becomes possible if one of its orderings is taken out. What inlined operations are in them is what a compiler for
//! Arm makes of these.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What each ordering is when it is taken out. Longer names come before those that begin them.
const WEAKER: [(&str, &str); 14] = [
    ("memory_order_acquire", "memory_order_relaxed"),
    ("memory_order_release", "memory_order_relaxed"),
    ("memory_order_acq_rel", "memory_order_relaxed"),
    // Of fences alone.
    ("memory_order_seq_cst", "memory_order_acq_rel"),
    ("DMB ISHLD", "NOP"),
    ("DMB ISH ", "NOP "),
    ("LDAXRB ", "LDXRB "),
    ("LDAXR ", "LDXR "),
    ("LDADDAL ", "LDADD "),
    ("CASAL ", "CASL "),
    ("LDAR ", "LDR "),
    ("STLXR ", "STXR "),
    ("STLRB ", "STRB "),
    ("STLR ", "STR "),
];

const ARM_GCC: &str = "aarch64-linux-gnu-gcc";

struct Litmus {
    name: String,
    /// Language, name and comments.
    head: String,
    /// Initial values, code and outcome.
    body: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dev/litmus")
}

fn all() -> Vec<Litmus> {
    let files = fs::read_dir(folder()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "litmus")).collect();
    files.sort();
    assert!(files.len() > 20, "{} tests", files.len());
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("a test");
        let end = text.rfind("*)\n").expect("a comment") + 3;
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(text.lines().next().is_some_and(|line| line.ends_with(&format!(" {name}"))), "{name} has another name");
        Litmus { name, head: text[..end].to_owned(), body: text[end..].to_owned() }
    };
    files.iter().map(read).collect()
}

impl Litmus {
    /// Whether herd7 finds the outcome: `Never`, `Sometimes` or `Always`.
    fn observe(&self, body: &str) -> String {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = format!("{}-{}-{number}.litmus", self.name, std::process::id());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        fs::write(&file, format!("{}{body}", self.head)).expect("a file");
        let mut herd = Command::new("herd7");
        if self.head.starts_with("C ") {
            herd.args(["-model", "rc11.cat"]);
        }
        let output = herd.arg(&file).output().expect("herd7 runs");
        fs::remove_file(file).expect("the file");
        let text = String::from_utf8_lossy(&output.stdout);
        let observed = text.lines().find_map(|line| line.strip_prefix("Observation ")?.split(' ').nth(1));
        let observed = observed.map(str::to_owned);
        observed.unwrap_or_else(|| panic!("{}: {text}{}", self.name, String::from_utf8_lossy(&output.stderr)))
    }

    /// Each ordering that the outcome rests on, and the code without it.
    fn mutants(&self) -> Vec<(String, String)> {
        let unneeded: Vec<&str> =
            self.head.split("(* not needed: ").skip(1).filter_map(|rest| rest.split(" *)").next()).collect();
        let spans: Vec<_> = unneeded.iter().flat_map(|text| self.body.match_indices(text)).collect();
        assert!(unneeded.iter().all(|text| self.body.contains(text)), "{}: {unneeded:?}", self.name);
        let is_unneeded = |at: usize| spans.iter().any(|(start, text)| (*start..start + text.len()).contains(&at));
        let found = WEAKER.iter().flat_map(|(ordering, weaker)| {
            self.body.match_indices(ordering).map(move |(at, _)| (at, *ordering, *weaker))
        });
        found
            .filter(|(at, ..)| !is_unneeded(*at))
            .map(|(at, ordering, weaker)| {
                let line = self.body[..at].lines().count().max(1);
                let body = format!("{}{weaker}{}", &self.body[..at], &self.body[at + ordering.len()..]);
                (format!("{ordering} in line {line} of the code"), body)
            })
            .collect()
    }

    /// The instructions of a thread that access memory or are fences, without their operands.
    fn instructions(&self, thread: usize) -> Vec<String> {
        let (_, code) = self.body.split_once('}').expect("initial values");
        let cells = code.lines().filter_map(|line| line.trim().strip_suffix(';')?.split('|').nth(thread));
        cells.filter_map(|cell| access(cell.trim())).collect()
    }
}

/// What an instruction does to memory: its name, and the kind of a fence.
fn access(instruction: &str) -> Option<String> {
    let instruction = instruction.to_uppercase();
    let is_access = ["LD", "ST", "DMB", "CAS", "SWP"].iter().any(|start| instruction.starts_with(start));
    let words = if instruction.starts_with("DMB") { 2 } else { 1 };
    is_access.then(|| instruction.split_whitespace().take(words).collect::<Vec<_>>().join(" "))
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {tool} is not on the PATH");
    }
    found
}

#[test]
fn every_described_outcome_is_impossible() {
    if has("herd7") {
        for litmus in all() {
            assert_eq!(litmus.observe(&litmus.body), "Never", "{}", litmus.name);
        }
    }
}

#[test]
fn every_ordering_is_needed() {
    if has("herd7") {
        for litmus in all() {
            let mutants = litmus.mutants();
            assert!(!mutants.is_empty(), "{} has no ordering", litmus.name);
            for (what, body) in mutants {
                assert_eq!(litmus.observe(&body), "Sometimes", "{} without {what}", litmus.name);
            }
        }
    }
}

/// A compiler for Armv8.3 and later may take `ldapr` for a load that acquires.
#[test]
fn inlined_operations_need_no_stronger_loads() {
    if has("herd7") {
        let inlined = fs::read_to_string(folder().join("inlined.c")).expect("the functions");
        let is_inlined = |litmus: &Litmus| inlined.contains(&format!("{}_P", litmus.name.replace('-', "_")));
        let tests: Vec<_> = all().into_iter().filter(is_inlined).collect();
        assert!(tests.len() > 7, "{} tests", tests.len());
        for litmus in tests {
            assert_eq!(litmus.observe(&litmus.body.replace("LDAR ", "LDAPR ")), "Never", "{} by LDAPR", litmus.name);
        }
    }
}

/// The functions of an assembler file, each with its instructions that access memory which PEs share.
fn functions(assembler: &str) -> Vec<(String, Vec<String>)> {
    const TABLE: &str = "shmemi_native";

    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    // Registers that hold an address in the table of PEs.
    let mut table = HashSet::new();
    for line in assembler.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| name.ends_with(|c: char| c.is_ascii_digit())) {
            if !name.starts_with('.') {
                all.push((name.to_owned(), Vec::new()));
                table.clear();
            }
            continue;
        }
        let Some((name, operands)) = line.trim().split_once('\t') else {
            continue;
        };
        let registers: Vec<String> =
            operands.split(|c: char| !c.is_alphanumeric()).map(|word| word.replacen('w', "x", 1)).collect();
        let is_of_table = operands.contains(TABLE) || registers.iter().skip(1).any(|r| table.contains(r));
        match (access(&format!("{name} {operands}")), all.last_mut()) {
            (Some(access), Some((_, accesses))) => {
                let is_private = is_of_table && name == "ldr" || operands.contains("[sp");
                accesses.extend((!is_private).then_some(access));
                table.remove(&registers[0]);
            }
            _ if is_of_table => _ = table.insert(registers[0].clone()),
            _ => _ = table.remove(&registers[0]),
        }
    }
    all
}

/// Each function of `inlined.c` is the thread of a test.
#[test]
fn inlined_operations_are_those_of_the_tests() {
    if !has(ARM_GCC) {
        return;
    }
    let tests = all();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut compared = 0;
    for (suffix, processor) in [("", "-march=armv8-a"), ("-lse", "-march=armv8.1-a")] {
        let mut gcc = Command::new(ARM_GCC);
        gcc.args(["-O2", "-w", "-S", "-fno-pic", "-mno-outline-atomics", "-DSHMEM_NATIVE_ONLY", processor, "-I"]);
        let output = gcc.arg(&include).arg(folder().join("inlined.c")).args(["-o", "-"]).output().expect("gcc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for (function, found) in functions(&String::from_utf8_lossy(&output.stdout)) {
            let (name, thread) = function.rsplit_once("_P").expect("a thread");
            let name = format!("{}{suffix}", name.replace('_', "-"));
            let Some(test) = tests.iter().find(|test| test.name == name) else {
                assert!(!suffix.is_empty(), "there is no test {name}");
                continue;
            };
            assert_eq!(found, test.instructions(thread.parse().expect("a number")), "{function} of {name}");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared} functions");
}
