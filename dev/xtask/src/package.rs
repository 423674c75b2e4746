//! Descriptions of an installation for other build systems: the files in `packaging/`, with the
//! version filled in. None of them names the prefix, so an installation can be moved.

use crate::files::{Tree, below};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Template below `packaging/` and where it goes.
const FILES: &[(&str, &str)] = &[
    ("ferroshmem.pc.in", "lib/pkgconfig/ferroshmem.pc"),
    ("FerroSHMEMConfig.cmake.in", "lib/cmake/FerroSHMEM/FerroSHMEMConfig.cmake"),
    ("FerroSHMEMConfigVersion.cmake.in", "lib/cmake/FerroSHMEM/FerroSHMEMConfigVersion.cmake"),
];

/// Environment modules, by the endings that say what reads them: Tcl for all, Lua for Lmod alone.
const MODULES: &[(&str, &str)] = &[("modulefiles/ferroshmem.tcl.in", ""), ("modulefiles/ferroshmem.lua.in", ".lua")];

/// Begins a comment of a manual page that lists names by which it is found.
const FOUND_BY: &str = ".\\\" Found by: ";

/// Installs the files; `pages` is the folder of the manual pages, if they are wanted.
pub(crate) fn install(tree: &mut Tree, pages: Option<&Path>) -> Result<()> {
    for (template, to) in FILES {
        tree.write(to, &filled_in(template)?)?;
    }
    // Another name of the same file.
    tree.link("ferroshmem.pc", "lib/pkgconfig/shmem.pc")?;
    for (template, ending) in MODULES {
        let version = env!("CARGO_PKG_VERSION");
        let to = format!("share/modulefiles/ferroshmem/{version}{ending}");
        tree.write(&to, &filled_in(template)?)?;
    }
    for (folder, section) in pages.into_iter().flat_map(|folder| ["1", "3", "7"].map(|section| (folder, section))) {
        for page in below(folder, &format!(".{section}"))? {
            let text = with_version(&folder.join(&page))?;
            tree.write(&format!("share/man/man{section}/{page}"), &text)?;
            for name in other_names(&text, &page) {
                tree.link(&page, &format!("share/man/man{section}/{name}"))?;
            }
        }
    }
    Ok(())
}

/// A template below `packaging/` with the version.
fn filled_in(template: &str) -> Result<String> {
    with_version(&workspace::root().join("packaging").join(template))
}

/// The text of a file with the version.
fn with_version(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.replace("@VERSION@", env!("CARGO_PKG_VERSION")))
}

/// The files by which the routines or commands of a page are found, beside that of the page: those of its section NAME,
/// where routines of several types have the name of the type-generic one, and those that a comment of the page lists.
fn other_names(text: &str, page: &str) -> Vec<String> {
    let head = text.split(".Nd ").next().unwrap_or_default();
    let shown = head.lines().filter_map(|line| line.strip_prefix(".Nm "));
    let shown =
        shown.map(|name| name.trim_end_matches(" ,").replace("TYPENAME_", "")).filter(|name| !name.contains("SIZE"));
    let found_by = text.lines().filter_map(|line| line.strip_prefix(FOUND_BY));
    let listed = found_by.flat_map(str::split_whitespace).map(str::to_owned);
    let mut names: Vec<String> = Vec::new();
    let section = Path::new(page).extension().unwrap_or_default().display();
    for name in shown.chain(listed) {
        let name = format!("{name}.{section}");
        if name != page && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_the_names_of_its_routines() {
        let page = ".Sh NAME\n.Nm shmemx_a ,\n.Nm shmemx_TYPENAME_b\n.Nd do\n.Sh SYNOPSIS\n.Nm c\n";
        assert_eq!(other_names(page, "shmemx_a.3"), ["shmemx_b.3"]);
        assert_eq!(other_names(page, "both.3"), ["shmemx_a.3", "shmemx_b.3"]);
        let listed = format!("{FOUND_BY}shmem_int_p shmem_p\n.Sh NAME\n.Nm shmem_p ,\n.Nm shmem_putSIZE\n.Nd put\n");
        assert_eq!(other_names(&listed, "shmem_p.3"), ["shmem_int_p.3"]);
    }
}
