//! The archive of files that a machine has when its kernel starts (an initramfs).
//!
//! It is a cpio archive of the format "newc", described in the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.

use anyhow::{Context, Result};
use cpio::{newc, write_cpio};
use std::fs;
use std::io::Cursor;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Kernel;

const INIT: &str = include_str!("init.sh");
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// The archive for machines whose first process, once they have files, is `agent`.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn build(kernel: &Kernel, agent: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.add("modules", FOLDER, &[]);
    archive.add("bin", FOLDER, &[]);
    archive.add("init", PROGRAM, INIT.as_bytes());
    archive.add("agent", PROGRAM, agent.as_os_str().as_bytes());
    archive.add("bin/busybox", PROGRAM, &read(Path::new("/bin/busybox"))?);
    for module in &kernel.modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.add(&format!("modules/{name}"), PROGRAM, &read(module)?);
    }
    archive.finish()
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The entries of the archive.
#[derive(Default)]
struct Archive {
    entries: Vec<(newc::Builder, Cursor<Vec<u8>>)>,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        let number = u32::try_from(self.entries.len()).expect("an initramfs has few files");
        let entry = newc::Builder::new(name).ino(number).mode(mode).nlink(1);
        self.entries.push((entry, Cursor::new(content.to_vec())));
    }

    fn finish(self) -> Result<Vec<u8>> {
        Ok(write_cpio(self.entries.into_iter(), Vec::new())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_back() {
        let mut archive = Archive::default();
        archive.add("bin", FOLDER, &[]);
        archive.add("bin/abc", PROGRAM, b"12345");
        let bytes = archive.finish().unwrap();
        assert!(bytes.starts_with(b"070701"));
        let folder = newc::Reader::new(&bytes[..]).unwrap();
        assert_eq!((folder.entry().name(), folder.entry().mode()), ("bin", FOLDER));
        let program = newc::Reader::new(folder.finish().unwrap()).unwrap();
        assert_eq!((program.entry().name(), program.entry().mode()), ("bin/abc", PROGRAM));
        assert_eq!(program.entry().file_size(), 5);
    }
}
