//! The command line and host files, given any bytes.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use super::options;

/// Arguments of `oshrun`, each with a zero byte at its end.
pub fn command_line(bytes: &[u8]) {
    let words = bytes.split(|b| *b == 0);
    let words = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    // An error is all that a wrong command line can cause.
    let _ = options::parse(words, 4);
}

/// A file for `--hostfile`.
///
/// # Panics
/// If there is no place for a temporary file.
pub fn hostfile(bytes: &[u8]) {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("ferroshmem-fuzz-{}", std::process::id()));
    fs::write(&file, bytes).expect("a temporary file");
    let words = ["--hostfile".into(), file.clone().into(), "./program".into()];
    let _ = options::parse(words.to_vec(), 4);
    fs::remove_file(&file).expect("it was written");
}
