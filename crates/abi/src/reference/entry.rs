//! An entry of the reference, read from Markdown.

use std::collections::BTreeMap;

/// The parts that have words of their own. A file's head gives them for all of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The value that routines return.
    Returns,
    /// Errors beside those that the roles of the arguments tell.
    Errors,
    /// What is complete, and in which order.
    Ordering,
    /// Which threads may call.
    Threads,
    /// Time and messages, on a node and between nodes.
    Cost,
    /// Anything else.
    Notes,
}

const SECTIONS: &[Section] =
    &[Section::Returns, Section::Errors, Section::Ordering, Section::Threads, Section::Cost, Section::Notes];

impl Section {
    /// The title in the sources and on the pages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Returns => "Returns",
            Self::Errors => "Errors",
            Self::Ordering => "Ordering",
            Self::Threads => "Threads",
            Self::Cost => "Cost",
            Self::Notes => "Notes",
        }
    }
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// What it shows; may be empty.
    pub text: String,
    /// The program.
    pub code: String,
}

/// What a page says.
#[derive(Debug, Default)]
pub struct Entry {
    /// Its file in the folder of the reference.
    pub file: String,
    /// The file's title.
    pub chapter: String,
    /// Name of the page.
    pub name: String,
    /// One line: what the routines do.
    pub brief: String,
    /// Section of the standard, or empty for extensions.
    pub standard: String,
    /// Pages to look at, too.
    pub see: Vec<String>,
    /// Name of a page with words of its own: the entry then has those for the headers alone.
    pub manual: Option<String>,
    /// The sections of that page, by their titles; the first has none.
    pub page: Vec<(String, String)>,
    /// Paragraphs.
    pub description: String,
    /// Routines by the names that pages list, with a line about each, which may be empty.
    pub routines: Vec<(String, String)>,
    /// Arguments.
    pub arguments: Vec<(String, String)>,
    /// Programs.
    pub examples: Vec<Example>,
    sections: BTreeMap<Section, String>,
}

impl Entry {
    /// The words of a section, which may be none.
    pub fn section(&self, section: Section) -> &str {
        self.sections.get(&section).map_or("", String::as_str)
    }

    /// Whether its page has words of its own.
    pub fn is_by_hand(&self) -> bool {
        self.manual.is_some()
    }

    /// The words of a section of that page, which may be none.
    pub fn page_section(&self, title: &str) -> &str {
        self.page.iter().find(|(known, _)| known == title).map_or("", |(_, text)| text.trim())
    }

    /// What that page is about: the line before its description; and the description.
    pub fn page_names(&self) -> (Vec<&str>, &str) {
        let (names, description) = self.page_section("").split_once("\n\n").unwrap_or_default();
        (names.split(',').map(str::trim).collect(), description)
    }
}

/// The lines "- `name`: text" of a list, whose text may go on in lines that are indented.
pub(super) fn items(text: &str) -> Vec<(String, String)> {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("- `") {
            let (name, text) = rest.split_once('`').unwrap_or((rest, ""));
            let text = text.strip_prefix(':').unwrap_or(text).trim();
            items.push((name.to_owned(), text.to_owned()));
        } else if let (true, Some((_, text))) = (line.starts_with("  "), items.last_mut()) {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    items
}

/// The entries of a file, which begin with `# name`; the file's own title and sections are before the first.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Entry>, String> {
    let mut parts = split(text, "# ").into_iter();
    let (_, head) = parts.next().unwrap_or_default();
    let mut chapter = String::new();
    let mut shared = BTreeMap::new();
    for (title, body) in split(&head, "## ") {
        match title.as_str() {
            "" => chapter = body.trim().trim_start_matches("Title: ").to_owned(),
            title => {
                let section = SECTIONS.iter().find(|s| s.title() == title);
                let section = section.ok_or(format!("{title} is no section"))?;
                shared.insert(*section, body.trim().to_owned());
            }
        }
    }
    parts
        .map(|(name, body)| one(file, &chapter, &name, &body, &shared).map_err(|why| format!("{name}: {why}")))
        .collect()
}

