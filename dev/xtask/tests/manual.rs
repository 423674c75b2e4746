//! The manual pages say what the library does.

use ferroshmem_core::env::TABLE;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set this environment variable to have the list of variables written instead of compared.
const UPDATE: &str = "UPDATE_MANUAL";

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/man")
}

/// The section on the environment as the library's table has it.
fn environment() -> String {
    let mut text = String::from(".Bl -tag -width Ds\n");
    for variable in TABLE {
        text += &format!(".It Ev {}", variable.name);
        if let Some(alias) = variable.alias {
            text += &format!(" Pq Ev {alias}");
        }
        text += &format!("\n{}\n", sentences(variable.help));
        text += &format!("Value: {}; default: {}.\n", variable.kind, variable.default);
    }
    text + ".El\n"
}

/// One line per sentence, as roff wants it.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

#[test]
fn overview_lists_every_environment_variable() {
    let path = pages().join("ferroshmem.7");
    let page = fs::read_to_string(&path).unwrap();
    let section = page.find(".Sh ENVIRONMENT").unwrap();
    let begin = section + page[section..].find(".Bl").unwrap();
    let end = begin + page[begin..].find(".Sh").unwrap();
    let expected = environment();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, [&page[..begin], &expected, &page[end..]].concat()).unwrap();
        return;
    }
    assert!(
        page[begin..end] == expected,
        "the list of variables in ferroshmem.7 differs from the table in crates/core/src/env.rs: \
         run this test with {UPDATE}=1 to write it"
    );
}

#[test]
fn pages_are_well_formed() {
    for entry in fs::read_dir(pages()).unwrap() {
        let page = entry.unwrap().path();
        let lint = Command::new("mandoc")
            .args(["-T", "lint", "-W", "error"])
            .arg(&page)
            .output();
        let Ok(lint) = lint else {
            eprintln!("skipped: mandoc is not installed");
            return;
        };
        let findings = String::from_utf8_lossy(&lint.stdout);
        assert!(lint.status.success(), "{}: {findings}", page.display());
    }
}
