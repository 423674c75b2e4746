//! Finding what is installed.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::{Family, Implementation};

/// Names the prefix of this library, if it is not the first on the path.
pub(super) const PREFIX_VARIABLE: &str = "FERROSHMEM_PREFIX";

/// Compiler wrappers of MPI, and the launchers that go with them. Debian's alternatives have
/// names of their own.
const MPI: [(&str, &[&str]); 3] = [
    ("mpicc.openmpi", &["mpirun.openmpi"]),
    ("mpicc.mpich", &["mpiexec.hydra", "mpirun.mpich"]),
    ("mpicc", &["mpiexec.hydra", "mpirun", "mpiexec"]),
];

/// Where to look.
#[derive(Debug, Clone)]
pub struct Search {
    /// The installation of this library.
    pub prefix: Option<PathBuf>,
    /// Folders with commands, in the order of preference.
    pub folders: Vec<PathBuf>,
}

impl Search {
    /// The folders of the path, those that packages install to, and their like.
    pub fn here() -> Self {
        let mut folders: Vec<PathBuf> =
            env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect());
        folders.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
        let below = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten();
        // RPM distributions and vendors keep each library in a folder of its own.
        let packages = ["/opt", "/usr/lib64"].into_iter().flat_map(below);
        folders.extend(packages.map(|entry| entry.path().join("bin")));
        Self {
            prefix: env::var_os(PREFIX_VARIABLE).map(PathBuf::from),
            folders,
        }
    }
}

/// All libraries found, this one first.
///
/// # Errors
/// If this library is not among them.
pub fn find(search: &Search) -> Result<Vec<Implementation>> {
    let mut found = Vec::new();
    if let Some(prefix) = &search.prefix {
        found.extend(shmem(&prefix.join("bin")));
        ensure!(
            found.first().map(|i| i.family) == Some(Family::FerroShmem),
            "{PREFIX_VARIABLE}={}: no installation of FerroSHMEM there",
            prefix.display()
        );
    }
    for folder in &search.folders {
        found.extend(shmem(folder));
    }
    for folder in &search.folders {
        found.extend(
            MPI.iter()
                .filter_map(|(compiler, launchers)| mpi(folder, compiler, launchers)),
        );
    }
    let found = distinct(found);
    ensure!(
        found.first().map(|i| i.family) == Some(Family::FerroShmem),
        "no oshcc of FerroSHMEM found: set {PREFIX_VARIABLE} to its prefix"
    );
    Ok(found)
}

/// Leaves one of each family and version, orders them by family, and names them.
fn distinct(found: Vec<Implementation>) -> Vec<Implementation> {
    let mut kept: Vec<Implementation> = Vec::new();
    for one in found {
        let same = |other: &&Implementation| {
            // There is one of this library: the one to be measured, which comes first.
            other.family == one.family
                && (other.version == one.version || one.family == Family::FerroShmem)
        };
        if kept.iter().find(same).is_none() {
            kept.push(one);
        }
    }
    kept.sort_by_key(|one| one.family);
    let mut number = BTreeMap::new();
    for one in &kept {
        *number.entry(one.family).or_insert(0) += 1;
    }
    for one in &mut kept {
        if number[&one.family] > 1 {
            one.name = format!("{} {}", one.family, one.version);
        }
    }
    kept
}

fn shmem(folder: &Path) -> Option<Implementation> {
    let compiler = command(folder, "oshcc")?;
    let launcher = command(folder, "oshrun")?;
    let text = says(&compiler, &["--showme:version"])
        .or_else(|| says(&compiler, &["-show"]))
        .or_else(|| says(&compiler, &["--version"]))?;
    Some(implementation(
        Family::of_shmem(&text),
        &text,
        compiler,
        launcher,
    ))
}

fn mpi(folder: &Path, compiler: &str, launchers: &[&str]) -> Option<Implementation> {
    let compiler = command(folder, compiler)?;
    let text = says(&compiler, &["--showme:version"]).or_else(|| says(&compiler, &["-v"]))?;
    let family = Family::of_mpi(&text);
    let suits = |name: &&&str| (**name == "mpiexec.hydra") <= (family == Family::Mpich);
    let launcher = launchers
        .iter()
        .filter(suits)
        .find_map(|name| command(folder, name))?;
    Some(implementation(family, &text, compiler, launcher))
}

fn implementation(
    family: Family,
    text: &str,
    compiler: PathBuf,
    launcher: PathBuf,
) -> Implementation {
    Implementation {
        family,
        version: version(text).unwrap_or("unknown version").to_owned(),
        name: family.name().to_owned(),
        compiler,
        launcher,
    }
}

/// The first word of a text that is a version, without the comma that may follow.
fn version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .map(|word| word.trim_end_matches([',', ';', ')']))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

fn command(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    path.is_file().then_some(path)
}

/// What a command prints, if it ends well.
fn says(command: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, name: &str, says: &str) {
        let path = folder.join(name);
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn each_library_is_found_once_and_named() {
        let root = tempfile::tempdir().unwrap();
        let [ours, usr, opt] = ["ours/bin", "usr", "opt"].map(|name| root.path().join(name));
        script(&ours, "oshcc", "oshcc: FerroSHMEM 0.1.0, OpenSHMEM 1.6");
        script(&ours, "oshrun", "");
        script(&usr, "oshcc", "oshcc: Open SHMEM 4.1.4 (Language: C)");
        script(&usr, "oshrun", "");
        script(&usr, "mpicc", "mpicc: Open MPI 4.1.4 (Language: C)");
        script(&usr, "mpirun", "");
        script(&usr, "mpiexec.hydra", "");
        script(&usr, "mpicc.openmpi", "mpicc: Open MPI 4.1.4 (Language: C)");
        script(&usr, "mpirun.openmpi", "");
        script(&usr, "mpicc.mpich", "mpicc for MPICH version 4.0.2");
        script(&opt, "mpicc", "mpicc: Open MPI 5.0.11 (Language: C)");
        script(&opt, "mpirun", "");
        let search = Search {
            prefix: Some(root.path().join("ours")),
            folders: vec![usr.clone(), opt, usr],
        };
        let found = find(&search).unwrap();
        let names: Vec<_> = found.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "FerroSHMEM",
                "Open MPI OpenSHMEM",
                "Open MPI 4.1.4",
                "Open MPI 5.0.11",
                "MPICH"
            ]
        );
        assert_eq!(found[0].version, "0.1.0");
        assert_eq!(found[4].version, "4.0.2");
        assert!(found[2].launcher.ends_with("mpirun.openmpi"), "not MPICH's");
        assert_eq!(found[1].slug(), "open-mpi-openshmem-4-1-4");
    }

    #[test]
    fn a_prefix_without_the_library_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let search = Search {
            prefix: Some(root.path().to_owned()),
            folders: Vec::new(),
        };
        let error = find(&search).unwrap_err().to_string();
        assert!(error.contains(PREFIX_VARIABLE), "{error}");
    }
}
