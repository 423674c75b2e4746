//! Which build of the library this is: digests of the sources of this crate and of those below and above it.

use std::sync::OnceLock;

static ABOVE: OnceLock<String> = OnceLock::new();

/// Takes the digests of the crates above this one, before the job starts; only the first call counts.
pub fn set_above(digests: &[&str]) {
    ABOVE.get_or_init(|| {
        let numbers = digests.iter().filter_map(|d| u64::from_str_radix(d, 16).ok());
        let all = numbers.fold(0_u64, |all, number| all.rotate_left(8) ^ number);
        format!("{all:016x}")
    });
}

/// The digests, from below to above.
pub fn digests() -> [&'static str; 6] {
    let above = ABOVE.get().map_or("", String::as_str);
    [
        ferroshmem_fabric::SOURCES,
        ferroshmem_tuning::SOURCES,
        ferroshmem_config::SOURCES,
        ferroshmem_layout::SOURCES,
        ferroshmem_digest::of_sources!(),
        above,
    ]
}
