//! The pages of the commands, and of the library as a whole: Markdown in `docs/`, for manual pages and for the book.

use std::fmt::Write;
use std::{fs, io};

use ferroshmem_config as config;

use super::pages::{DATE, literal, lower, roff};
use crate::reference::{Block, blocks, split};
use crate::root;

/// Pages and their sections of the manual.
const PAGES: &[(&str, &str)] =
    &[("oshrun", "1"), ("oshcc", "1"), ("oshmem_info", "1"), ("oshtune", "1"), ("ferroshmem", "7")];

/// The line of a page that stands for its list of variables.
const VARIABLES: &str = "<!-- variables -->\n";

/// Whether this is the name of a command.
pub(super) fn is_command(name: &str) -> bool {
    PAGES.contains(&(name, "1"))
}

/// The names of the files in `docs/`, and their text with the variables.
///
/// # Errors
/// If a file cannot be read.
pub fn markdown() -> io::Result<Vec<(String, String)>> {
    PAGES.iter().map(|(page, _)| Ok((format!("{page}.md"), text(page)?))).collect()
}

/// The manual pages: the file's name, and text.
pub(super) fn manual() -> io::Result<Vec<(String, String)>> {
    PAGES.iter().map(|(page, section)| Ok((format!("{page}.{section}"), mdoc(section, &text(page)?)))).collect()
}

fn text(page: &str) -> io::Result<String> {
    let text = fs::read_to_string(root().join("docs").join(format!("{page}.md")))?;
    Ok(match config::page_list(page) {
        Some(list) => text.replace(VARIABLES, &list),
        None => text,
    })
}

/// A page of: its names; a line that says what it is; the synopsis as code; the description; other sections.
fn mdoc(section: &str, text: &str) -> String {
    let mut sections = split(text, "## ").into_iter();
    let (_, head) = sections.next().unwrap_or_default();
    let (names, head) = head.trim_start_matches("# ").split_once('\n').unwrap_or_default();
    let names: Vec<&str> = names.split(", ").collect();
    let (brief, head) = head.trim_start().split_once("\n\n").unwrap_or_default();
    let (synopsis, description) = head.split_once("```\n\n").unwrap_or_default();
    let mut out = format!(".Dd {DATE}\n.Dt {} {section}\n.Os \"FerroSHMEM @VERSION@\"\n", names[0].to_uppercase());
    write!(out, ".Sh NAME\n.Nm {}\n.Nd {}\n.Sh SYNOPSIS\n", names.join(" ,\n.Nm "), lower(brief)).unwrap();
    for block in blocks(&format!("{synopsis}```")) {
        if let Block::Code(code) = block {
            literal(&mut out, &code);
        }
    }
    for (title, text) in std::iter::once(("Description".to_owned(), description.to_owned())).chain(sections) {
        writeln!(out, ".Sh {}", title.to_uppercase()).unwrap();
        for (title, text) in split(&text, "### ") {
            if !title.is_empty() {
                writeln!(out, ".Ss {title}").unwrap();
            }
            roff(&mut out, &text, false);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_sections() {
        let text = "# oshrun, shrun\n\nRun a program.\n\n```text\noshrun PROGRAM\n```\n\nIt runs.\n\n- `-v`, \
            `--np N`: Say.\n- `--check[=WHAT]`: So.\n\n## Exit status\n\n0.\n";
        let expected = format!(
            ".Dd {DATE}\n.Dt OSHRUN 1\n.Os \"FerroSHMEM @VERSION@\"\n.Sh NAME\n.Nm oshrun ,\n.Nm shrun\n.Nd run a \
                program\n.Sh SYNOPSIS\n.Bd -literal -offset indent\noshrun PROGRAM\n.Ed\n.Sh DESCRIPTION\nIt runs.\n\
                .Bl -tag -width Ds\n.It Fl v , Fl Fl np Ar \"N\"\nSay.\n.It Fl Fl check Ns Ar \"[=WHAT]\"\nSo.\n.El\n\
                .Sh EXIT STATUS\n0.\n"
        );
        assert_eq!(mdoc("1", text), expected);
    }
}
