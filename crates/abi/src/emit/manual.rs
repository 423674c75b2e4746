//! The manual pages of extensions that have words of their own. Their synopses are made from the table.

use std::fmt::Write;

use super::pages::{DATE, examples, found_by, lower, prototype, roff};
use crate::family::Family;
use crate::reference::{Entry, Reference};
use crate::table::Chapter;

/// Sections, by their titles on a page and in the reference, after the description and after the example.
const BEFORE_EXAMPLE: &[(&str, &str)] = &[("Ss Types", "Types"), ("Sh RETURN VALUES", "Returns")];
const AFTER_EXAMPLE: &[(&str, &str)] = &[("Sh ERRORS", "Errors"), ("Sh SEE ALSO", "See")];

/// The pages: the file's name, and text.
pub(super) fn pages(chapters: &[Chapter], reference: &Reference) -> Vec<(String, String)> {
    let entries = reference.entries.iter();
    entries.filter_map(|entry| Some((format!("{}.3", entry.manual.as_ref()?), mdoc(entry, chapters)))).collect()
}

fn mdoc(entry: &Entry, chapters: &[Chapter]) -> String {
    let (names, description) = entry.page_names();
    let title = entry.manual.as_deref().unwrap_or_default().to_uppercase();
    let mut out = format!(".Dd {DATE}\n.Dt {title} 3\n.Os \"FerroSHMEM @VERSION@\"\n.Sh NAME\n");
    writeln!(out, ".Nm {}\n.Nd {}", names.join(" ,\n.Nm "), lower(&entry.brief)).unwrap();
    out += ".Sh SYNOPSIS\n";
    synopsis(&mut out, chapters, &names);
    roff(&mut out, entry.page_section("Synopsis"), false);
    out += ".Sh DESCRIPTION\n";
    roff(&mut out, description, false);
    let write = |out: &mut String, sections: &[(&str, &str)]| {
        for (title, section) in sections {
            let text = entry.page_section(section);
            if !text.is_empty() {
                writeln!(out, ".{title}").unwrap();
                roff(out, text, false);
            }
        }
    };
    write(&mut out, BEFORE_EXAMPLE);
    examples(&mut out, entry);
    write(&mut out, AFTER_EXAMPLE);
    out += ".Sh STANDARDS\nThis is an extension of\n.%T OpenSHMEM Specification 1.6 .\n";
    roff(&mut out, entry.page_section("Standards"), true);
    out
}

/// The routines that a page is about, as its section NAME lists them.
pub fn names(page: &str) -> Vec<&str> {
    let head = page.split(".Nd ").next().unwrap_or_default();
    let lines = head.lines().filter_map(|line| line.strip_prefix(".Nm "));
    lines.map(|name| name.trim_end_matches(" ,")).collect()
}

/// The prototypes of routines. Those of several types are shown once, with `TYPENAME` in their names, and found by all
/// names. What the table does not have is a macro, which the page itself shows.
fn synopsis(out: &mut String, chapters: &[Chapter], names: &[&str]) {
    let families = |name: &str| -> Vec<&Family> {
        let pattern = name.replace("TYPENAME", "{T}");
        let all = chapters.iter().flat_map(|chapter| &chapter.families);
        all.filter(|family| family.pattern == pattern).collect()
    };
    let typed = names.iter().filter(|name| name.contains("TYPENAME"));
    let symbols = typed.flat_map(|name| families(name)).flat_map(Family::symbols);
    *out += &found_by(&symbols.map(|symbol| symbol.name()).collect::<Vec<_>>());
    *out += ".In shmemx.h\n";
    for name in names {
        if let Some(family) = families(name).first() {
            prototype(out, family.ret, name, family.params);
        }
    }
}
