//! The folder of a report, which is replaced as a whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

/// The file that identifies a folder as a report.
pub const RESULTS: &str = "results.csv";

/// A folder that a report is to be written to.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    parent: PathBuf,
}

impl Folder {
    /// Checks that a report can be written to `path`, before anything is measured.
    ///
    /// # Errors
    /// If it cannot be written, or if `path` exists and is no report.
    pub fn new(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let parent = path.parent().context("give a folder below another one")?;
        if path.exists() {
            let empty = path.is_dir() && path.read_dir()?.next().is_none();
            if !empty && !path.join(RESULTS).is_file() {
                bail!("{} exists and is no report", path.display());
            }
        }
        // Missing folders are created below the first one that exists.
        let existing = parent.ancestors().find(|folder| folder.exists());
        let existing = existing.context("the folder has no parent")?;
        TempDir::new_in(existing)
            .and_then(TempDir::close)
            .map_err(|error| anyhow!("{}: cannot write there: {}", path.display(), error.kind()))?;
        let parent = parent.to_owned();
        Ok(Self { path, parent })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets `write` fill a temporary folder beside it, which then replaces it.
    ///
    /// # Errors
    /// If `write` fails or the folder cannot be made; an existing report is then kept.
    pub fn fill<T>(&self, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let name = || self.path.display().to_string();
        fs::create_dir_all(&self.parent).with_context(name)?;
        let fresh = tempfile::Builder::new()
            .prefix(".report-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir_in(&self.parent)
            .with_context(name)?;
        let result = write(fresh.path())?;
        let aside = fresh.path().with_extension("old");
        let replaced = self.path.exists();
        if replaced {
            fs::rename(&self.path, &aside).with_context(name)?;
        }
        if let Err(error) = fs::rename(fresh.path(), &self.path) {
            if replaced {
                fs::rename(&aside, &self.path).with_context(name)?;
            }
            return Err(error).with_context(name);
        }
        // It was renamed: there is nothing to remove.
        let _ = fresh.keep();
        if replaced {
            fs::remove_dir_all(&aside).with_context(|| aside.display().to_string())?;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<String> {
        let names = folder.read_dir().unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_report_replaces_a_report_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("below/report");
        for text in ["first", "second"] {
            let folder = Folder::new(&path).unwrap();
            folder.fill(|fresh| Ok(fs::write(fresh.join(RESULTS), text)?)).unwrap();
            assert_eq!(fs::read_to_string(path.join(RESULTS)).unwrap(), text);
        }
        assert_eq!(entries(path.parent().unwrap()), ["report"]);

        let failed = Folder::new(&path).unwrap().fill(|fresh| -> Result<()> {
            fs::write(fresh.join(RESULTS), "half")?;
            bail!("no more")
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(path.join(RESULTS)).unwrap(), "second");
        assert_eq!(entries(path.parent().unwrap()), ["report"]);

        let other = root.path().join("mine");
        fs::create_dir(&other).unwrap();
        Folder::new(&other).unwrap();
        fs::write(other.join("letter"), "dear").unwrap();
        assert!(Folder::new(&other).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_refused() {
        let error = Folder::new(Path::new("/proc/no/report")).unwrap_err();
        assert!(format!("{error:#}").contains("/proc/no/report"), "{error:#}");
        assert!(Folder::new(Path::new("/dev/null/report")).is_err());
    }
}
