//! `cargo xtask debian`: a Debian source package of this work tree, and the packages that it builds.

use crate::run::{run, shown, works};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// Tools of Debian that this needs, with an option by which each ends well anywhere, and the packages that have them.
const TOOLS: [(&str, &str, &str); 2] = [("dpkg-buildpackage", "--version", "dpkg-dev"), ("dh", "--list", "debhelper")];

/// Of the package, in `packaging/debian/changelog`.
const REVISION: &str = "1local1";

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory for the packages and the unpacked source, which is empty or not there; default: target/debian, which
    /// is emptied
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Makes the source package alone
    #[arg(long)]
    source_only: bool,

    /// Cross-builds the packages for an architecture of Debian's, as arm64, without ferroshmem-doc
    #[arg(long, value_name = "ARCHITECTURE")]
    host_arch: Option<String>,

    /// Packs this installation instead of a new one
    #[arg(long, value_name = "DIR", hide = true)]
    installed: Option<PathBuf>,
}

/// Makes the source package, builds the others of it, and has lintian look at all, where that is installed.
///
/// # Errors
/// If a tool is missing, something cannot be built, or lintian finds an error or has a warning.
pub(crate) fn main(options: &Options) -> Result<()> {
    for (tool, option, package) in TOOLS {
        ensure!(works(Command::new(tool).arg(option)), "no {tool}: apt-get install {package}");
    }
    let output = empty_folder(options.output.as_deref())?;
    let source = output.join(format!("ferroshmem-{}", env!("CARGO_PKG_VERSION")));
    unpack(&output, &source)?;

    let mut build = Command::new("dpkg-buildpackage");
    // Rust is mostly not a package: the build itself says what it lacks.
    build.args(["--no-check-builddeps", "-us", "-uc"]);
    if options.source_only {
        build.arg("--build=source");
    }
    if let Some(architecture) = &options.host_arch {
        build.args(["--build=any", "--host-arch", architecture]);
    }
    if let Some(installed) = &options.installed {
        build.env("FERROSHMEM_INSTALLED", path::absolute(installed)?);
        build.env("DPKG_DEB_COMPRESSOR_TYPE", "gzip");
        build.env("DPKG_DEB_COMPRESSOR_LEVEL", "1");
    }
    // What cargo sets for this program is not for another workspace.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        let of_package = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if of_package || name == "CARGO_TARGET_DIR" {
            build.env_remove(variable);
        }
    }
    run(build.current_dir(&source))?;

    let changes = only(&output, "", ".changes")?;
    if works(Command::new("lintian").arg("--version")) {
        let mut lintian = Command::new("lintian");
        lintian.args(["--fail-on", "error,warning", "--allow-root"]);
        if options.installed.is_some() {
            // The package of the library and the launcher: the others take most of the time.
            lintian.arg(only(&output, &format!("ferroshmem_{}-{REVISION}_", env!("CARGO_PKG_VERSION")), ".deb")?);
        } else {
            lintian.arg(&changes);
        }
        run(&mut lintian)?;
    } else {
        eprintln!("note: no lintian: the packages are not checked (apt-get install lintian)");
    }
    println!(
        "Made {}: install the packages by apt-get install {}/*.deb",
        shown(&changes).display(),
        shown(&output).display()
    );
    Ok(())
}

/// The folder for the packages: the one that the user names, if it is empty, else one below cargo's.
fn empty_folder(named: Option<&Path>) -> Result<PathBuf> {
    let folder = match named {
        Some(named) => path::absolute(named)?,
        None => workspace::target()?.join("debian"),
    };
    if named.is_none() && folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the directory {}", folder.display()))?;
    ensure!(fs::read_dir(&folder)?.next().is_none(), "{} is not empty: name another directory", folder.display());
    Ok(folder)
}

/// Writes the archive of the sources, as they are in the work tree, and unpacks it with the folder `debian`.
fn unpack(output: &Path, source: &Path) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("ferroshmem-{version}");
    let archive = output.join(format!("ferroshmem_{version}.orig.tar.gz"));
    sources(&archive, &name)?;
    let mut unpack = Command::new("tar");
    run(unpack.arg("-xzf").arg(&archive).current_dir(output))?;
    let mut copy = Command::new("cp");
    let debian = workspace::root().join("packaging/debian");
    run(copy.arg("-a").arg(debian).arg(source.join("debian")))
}

/// Archives the files that git knows, as they are in the work tree, below a folder `name`.
///
/// # Errors
/// If this is no clone, or tar fails.
pub(crate) fn sources(archive: &Path, name: &str) -> Result<()> {
    let root = workspace::root();
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = list.current_dir(root).output().context("cannot run git")?;
    ensure!(
        listed.status.success(),
        "{} is no clone of the repository: {}",
        root.display(),
        String::from_utf8_lossy(&listed.stderr).trim()
    );
    let files = archive.with_extension("files");
    // Files that were removed from the work tree, but not yet from the index, are not there.
    let present = listed.stdout.split(|byte| *byte == 0).filter(|file| {
        let path = root.join(String::from_utf8_lossy(file).as_ref());
        !file.is_empty() && path.symlink_metadata().is_ok()
    });
    fs::write(&files, present.collect::<Vec<_>>().join(&0))?;
    let mut tar = Command::new("tar");
    tar.args(["-czf"])
        .arg(archive)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--null", "--no-recursion"]);
    // What links name stays as it is.
    tar.arg(format!("--transform=s,^,{name}/,S"));
    tar.arg("--files-from").arg(&files).current_dir(root);
    run(&mut tar)?;
    Ok(fs::remove_file(files)?)
}

/// The file with such a name.
fn only(output: &Path, beginning: &str, ending: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(output)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(beginning) && name.ends_with(ending) {
            return Ok(path);
        }
    }
    anyhow::bail!("no {beginning}*{ending} in {}", output.display())
}
