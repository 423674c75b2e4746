//! A digest of a crate's sources, by which PEs notice that their libraries come from different builds. A macro, since a
//! build script for each crate would be compiled a dozen times, and for each profile again.

use proc_macro::{Literal, TokenStream, TokenTree};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The digest of the package that it is used in, 16 digits. The compiler expands it whenever a module has changed.
#[proc_macro]
pub fn of_sources(_: TokenStream) -> TokenStream {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let digest = digest(&package).expect("the sources are readable");
    TokenTree::from(Literal::string(&format!("{digest:016x}"))).into()
}

/// The digest of what is below `src` in a package.
fn digest(package: &Path) -> io::Result<u64> {
    let mut files = Vec::new();
    collect(&package.join("src"), &mut files)?;
    // Folders list their files in any order.
    files.sort();
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files {
        let name = file.strip_prefix(package).unwrap_or(&file);
        digest.feed(name.to_string_lossy().as_bytes());
        digest.feed(&fs::read(&file)?);
    }
    Ok(digest.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal sources have one digest wherever they are; another text, or another place of it, has another one.
    #[test]
    fn names_and_texts_count_and_the_place_of_the_package_does_not() {
        let root = env::temp_dir().join(format!("ferroshmem-digest-{}", std::process::id()));
        let of = |at: &str, files: &[(&str, &str)]| {
            let package = root.join(at);
            for (name, text) in files {
                let path = package.join("src").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            digest(&package).unwrap()
        };
        let first = of("first", &[("lib.rs", "a"), ("b/c.rs", "d")]);
        let same = of("same", &[("b/c.rs", "d"), ("lib.rs", "a"), ("notes.md", "e")]);
        let [text, name] = [[("lib.rs", "ad"), ("b/c.rs", "")], [("lib.rs", "a"), ("b.rs", "d")]];
        let others = [of("text", &text), of("name", &name)];
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(same, first);
        assert!(!others.contains(&first));
    }
}
