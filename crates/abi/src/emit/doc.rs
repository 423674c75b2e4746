//! The comments of the headers, which editors show for a routine.
//!
//! A comment is written once for all functions in turn that it describes: of all types, with a context and without.
//! Clang, and so clangd, gives a comment to all declarations that follow it without `;`, `{`, `}`, `#` or `@` between:
//! so functions that share a comment end in a macro, not in a semicolon.

use std::fmt::Write;

use crate::family::{Family, Status, Symbol};
use crate::reference::{Block, Entry, Reference, Section, blocks};

/// Columns of a comment.
const WIDTH: usize = 110;

/// The functions of `families`, parted where the comment changes, with their comments.
pub fn commented<'a>(
    reference: &Reference,
    families: impl Iterator<Item = &'a Family>,
) -> Vec<(String, Vec<Symbol<'a>>)> {
    let mut parts: Vec<(String, Vec<Symbol<'a>>)> = Vec::new();
    for family in families {
        let comment = comment(reference, family);
        match parts.last_mut().filter(|(last, _)| *last == comment) {
            Some((_, symbols)) => symbols.extend(family.symbols()),
            None => parts.push((comment, family.symbols())),
        }
    }
    parts
}

/// The comment of a routine's family; nothing if the reference lacks it.
fn comment(reference: &Reference, family: &Family) -> String {
    let Some(entry) = reference.entry_of(family) else {
        return String::new();
    };
    let mut lines = vec![sentence(reference.brief(entry, family))];
    let standing = match family.status {
        Status::Current => None,
        Status::Deprecated => Some("Deprecated by the standard."),
        // The prefix says so.
        Status::Extension if family.pattern.starts_with("shmemx_") => None,
        Status::Extension => Some("An extension."),
    };
    lines.extend(standing.map(str::to_owned));
    lines.extend(first_paragraph(&entry.description));
    let words = |name: &str| reference.argument(entry, name).unwrap_or_default();
    // Only some of the functions have this parameter: as `@param`, clang would warn about it.
    if family.has_ctx() {
        lines.push(format!("`ctx`: {}.", words("ctx")));
    }
    for (_, name) in family.symbols()[0].params() {
        lines.push(format!("@param {name} {}", words(&name)));
    }
    if family.ret != "void"
        && let Some(returns) = first_paragraph(entry.section(Section::Returns))
    {
        lines.push(format!("@return {returns}"));
    }
    lines.push(format!("@see {}(3)", page(entry)));
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let begin = if i == 0 { "/** " } else { " * " };
        // Beside a keyword, a line is a paragraph of its own.
        if i > 0 && !line.starts_with('@') {
            out.push_str(" *\n");
        }
        out.push_str(&filled(line, begin));
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push_str(" */\n");
    out
}

/// A comment within the definition of a macro, which editors show as it is.
pub fn of_macro(reference: &Reference, name: &str) -> String {
    let entry = reference.entries.iter().find(|entry| entry.name == name);
    let found = entry.or_else(|| {
        let names = |e: &&Entry| e.routines.iter().any(|(n, _)| n.replace("TYPENAME_", "") == name);
        reference.entries.iter().find(names)
    });
    match found {
        Some(entry) => {
            let shown = name.replacen("shmem_", "shmem_TYPENAME_", 1);
            let own = entry.routines.iter().find(|(n, _)| *n == shown || n == name);
            let brief = own.map_or(&entry.brief, |(_, brief)| brief);
            let brief = if brief.is_empty() { &entry.brief } else { brief };
            format!("/* {} See {}(3). */ ", sentence(brief), page(entry))
        }
        None => String::new(),
    }
}

/// The manual page of an entry.
fn page(entry: &Entry) -> &str {
    entry.manual.as_deref().unwrap_or(&entry.name)
}

fn sentence(brief: &str) -> String {
    match brief.ends_with('.') {
        true => brief.to_owned(),
        false => format!("{brief}."),
    }
}

fn first_paragraph(text: &str) -> Option<String> {
    blocks(text).into_iter().find_map(|block| match block {
        Block::Paragraph(text) => Some(text),
        Block::List(_) | Block::Code(_) => None,
    })
}

/// `text` in lines of a comment, the first of which begins with `begin`.
fn filled(text: &str, begin: &str) -> String {
    let mut out = String::new();
    let mut line = begin.to_owned();
    for word in text.split_whitespace() {
        if line.len() + word.len() > WIDTH {
            writeln!(out, "{}", line.trim_end()).unwrap();
            let next = if text.starts_with('@') { " *   " } else { " * " };
            next.clone_into(&mut line);
        }
        line.push_str(word);
        line.push(' ');
    }
    writeln!(out, "{}", line.trim_end()).unwrap();
    out
}
