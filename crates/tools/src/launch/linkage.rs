//! Which OpenSHMEM libraries a program is linked with, as its file says: with another one than this, its processes
//! would not be PEs of this job.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader, Sym};

use super::failure::{self, Failure};
use super::peers::{self, Peer};

/// The name by which programs load the library of this release.
pub(super) const OWN: &str = "libshmem.so.1";

/// The rest of the name is a version.
const OTHER_VERSION: &str = "libshmem.so.";

/// Beginnings of names of MPI libraries, whose they are, and the launcher of these.
const MPIS: [(&str, &str, &str); 5] = [
    ("libmpi.so.40", "Open MPI", "mpirun"),
    ("libmpi.so.12", "MPICH or Intel MPI", "mpiexec"),
    ("libmpich.so", "MPICH", "mpiexec"),
    ("libmpi_cray.so", "Cray MPICH", "srun"),
    ("libmpi", "MPI", "mpiexec"),
];

/// Refuses a program that is linked with another library, unless that can be translated: then the result is what the
/// PEs have to load before it, if they do not yet. Says of one with MPI what starts both. Of a program that is no file
/// of this machine's kind, as a script, nothing is known.
///
/// # Errors
/// One line that names the libraries and what to do.
pub(super) fn check(name: &str, path: &Path, environment: &[(OsString, OsString)]) -> Result<Option<PathBuf>, Failure> {
    let needed = needed(path).unwrap_or_default();
    if let Some(translation) = translation(name, path, &needed, environment) {
        // Wrappers of that library link with MPI, whether programs use it or not.
        if translation.calls_mpi {
            say_mpi(name, &needed);
        }
        return Ok(translation.library);
    }
    if let Some(why) = refusal(&needed) {
        return Err(Failure::not_runnable(format!("cannot run \"{name}\": {why}")));
    }
    say_mpi(name, &needed);
    Ok(None)
}

/// What the PEs of a program have to load before it, if it was compiled for another library and they do not yet. Says
/// so in a line.
pub(super) fn translator(name: &str, path: &Path, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    translation(name, path, &needed(path)?, environment)?.library
}

/// How a program of another library runs.
struct Translation {
    /// What its PEs have to load before it, unless they do.
    library: Option<PathBuf>,
    calls_mpi: bool,
}

fn translation(
    name: &str,
    path: &Path,
    needed: &[String],
    environment: &[(OsString, OsString)],
) -> Option<Translation> {
    if needed.iter().any(|library| library == OWN) {
        return None;
    }
    let (library, peer) = needed.iter().find_map(|library| Some((library, Peer::of(library)?)))?;
    let translator = peer.translator(library)?;
    let is_asked_for = peers::is_preloaded(environment, &translator);
    let symbols = symbols(path).unwrap_or_default();
    let missing = peers::missing(&symbols.undefined, &[translator.clone(), peers::libraries().join(OWN)]);
    let missing = missing.join(", ");
    if !is_asked_for || !missing.is_empty() {
        let also = if missing.is_empty() { String::new() } else { format!("; this library lacks {missing}") };
        let (whose, option) = (peer.whose(), peer.name());
        failure::print_line(&format!(
            "\"{name}\" was compiled for {library}, {whose} OpenSHMEM, and runs here by --compat={option}{also}"
        ));
    }
    let calls_mpi = symbols.undefined.iter().any(|name| name.starts_with("MPI_"));
    Some(Translation { library: (!is_asked_for).then_some(translator), calls_mpi })
}

/// Says what starts a program with MPI, if it is one.
fn say_mpi(name: &str, needed: &[String]) {
    if let Some((library, whose, launcher)) = mpi(needed) {
        failure::print_line(&format!(
            "\"{name}\" is linked with {library} ({whose}), in which each PE will be alone: {launcher} of that MPI \
                starts processes that are PEs, too"
        ));
    }
}

/// The MPI among these libraries: its name, whose it is, and its launcher.
fn mpi(needed: &[String]) -> Option<(&str, &'static str, &'static str)> {
    MPIS.iter().find_map(|(begin, whose, launcher)| {
        let library = needed.iter().find(|library| library.starts_with(begin))?;
        Some((library.as_str(), *whose, *launcher))
    })
}

