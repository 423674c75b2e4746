//! The archive of files that a machine has when its kernel starts (an initramfs).
//!
//! It is a cpio archive of the format "newc", described in the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.

use anyhow::{Context, Result};
use std::fs;
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
    Ok(archive.finish())
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let length = u32::try_from(content.len()).expect("files of an initramfs are small");
        let name_length = u32::try_from(name.len() + 1).expect("names are short");
        self.bytes.extend(b"070701");
        // Number, mode, user, group, links, time, length, four device numbers, name's length,
        // checksum.
        for field in [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            length,
            0,
            0,
            0,
            0,
            name_length,
            0,
        ] {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_start_at_multiples_of_four() {
        let mut archive = Archive::default();
        archive.add("abc", PROGRAM, b"12345");
        let bytes = archive.finish();
        // 110 bytes of header, 4 of name, 2 of padding, 5 of content, 3 of padding.
        assert_eq!(&bytes[110..121], b"abc\0\0\x0012345");
        assert_eq!(&bytes[124..130], b"070701");
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!(&bytes[54..62], b"00000005");
    }
}
