//! The book and the other documents: links lead to files and headings that are there, and all pages are in the table of
//! contents.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ferroshmem_abi::reference::Reference;
use ferroshmem_abi::root;

/// Documents with links, besides those of `docs/`.
const OTHERS: &[&str] = &["README.md", "CONTRIBUTING.md", "crates/abi/reference/README.md"];

fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = OTHERS.iter().map(|name| root().join(name)).collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("docs/ is here") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Text without programs and code, in which brackets are no links.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with("    ") {
            let words = line.split('`').step_by(2);
            out.push_str(&words.collect::<Vec<_>>().join(" "));
            out.push('\n');
        }
    }
    out
}

/// The targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let parts = prose.split("](").skip(1);
    let targets = parts.filter_map(|part| part.split_once(')').map(|(target, _)| target));
    targets.map(str::to_owned).collect()
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let headings = text.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    let pages: BTreeSet<String> = reference.entries.iter().map(|e| format!("{}.md", e.name)).collect();
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("readable");
        let folder = document.parent().expect("a folder");
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") || link.is_empty() {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            // The reference is generated with the book.
            if let Some((_, page)) = path.split_once("../reference/")
                && folder.ends_with("docs/book")
            {
                if !pages.contains(page) {
                    broken.push(format!("{}: {link}", document.display()));
                }
                continue;
            }
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            let there = target.exists()
                && (anchor.is_empty()
                    || target.extension().is_none_or(|e| e != "md")
                    || anchors(&fs::read_to_string(&target).expect("readable")).contains(anchor));
            if !there {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn all_chapters_are_in_the_table_of_contents() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("it is here");
    let linked: BTreeSet<String> = links(&summary).into_iter().collect();
    let docs = root().join("docs");
    for path in documents() {
        let Ok(name) = path.strip_prefix(&docs) else {
            continue;
        };
        let name = name.to_string_lossy();
        assert!(name == "SUMMARY.md" || linked.contains(&*name), "{name} is not in docs/SUMMARY.md");
    }
}

/// Words that are right here, and that the list of misspellings has: names of the field, and of mdoc(7).
const RIGHT: &str = "crate,crates,bale,iput,inout,nd,fo";

/// codespell(1) knows no misspelling in documents, pages, headers and examples.
#[test]
fn words_are_spelled_right() {
    let mut check = Command::new("codespell");
    check.current_dir(root());
    check.args(["--builtin", "clear", "--quiet-level", "3"]);
    check.args(["--ignore-words-list", RIGHT, "--skip", "*.svg"]);
    check.args(["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]);
    check.args(["docs", "packaging", "include", "examples"]);
    let Ok(output) = check.arg("crates/abi/reference").output() else {
        eprintln!("skipped: codespell is not installed");
        return;
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
}

#[test]
fn links_and_anchors_are_found() {
    assert_eq!(links("a [b](c.md#d), `[e](f)`\n```\n[g](h)\n```\n"), ["c.md#d"]);
    assert!(anchors("## A halo exchange, `x`\n").contains("a-halo-exchange-x"));
}
