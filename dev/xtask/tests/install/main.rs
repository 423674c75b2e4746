//! An installation works wherever it is moved, with the build systems that people use.
//!
//! The installation under test is the one that `FERROSHMEM_PREFIX` names, else a fresh one. It is
//! copied into a directory with a space in its name, so nothing may depend on where it was
//! installed.

mod build_systems;
mod linking;
#[path = "../support/mod.rs"]
mod support;
mod wrapper;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::{installed, lacks, succeed};
use tempfile::TempDir;

/// A program that uses heap, globals and a collective, and fails if one of them does.
const C_PROGRAM: &str = r#"
#include <shmem.h>
#include <stdio.h>
static long sum;
int main(void) {
    shmem_init();
    int n = shmem_n_pes();
    long *one = shmem_malloc(sizeof *one);
    *one = 1;
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) shmem_long_atomic_add(&sum, shmem_long_g(one, pe), pe);
    shmem_barrier_all();
    long all = sum;
    if (shmem_my_pe() == 0) printf("sum %ld\n", all);
    shmem_finalize();
    return all != n;
}
"#;

const CXX_PROGRAM: &str = r#"
#include <shmem.h>
#include <iostream>
#include <vector>
static double values[4];
int main() {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    std::vector<double> mine(4, me + 0.5);
    shmem_double_put(values, mine.data(), mine.size(), (me + 1) % n);
    shmem_barrier_all();
    bool right = values[3] == (me + n - 1) % n + 0.5;
    if (me == 0) std::cout << (right ? "right" : "wrong") << std::endl;
    shmem_finalize();
    return right ? 0 : 1;
}
"#;

/// The moved installation.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let original = support::installation("prefix", &[]);
        let moved = scratch.join("moved with spaces");
        if moved.exists() {
            fs::remove_dir_all(&moved).unwrap();
        }
        succeed(Command::new("cp").arg("-a").arg(original).arg(&moved));
        moved
    })
}

fn bin(name: &str) -> PathBuf {
    prefix().join("bin").join(name)
}

/// A command that knows nothing of the installation but its path.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in ["LD_LIBRARY_PATH", "OSHMEM_CC", "OSHMEM_CXX", "PKG_CONFIG_PATH"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a program on 3 PEs, under the launcher's own watchdog.
fn run(program: &Path) -> String {
    succeed(command(bin("oshrun")).args(["-n", "3", "--timeout", "60"]).arg(program))
}

/// A directory with the programs: `main.c`, `main.cpp`, and `root.c`, which is `main.c` with a function of `math.h`.
fn project() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("main.c"), C_PROGRAM).unwrap();
    // The compiler cannot know the argument, so it calls the function.
    let root = C_PROGRAM.replace("long all = sum;", "long all = (long)sqrt((double)(sum * sum));");
    let root = format!("#include <math.h>\n{root}");
    fs::write(directory.path().join("root.c"), root).unwrap();
    fs::write(directory.path().join("main.cpp"), CXX_PROGRAM).unwrap();
    directory
}

#[test]
fn example_programs_compile_cleanly_and_run() {
    let project = project();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    // Each option has two examples.
    for (name, argument, option) in [
        ("hello", "", "-DSHMEM_NO_INLINE"),
        ("ring", "50", "-DSHMEM_NATIVE_ONLY"),
        ("histogram", "5000", "-O3"),
        ("heat", "40", "-DSHMEM_NO_INLINE"),
        ("intsort", "16", "-DSHMEM_NATIVE_ONLY"),
        ("stencil", "40", "-O3"),
    ] {
        let program = project.path().join(name);
        succeed(
            command(bin("oshcc"))
                .args(["-O2", "-Wall", "-Wextra", "-Werror", option])
                .arg(examples.join(format!("{name}.c")))
                .args(["-lm", "-o"])
                .arg(&program),
        );
        let mut oshrun = command(bin("oshrun"));
        oshrun.args(["-n", "3", "--timeout", "60"]).arg(program);
        succeed(oshrun.args((!argument.is_empty()).then_some(argument)));
    }
}

#[test]
fn info_lists_every_variable() {
    let all = succeed(command(bin("oshmem_info")).env("SHMEM_CHECK", "1"));
    let variables = succeed(command(bin("oshmem_info")).arg("--env"));
    for variable in ferroshmem_config::TABLE.iter().filter(|v| v.is_of_jobs()) {
        assert!(all.contains(variable.name()) && variables.contains(variable.name()));
    }
    assert!(all.contains("set to \"1\""), "{all}");
    let version = succeed(command(bin("oshmem_info")).arg("--version"));
    assert_eq!(version.trim_end(), ferroshmem_core::info::version_line());
}

#[test]
fn manual_pages_list_every_option() {
    for (program, page) in [("oshrun", "oshrun.1"), ("oshmem_info", "oshmem_info.1"), ("oshtune", "oshtune.1")] {
        let help = succeed(command(bin(program)).arg("--help"));
        let page = fs::read_to_string(prefix().join("share/man/man1").join(page)).unwrap();
        for option in help.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
            // Without the value, which may be optional: --profile[=<FILE>].
            let name = option.split(['[', '=', ',']).next().unwrap_or(option);
            let words = [format!("Fl {name}"), format!("Fl Fl {name}")];
            assert!(words.iter().any(|word| page.contains(word)), "{program}: no word of --{name}");
        }
    }
}

#[test]
fn installs_below_a_destdir() {
    let directory = tempfile::tempdir().unwrap();
    let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
    install.args(["install", "--prefix", "/opt/ferroshmem", "--destdir"]).arg(directory.path());
    // Where an installation is under test, its commands are not built again; nor are those beside this test's.
    if let Some(prefix) = env::var_os("FERROSHMEM_PREFIX") {
        let built = Path::new(env!("CARGO_BIN_EXE_xtask")).parent().filter(|f| f.join("libshmem_check.a").is_file());
        install.arg("--commands").arg(built.map_or(Path::new(&prefix).join("bin"), Path::to_owned));
    }
    succeed(&mut install);
    let root = directory.path().join("opt/ferroshmem");
    for file in [
        "bin/oshrun",
        "bin/oshcc",
        "bin/oshc++",
        "bin/oshfort",
        "bin/oshmem_info",
        "bin/oshtune",
        "include/shmem.h",
        "include/shmemx.h",
        "include/pshmem.h",
        "include/mpp/shmem.h",
        "include/shmem.f90",
        "include/shmem.fh",
        "include/mpp/shmem.fh",
        "lib/ferroshmem/compat/openmpi/liboshmem.so.40",
        "lib/libshmem-accesses.so",
        "lib/libshmem-check.so",
        "lib/libshmem.so",
        "lib/libshmem.so.1",
        "lib/libshmem.a",
        "lib/libshmem-fortran.a",
        "lib/pkgconfig/ferroshmem.pc",
        "lib/cmake/FerroSHMEM/FerroSHMEMConfig.cmake",
        "share/man/man1/oshrun.1",
        "share/man/man1/oshc++.1",
        "share/man/man1/oshfort.1",
        "share/man/man7/ferroshmem.7",
    ] {
        assert!(root.join(file).exists(), "{file} is missing");
    }
    let page = fs::read_to_string(root.join("share/man/man1/oshrun.1")).unwrap();
    assert!(!page.contains("@VERSION@"));
}
