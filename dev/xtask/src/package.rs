//! Descriptions of an installation for other build systems: the files in `packaging/`, with the
//! version filled in. None of them names the prefix, so an installation can be moved.

use crate::files::Tree;
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;

/// Template below `packaging/` and where it goes.
const FILES: &[(&str, &str)] = &[
    ("ferroshmem.pc.in", "lib/pkgconfig/ferroshmem.pc"),
    (
        "FerroSHMEMConfig.cmake.in",
        "lib/cmake/FerroSHMEM/FerroSHMEMConfig.cmake",
    ),
    (
        "FerroSHMEMConfigVersion.cmake.in",
        "lib/cmake/FerroSHMEM/FerroSHMEMConfigVersion.cmake",
    ),
    ("man/oshrun.1", "share/man/man1/oshrun.1"),
    ("man/oshcc.1", "share/man/man1/oshcc.1"),
    ("man/oshmem_info.1", "share/man/man1/oshmem_info.1"),
    ("man/oshtune.1", "share/man/man1/oshtune.1"),
    ("man/ferroshmem.7", "share/man/man7/ferroshmem.7"),
];

/// Other names of the same file.
const LINKS: &[(&str, &str)] = &[
    ("ferroshmem.pc", "lib/pkgconfig/shmem.pc"),
    ("oshcc.1", "share/man/man1/oshc++.1"),
    ("oshcc.1", "share/man/man1/oshCC.1"),
    ("oshcc.1", "share/man/man1/oshcxx.1"),
    ("ferroshmem.7", "share/man/man7/shmem.7"),
];

/// Installs the files.
pub(crate) fn install(tree: &mut Tree) -> Result<()> {
    for (template, to) in FILES {
        let path = workspace::root().join("packaging").join(template);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        tree.write(to, &text.replace("@VERSION@", env!("CARGO_PKG_VERSION")))?;
    }
    for (target, to) in LINKS {
        tree.link(target, to)?;
    }
    Ok(())
}
