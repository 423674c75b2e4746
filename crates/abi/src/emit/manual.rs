//! The manual pages of extensions: their synopses, made from the table, and their examples, from the reference. The
//! rest of a page is written by hand.

use std::fmt::Write;
use std::{fs, io};

use super::pages;
use crate::reference::{Entry, Reference};
use crate::root;
use crate::table::Chapter;

/// The line of a page that stands for its synopsis.
const SYNOPSIS: &str = "@SYNOPSIS@\n";
/// The line that stands for its section with the example.
const EXAMPLE: &str = "@EXAMPLE@\n";
/// Where the pages are, from the repository's root.
const FOLDER: &str = "packaging/man";

/// The pages of section 3 that are written by hand: the file's name, and text.
///
/// # Errors
/// If they cannot be read, or one lacks a line that stands for what is generated.
pub fn pages(chapters: &[Chapter], reference: &Reference) -> io::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root().join(FOLDER))? {
        let path = entry?.path();
        if path.extension().is_none_or(|section| section != "3") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let replaced = |text: &str, line: &str, by: &str| match text.contains(line) {
            true => Ok(text.replacen(line, by, 1)),
            false => Err(io::Error::other(format!("{FOLDER}/{name} lacks {}", line.trim_end()))),
        };
        let mut text = replaced(&text, SYNOPSIS, &synopsis(chapters, &names(&text)))?;
        let is_page = |entry: &&Entry| entry.manual.as_deref() == name.strip_suffix(".3");
        let entry = reference.entries.iter().find(is_page);
        if let Some(example) = entry.and_then(|entry| entry.example.as_ref()) {
            let mut section = String::new();
            pages::example(&mut section, example);
            text = replaced(&text, EXAMPLE, &section)?;
        }
        pages.push((name.into_owned(), text));
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
