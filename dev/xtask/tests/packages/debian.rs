//! Debian: the source package, and the packages made of it, as lintian and a user see them.

use super::support::{installed, lacks};
use super::{installation, note, root, succeed, xtask};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the packages' own commands, headers and libraries.
const PRIVATE: &str = "usr/lib/x86_64-linux-gnu/ferroshmem";

const PACKAGES: [&str; 3] = ["ferroshmem", "ferroshmem-dev", "ferroshmem-doc"];

/// The packages in a folder, each unpacked into a folder of its own, with the scripts in `DEBIAN`; lintian has found
/// nothing in them.
fn unpacked(folder: &Path) -> Vec<PathBuf> {
    let unpack = |package: &&str| {
        let architecture = if package.ends_with("-doc") { "all" } else { "amd64" };
        let version = env!("CARGO_PKG_VERSION");
        let file = folder.join(format!("{package}_{version}-1local1_{architecture}.deb"));
        let to = folder.join(format!("root-{package}"));
        succeed(Command::new("dpkg-deb").arg("--raw-extract").arg(file).arg(&to));
        to
    };
    PACKAGES.iter().map(unpack).collect()
}

/// A user's first program, with packages that are unpacked as `apt-get install` does, if below another root.
fn serve_a_user(folder: &Path) {
    let roots = unpacked(folder);
    let root = folder.join("root");
    fs::create_dir(&root).unwrap();
    for from in &roots {
        // No file is in two packages: cp would replace it without a word.
        for file in super::files_below(from).iter().filter(|file| !file.starts_with("DEBIAN")) {
            let there = root.join(file).symlink_metadata().is_ok();
            assert!(!there, "{} is in two packages", file.display());
        }
        succeed(Command::new("cp").arg("-a").arg(from.join(".")).arg(&root));
    }
    plain_names_are_given_and_taken(&roots, &root);
    let bin = root.join(PRIVATE).join("bin");
    super::serves_a_user(&bin, folder);

    for command in ["oshrun", "oshcc", "oshc++", "oshmem_info", "oshtune"] {
        let link = root.join(format!("usr/bin/{command}.ferroshmem"));
        let target = fs::read_link(&link).unwrap();
        let shown = target.display().to_string();
        let name = Path::new(&shown).file_name().unwrap();
        assert!(bin.join(name).exists(), "{}: {shown}", link.display());
        let page = format!("usr/share/man/man1/{command}.ferroshmem.1.gz");
        assert!(root.join(&page).exists(), "no {page}");
    }
    for page in ["shmem_put", "shmem_int_put", "shmemx_spawn"] {
        let page = root.join(format!("usr/share/man/man3/{page}.3ferroshmem.gz"));
        let text = succeed(Command::new("gzip").arg("-dc").arg(&page));
        assert!(text.contains(".Sh SYNOPSIS"), "{}", page.display());
    }
    for (file, word) in [
        ("usr/share/bash-completion/completions/oshrun.ferroshmem", "default oshrun.ferroshmem"),
        ("usr/share/zsh/vendor-completions/_oshrun.ferroshmem", "#compdef oshrun.ferroshmem"),
        ("usr/share/fish/vendor_completions.d/oshrun.ferroshmem.fish", "complete -c oshrun.ferroshmem"),
        ("usr/lib/x86_64-linux-gnu/pkgconfig/ferroshmem.pc", "prefix=/usr/lib/x86_64-linux-gnu/ferroshmem\n"),
        (
            "usr/lib/x86_64-linux-gnu/cmake/FerroSHMEM/FerroSHMEMConfig.cmake",
            "/usr/lib/x86_64-linux-gnu/ferroshmem/lib/cmake",
        ),
        ("usr/share/doc/ferroshmem/copyright", "Apache-2.0"),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.contains(word), "{file} lacks {word}:\n{text}");
    }
}