/// Why a program that needs these libraries cannot run here.
fn refusal(needed: &[String]) -> Option<String> {
    let has_own = needed.iter().any(|library| library == OWN);
    let other = needed.iter().find_map(|library| Some((library, Peer::of(library)?.whose())));
    if let Some((library, whose)) = other {
        return Some(if has_own {
            format!("it is linked with two OpenSHMEM libraries, {OWN} and {library} ({whose}): link one of them alone")
        } else {
            format!(
                "it is linked with {library}, {whose} OpenSHMEM: compile it by this installation's oshcc, or start it \
                    by that library's launcher"
            )
        });
    }
    let version = needed.iter().find(|library| *library != OWN && library.starts_with(OTHER_VERSION))?;
    Some(format!(
        "it needs {version}, and this oshrun is that of {OWN}: start it by the oshrun of the installation that it was \
            compiled with, or compile it again"
    ))
}

/// The libraries that a program names, in its order; none if its file cannot be read as one of this machine's kind.
fn needed(path: &Path) -> Option<Vec<String>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let data = &cache;
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let of = |entry: &object::elf::Dyn64<Endianness>| {
        let is_needed = entry.tag(endian) == DT_NEEDED;
        let name = is_needed.then(|| entry.string(endian, strings).ok())??;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    Some(entries.iter().filter_map(of).collect())
}

/// The names of functions and variables that a file defines for others, and that it expects others to define.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) defined: BTreeSet<String>,
    pub(super) undefined: BTreeSet<String>,
}

/// Those of a program or library, if its file can be read as one of this machine's kind.
pub(super) fn symbols(path: &Path) -> Option<Symbols> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let data = &cache;
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let table = header.sections(endian, data).ok()?.symbols(endian, data, SHT_DYNSYM).ok()?;
    let mut symbols = Symbols::default();
    for symbol in table.iter() {
        let name = String::from_utf8_lossy(symbol.name(endian, table.strings()).ok()?).into_owned();
        let names = if symbol.is_undefined(endian) { &mut symbols.undefined } else { &mut symbols.defined };
        names.insert(name);
    }
    Some(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of(libraries: &[&str]) -> Option<String> {
        let libraries: Vec<String> = libraries.iter().map(|l| (*l).to_owned()).collect();
        refusal(&libraries)
    }

    #[test]
    fn other_libraries_are_named() {
        assert_eq!(refusal_of(&["libc.so.6"]), None);
        assert_eq!(refusal_of(&["libm.so.6", "libshmem.so.1"]), None);
        let two = refusal_of(&["libshmem.so.1", "liboshmem.so.40"]).unwrap();
        assert!(two.contains("libshmem.so.1 and liboshmem.so.40"), "{two}");
        let other = refusal_of(&["libsma.so.3"]).unwrap();
        assert!(other.contains("Sandia"), "{other}");
        let version = refusal_of(&["libshmem.so.2"]).unwrap();
        assert!(version.contains("it needs libshmem.so.2"), "{version}");
    }

    #[test]
    fn libraries_of_mpi_are_known() {
        let of =
            |library: &str| mpi(&["libc.so.6".to_owned(), library.to_owned()]).map(|(_, whose, _)| whose.to_owned());
        assert_eq!(of("libshmem.so.1"), None);
        for (library, whose) in [
            ("libmpi.so.40", "Open MPI"),
            ("libmpi.so.12", "MPICH or Intel MPI"),
            ("libmpich.so.12", "MPICH"),
            ("libmpi_abi.so.0", "MPI"),
        ] {
            assert_eq!(of(library).as_deref(), Some(whose), "{library}");
        }
    }

    #[test]
    fn names_are_read_from_a_program() {
        let program = std::env::current_exe().unwrap();
        let needed = needed(&program).unwrap();
        assert!(needed.iter().any(|n| n.starts_with("libc.so")), "{needed:?}");
        assert_eq!(super::needed(Path::new("/etc/passwd")), None);
        assert_eq!(super::needed(Path::new("/no/such/file")), None);
    }
}
