//! The compiler wrappers `oshcc`, `oshc++` and `oshfort`.

use super::*;

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
            oshcc.env("OSHMEM_CC", compiler).arg("-Werror").current_dir(project.path());
            oshcc
        };
        succeed(oshcc().args(["-O2", "-c", "main.c"]));
        succeed(oshcc().args(["main.o", "-o", "main"]));
        assert_eq!(run(&project.path().join("main")), "sum 3\n", "{compiler}");
    }
}

#[test]
fn wrapper_compiles_cxx_by_all_its_names() {
    if lacks("g++", "g++") {
        return;
    }
    let project = project();
    for name in ["oshc++", "oshCC", "oshcxx"] {
        let program = project.path().join(name);
        let source = project.path().join("main.cpp");
        succeed(command(bin(name)).args(["-std=c++17", "-O2"]).arg(source).arg("-o").arg(&program));
        assert_eq!(run(&program), "right\n", "{name}");
    }
}

#[test]
fn wrapper_links_static_programs() {
    for kind in ["-static", "-static-pie"] {
        let project = project();
        let program = project.path().join("main");
        let source = project.path().join("main.c");
        succeed(command(bin("oshcc")).args(["-O2", kind]).arg(source).arg("-o").arg(&program));
        assert_eq!(run(&program), "sum 3\n", "{kind}");
    }
}

#[test]
fn shown_command_works_in_a_shell() {
    let project = project();
    let shown = succeed(command(bin("oshcc")).args(["-show", "-O2", "my main.c", "-o", "my main"]));
    fs::rename(project.path().join("main.c"), project.path().join("my main.c")).unwrap();
    succeed(command("sh").arg("-c").arg(&shown).current_dir(project.path()));
    assert_eq!(run(&project.path().join("my main")), "sum 3\n");

    let show = |what: &str| succeed(command(bin("oshc++")).arg(what));
    assert!(show("--showme:compile").contains("moved with spaces/include"));
    assert!(show("-showme:link").contains("-lshmem"));
    assert_eq!(show("--showme:libs"), "shmem\n");
    assert!(show("--showme:version").contains(env!("CARGO_PKG_VERSION")));
}

/// By the name of a cross compiler, a wrapper runs that one.
#[test]
fn name_chooses_the_cross_compiler() {
    let folder = tempfile::tempdir().unwrap();
    for tool in ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"] {
        fs::write(folder.path().join(tool), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.path().join(tool), Permissions::from_mode(0o755)).unwrap();
    }
    for (wrapper, compiler) in [("oshcc", "gcc"), ("oshcxx", "g++")] {
        let name = folder.path().join(format!("aarch64-linux-gnu-{wrapper}"));
        symlink(bin("oshcc"), &name).unwrap();
        let shown = succeed(command(name).arg("--showme:command").env("PATH", folder.path()));
        assert_eq!(shown, format!("aarch64-linux-gnu-{compiler}\n"));
    }
}

/// A compiler that cannot compile the module compiles programs nevertheless, and the reason is said once.
#[test]
fn module_is_tried_once_for_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("fortran");
    // Names the line of an error, which is therefore in the source.
    let script = "#!/bin/sh\necho \"$@\"\nfor file; do\ncase $file in *shmem.f90) echo \"$file:7:1: Error: no\" >&2; \
                  exit 1 ;; esac\ndone\n";
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, Permissions::from_mode(0o755)).unwrap();
    let compile = |cache: &Path| {
        let mut oshfort = command(bin("oshfort"));
        oshfort.args(["-c", "a.f90"]).env("OSHMEM_FC", &compiler).env("XDG_CACHE_HOME", cache);
        let output = oshfort.output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (arguments, note) = compile(folder.path());
    assert!(arguments.ends_with(" -c a.f90\n"), "{arguments}");
    assert!(note.contains("cannot compile ") && note.lines().count() == 1, "{note}");
    let (arguments, note) = compile(folder.path());
    let modules = format!(" -c a.f90 -I{}/ferroshmem/fortran/", folder.path().display());
    assert!(arguments.contains(&modules) && note.is_empty(), "{arguments}{note}");

    let (arguments, note) = compile(Path::new("/dev/null"));
    assert!(arguments.ends_with(" -c a.f90\n"), "{arguments}");
    assert!(note.contains("XDG_CACHE_HOME") && note.lines().count() == 1, "{note}");
}

#[test]
fn questions_go_to_the_compiler() {
    let asked = succeed(command(bin("oshcc")).arg("-dumpmachine").env("OSHMEM_CC", "gcc"));
    assert_eq!(asked, succeed(command("gcc").arg("-dumpmachine")));
    let failing = command(bin("oshcc")).args(["-c", "no-such-file.c"]).output().unwrap();
    assert_eq!(failing.status.code(), Some(1), "the compiler's status is passed on");
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
    fs::write(directory.path().join("main.c"), "int main() { return 0; }\n").unwrap();
    fs::write(directory.path().join("part.c"), "int part() { return 1; }\n").unwrap();
    let outputs = PROBES.iter().map(|probe| {
        let mut command = command(compiler);
        command.args(probe.split(' ')).env(variable, real);
        let output = command.current_dir(directory.path()).output().unwrap();
        // Words without the names of the compiler's temporary files.
        let temporary = env::temp_dir().join("cc").display().to_string();
        let text = |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let words = text.split_whitespace().filter(|word| !word.contains(&temporary));
            words.collect::<Vec<_>>().join(" ")
        };
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    });
    outputs.collect()
}

/// A configure script finds of the wrapper what it finds of the compiler behind it: how to make shared libraries, for
/// example. (Sandia's tests-sos denies shared libraries with every compiler where there is no `oshfort`: it takes the
/// host's type only in its branch for Fortran.)
#[test]
fn configure_scripts_take_the_wrapper_for_its_compiler() {
    for (wrapper, variable, compilers) in
        [("oshcc", "OSHMEM_CC", &["gcc", "clang"][..]), ("oshc++", "OSHMEM_CXX", &["g++"])]
    {
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
    let output = command(bin("oshcc")).args(["-c", "a.c"]).env("OSHMEM_CC", "no-such-compiler").output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("oshcc: ") && line.contains("no-such-compiler"), "{line}");
}

#[test]
fn wrapper_does_not_start_itself() {
    let output = command(bin("oshc++"))
        .args(["-c", "a.cpp"])
        .env("OSHMEM_CXX", bin("oshcc").to_string_lossy().replace(' ', "\\ "))
        .output()
        .unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(line.starts_with("oshc++: ") && line.contains("wrapper itself"), "{line}");
}
