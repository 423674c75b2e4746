//! An installation works wherever it is moved, with the build systems that people use.
//!
//! The installation under test is the one that `FERROSHMEM_PREFIX` names, else a fresh one. It is
//! copied into a directory with a space in its name, so nothing may depend on where it was
//! installed.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
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
        let original = env::var_os("FERROSHMEM_PREFIX").map_or_else(
            || {
                let prefix = scratch.join("prefix");
                let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
                succeed(install.arg("install").arg("--prefix").arg(&prefix));
                prefix
            },
            PathBuf::from,
        );
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
    for variable in [
        "LD_LIBRARY_PATH",
        "OSHMEM_CC",
        "OSHMEM_CXX",
        "PKG_CONFIG_PATH",
    ] {
        command.env_remove(variable);
    }
    command
}

fn succeed(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(
        status.success(),
        "{command:?} failed: {status}\n{stdout}\n{stderr}"
    );
    stdout
}

/// Runs a program on 3 PEs, under the launcher's own watchdog.
fn run(program: &Path) -> String {
    succeed(
        command(bin("oshrun"))
            .args(["-n", "3", "--timeout", "60"])
            .arg(program),
    )
}

/// Whether a tool is installed; says so if not.
fn installed(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: {tool} is not installed");
    }
    there
}

/// A directory with the programs: `main.c`, `main.cpp`, and `root.c`, which is `main.c` with a function of `math.h`.
fn project() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("main.c"), C_PROGRAM).unwrap();
    // The compiler cannot know the argument, so it calls the function.
    let root = C_PROGRAM.replace(
        "long all = sum;",
        "long all = (long)sqrt((double)(sum * sum));",
    );
    let root = format!("#include <math.h>\n{root}");
    fs::write(directory.path().join("root.c"), root).unwrap();
    fs::write(directory.path().join("main.cpp"), CXX_PROGRAM).unwrap();
    directory
}

#[test]
fn wrapper_compiles_c() {
    let project = project();
    let program = project.path().join("a program");
    succeed(
        command(bin("oshcc"))
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"])
            .arg(project.path().join("main.c"))
            .arg("-o")
            .arg(&program),
    );
    assert_eq!(run(&program), "sum 3\n");
    // Without the launcher it is a job of one PE.
    assert_eq!(succeed(&mut command(&program)), "sum 1\n");
}

#[test]
fn wrapper_compiles_in_two_steps_with_every_compiler() {
    for compiler in ["gcc", "clang"] {
        if !installed(compiler) {
            continue;
        }
        let project = project();
        let oshcc = || {
            let mut oshcc = command(bin("oshcc"));
            oshcc
                .env("OSHMEM_CC", compiler)
                .arg("-Werror")
                .current_dir(project.path());
            oshcc
        };
        succeed(oshcc().args(["-O2", "-c", "main.c"]));
        succeed(oshcc().args(["main.o", "-o", "main"]));
        assert_eq!(run(&project.path().join("main")), "sum 3\n", "{compiler}");
    }
}

#[test]
fn wrapper_compiles_cxx_by_all_its_names() {
    let project = project();
    for name in ["oshc++", "oshCC", "oshcxx"] {
        let program = project.path().join(name);
        let source = project.path().join("main.cpp");
        succeed(
            command(bin(name))
                .args(["-std=c++17", "-O2"])
                .arg(source)
                .arg("-o")
                .arg(&program),
        );
        assert_eq!(run(&program), "right\n", "{name}");
    }
}

#[test]
fn wrapper_links_static_programs() {
    for kind in ["-static", "-static-pie"] {
        let project = project();
        let program = project.path().join("main");
        let source = project.path().join("main.c");
        succeed(
            command(bin("oshcc"))
                .args(["-O2", kind])
                .arg(source)
                .arg("-o")
                .arg(&program),
        );
        assert_eq!(run(&program), "sum 3\n", "{kind}");
    }
}

