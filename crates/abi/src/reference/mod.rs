//! The reference of the C routines: `crates/abi/reference/*.md`, an entry for each page, with the words for purpose,
//! arguments, results, ordering, threads and cost, and a program as example. Manual pages, the comments of the
//! headers and the pages of the book are generated from it. `crates/abi/reference/README.md` describes the form.

mod entry;
mod errors;
mod text;

#[cfg(feature = "variables")]
pub(crate) use entry::split;
pub use entry::{Entry, Example, Section};
pub use text::{Block, Span, blocks, spans};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};

use crate::family::{Family, Status};
use crate::generics::generics;
use crate::root;
use crate::table::Chapter;
use crate::types::Group;

/// Where the entries are, from the repository's root.
pub const FOLDER: &str = "crates/abi/reference";
/// Where pages with words of their own are, from the same.
pub const PAGES: &str = "crates/abi/reference/pages";
/// Words for arguments that mean the same in many routines.
const COMMON: &str = "common.md";

/// All entries.
#[derive(Debug)]
pub struct Reference {
    /// In the order of the files' names, and within a file in its order.
    pub entries: Vec<Entry>,
    /// Words for arguments that an entry does not describe itself.
    common: BTreeMap<String, String>,
}

/// An entry with the families of the table that it is about.
#[derive(Debug)]
pub struct Page<'a> {
    /// The words.
    pub entry: &'a Entry,
    /// The routines, in table order.
    pub families: Vec<&'a Family>,
}

/// The name under which a page lists a family: `shmem_TYPENAME_put`, `shmem_putSIZE`.
pub fn display_name(family: &Family, ctx: bool) -> String {
    let types = match family.group {
        Group::Sizes | Group::OldSizes => "SIZE",
        Group::Mem => "mem",
        _ => "TYPENAME",
    };
    let ctx = if ctx { "ctx_" } else { "" };
    family.pattern.replace("{ctx}", ctx).replace("{T}", types)
}

impl Reference {
    /// Reads the entries.
    ///
    /// # Errors
    /// If they cannot be read, or one has not the form of an entry.
    pub fn read() -> io::Result<Self> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(root().join(FOLDER))?.map(|entry| entry.map(|e| e.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
        paths.sort();
        let mut all = Self { entries: Vec::new(), common: BTreeMap::new() };
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            match name.as_str() {
                "README.md" => {}
                COMMON => all.common = entry::items(&text).into_iter().collect(),
                _ => all.entries.extend(
                    entry::parse(&name, &text).map_err(|why| io::Error::other(format!("{FOLDER}/{name}: {why}")))?,
                ),
            }
        }
        for entry in &mut all.entries {
            if let Some(page) = &entry.manual {
                let text = fs::read_to_string(root().join(PAGES).join(format!("{page}.md")))?;
                entry.page = entry::page(&text).map_err(|why| io::Error::other(format!("{PAGES}/{page}.md: {why}")))?;
            }
        }
        Ok(all)
    }

    /// The entry of a family, if there is one.
    pub fn entry_of(&self, family: &Family) -> Option<&Entry> {
        let shown = display_name(family, false);
        self.entries
            .iter()
            .find(|e| e.routines.iter().any(|(name, _)| *name == shown))
            .or_else(|| self.entries.iter().find(|e| e.name == family.section))
            // The deprecated types of a routine have no section of their own.
            .or_else(|| {
                let generic = family.generic?;
                self.entries.iter().find(|e| e.name == generic)
            })
    }

    /// The pages, with their families.
    pub fn pages<'a>(&'a self, chapters: &'a [Chapter]) -> Vec<Page<'a>> {
        let mut pages: Vec<Page<'a>> = self.entries.iter().map(|entry| Page { entry, families: Vec::new() }).collect();
        for family in chapters.iter().flat_map(|c| &c.families) {
            let Some(entry) = self.entry_of(family) else {
                continue;
            };
            let page = pages.iter_mut().find(|page| std::ptr::eq(page.entry, entry));
            page.expect("a page for each entry").families.push(family);
        }
        pages
    }

    /// The words for an argument of a routine.
    pub fn argument<'a>(&'a self, entry: &'a Entry, name: &str) -> Option<&'a str> {
        let own = entry.arguments.iter().find(|(n, _)| n == name);
        own.map(|(_, text)| text.as_str()).or_else(|| self.common.get(name).map(String::as_str))
    }

