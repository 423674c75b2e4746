//! The libraries, what they export and need, and programs linked with them by every linker.

use std::collections::BTreeSet;

use super::*;

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
    cc.args(["-O2", "-fPIE", "-pie", "-I"]).arg(prefix().join("include"));
    cc.arg("-o").arg(&program).arg(&source);
    cc.arg("-L").arg(prefix().join("lib")).arg(path).args(["-lsma", "-lm"]);
    succeed(&mut cc);
    assert_eq!(run(&program), "sum 3\n");
    // Programs without mathematics do not load that library.
    let plain = project.path().join("plain");
    let main = project.path().join("main.c");
    succeed(command(bin("oshcc")).args(["-O2", "-o"]).arg(&plain).arg(main));
    if installed("readelf") {
        let needed = succeed(command("readelf").arg("-d").arg(&plain));
        assert!(!needed.contains("libm.so"), "{needed}");
    }
}

/// Linkers by their names for `-fuse-ld`, with their programs.
const LINKERS: &[(&str, &str)] = &[("bfd", "ld.bfd"), ("gold", "ld.gold"), ("lld", "ld.lld"), ("mold", "mold")];

/// The names that a shared library exports, each with the letter of its type.
fn exports(library: &Path) -> BTreeSet<String> {
    let options = ["-D", "--extern-only", "--defined-only"];
    let symbols = succeed(command("nm").args(options).arg(library));
    let named = symbols.lines().filter_map(|line| line.split_once(' '));
    named.map(|(_, symbol)| symbol.to_owned()).collect()
}

/// The names of the C API: what the table has, and its profiling names; and what the list of exports names besides.
fn interface() -> BTreeSet<String> {
    let list = fs::read_to_string(ferroshmem_abi::root().join("libshmem/exports.map")).unwrap();
    let listed = list.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let listed = listed.filter(|name| !name.contains(['*', '}'])).map(str::to_owned);
    let chapters = ferroshmem_abi::table::chapters();
    let routines = ferroshmem_abi::table::symbols(&chapters);
    let names = routines.iter().flat_map(|routine| [routine.name(), routine.profiling_name()]);
    listed.chain(names).collect()
}

/// Neither less, nor a name of the library's own parts.
#[test]
fn the_library_exports_its_interface_alone() {
    let symbols = exports(&prefix().join("lib/libshmem.so.1"));
    let names = symbols.iter().filter_map(|symbol| symbol.split(' ').nth(1)).map(str::to_owned).collect();
    let differing: Vec<_> = interface().symmetric_difference(&names).take(20).cloned().collect();
    assert!(differing.is_empty(), "{differing:?}");
    // Tools replace the weak ones.
    for symbol in [
        "T pshmem_put32", "W shmem_put32", "W shmemx_space_malloc", "W shfree", "B shmemi_native", "B shmemi_counts",
        "B shmemi_sync_counts",
    ] {
        assert!(symbols.contains(symbol), "no {symbol}");
    }
}

/// A program asks for names of the interface, and for no version of them: a later library may give a routine two
/// versions, of which the program finds the older one (`docs/decisions/symbol-versions.md`).
#[test]
fn programs_ask_for_names_without_versions() {
    let project = project();
    let program = project.path().join("root");
    let mut oshcc = command(bin("oshcc"));
    succeed(oshcc.arg("-O2").arg("-o").arg(&program).arg(project.path().join("root.c")));
    let undefined = succeed(command("nm").args(["-D", "--undefined-only"]).arg(&program));
    let asked: Vec<_> = undefined.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let ours: Vec<_> = asked.iter().filter(|name| name.contains("shmem")).collect();
    let interface = interface();
    assert!(ours.len() >= 3 && ours.iter().all(|name| interface.contains(**name)), "{asked:?}");

    let path = |file: &str| project.path().join(file);
    fs::write(path("later.c"), LATER).unwrap();
    fs::write(path("later.map"), "OLD { global: *; };\nNEW { } OLD;\n").unwrap();
    let mut cc = command("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libshmem.so.1", "-o"]).arg(path("libshmem.so.1"));
    cc.arg(path("later.c")).arg("-Xlinker").arg("--version-script").arg("-Xlinker").arg(path("later.map"));
    succeed(&mut cc);
    let mut main = command("cc");
    fs::write(path("asks.c"), "int shmem_n_pes(void); int main(void) { return shmem_n_pes(); }").unwrap();
    succeed(main.arg("-o").arg(path("asks")).arg(path("asks.c")).arg(prefix().join("lib/libshmem.so.1")));
    let status = command(path("asks")).env("LD_LIBRARY_PATH", project.path()).status().unwrap();
    assert_eq!(status.code(), Some(1), "the older form is found");
}

/// A library in which `shmem_n_pes` has changed.
const LATER: &str = "
int older(void) { return 1; }
int newer(void) { return 2; }
__asm__(\".symver older, shmem_n_pes@OLD\");
__asm__(\".symver newer, shmem_n_pes@@NEW\");
";

/// What the dynamic section of `library` says about other libraries, its own name and its text.
fn dynamic(library: &Path) -> Vec<String> {
    let tags = ["(NEEDED)", "(SONAME)", "(TEXTREL)", "(FLAGS)"];
    let section = succeed(command("readelf").args(["-W", "-d"]).arg(library));
    let mut lines: Vec<_> = section
        .lines()
        .filter(|line| tags.iter().any(|tag| line.contains(tag)))
        .map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort();
    lines
}

/// Each PE loads what the library needs: another shared library costs a tenth of a process's start.
#[test]
fn the_library_needs_the_c_library_alone() {
    if lacks("readelf", "binutils") {
        return;
    }
    let lines = dynamic(&prefix().join("lib/libshmem.so.1"));
    let needed: Vec<_> = lines.iter().filter(|l| l.contains("(NEEDED)")).collect();
    let of_libc = |line: &str| ["[libc.so", "[ld-linux"].iter().any(|lib| line.contains(lib));
    assert!(needed.iter().all(|line| of_libc(line)), "{needed:?}");
}

/// Whether a library needs the version of the C library that loads packed addresses, or is that.
fn unpacks(library: &Path) -> bool {
    succeed(command("readelf").arg("--version-info").arg(library)).contains("GLIBC_ABI_DT_RELR")
}

/// The library itself, and programs with it, whatever the linker of the user's toolchain.
#[test]
fn every_linker_links_library_and_programs() {
    if lacks("readelf", "binutils") {
        return;
    }
    let lib = prefix().join("lib");
    let want = exports(&lib.join("libshmem.so.1"));
    let c_library = succeed(command("cc").arg("-print-file-name=libc.so.6"));
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
        assert_eq!(dynamic(&library), dynamic(&lib.join("libshmem.so.1")), "{linker}");
        let sections = succeed(command("readelf").arg("--section-headers").arg("--wide").arg(&library));
        assert_eq!(sections.contains(" .text.start "), ["bfd", "lld"].contains(linker), "{linker}: {sections}");
        // The C library loads a library of packed addresses if this is noted among what the library needs.
        let packed = sections.contains(" .relr.dyn ");
        assert_eq!(packed, unpacks(&library), "{linker}: {sections}");
        assert!(packed || *linker != "bfd" || !unpacks(Path::new(c_library.trim())), "{linker}: {sections}");

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