/// Makefiles of public programs name `-lsma`, and count on the wrapper for the functions of `math.h`.
#[test]
fn programs_link_as_with_other_implementations() {
    let project = project();
    let source = project.path().join("root.c");
    let program = project.path().join("root");
    let build = |compiler: &mut Command| {
        succeed(compiler.arg("-O2").arg("-o").arg(&program).arg(&source));
    };
    build(&mut command(bin("oshcc")));
    assert_eq!(run(&program), "sum 3\n");
    for options in [&[][..], &["-static"]] {
        let mut oshcc = command(bin("oshcc"));
        oshcc.args(options).arg("-O2").arg("-o").arg(&program);
        succeed(oshcc.arg(&source).arg("-lsma"));
        assert_eq!(run(&program), "sum 3\n", "{options:?}");
    }
    let mut path = OsString::from("-Wl,-rpath,");
    path.push(prefix().join("lib"));
    let mut cc = command("cc");
    cc.args(["-O2", "-fPIE", "-pie", "-I"])
        .arg(prefix().join("include"));
    cc.arg("-o").arg(&program).arg(&source);
    cc.arg("-L")
        .arg(prefix().join("lib"))
        .arg(path)
        .args(["-lsma", "-lm"]);
    succeed(&mut cc);
    assert_eq!(run(&program), "sum 3\n");
    // Programs without mathematics do not load that library.
    let plain = project.path().join("plain");
    let main = project.path().join("main.c");
    succeed(
        command(bin("oshcc"))
            .args(["-O2", "-o"])
            .arg(&plain)
            .arg(main),
    );
    if installed("readelf") {
        let needed = succeed(command("readelf").arg("-d").arg(&plain));
        assert!(!needed.contains("libm.so"), "{needed}");
    }
}

/// Linkers by their names for `-fuse-ld`, with their programs.
const LINKERS: &[(&str, &str)] = &[
    ("bfd", "ld.bfd"),
    ("gold", "ld.gold"),
    ("lld", "ld.lld"),
    ("mold", "mold"),
];

/// The names that a shared library exports, each with the letter of its type.
fn exports(library: &Path) -> BTreeSet<String> {
    let options = ["-D", "--extern-only", "--defined-only"];
    let symbols = succeed(command("nm").args(options).arg(library));
    let named = symbols.lines().filter_map(|line| line.split_once(' '));
    named.map(|(_, symbol)| symbol.to_owned()).collect()
}

/// The list that the library is linked with.
fn exported_names() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libshmem/exports.map")
}