/// The commands have their plain names while no other package has them: here one has `oshmem_info` before, and another
/// brings `oshrun` later.
fn plain_names_are_given_and_taken(packages: &[PathBuf], root: &Path) {
    let database = root.join("var/lib/dpkg");
    for folder in [database.join("info"), database.join("alternatives"), root.join("etc/alternatives")] {
        fs::create_dir_all(folder).unwrap();
    }
    let status = "Package: openmpi-bin\nStatus: install ok installed\nArchitecture: amd64\nMaintainer: M <m@m>\n\
        Version: 4.1.4\nDescription: MPI\n\n";
    fs::write(database.join("status"), status).unwrap();
    fs::write(database.join("info/openmpi-bin.list"), "/.\n/usr\n/usr/bin\n/usr/bin/oshmem_info\n").unwrap();
    let run = |script: &str, argument: &str| {
        for (folder, package) in packages.iter().zip(PACKAGES).take(2) {
            let mut shell = Command::new("sh");
            shell.arg(folder.join("DEBIAN").join(script)).arg(argument);
            succeed(shell.env("DPKG_ROOT", root).env("DPKG_MAINTSCRIPT_PACKAGE", package));
        }
    };
    let target = |name: &str| fs::read_link(root.join(name)).ok().map(|path| path.display().to_string());
    run("postinst", "configure");
    for command in ["oshrun", "oshtune", "oshcc", "oshc++", "oshfort"] {
        assert_eq!(target(&format!("usr/bin/{command}")), Some(format!("/etc/alternatives/{command}")));
        let own = format!("/usr/bin/{command}.ferroshmem");
        assert_eq!(target(&format!("etc/alternatives/{command}")), Some(own));
        assert!(target(&format!("usr/share/man/man1/{command}.1.gz")).is_some(), "{command}");
    }
    assert_eq!(target("usr/bin/oshmem_info"), None);

    fs::remove_file(root.join("usr/bin/oshrun")).unwrap();
    symlink("mpirun.openmpi", root.join("usr/bin/oshrun")).unwrap();
    run("prerm", "remove");
    assert_eq!(target("usr/bin/oshrun").as_deref(), Some("mpirun.openmpi"));
    assert_eq!(target("usr/bin/oshcc"), None);
    for folder in [database.join("alternatives"), root.join("etc/alternatives")] {
        assert_eq!(super::files_below(&folder), Vec::<PathBuf>::new(), "{}", folder.display());
    }
}

#[test]
fn version_and_soname_are_the_projects() {
    let folder = root().join("packaging/debian");
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let version = format!("ferroshmem ({}-1local1)", env!("CARGO_PKG_VERSION"));
    assert!(read("changelog").starts_with(&version), "raise its version");
    let link = fs::read_to_string(root().join("dev/xtask/src/link.rs")).unwrap();
    let soname = "libshmem.so.1";
    assert!(link.contains(&format!("SONAME: &str = \"{soname}\"")));
    assert!(read("ferroshmem.install").contains(&format!("lib/{soname}\n")));
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, rust) = manifest.split_once("rust-version = \"").unwrap();
    let rust = rust.split('"').next().unwrap();
    assert!(read("control").contains(&format!("cargo (>= {rust})")));
}

#[test]
fn packages_of_an_installation_serve_a_user() {
    if lacks("dpkg-buildpackage", "dpkg-dev") || lacks("dh", "debhelper") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut make = xtask(&["debian", "--output"]);
    make.arg(scratch.path()).arg("--installed").arg(installation());
    succeed(&mut make);
    serve_a_user(scratch.path());
    if !installed("lintian") {
        note("Debian packages are not checked: lintian is not installed");
    }
    note(
        "Debian packages are made of the installation under test, and lintian looks at the runtime; that the source \
            package builds, and what lintian says of all, is an ignored test",
    );
}

/// The whole way: the library is built from the source package.
#[test]
#[ignore = "builds the library as it is released, which takes minutes"]
fn packages_of_the_source_serve_a_user() {
    let scratch = tempfile::tempdir().unwrap();
    succeed(xtask(&["debian", "--output"]).arg(scratch.path()));
    serve_a_user(scratch.path());
}

/// The packages for another processor, built by a cross compiler: a program that is made with them runs by emulation.
#[test]
#[ignore = "builds the library as it is released, which takes minutes"]
fn packages_for_arm64_serve_a_user() {
    const CROSS: &str = "gcc-aarch64-linux-gnu";
    if lacks("aarch64-linux-gnu-gcc", CROSS) || lacks("qemu-aarch64", "qemu-user") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    succeed(xtask(&["debian", "--host-arch", "arm64", "--output"]).arg(folder));
    let root = folder.join("root");
    for package in ["ferroshmem", "ferroshmem-dev"] {
        let file = folder.join(format!("{package}_{}-1local1_arm64.deb", env!("CARGO_PKG_VERSION")));
        let depends = succeed(Command::new("dpkg-deb").arg("--field").arg(&file).arg("Depends"));
        assert!(depends.contains("libc6") && !depends.contains("cross"), "{depends}");
        succeed(Command::new("dpkg-deb").arg("--extract").arg(file).arg(&root));
    }
    let emulator = ["-L", "/usr/aarch64-linux-gnu"];
    let program = folder.join("hello");
    let mut compile = Command::new("qemu-aarch64");
    compile.args(emulator).arg(root.join("usr/lib/aarch64-linux-gnu/ferroshmem/bin/oshcc"));
    compile.env("OSHMEM_CC", "aarch64-linux-gnu-gcc").arg(super::root().join("examples/hello.c"));
    succeed(compile.arg("-o").arg(&program));
    let mut run = Command::new(installation().join("bin/oshrun"));
    run.args(["-n", "2", "--timeout", "60", "qemu-aarch64"]).args(emulator);
    assert_eq!(succeed(run.arg(&program)).lines().count(), 2);
}
