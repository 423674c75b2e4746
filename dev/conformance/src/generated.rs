//! The C files of the tests that are generated, from the table in `crates/abi`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Result;
use ferroshmem_abi::files::{self, Generated};

use crate::compile::once;

/// Paths are relative to `c/`.
static FILES: LazyLock<Vec<Generated>> = LazyLock::new(files::tests);

/// Whether a source, relative to `c/`, is generated or includes what is.
pub fn concerns(source: &str) -> bool {
    source.starts_with("fuzz/") || FILES.iter().any(|(path, _)| path == Path::new(source))
}

/// Sources of the generated programs that need no way of running of their own, relative to `c/`.
pub fn programs() -> impl Iterator<Item = String> {
    let paths = FILES.iter().map(|(path, _)| path.display().to_string());
    paths.filter(|path| path.starts_with("generated/"))
}

/// The folder in `cache` that has all of them. It is named by their texts, so test programs of other tables do not meet
/// in it.
///
/// # Errors
/// If a file cannot be written.
pub fn folder(cache: &Path) -> Result<PathBuf> {
    static KEY: LazyLock<u64> = LazyLock::new(|| {
        let mut hash = DefaultHasher::new();
        FILES.hash(&mut hash);
        hash.finish()
    });
    let folder = cache.join(format!("generated-{:016x}", *KEY));
    for (path, text) in FILES.iter() {
        once(&folder.join(path), |temporary| Ok(fs::write(temporary, text)?))?;
    }
    Ok(folder)
}
