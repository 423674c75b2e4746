//! Files that are whole at any time, for programs that read them meanwhile.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Replaces what a file has by `text`. A link to it stays a link, and a device or pipe is no file.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let (path, temporary) = places(path)?;
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error names the cause; one about leftovers would hide it.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Whether [`write`] could, as far as can be known before.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let (_, temporary) = places(path)?;
    fs::write(&temporary, "")?;
    fs::remove_file(&temporary)
}

/// The file, and the temporary one beside it.
fn places(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        Ok(kind) if kind.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(kind) if !kind.is_file() => return Err(io::Error::other("it is no regular file")),
        _ => {}
    }
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let temporary = path.with_file_name(format!(".{}.{}", name.display(), std::process::id()));
    Ok((path, temporary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_and_pipes_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        fs::write(&file, "before").unwrap();
        write(&link, "text").unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&file).unwrap() == "text");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [&pipe, folder.path()] {
            assert!(write(path, "text").is_err() && check(path).is_err());
        }
        assert!(!fs::metadata(&pipe).unwrap().is_file());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing else is left behind");
    }
}
