//! The headers as compilers see them: no warnings in any dialect, and loops of `p` and `g`
//! that vectorize.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// (compiler, language, dialects), the oldest dialect first.
const COMPILERS: &[(&str, &str, &[&str])] = &[
    ("gcc", "c", &["c99", "c11", "gnu2x"]),
    ("clang", "c", &["c99", "c11", "gnu2x"]),
    ("g++", "c++", &["c++11", "c++17", "c++20"]),
    ("clang++", "c++", &["c++11", "c++17", "c++20"]),
];

const WARNINGS: &[&str] =
    &["-Werror", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Wfloat-equal"];

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

fn source(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the build folder is writable");
    path
}

/// None if there is no such compiler here.
fn compile(compiler: &str, args: &[&str], source: &Path) -> Option<Output> {
    let command = &mut Command::new(compiler);
    let output = command.args(args).arg("-I").arg(include()).arg(source).output();
    if output.is_err() {
        eprintln!("note: {compiler} is not installed");
    }
    output.ok()
}

fn assert_compiles(output: &Output, what: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}:\n{errors}");
}

#[test]
fn headers_compile_without_warnings() {
    let text = "#include <shmem.h>\n#include <pshmem.h>\n#include <shmemx.h>\n#include <mpp/shmem.h>\n#include \
        <mpp/shmemx.h>\nint main(void) { return 0; }\n";
    let source = source("headers.c", text);
    for (compiler, language, dialects) in COMPILERS {
        for (number, dialect) in dialects.iter().enumerate() {
            // What depends on these options depends on no dialect.
            let others = [&["-O0"][..], &["-O2", "-DSHMEM_NATIVE_ONLY"]].into_iter().filter(|_| number == 0);
            for options in others.chain([&["-O2"][..]]) {
                let dialect = format!("-std={dialect}");
                let mut args = vec!["-x", language, &dialect, "-fsyntax-only", "-DSHMEMI_WARNINGS"];
                args.extend(WARNINGS);
                args.extend(options);
                let Some(output) = compile(compiler, &args, &source) else {
                    break;
                };
                assert_compiles(&output, &format!("{compiler} {args:?}"));
            }
        }
    }
}

#[test]
fn cpp_programs_compile() {
    let text = "extern \"C\" {\n#include <shmem.h>\n#include <shmemx.h>\n}\nSHMEMX_KERNEL(look, volatile void *)\n\
        void look(volatile void *) {}\nint main() { return 0; }\n";
    let source = source("within-extern-c.cpp", text);
    for compiler in ["g++", "clang++"] {
        if let Some(output) = compile(compiler, &["-fsyntax-only"], &source) {
            assert_compiles(&output, compiler);
        }
    }
}

/// Instructions that gcc executes for a file, in millions, if valgrind is here to count them.
fn instructions(compiler: &str, language: &str, file: &Path) -> Option<f64> {
    const COUNT: &str = "valgrind,--tool=cachegrind,--cache-sim=no,--cachegrind-out-file=/dev/null";
    let args = ["-x", language, "-O2", "-wrapper", COUNT, "-S", "-o", "/dev/null"];
    let output = compile(compiler, &args, file)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let counted = errors.lines().find_map(|line| line.split_once("refs:"));
    let Some((_, count)) = counted else {
        eprintln!("skipped: valgrind does not count for {compiler}: {errors}");
        return None;
    };
    assert_compiles(&output, compiler);
    let count: f64 = count.replace(',', "").trim().parse().expect("a number");
    Some(count / 1e6)
}

/// A file that includes the header takes gcc 17 ms and 0.28 ms for a million instructions, g++ 19 and 0.37:
/// 100 ms are 20 times the instructions of an empty file, and 300 ms 45 times.
#[test]
fn empty_programs_compile_in_time() {
    let (with, without) = (source("compiled.c", "#include <shmem.h>\n"), source("nothing.c", "\n"));
    for (compiler, language, most) in [("gcc", "c", 20.0), ("g++", "c++", 45.0)] {
        let Some(nothing) = instructions(compiler, language, &without) else {
            continue;
        };
        let header = instructions(compiler, language, &with).expect("valgrind is here");
        assert!(
            header <= most * nothing,
            "{compiler}: {header:.0} million instructions, {nothing:.1} for an empty file"
        );
    }
}