/// What the dynamic section of `library` says about other libraries, its own name and its text.
fn dynamic(library: &Path) -> Vec<String> {
    let tags = ["(NEEDED)", "(SONAME)", "(TEXTREL)", "(FLAGS)"];
    let section = succeed(command("readelf").args(["-W", "-d"]).arg(library));
    let mut lines: Vec<_> = section
        .lines()
        .filter(|line| tags.iter().any(|tag| line.contains(tag)))
        .map(|line| {
            line.split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    lines.sort();
    lines
}

/// Each PE loads what the library needs: another shared library costs a tenth of a process's start.
#[test]
fn the_library_needs_the_c_library_alone() {
    if !installed("readelf") {
        return;
    }
    let lines = dynamic(&prefix().join("lib/libshmem.so.1"));
    let needed: Vec<_> = lines.iter().filter(|l| l.contains("(NEEDED)")).collect();
    let of_libc = |line: &str| {
        ["[libc.so", "[ld-linux"]
            .iter()
            .any(|lib| line.contains(lib))
    };
    assert!(needed.iter().all(|line| of_libc(line)), "{needed:?}");
}

/// The library itself, and programs with it, whatever the linker of the user's toolchain.
#[test]
fn every_linker_links_library_and_programs() {
    if !installed("readelf") {
        return;
    }
    let lib = prefix().join("lib");
    let want = exports(&lib.join("libshmem.so.1"));
    let listed = fs::read_to_string(exported_names()).unwrap();
    let listed = |symbol: &str| {
        let name = symbol.split(' ').next_back().unwrap_or_default();
        let family = ["shmem_", "pshmem_"]
            .iter()
            .any(|start| name.starts_with(start));
        family || listed.contains(&format!("    {name};\n"))
    };
    let foreign: Vec<_> = want.iter().filter(|symbol| !listed(symbol)).collect();
    assert!(foreign.is_empty(), "exported, too: {foreign:?}");
    for symbol in [
        "T pshmem_put32",
        "W shmem_put32",
        "W shfree",
        "B shmemi_native",
    ] {
        assert!(want.contains(symbol), "no {symbol}");
    }

    for (linker, program) in LINKERS {
        if !installed(program) {
            continue;
        }
        let project = project();
        let flag = format!("-fuse-ld={linker}");
        let library = project.path().join("libshmem.so.1");
        let mut link = command(env!("CARGO_BIN_EXE_xtask"));
        link.env("LDFLAGS", &flag).arg("link").arg("--archive");
        link.arg(lib.join("libshmem.a")).arg("--output");
        succeed(link.arg(&library));
        let got = exports(&library);
        let differing: Vec<_> = got.symmetric_difference(&want).collect();
        assert!(differing.is_empty(), "{linker}: {differing:?}");
        assert_eq!(
            dynamic(&library),
            dynamic(&lib.join("libshmem.so.1")),
            "{linker}"
        );

        // Where the linker puts a program's writable data decides whether they are symmetric.
        for kind in [&[][..], &["-static"], &["-static-pie"]] {
            // Gold lacks an option that this kind needs.
            if *linker == "gold" && kind == ["-static-pie"] {
                continue;
            }
            let main = project.path().join("main");
            let mut oshcc = command(bin("oshcc"));
            oshcc.args(kind).arg(&flag).arg("-o").arg(&main);
            succeed(oshcc.arg(project.path().join("main.c")));
            let mut oshrun = command(bin("oshrun"));
            oshrun.args(["-n", "3", "--timeout", "60"]).arg(&main);
            oshrun.env("LD_LIBRARY_PATH", project.path());
            assert_eq!(succeed(&mut oshrun), "sum 3\n", "{linker} {kind:?}");
        }
    }
}

#[test]
fn shown_command_works_in_a_shell() {
    let project = project();
    let shown = succeed(command(bin("oshcc")).args(["-show", "-O2", "my main.c", "-o", "my main"]));
    fs::rename(
        project.path().join("main.c"),
        project.path().join("my main.c"),
    )
    .unwrap();
    succeed(
        command("sh")
            .arg("-c")
            .arg(&shown)
            .current_dir(project.path()),
    );
    assert_eq!(run(&project.path().join("my main")), "sum 3\n");

    let show = |what: &str| succeed(command(bin("oshc++")).arg(what));
    assert!(show("--showme:compile").contains("moved with spaces/include"));
    assert!(show("-showme:link").contains("-lshmem"));
    assert_eq!(show("--showme:libs"), "shmem\n");
    assert!(show("--showme:version").contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn flags_work_in_a_makefile() {
    if !installed("make") {
        return;
    }
    let project = project();
    let makefile = format!(
        "CC = '{}'\nmain: main.o\n\t$(CC) $^ -o $@\n%.o: %.c\n\t$(CC) -O2 -c $< -o $@\n",
        bin("oshcc").display()
    );
    fs::write(project.path().join("Makefile"), makefile).unwrap();
    succeed(command("make").current_dir(project.path()));
    assert_eq!(run(&project.path().join("main")), "sum 3\n");
}

#[test]
fn found_by_pkg_config() {
    if !installed("pkg-config") {
        return;
    }
    let project = project();
    for package in ["ferroshmem", "shmem"] {
        for source in ["main.c", "root.c"] {
            for (kind, option) in [("", ""), ("-static", "--static")] {
                // Through a shell, as makefiles and configure scripts use it.
                let line = format!(
                    "eval cc {kind} {source} -o main $(pkg-config {option} --cflags --libs {package})"
                );
                let mut shell = command("sh");
                shell.args(["-e", "-c", &line]).current_dir(project.path());
                succeed(shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")));
                assert_eq!(run(&project.path().join("main")), "sum 3\n", "{line}");
            }
        }
    }
}

#[test]
fn found_by_cmake() {
    if !installed("cmake") {
        return;
    }
    let project = project();
    let lists = "cmake_minimum_required(VERSION 3.16)\n\
         project(user C CXX)\n\
         find_package(FerroSHMEM 0.1 REQUIRED)\n\
         add_executable(by_name main.c)\n\
         target_link_libraries(by_name FerroSHMEM::shmem)\n\
         add_library(part OBJECT main.c)\n\
         target_link_libraries(part OpenSHMEM::shmem)\n\
         add_executable(by_part $<TARGET_OBJECTS:part>)\n\
         target_link_libraries(by_part part)\n\
         add_executable(fixed main.c)\n\
         set_target_properties(fixed PROPERTIES POSITION_INDEPENDENT_CODE OFF)\n\
         target_link_libraries(fixed FerroSHMEM::shmem)\n\
         add_executable(static main.c)\n\
         target_link_libraries(static FerroSHMEM::shmem_static)\n\
         foreach(library FerroSHMEM::shmem OpenSHMEM::shmem FerroSHMEM::shmem_static)\n\
         string(MAKE_C_IDENTIFIER root_${library} name)\n\
         add_executable(${name} root.c)\n\
         target_link_libraries(${name} ${library})\n\
         endforeach()\n\
         add_executable(cxx main.cpp)\n\
         target_link_libraries(cxx FerroSHMEM::shmem)\n\
         enable_testing()\n\
         add_test(NAME launched COMMAND ${FerroSHMEM_OSHRUN} -n 2 $<TARGET_FILE:by_name>)\n";
    fs::write(project.path().join("CMakeLists.txt"), lists).unwrap();
    let cmake = || {
        let mut cmake = command("cmake");
        cmake.current_dir(project.path());
        cmake
    };
    let mut prefix_option = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
    prefix_option.push(prefix());
    let commands = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON";
    succeed(
        cmake()
            .args(["-S", ".", "-B", "build", commands])
            .arg(prefix_option),
    );
    // All but the one that must not be and the static one.
    let commands = fs::read_to_string(project.path().join("build/compile_commands.json")).unwrap();
    assert_eq!(commands.matches("-fPIE").count(), 5, "{commands}");
    succeed(cmake().args(["--build", "build"]));
    for program in [
        "by_name",
        "by_part",
        "fixed",
        "static",
        "root_FerroSHMEM__shmem",
        "root_OpenSHMEM__shmem",
        "root_FerroSHMEM__shmem_static",
    ] {
        assert_eq!(
            run(&project.path().join("build").join(program)),
            "sum 3\n",
            "{program}"
        );
    }
    assert_eq!(run(&project.path().join("build/cxx")), "right\n");
    succeed(command("ctest").current_dir(project.path().join("build")));
}

#[test]
fn cmake_refuses_other_versions() {
    if !installed("cmake") {
        return;
    }
    for version in ["0.0.9", "0.2", "1", "9"] {
        let project = project();
        let lists = format!(
            "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(FerroSHMEM {version} REQUIRED)\n"
        );
        fs::write(project.path().join("CMakeLists.txt"), lists).unwrap();
        let mut prefix_option = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
        prefix_option.push(prefix());
        let output = command("cmake")
            .arg(prefix_option)
            .arg(".")
            .current_dir(project.path())
            .output();
        let output = output.unwrap();
        assert!(!output.status.success(), "version {version} was accepted");
        assert!(String::from_utf8_lossy(&output.stderr).contains("compatible"));
    }
}

#[test]
fn example_programs_compile_cleanly_and_run() {
    let project = project();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, argument) in [
        ("hello", ""),
        ("ring", "50"),
        ("histogram", "5000"),
        ("heat", "40"),
        ("intsort", "16"),
        ("stencil", "40"),
    ] {
        for option in ["-DSHMEM_NO_INLINE", "-DSHMEM_NATIVE_ONLY", "-O3"] {
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
}

#[test]
fn questions_go_to_the_compiler() {
    let asked = succeed(
        command(bin("oshcc"))
            .arg("-dumpmachine")
            .env("OSHMEM_CC", "gcc"),
    );
    assert_eq!(asked, succeed(command("gcc").arg("-dumpmachine")));
    let failing = command(bin("oshcc"))
        .args(["-c", "no-such-file.c"])
        .output()
        .unwrap();
    assert_eq!(
        failing.status.code(),
        Some(1),
        "the compiler's status is passed on"
    );
}

/// What configure scripts and libtool ask a compiler (`libtool.m4`, `config.guess`, autoconf's macros), and the builds
/// whose messages they compare with none. The sources are those of [`probed`].
const PROBES: &[&str] = &[
    "-print-prog-name=ld",
    "-print-search-dirs",
    "-print-multi-os-directory",
    "-print-file-name=crtbeginS.o",
    "-dumpmachine",
    "-dumpversion",
    "--version",
    "--help",
    "-v",
    "-V",
    "-qversion",
    "-Wl,--version",
    "-Xlinker --help",
    "-E part.c",
    "-c part.c",
    "-c -o other.o part.c",
    "-c -fPIC -DPIC part.c",
    "-c -fno-rtti -fno-exceptions part.c",
    "-c -no-such-option part.c",
    "-c no-such-file.c",
    "main.c -o main",
    "-static main.c -o main",
    "-Wl,--export-dynamic main.c -o main",
    "-shared -fPIC -DPIC part.c -Wl,-soname -Wl,libpart.so.0 -o libpart.so.0",
    "-shared -nostdlib -fPIC part.c -Wl,-soname -Wl,libpart.so.0 -o libpart.so.0",
    "-r -nostdlib part.c -o whole.o",
];

/// Status, output and messages of `compiler` for each probe, in a directory of its own.
fn probed(compiler: &Path, variable: &str, real: &str) -> Vec<(Option<i32>, String, String)> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("main.c"),
        "int main() { return 0; }\n",
    )
    .unwrap();
    fs::write(
        directory.path().join("part.c"),
        "int part() { return 1; }\n",
    )
    .unwrap();
    let outputs = PROBES.iter().map(|probe| {
        let mut command = command(compiler);
        command.args(probe.split(' ')).env(variable, real);
        let output = command.current_dir(directory.path()).output().unwrap();
        // Words without the names of the compiler's temporary files.
        let temporary = env::temp_dir().join("cc").display().to_string();
        let text = |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let words = text
                .split_whitespace()
                .filter(|word| !word.contains(&temporary));
            words.collect::<Vec<_>>().join(" ")
        };
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    });
    outputs.collect()
}

/// A configure script finds of the wrapper what it finds of the compiler behind it: how to make shared libraries, for
/// example. (Sandia's tests-sos denies shared libraries with every compiler where there is no `oshfort`: it takes the
/// host's type only in its branch for Fortran.)
#[test]
fn configure_scripts_take_the_wrapper_for_its_compiler() {
    for (wrapper, variable, compilers) in [
        ("oshcc", "OSHMEM_CC", &["gcc", "clang"][..]),
        ("oshc++", "OSHMEM_CXX", &["g++"]),
    ] {
        for compiler in compilers {
            if !installed(compiler) {
                continue;
            }
            let ours = probed(&bin(wrapper), variable, compiler);
            let theirs = probed(Path::new(compiler), variable, compiler);
            for ((probe, ours), theirs) in PROBES.iter().zip(ours).zip(theirs) {
                assert_eq!(ours, theirs, "{wrapper} with {compiler}: {probe}");
            }
        }
    }
}

#[test]
fn missing_compiler_is_one_line() {
    let output = command(bin("oshcc"))
        .args(["-c", "a.c"])
        .env("OSHMEM_CC", "no-such-compiler")
        .output()
        .unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(
        line.starts_with("oshcc: ") && line.contains("no-such-compiler"),
        "{line}"
    );
}

#[test]
fn wrapper_does_not_start_itself() {
    let output = command(bin("oshc++"))
        .args(["-c", "a.cpp"])
        .env(
            "OSHMEM_CXX",
            bin("oshcc").to_string_lossy().replace(' ', "\\ "),
        )
        .output()
        .unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        line.starts_with("oshc++: ") && line.contains("wrapper itself"),
        "{line}"
    );
}

#[test]
fn info_lists_every_variable() {
    let all = succeed(command(bin("oshmem_info")).env("SHMEM_CHECK", "1"));
    let variables = succeed(command(bin("oshmem_info")).arg("--env"));
    for variable in ferroshmem_core::config::TABLE
        .iter()
        .filter(|v| v.is_of_jobs())
    {
        assert!(all.contains(variable.name()) && variables.contains(variable.name()));
    }
    assert!(all.contains("set to \"1\""), "{all}");
    let version = succeed(command(bin("oshmem_info")).arg("--version"));
    assert_eq!(version.trim_end(), ferroshmem_core::info::version_line());
}

#[test]
fn manual_pages_list_every_option() {
    for (program, page) in [
        ("oshrun", "oshrun.1"),
        ("oshmem_info", "oshmem_info.1"),
        ("oshtune", "oshtune.1"),
    ] {
        let help = succeed(command(bin(program)).arg("--help"));
        let page = fs::read_to_string(prefix().join("share/man/man1").join(page)).unwrap();
        for option in help
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("--"))
        {
            let name = option.trim_end_matches(',');
            assert!(
                page.contains(&format!("Fl {name}")),
                "{program}: no word of --{name}"
            );
        }
    }
}

#[test]
fn installs_below_a_destdir() {
    let directory = tempfile::tempdir().unwrap();
    let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
    install
        .args(["install", "--prefix", "/opt/ferroshmem", "--destdir"])
        .arg(directory.path());
    // Where an installation is under test, its commands are not built again.
    if let Some(prefix) = env::var_os("FERROSHMEM_PREFIX") {
        install
            .arg("--commands")
            .arg(Path::new(&prefix).join("bin"));
    }
    succeed(&mut install);
    let root = directory.path().join("opt/ferroshmem");
    for file in [
        "bin/oshrun",
        "bin/oshcc",
        "bin/oshc++",
        "bin/oshmem_info",
        "bin/oshtune",
        "include/shmem.h",
        "include/shmemx.h",
        "include/pshmem.h",
        "include/mpp/shmem.h",
        "lib/libshmem.so",
        "lib/libshmem.so.1",
        "lib/libshmem.a",
        "lib/pkgconfig/ferroshmem.pc",
        "lib/cmake/FerroSHMEM/FerroSHMEMConfig.cmake",
        "share/man/man1/oshrun.1",
        "share/man/man1/oshc++.1",
        "share/man/man7/ferroshmem.7",
    ] {
        assert!(root.join(file).exists(), "{file} is missing");
    }
    let page = fs::read_to_string(root.join("share/man/man1/oshrun.1")).unwrap();
    assert!(!page.contains("@VERSION@"));
}