fn one(file: &str, chapter: &str, name: &str, body: &str, shared: &BTreeMap<Section, String>) -> Result<Entry, String> {
    let mut entry = Entry {
        file: file.to_owned(),
        chapter: chapter.to_owned(),
        name: name.to_owned(),
        sections: shared.clone(),
        ..Entry::default()
    };
    for (title, body) in split(body, "## ") {
        match title.as_str() {
            "" => head(&mut entry, &body)?,
            "Routines" => entry.routines = items(&body),
            "Arguments" => entry.arguments = items(&body),
            "Example" => entry.examples.push(example(&body)?),
            title => {
                let section = SECTIONS.iter().find(|s| s.title() == title);
                let section = section.ok_or(format!("{title} is no section"))?;
                entry.sections.insert(*section, body.trim().to_owned());
            }
        }
    }
    Ok(entry)
}

/// The brief, the lines with a key, and the description.
fn head(entry: &mut Entry, body: &str) -> Result<(), String> {
    let mut lines = body.trim().lines();
    entry.brief = lines.next().unwrap_or_default().trim().to_owned();
    if entry.brief.is_empty() {
        return Err("the line after the name says what the routines do".to_owned());
    }
    let mut description = String::new();
    for line in lines {
        if let Some(section) = line.strip_prefix("Standard: ") {
            entry.standard = section.to_owned();
        } else if let Some(pages) = line.strip_prefix("See: ") {
            entry.see = pages.split(", ").map(str::to_owned).collect();
        } else if let Some(page) = line.strip_prefix("Manual: ") {
            entry.manual = Some(page.to_owned());
        } else {
            description.push_str(line);
            description.push('\n');
        }
    }
    entry.description = description.trim().to_owned();
    Ok(())
}

fn example(body: &str) -> Result<Example, String> {
    let (text, rest) = body.split_once("```c\n").ok_or("an example is a program between ```c and ```")?;
    let (code, _) = rest.split_once("```").ok_or("the example has no end")?;
    Ok(Example { text: text.trim().to_owned(), code: code.to_owned() })
}

/// The sections of a page with words of its own; the first has no title.
pub(super) fn page(text: &str) -> Result<Vec<(String, String)>, String> {
    const TITLES: [&str; 7] = ["", "Synopsis", "Types", "Returns", "Errors", "See", "Standards"];

    let sections = split(text, "## ");
    match sections.iter().find(|(title, _)| !TITLES.contains(&title.as_str())) {
        Some((title, _)) => Err(format!("{title} is no section")),
        None => Ok(sections),
    }
}

/// The parts that begin with a line `mark title`; the first has none. Lines of programs begin none.
pub(crate) fn split(text: &str, mark: &str) -> Vec<(String, String)> {
    let mut parts = vec![(String::new(), String::new())];
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        match line.strip_prefix(mark).filter(|_| !in_code) {
            Some(title) => parts.push((title.trim().to_owned(), String::new())),
            None => {
                let (_, body) = parts.last_mut().expect("there is one at least");
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Title: Things\n\n## Threads\nAny.\n\n# shmem_a\nDo a\nStandard: 9.1\nSee: shmem_b\n\nIt \
        does.\n\n## Arguments\n- `x`: a number,\n  of bytes\n\n## Example\nShown:\n```c\n#include <shmem.h>\n# define \
        A\n```\n\n## Example\n```c\nint more;\n```\n";

    #[test]
    fn an_entry_has_its_parts() {
        let entries = parse("a.md", TEXT).expect("an entry");
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!((entry.name.as_str(), entry.chapter.as_str()), ("shmem_a", "Things"));
        assert_eq!((entry.brief.as_str(), entry.standard.as_str()), ("Do a", "9.1"));
        assert_eq!(entry.see, ["shmem_b"]);
        assert_eq!(entry.description, "It does.");
        assert_eq!(entry.section(Section::Threads), "Any.");
        assert_eq!(entry.arguments, [("x".to_owned(), "a number, of bytes".to_owned())]);
        let codes: Vec<&str> = entry.examples.iter().map(|example| example.code.as_str()).collect();
        assert_eq!(codes, ["#include <shmem.h>\n# define A\n", "int more;\n"]);
    }

    #[test]
    fn a_wrong_section_is_named() {
        let text = "Title: T\n# shmem_a\nDo a\n## Colour\nRed\n";
        let why = parse("a.md", text).expect_err("no such section");
        assert_eq!(why, "shmem_a: Colour is no section");
        assert_eq!(page("shmem_a\n\n## Colour\nRed\n"), Err("Colour is no section".to_owned()));
    }
}