/// What a program reads that includes the header, in bytes after the preprocessor.
#[test]
fn empty_programs_are_short() {
    for (compiler, language, most) in
        [("gcc", "c", 600_000), ("clang", "c", 620_000), ("g++", "c++", 795_000), ("clang++", "c++", 810_000)]
    {
        let source = source(&format!("empty-{compiler}.c"), "#include <shmem.h>\n");
        let run = |options: &[&str]| {
            let output = compile(compiler, &[&["-x", language, "-O2"], options].concat(), &source)?;
            assert_compiles(&output, compiler);
            Some(output.stdout)
        };
        let Some(text) = run(&["-E", "-P"]) else {
            continue;
        };
        assert!(text.len() <= most, "{compiler} reads {} bytes", text.len());
        let headers = String::from_utf8(run(&["-M"]).expect("it has run")).expect("paths are text");
        // <complex> alone takes twice as long as all of this header.
        let others: Vec<_> = headers.split_whitespace().filter(|path| path.contains("/c++/")).collect();
        assert!(others.is_empty(), "{compiler} reads {others:?}");
    }
}

/// Whether an editor shows words for each function: clang gives its declaration a comment, as clangd does, also
/// where it is defined inline. Returns the functions that lack one, and the number of functions.
fn uncommented(level: &str) -> Option<(Vec<String>, usize)> {
    // It includes `shmem.h`.
    let source = source("commented.c", "#include <shmemx.h>\n");
    let args = [level, "-fsyntax-only", "-Xclang", "-ast-dump", "-fno-color-diagnostics"];
    let output = compile("clang", &args, &source)?;
    assert_compiles(&output, "clang -ast-dump");
    let tree = String::from_utf8_lossy(&output.stdout);
    let mut commented: BTreeMap<&str, bool> = BTreeMap::new();
    let mut current = None;
    for line in tree.lines() {
        if line.starts_with("|-") || line.starts_with("`-") {
            // `|-FunctionDecl 0x... <line:1:1, col:20> col:6 name 'void (int)' extern`
            let function = line[2..].starts_with("FunctionDecl ");
            let before_type = line.split(" '").next().unwrap_or_default();
            let name = before_type.rsplit(' ').next().unwrap_or_default();
            let ours = name.starts_with("shmem") && !name.starts_with("shmemi_");
            current = (function && ours).then_some(name);
            if let Some(name) = current {
                commented.entry(name).or_insert(false);
            }
        } else if let Some(name) = current
            && line[2..].trim_start_matches(['|', '`', '-']).starts_with("FullComment")
        {
            commented.insert(name, true);
        }
    }
    let lacking = commented.iter().filter(|(_, has)| !**has);
    let lacking = lacking.map(|(name, _)| (*name).to_owned()).collect();
    Some((lacking, commented.len()))
}

#[test]
fn editors_show_a_comment_for_every_routine() {
    for level in ["-O0", "-O2"] {
        let Some((lacking, functions)) = uncommented(level) else {
            eprintln!("skipped: clang is not installed (package clang)");
            return;
        };
        assert!(functions >= 1900, "clang lists {functions} functions");
        assert!(lacking.is_empty(), "{level}: no comment for {lacking:?}: add an entry to crates/abi/reference");
    }
}

/// `std::complex` is known by its form, and nothing else of two numbers is taken for it.
#[test]
fn complex_numbers_of_the_standard_library_select_overloads() {
    let program = |number: &str| {
        format!(
            "#include <shmem.h>\n#include <complex>\n#include <memory>\n{number} z[2];\n\
             int f(shmem_team_t team, long *sync) {{\n\
             shmem_complexd_sum_to_all(z, z + 1, 1, 0, 0, 1, z, sync);\n\
             shmem_complexd_sum_reduce(team, z, z + 1, 1);\n\
             return shmem_sum_reduce(team, z, z + 1, 1) + shmem_prod_reduce(team, z, z + 1, 1) +\n\
             shmem_sum_inscan(team, z, z + 1, 1) + shmem_sum_exscan(team, z, z + 1, 1); }}\n"
        )
    };
    let mut accepts = 0;
    for compiler in ["g++", "clang++"] {
        for (number, accepted) in
            [("std::complex<double>", true), ("std::shared_ptr<double>", false), ("std::complex<long double>", false)]
        {
            let source = source(&format!("complex-{compiler}.cpp"), &program(number));
            let Some(output) = compile(compiler, &["-O2", "-fsyntax-only"], &source) else {
                break;
            };
            assert_eq!(output.status.success(), accepted, "{compiler}: {number}");
            accepts += usize::from(accepted);
        }
    }
    if accepts == 0 {
        eprintln!("skipped: neither g++ nor clang++ is installed");
    }
}

