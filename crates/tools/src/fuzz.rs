//! Entries of the fuzzers (docs/fuzzing.md): each parser of what users and other programs write, given any bytes.

use crate::tune::TuningFile;

pub use crate::launch::fuzz::{command_line, hostfile};

/// A tuning file: what is read comes back as it was written.
///
/// # Panics
/// If it does not.
pub fn tuning_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(file) = TuningFile::parse(text) {
        let again = TuningFile::parse(&file.text());
        assert_eq!(again.expect("it has just been written"), file);
        // What PEs take from it holds for any job.
        let tuning = file.tuning();
        for pes in [1, 2, 3, 64, 4096] {
            let _ = tuning.rules_for(pes, pes, 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_fuzz::feed;

    #[test]
    fn parsers_take_any_bytes() {
        feed("command_line", command_line);
        feed("hostfile", hostfile);
        feed("tuning_file", tuning_file);
    }

    #[test]
    fn the_corpus_has_a_file_that_is_read() {
        let text = include_str!("../../../dev/fuzz/corpus/tuning_file/usual");
        TuningFile::parse(text).unwrap();
    }
}
