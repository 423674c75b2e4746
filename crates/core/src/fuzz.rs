//! Entries of the fuzzers (docs/fuzzing.md): each parser of others' bytes, given any bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::choice::Collective;
use crate::config::{self, Environment};
use crate::job::Introduction;

/// What another PE says of itself: what is read comes back as it was written.
///
/// # Panics
/// If it does not.
pub fn introduction(bytes: &[u8]) {
    if let Some(introduction) = Introduction::from_bytes(bytes) {
        let again = Introduction::from_bytes(&introduction.to_bytes());
        assert_eq!(again, Some(introduction));
    }
}

/// Values of environment variables, as `NAME=VALUE` in lines that end in zero bytes.
pub fn settings(bytes: &[u8]) {
    let value = |name: &str| -> Option<OsString> {
        let mut lines = bytes.split(|b| *b == 0);
        let found = lines.find_map(|l| l.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsStr::from_bytes(found).to_owned())
    };
    let environment = Environment::only(&value);
    // Errors are what a wrong value causes, and no more.
    let _ = config::VERSION.read(&environment);
    let _ = config::CHECK.read(&environment);
    let _ = config::SYMMETRIC_SIZE.read(&environment);
    let _ = config::SPIN.read(&environment);
    let _ = config::TUNING_FILE.read(&environment);
    let _ = config::FABRIC.read(&environment);
    let _ = config::FABRIC_TIMEOUT.read(&environment);
    let _ = config::CC.read(&environment);
    for collective in Collective::ALL {
        let _ = config::algorithm(collective).read(&environment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_fuzz::feed;

    #[test]
    fn parsers_take_any_bytes() {
        feed("introduction", introduction);
        feed("settings", settings);
    }

    /// The corpus cannot have one that this build accepts: it has a digest of the sources.
    #[test]
    fn own_introductions_are_taken() {
        let bytes = Introduction::of_this_process().unwrap().to_bytes();
        assert!(Introduction::from_bytes(&bytes).is_some());
        for cut in 0..bytes.len() {
            introduction(&bytes[..cut]);
            let mut damaged = bytes.clone();
            damaged[cut] = !damaged[cut];
            introduction(&damaged);
        }
    }
}
