//! With `-DSHMEM_NATIVE_ONLY`, compilers vectorise loops of `shmem_double_p` and `shmem_double_g`, and keep what
//! they need of a PE in registers over loops of `shmem_get64`. A critical section is two compare-exchanges. On aarch64,
//! operations take as many instructions as the documents say.

use std::path::Path;
use std::process::Command;

use ferroshmem_benches::{Build, Builder, Compiler, Source};

/// The instructions of each function of an object file; none without objdump.
fn disassemble(object: &Path) -> Option<String> {
    disassemble_by("objdump", object)
}

fn disassemble_by(objdump: &str, object: &Path) -> Option<String> {
    let command = Command::new(objdump).args(["-d", "--no-show-raw-insn"]).arg(object).output();
    let Ok(output) = command else {
        eprintln!("skipped: no {objdump} command (binutils)");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The part of a disassembly that is the function `name`.
fn function<'a>(disassembly: &'a str, name: &str) -> &'a str {
    let start = disassembly.find(&format!("<{name}>:")).expect("the function is in the object");
    let rest = &disassembly[start..];
    rest.find("\n\n").map_or(rest, |end| &rest[..end])
}

/// The instructions that a function repeats: from where its last jump back leads.
fn last_loop(code: &str) -> Vec<&str> {
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let at = |line: &str| address(line.trim().split(':').next()?);
    let jump = |line: &str| {
        let (_, instruction) = line.split_once(":\t")?;
        let target = instruction.strip_prefix('j')?.split_whitespace().nth(1)?;
        let target = address(target)?;
        (target <= at(line)?).then_some((target, at(line)?))
    };
    let (first, last) = code.lines().filter_map(jump).next_back().expect("the function has a loop");
    let inside = |line: &&str| at(line).is_some_and(|at| (first..=last).contains(&at));
    code.lines().filter(inside).collect()
}

/// Loads and stores among instructions of x86-64, whose last operand is the destination.
fn accesses(instructions: &[&str]) -> (usize, usize) {
    let instruction = |line: &&str| {
        let (_, instruction) = line.split_once(":\t")?;
        let other = ["lea", "nop"].iter().any(|name| instruction.starts_with(name));
        let accesses = instruction.contains("(%") && !other;
        accesses.then(|| instruction.trim_end().ends_with(')'))
    };
    let is_store: Vec<bool> = instructions.iter().filter_map(instruction).collect();
    let stores = is_store.iter().filter(|store| **store).count();
    (is_store.len() - stores, stores)
}

fn loops_vectorise(compiler: Compiler, optimisation: &'static str) {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    if !builder.has(compiler) {
        eprintln!("skipped: {} is not installed", compiler.name());
        return;
    }
    let mut build = Build::new("vectors.c").named(&format!("vectors-{}", compiler.name()));
    build.compiler = compiler;
    build.flags = vec![optimisation, "-DSHMEM_NATIVE_ONLY"];
    let object = builder.object(&build, Source { file: "vectors.c", element_wise: false }).unwrap();
    let Some(text) = disassemble(&object) else {
        return;
    };
    for name in ["scaled_p", "scaled_g"] {
        let code = function(&text, name);
        // Two or more doubles multiplied at once, and no call for any of them.
        assert!(code.contains("mulpd"), "{name} is not vectorised:\n{code}");
        assert!(!code.contains("call"), "{name} calls:\n{code}");
    }
    let code = function(&text, "untyped_get");
    let (loads, stores) = accesses(&last_loop(code));
    assert!(
        stores > 0 && loads == stores,
        "untyped_get loads more than the objects ({loads} loads, {stores} stores):\n{code}"
    );
}

/// A free lock is taken and given back by a compare-exchange each; the library is called for locks that are not free.
fn locks_are_inlined(compiler: Compiler) {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    if !builder.has(compiler) {
        eprintln!("skipped: {} is not installed", compiler.name());
        return;
    }
    let file = "locks.c";
    let mut build = Build::new(file).named(&format!("locks-{}", compiler.name()));
    build.compiler = compiler;
    let element_wise = false;
    let source = Source { file, element_wise };
    let Some(text) = disassemble(&builder.object(&build, source).unwrap()) else {
        return;
    };
    let code = function(&text, "guarded");
    // Calls are beside them.
    assert_eq!(code.matches("lock cmpxchg").count(), 2, "{code}");
}

/// Instructions before the first return: a PE of the node is where the compiler expects no jump.
fn instructions(code: &str) -> usize {
    let mut instructions = code.lines().skip(1).filter_map(|line| Some(line.split_once(":\t")?.1.trim()));
    instructions.position(|instruction| instruction == "ret").expect("the function returns")
}

/// The table in the documents has what a cross compiler makes of each operation.
#[test]
fn counts_on_aarch64() {
    const COMPILER: &str = "aarch64-linux-gnu-gcc";
    const ROWS: [(&str, &str); 9] = [
        ("store", "a store"),
        ("p", "`shmem_long_p`"),
        ("put", "`shmem_putmem` of 8 bytes"),
        ("load", "a load"),
        ("g", "`shmem_long_g`"),
        ("add", "an atomic addition"),
        ("fetch_add", "`shmem_long_atomic_fetch_add`"),
        ("barrier", "a release fence"),
        ("fence", "`shmem_fence`"),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counts-aarch64.o");
    let mut counts = [Vec::new(), Vec::new()];
    for (flags, counts) in [&[][..], &["-DSHMEM_NATIVE_ONLY"]].into_iter().zip(&mut counts) {
        let mut compile = Command::new(COMPILER);
        compile.args(["-O2", "-fPIE", "-march=armv8.1-a"]).args(flags).arg("-I").arg(root.join("../include"));
        let Ok(output) = compile.arg("-c").arg(root.join("tests/c/counts.c")).arg("-o").arg(&object).output() else {
            eprintln!("skipped: {COMPILER} is not installed (package gcc-aarch64-linux-gnu)");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let Some(text) = disassemble_by("aarch64-linux-gnu-objdump", &object) else {
            return;
        };
        counts.extend(ROWS.map(|(name, _)| instructions(function(&text, name))));
    }
    let document = std::fs::read_to_string(root.join("../docs/benchmarks.md")).unwrap();
    for (row, (_, operation)) in ROWS.iter().enumerate() {
        let line = format!("| {operation} | {} | {} |", counts[0][row], counts[1][row]);
        assert!(document.contains(&line), "docs/benchmarks.md lacks {line}");
    }
}

#[test]
fn locks_by_gcc() {
    locks_are_inlined(Compiler::Gcc);
}

#[test]
fn locks_by_clang() {
    locks_are_inlined(Compiler::Clang);
}

#[test]
fn gcc() {
    loops_vectorise(Compiler::Gcc, "-O3");
}

#[test]
fn clang() {
    loops_vectorise(Compiler::Clang, "-O2");
}
