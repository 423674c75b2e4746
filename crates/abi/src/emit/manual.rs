//! The manual pages of extensions: their synopses, made from the table, and their examples, from the reference. The
//! rest of a page is written by hand.

use std::fmt::Write;
use std::{fs, io};

use super::pages;
use super::variables::replaced;
use crate::reference::{Entry, Reference};
use crate::root;
use crate::table::Chapter;

/// Begins the synopsis.
const BEGIN: &str = ".\\\" Generated from crates/abi/src/families by cargo run -p ferroshmem-abi -- --write\n";
/// Begins the example.
const BEGIN_EXAMPLE: &str = ".\\\" Generated from crates/abi/reference by cargo run -p ferroshmem-abi -- --write\n";
/// Where the pages are, from the repository's root.
const FOLDER: &str = "packaging/man";

/// The pages of section 3 that are written by hand: path from the repository's root, and text.
///
/// # Errors
/// If they cannot be read.
pub fn pages(chapters: &[Chapter], reference: &Reference) -> io::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root().join(FOLDER))? {
        let path = entry?.path();
        if path.extension().is_none_or(|section| section != "3") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let synopsis = synopsis(chapters, &names(&text));
        let mut text = replaced(&text, BEGIN, &synopsis);
        let is_page = |entry: &&Entry| entry.manual.as_deref() == name.strip_suffix(".3");
        let entry = reference.entries.iter().find(is_page);
        if let Some(example) = entry.and_then(|entry| entry.example.as_ref()) {
            let mut section = String::new();
            pages::example(&mut section, example);
            text = replaced(&text, BEGIN_EXAMPLE, &section);
        }
        pages.push((format!("{FOLDER}/{name}"), text));
    }
    Ok(pages)
}

/// The routines that a page is about, as its section NAME lists them.
pub fn names(page: &str) -> Vec<&str> {
    let head = page.split(".Nd ").next().unwrap_or_default();
    let lines = head.lines().filter_map(|line| line.strip_prefix(".Nm "));
    lines.map(|name| name.trim_end_matches(" ,")).collect()
}

/// The prototypes of routines. Those of several types are shown once, with `TYPENAME` in their names. What the table
/// does not have is a macro, which the page itself shows.
fn synopsis(chapters: &[Chapter], names: &[&str]) -> String {
    let mut text = found_by(chapters, names);
    text += ".In shmemx.h\n";
    for name in names {
        let pattern = name.replace("TYPENAME", "{T}");
        let mut families = chapters.iter().flat_map(|chapter| &chapter.families);
        let Some(family) = families.find(|family| family.pattern == pattern) else {
            continue;
        };
        writeln!(text, ".Ft \"{}\"\n.Fo {name}", family.ret.trim()).unwrap();
        let params = if family.params.is_empty() { "void" } else { family.params };
        for param in params.split(", ") {
            writeln!(text, ".Fa \"{param}\"").unwrap();
        }
        text += ".Fc\n";
    }
    text
}

/// The names by which a page is found that are of several types.
fn found_by(chapters: &[Chapter], names: &[&str]) -> String {
    let families = || chapters.iter().flat_map(|chapter| &chapter.families);
    let typed = names.iter().filter(|name| name.contains("TYPENAME"));
    let mut all = Vec::new();
    for name in typed {
        let pattern = name.replace("TYPENAME", "{T}");
        let of = families().filter(|family| family.pattern == pattern);
        all.extend(of.flat_map(|family| family.symbols()).map(|s| s.name()));
    }
    pages::found_by(&all)
}
