//! Putting files into an installation.

use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Mode of programs and shared libraries.
pub(crate) const PROGRAM: u32 = 0o755;
/// Mode of other files.
pub(crate) const DATA: u32 = 0o644;

/// A directory that files are installed into.
///
/// A file takes its place by a rename, so that processes which run an older copy keep it, and
/// no process sees half a file.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    installed: Vec<PathBuf>,
}

impl Tree {
    /// Installs below `root`, which need not exist.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, installed: Vec::new() }
    }

    /// Copies a file to `to`, a path below the root; `change` may alter the copy.
    pub(crate) fn copy(
        &mut self,
        from: &Path,
        to: &str,
        mode: u32,
        change: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        self.make(to, mode, |file| {
            fs::copy(from, file).with_context(|| format!("cannot copy {} to {}", from.display(), file.display()))?;
            fs::set_permissions(file, Permissions::from_mode(mode | 0o200))?;
            change(file)
        })
    }

    /// Has `write` write the file that becomes `to`.
    pub(crate) fn make(&mut self, to: &str, mode: u32, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        self.place(to, |file| {
            write(file)?;
            Ok(fs::set_permissions(file, Permissions::from_mode(mode))?)
        })
    }

    /// Writes a text file to `to`.
    pub(crate) fn write(&mut self, to: &str, text: &str) -> Result<()> {
        self.place(to, |file| {
            fs::write(file, text)?;
            Ok(fs::set_permissions(file, Permissions::from_mode(DATA))?)
        })
    }

    /// Makes `to` a link to `target`, a path relative to the link's directory.
    pub(crate) fn link(&mut self, target: &str, to: &str) -> Result<()> {
        self.place(to, |link| Ok(symlink(target, link)?))
    }

    /// All files and links installed so far, in order.
    pub(crate) fn installed(&self) -> &[PathBuf] {
        &self.installed
    }

    fn place(&mut self, to: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.root.join(to);
        let directory = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory).with_context(|| format!("cannot make the directory {}", directory.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = directory.join(format!(".{name}.{}", std::process::id()));
        remove(&temporary)?;
        let placed = make(&temporary).and_then(|()| Ok(fs::rename(&temporary, &path)?));
        if placed.is_err() {
            // The first error says what is wrong; one more about leftovers would hide it.
            let _ = remove(&temporary);
        }
        placed.with_context(|| format!("cannot install {}", path.display()))?;
        self.installed.push(path);
        Ok(())
    }
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Files below `directory` whose name ends in `ending`, as paths relative to it, sorted.
pub(crate) fn below(directory: &Path, ending: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read the directory {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let inner = below(&entry.path(), ending)?;
            found.extend(inner.into_iter().map(|path| format!("{name}/{path}")));
        } else if name.ends_with(ending) {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_copies_replace_earlier_ones() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(directory.path().join("root"));
        for text in ["old", "new"] {
            tree.write("share/a.txt", text).unwrap();
            tree.link("a.txt", "share/b.txt").unwrap();
        }
        let root = directory.path().join("root");
        assert_eq!(fs::read_to_string(root.join("share/b.txt")).unwrap(), "new");
        assert_eq!(below(&root, ".txt").unwrap(), ["share/a.txt", "share/b.txt"]);
        assert_eq!(below(&root, "").unwrap().len(), 2, "nothing else is left behind");
    }

    #[test]
    fn failed_copy_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(directory.path().to_owned());
        let absent = directory.path().join("absent");
        let error = tree.copy(&absent, "bin/x", PROGRAM, |_| Ok(())).unwrap_err();
        assert!(format!("{error:#}").contains("bin/x"));
        assert!(below(directory.path(), "").unwrap().is_empty());
    }
}
