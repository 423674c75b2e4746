//! A digest of this package's sources, by which PEs notice that their libraries come from different
//! builds. The build scripts of the other crates of the library are links to this one.

use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files)?;
    // Folders list their files in any order.
    files.sort();
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files {
        digest.feed(file.to_string_lossy().as_bytes());
        digest.feed(&fs::read(&file)?);
    }
    println!("cargo:rustc-env=FERROSHMEM_SOURCES={:016x}", digest.0);
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits, of texts with their lengths.
struct Digest(u64);

impl Digest {
    fn feed(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        for byte in length.to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