    /// What a family's entry says about it alone, or about all of its routines.
    pub fn brief<'a>(&self, entry: &'a Entry, family: &Family) -> &'a str {
        let shown = display_name(family, false);
        let own = entry.routines.iter().find(|(name, _)| *name == shown);
        own.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty()).unwrap_or(&entry.brief)
    }

    /// What is missing, as lines that say how to add it.
    pub fn missing(&self, chapters: &[Chapter]) -> Vec<String> {
        let mut missing = Vec::new();
        for family in chapters.iter().flat_map(|c| &c.families) {
            let shown = display_name(family, false);
            let Some(entry) = self.entry_of(family) else {
                missing.push(format!("{shown} has no entry: add it to a file of {FOLDER}, as its README.md shows"));
                continue;
            };
            for symbol in [family.symbols()[0], family.symbols()[family.symbols().len() - 1]] {
                for (_, name) in symbol.params() {
                    if self.argument(entry, &name).is_none() {
                        missing.push(format!(
                            "{shown}: no words for the argument {name}: add \"- `{name}`: ...\" to Arguments of {} in \
                                {FOLDER}/{}",
                            entry.name, entry.file
                        ));
                    }
                }
            }
            if family.ret != "void" && entry.section(Section::Returns).is_empty() {
                missing.push(format!(
                    "{shown} returns a value: add \"## Returns\" to {} in {FOLDER}/{}",
                    entry.name, entry.file
                ));
            }
        }
        for page in self.pages(chapters) {
            let entry = page.entry;
            let place = format!("{} in {FOLDER}/{}", entry.name, entry.file);
            if page.families.is_empty() {
                missing.push(format!("{place} is about no routine of the table: name them under Routines"));
            }
            for (name, _) in &entry.routines {
                if !page.families.iter().any(|f| display_name(f, false) == *name) && !entry.is_by_hand() {
                    missing.push(format!("{place}: {name} is no routine of the table"));
                }
            }
            if entry.examples.is_empty() {
                missing
                    .push(format!("{place} has no example: add \"## Example\" with a program that checks its result"));
            }
            if entry.is_by_hand() {
                continue;
            }
            for section in [Section::Ordering, Section::Threads, Section::Cost] {
                if entry.section(section).is_empty() {
                    missing.push(format!("{place}: add \"## {}\"", section.title()));
                }
            }
        }
        missing.sort();
        missing.dedup();
        missing
    }
}

impl Page<'_> {
    /// The type-generic routines of the page, as synopses: return type, name, parameters.
    pub fn generics(&self, chapters: &[Chapter]) -> Vec<(String, String, String)> {
        let generics = generics(chapters);
        let mut shown: Vec<(String, String, String)> = Vec::new();
        for family in &self.families {
            let Some(generic) = family.generic else {
                continue;
            };
            if family.status == Status::Extension && family.generic_listed {
                continue;
            }
            let known = generics.iter().any(|g| g.name == generic) || family.group == Group::Single;
            if !known || shown.iter().any(|(_, name, _)| name == generic) {
                continue;
            }
            let params = |ctx: &str| match (ctx, family.params) {
                ("", params) => params.to_owned(),
                (ctx, "") => ctx.to_owned(),
                (ctx, params) => format!("{ctx}, {params}"),
            };
            shown.push((family.ret.to_owned(), generic.to_owned(), params("")));
            if family.has_ctx() {
                shown.push((family.ret.to_owned(), generic.to_owned(), params("shmem_ctx_t ctx")));
            }
        }
        shown
    }

    /// The functions of the page as synopses: standing, return type, name with `TYPENAME`, parameters.
    pub fn functions(&self) -> Vec<(Status, String, String, String)> {
        let mut shown: Vec<(Status, String, String, String)> = Vec::new();
        for family in &self.families {
            let forms: &[bool] = if family.has_ctx() { &[false, true] } else { &[false] };
            for &ctx in forms {
                let name = display_name(family, ctx);
                if shown.iter().any(|(_, _, n, _)| *n == name) {
                    continue;
                }
                let untyped = matches!(family.group, Group::Sizes | Group::OldSizes | Group::Mem);
                let ty = if untyped { "void" } else { "TYPE" };
                let params = match (ctx, family.params) {
                    (false, "") => "void".to_owned(),
                    (false, params) => params.to_owned(),
                    (true, "") => "shmem_ctx_t ctx".to_owned(),
                    (true, params) => format!("shmem_ctx_t ctx, {params}"),
                };
                shown.push((family.status, family.ret.replace("TYPE", ty), name, params.replace("TYPE", ty)));
            }
        }
        shown
    }

    /// Names of all functions, in table order, and of the type-generic routines.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for family in &self.families {
            names.extend(family.generic.map(str::to_owned));
            names.extend(family.symbols().iter().map(|s| s.name()));
        }
        let mut once = Vec::new();
        for name in names {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        once
    }

    /// The parameters of all forms, each once, in the order in which they come.
    pub fn parameters(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for family in &self.families {
            let symbols = family.symbols();
            // The form with a context comes last, and begins with it.
            for symbol in [symbols[symbols.len() - 1], symbols[0]] {
                for (_, name) in symbol.params() {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        names
    }

    /// The types of the routines: which names, and the types as `TYPENAME (C type)`.
    pub fn types(&self) -> Vec<(Vec<String>, String)> {
        let mut all: Vec<(Vec<String>, String)> = Vec::new();
        let mut known: Vec<String> = Vec::new();
        for family in &self.families {
            if matches!(family.group, Group::Single | Group::Mem) {
                continue;
            }
            let types: Vec<String> = family
                .group
                .types()
                .iter()
                .map(|t| match t.c == t.name || t.c == "void" || t.c == format!("{}_t", t.name) {
                    true => t.name.to_owned(),
                    false => format!("{} ({})", t.name, t.c),
                })
                .collect();
            let types = types.join(", ");
            let name = display_name(family, false);
            // More types of a routine that has others.
            let types = match family.status {
                Status::Deprecated if known.contains(&name) => format!("{types}; deprecated"),
                Status::Extension if known.contains(&name) => format!("{types}; an extension"),
                _ => types,
            };
            known.push(name.clone());
            match all.iter_mut().find(|(_, of)| *of == types) {
                Some((names, _)) if names.contains(&name) => {}
                Some((names, _)) => names.push(name),
                None => all.push((vec![name], types)),
            }
        }
        all
    }

    /// The misuses that the library names: always, and with `SHMEM_CHECK=1`.
    pub fn misuses(&self) -> (Vec<String>, Vec<String>) {
        errors::of(&self.families)
    }
}
