//! What is generated from the table of environment variables: the lists of the manual pages.

use std::fs;

use ferroshmem_config::{self as config, Program};

use crate::root;

/// Begins and ends a generated part of a manual page.
const BEGIN: &str = ".\\\" Generated from crates/config/src by cargo run -p ferroshmem-abi -- --write\n";
const END: &str = ".\\\" End of the generated part\n";

/// The pages with a list of variables, and what reads the variables of the list; None: all those of
/// jobs.
const PAGES: &[(&str, Option<&[Program]>)] = &[
    ("ferroshmem.7", None),
    ("oshrun.1", Some(&[Program::Oshrun])),
    ("oshtune.1", Some(&[Program::Oshtune])),
    ("oshcc.1", Some(&[Program::Oshcc, Program::Oshcxx, Program::Oshfort])),
];

/// The manual pages that have a list of variables: path from the repository's root, and text.
pub fn pages() -> Vec<(String, String)> {
    let page = |(name, readers): &(&str, Option<&[Program]>)| {
        let path = format!("packaging/man/{name}");
        // A page that is not there is outdated, as one without the generated part is.
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let list = config::manual_list(*readers);
        (path, replaced(&text, &list))
    };
    PAGES.iter().map(page).collect()
}

/// `page` with `text` as its generated part.
fn replaced(page: &str, text: &str) -> String {
    let (head, rest) = page.split_once(BEGIN).unwrap_or((page, ""));
    let tail = rest.split_once(END).map_or("", |(_, tail)| tail);
    [head, BEGIN, text, END, tail].concat()
}