/// A structure is not taken for a complex number of its size.
#[test]
fn elements_of_reductions_are_numbers() {
    let programs = [("int", true), ("std::complex<float>", true), ("shmemi_complexd", true), ("std::div_t", false)];
    for (number, accepted) in programs {
        let text = format!(
            "#include <shmem.h>\n#include <shmemx.h>\n#include <complex>\n#include <cstdlib>\n{number} a[2], b[2];\n\
             int f(shmem_team_t team) {{ return shmemx_sum_reduce_scatter(team, a, b, 1); }}\n"
        );
        let source = source("numbers.cpp", &text);
        for compiler in ["g++", "clang++"] {
            if let Some(output) = compile(compiler, &["-fsyntax-only"], &source) {
                assert_eq!(output.status.success(), accepted, "{compiler}: {number}");
            }
        }
    }
}

/// Each pointer-to-pointer loop of doubles must move more than one element at a time.
#[cfg(target_arch = "x86_64")]
#[test]
fn native_only_loops_vectorize() {
    let loops = [
        "for (size_t i = 0; i < n; i++) shmem_double_p(&d[i], s[i], pe);",
        "for (size_t i = 0; i < n; i++) d[i] = shmem_double_g(&s[i], pe);",
        "for (size_t i = 0; i < n; i++) shmem_double_p(&d[i], 1.5, pe);",
        "for (size_t i = 0; i < n; i++) shmem_double_put(&d[i], &s[i], 1, pe);",
        "for (size_t i = 0; i < n; i++) shmem_double_p(&to[i], from[i], pe);",
        "for (size_t i = 0; i < n; i++) to[i] = shmem_double_g(&from[i], pe);",
    ];
    for (i, body) in loops.iter().enumerate() {
        let text = format!(
            "#include <shmem.h>\ndouble to[1000], from[1000];\nvoid f(double *d, const double *s, size_t n, int \
                pe);\nvoid f(double *d, const double *s, size_t n, int pe) {{ (void)d; (void)s; {body} }}\n"
        );
        let source = source(&format!("loop{i}.c"), &text);
        for (compiler, level) in [("gcc", "-O3"), ("clang", "-O2")] {
            let args = [level, "-DSHMEM_NATIVE_ONLY", "-fPIE", "-S", "-o", "-"];
            let Some(output) = compile(compiler, &args, &source) else {
                continue;
            };
            assert_compiles(&output, compiler);
            let assembly = String::from_utf8_lossy(&output.stdout);
            let packed = ["movup", "movap", "memcpy", "memmove"];
            let vector = packed.iter().any(|word| assembly.contains(word));
            assert!(vector, "{compiler} {level} did not vectorize: {body}");
        }
    }
}

/// The inlined operation is there, and so is the call for a PE that is not on this node.
#[test]
fn operations_are_inlined_unless_told_otherwise() {
    let text = "#include <shmem.h>\nvoid f(long *d, int pe);\nvoid f(long *d, int pe) { shmem_long_p(d, 1, pe); }\n";
    let source = source("inlined.c", text);
    for compiler in ["gcc", "clang"] {
        let options: [(&[&str], bool, bool); 4] = [
            (&["-O2"], true, true),
            (&["-O2", "-DSHMEM_NATIVE_ONLY"], true, false),
            (&["-O2", "-DSHMEM_NO_INLINE"], false, true),
            (&["-O0"], false, true),
        ];
        for (options, inlined, calls) in options {
            let args = [options, &["-fPIE", "-S", "-o", "-"][..]].concat();
            let Some(output) = compile(compiler, &args, &source) else {
                continue;
            };
            assert_compiles(&output, compiler);
            let assembly = String::from_utf8_lossy(&output.stdout);
            assert_eq!(assembly.contains("shmemi_native"), inlined, "{compiler} {options:?}");
            assert_eq!(assembly.contains("shmem_long_p"), calls, "{compiler} {options:?}");
        }
    }
}
