//! The manual pages are well formed. That their lists of variables are those of the configuration
//! table is a test of `crates/abi`, which writes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/man")
}

#[test]
fn pages_are_well_formed() {
    for entry in fs::read_dir(pages()).unwrap() {
        let page = entry.unwrap().path();
        let lint = Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(&page).output();
        let Ok(lint) = lint else {
            eprintln!("skipped: mandoc is not installed");
            return;
        };
        let findings = String::from_utf8_lossy(&lint.stdout);
        assert!(lint.status.success(), "{}: {findings}", page.display());
    }
}
