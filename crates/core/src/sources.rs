//! Which build of the library this is: digests of the sources of this crate and of those below and above it.

use std::sync::OnceLock;

static ABOVE: OnceLock<&str> = OnceLock::new();

/// Takes the digest of the crate above this one, before the job starts; only the first call counts.
pub fn set_above(digest: &'static str) {
    // A second initialisation brings the same digest.
    let _ = ABOVE.set(digest);
}

/// The digests, from below to above.
pub(crate) fn digests() -> [&'static str; 3] {
    let above = ABOVE.get().copied().unwrap_or_default();
    [
        ferroshmem_fabric::SOURCES,
        env!("FERROSHMEM_SOURCES"),
        above,
    ]
}
