//! The comments of the headers, which editors show for a routine.
//!
//! A comment is written once for all functions in turn that it describes: of all types, with a context and without.
//! Clang, and so clangd, gives a comment to all declarations that follow it without `;`, `{`, `}`, `#` or `@` between:
//! so functions that share a comment end in a macro, not in a semicolon.

use std::fmt::Write;

use crate::family::{Family, Status, Symbol};
use crate::reference::{Block, Entry, Reference, Section, blocks, display_name};
use crate::types::Group;

/// Columns of a comment, but for its end.
const WIDTH: usize = 117;

/// The functions of `families`, parted where the comment changes, with their comments. Routines of many types that
/// differ in what they do alone, such as reductions in their operators, have one comment that lists them; and so have
/// the routine that begins a collective and the one that makes a persistent request of it.
pub fn commented<'a>(
    reference: &Reference,
    families: impl Iterator<Item = &'a Family>,
) -> Vec<(String, Vec<Symbol<'a>>)> {
    let mut parts: Vec<(Vec<&'a Family>, Vec<String>)> = Vec::new();
    for family in families {
        let rest = comment(reference, family);
        let goes_with = |(families, last): &&mut (Vec<&Family>, Vec<String>)| {
            let is_of_types = [families[0], family].iter().all(|family| family.group != Group::Single);
            let is_alike = reference.entry_of(family).is_none_or(|entry| {
                is_of_types || reference.brief(entry, families[0]) == reference.brief(entry, family)
            });
            *last == rest && (is_alike || collective(families[0]) == collective(family))
        };
        match parts.iter_mut().find(goes_with) {
            Some((families, _)) => families.push(family),
            None => parts.push((vec![family], rest)),
        }
    }
    let parts = parts.into_iter();
    parts
        .map(|(families, rest)| {
            let symbols = families.iter().flat_map(|family| family.symbols()).collect();
            (text(reference, &families, rest), symbols)
        })
        .collect()
}

/// The name of a routine without the word that tells whether its collective begins at once.
fn collective(family: &Family) -> &str {
    let suffixes = ["_nb", "_init"].into_iter();
    suffixes.filter_map(|suffix| family.pattern.strip_suffix(suffix)).next().unwrap_or(family.pattern)
}

/// The comment of families, of which `rest` is what they have in common; nothing if the reference lacks them.
fn text(reference: &Reference, families: &[&Family], rest: Vec<String>) -> String {
    let Some(entry) = reference.entry_of(families[0]) else {
        return String::new();
    };
    let mut briefs: Vec<(String, &str)> = Vec::new();
    for family in families {
        let brief = reference.brief(entry, family);
        if !briefs.iter().any(|(_, known)| *known == brief) {
            briefs.push((display_name(family, false), brief));
        }
    }
    let mut lines = match &briefs[..] {
        [(_, brief)] => vec![sentence(brief)],
        _ => {
            let list = briefs.iter().map(|(name, brief)| sentence(&format!("- `{name}`: {brief}")));
            [sentence(&entry.brief)].into_iter().chain(list).collect()
        }
    };
    lines.extend(standing(families));
    lines.extend(rest);
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let begin = if i == 0 { "/** " } else { " * " };
        // Beside a keyword or in a list, a line is a paragraph of its own.
        let goes_on = line.starts_with("- ") && lines[i - 1].starts_with("- ");
        if i > 0 && !line.starts_with('@') && !goes_on {
            out.push_str(" *\n");
        }
        out.push_str(&filled(line, begin));
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push_str(" */\n");
    out
}

/// Which of the families that share a comment are no current part of the standard.
fn standing(families: &[&Family]) -> Vec<String> {
    let words = |family: &Family| match family.status {
        Status::Current => None,
        Status::Deprecated => Some("deprecated by the standard"),
        // The prefix says so.
        Status::Extension if family.pattern.starts_with("shmemx_") => None,
        Status::Extension => Some("an extension"),
    };
    let name = |family: &Family| display_name(family, false);
    let is_alone = |family: &Family, others: &[&Family]| others.iter().all(|other| words(other) == words(family));
    if is_alone(families[0], families) {
        let capital = |words: &str| format!("{}{}.", words[..1].to_uppercase(), &words[1..]);
        return words(families[0]).map(capital).into_iter().collect();
    }
    let has_one_name = families.iter().all(|family| name(family) == name(families[0]));
    let mut lines = Vec::new();
    for family in families {
        let Some(words) = words(family) else {
            continue;
        };
        let of_name: Vec<&Family> = families.iter().copied().filter(|other| name(other) == name(family)).collect();
        let types: Vec<String> = family.group.types().iter().map(|ty| format!("`{}`", ty.name)).collect();
        let types = types.join(", ");
        lines.push(match (has_one_name, is_alone(family, &of_name)) {
            (true, _) => format!("For {types}: {words}."),
            (false, false) => format!("- `{}` for {types}: {words}.", name(family)),
            (false, true) => format!("- `{}`: {words}.", name(family)),
        });
    }
    lines
}

/// The paragraphs after the first of a family's comment; nothing if the reference lacks it.
fn comment(reference: &Reference, family: &Family) -> Vec<String> {
    let Some(entry) = reference.entry_of(family) else {
        return Vec::new();
    };
    let mut lines: Vec<String> = first_paragraph(&entry.description).into_iter().collect();
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
        lines.push(format!("@return {}", returned(&returns, &display_name(family, false))));
    }
    lines.push(format!("@see {}(3)", page(entry)));
    lines
}

/// What a routine returns: of the sentences that begin with names of routines (`a` and `b`: 0), the one that names it,
/// or else all that name none.
fn returned(paragraph: &str, routine: &str) -> String {
    let routine = format!("`{routine}`");
    let mut of_all = Vec::new();
    for sentence in paragraph.trim_end_matches('.').split(". ") {
        let (names, words) = sentence.split_once(": ").unwrap_or_default();
        let names: Vec<&str> = names.split([' ', ',']).filter(|name| !["", "and"].contains(name)).collect();
        if names.contains(&&*routine) {
            return format!("{words}.");
        }
        if !names.first().is_some_and(|name| name.starts_with("`shmem")) {
            of_all.push(sentence.trim_start_matches("Others: "));
        }
    }
    format!("{}.", of_all.join(". "))
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
            let next = if text.starts_with(['@', '-']) { " *   " } else { " * " };
            next.clone_into(&mut line);
        }
        line.push_str(word);
        line.push(' ');
    }
    writeln!(out, "{}", line.trim_end()).unwrap();
    out
}
