//! The C programs that call every prototype and every type-generic routine.

use crate::table::Chapter;

/// `conformance/c/generated/`: (file name, text).
pub fn files(_chapters: &[Chapter]) -> Vec<(String, String)> {
    vec![]
}
