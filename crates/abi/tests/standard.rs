//! The table against the lists of the standard's symbols in `spec/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ferroshmem_abi::emit::manual;
use ferroshmem_abi::family::Status;
use ferroshmem_abi::reference::{Reference, display_name};
use ferroshmem_abi::{files, table};

fn lines(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec").join(name);
    let text = fs::read_to_string(path).expect("the list is in spec/");
    text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect()
}

/// The functions of the standard, each with its types written out.
fn functions() -> BTreeSet<String> {
    let (mut types, mut tables, mut functions) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for line in lines("openshmem-1.6-c.tsv") {
        let (kind, rest) = line.split_once('\t').expect("columns");
        match kind {
            "type" => types.extend(rest.split_once('\t').map(|(name, c)| (name.to_owned(), c.to_owned()))),
            "table" => tables.extend(rest.split_once('\t').map(|(name, all)| (name.to_owned(), all.to_owned()))),
            "-" => _ = functions.insert(rest.to_owned()),
            table => {
                let of = |name| rest.replace("TYPENAME", name).replace("TYPE", &types[name]);
                functions.extend(tables[table].split(' ').map(of));
            }
        }
    }
    functions
}

fn assert_same(table: &BTreeSet<String>, spec: &BTreeSet<String>) {
    let extra: Vec<_> = table.difference(spec).take(10).collect();
    let missing: Vec<_> = spec.difference(table).take(10).collect();
    assert!(extra.is_empty() && missing.is_empty(), "extra: {extra:#?}\nmissing: {missing:#?}");
}

#[test]
fn functions_are_those_of_the_standard() {
    let chapters = table::chapters();
    let symbols = table::symbols(&chapters);
    let table: BTreeSet<String> = symbols
        .iter()
        .filter(|s| s.family.status != Status::Extension)
        .map(|s| {
            let (status, section) = (s.family.status.word(), s.family.section);
            format!("{}\t{status}\t{section}\t{}", s.name(), s.prototype())
        })
        .collect();
    assert_eq!(table.len(), 1870);
    assert_same(&table, &functions());
}

#[test]
fn names_are_unique() {
    let chapters = table::chapters();
    let mut names: Vec<_> = table::symbols(&chapters).iter().map(|s| s.name()).collect();
    let n = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n);
}

#[test]
fn generics_are_those_of_the_standard() {
    let chapters = table::chapters();
    let mut table: BTreeSet<String> = BTreeSet::new();
    for family in chapters.iter().flat_map(|c| &c.families) {
        if !family.generic_listed || family.generic.is_none() {
            continue;
        }
        let name = family.generic.expect("checked");
        let status = family.status.word();
        // The standard writes deprecated routines' types out, and lists no table for single ones.
        let types = match family.status {
            Status::Deprecated => "",
            _ => family.group.table(),
        };
        for symbol in family.symbols() {
            let single = family.group.table().is_empty();
            if single && family.has_ctx() && !symbol.ctx {
                continue;
            }
            let synopsis = symbol.synopsis().expect("generic");
            table.insert(format!("{name}\t{status}\t{types}\t{}\t{synopsis}", family.section));
        }
    }
    let exit = "shmem_global_exit\tcurrent\t\tshmem_global_exit\t_Noreturn void shmem_global_exit(int status)";
    table.insert(exit.to_owned());
    assert_same(&table, &lines("openshmem-1.6-c11.tsv").into_iter().collect());
}

#[test]
fn generated_files_are_up_to_date() {
    let outdated: Vec<_> = files::outdated().into_iter().map(|(path, _)| path).collect();
    assert!(
        outdated.is_empty(),
        "these files differ from the table; run `cargo run -p ferroshmem-abi -- --write`: {outdated:?}"
    );
}

/// Each routine has an entry, each argument words, and each entry an example.
#[test]
fn the_reference_is_complete() {
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    let missing = reference.missing(&table::chapters());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Examples end with an error where a result is wrong.
#[test]
fn examples_check_their_results() {
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    for (entry, example) in reference.entries.iter().flat_map(|entry| entry.examples.iter().map(move |e| (entry, e))) {
        let checks = example.code.contains("shmem_global_exit(1)");
        assert!(checks, "{} in {}: the example calls shmem_global_exit(1) nowhere", entry.name, entry.file);
        let named =
            entry.routines.iter().map(|(name, _)| name.replace("shmem_TYPENAME", "").replace("shmemx_TYPENAME", ""));
        let mut names: Vec<String> = named.collect();
        names.push(entry.name.replacen("shmem_", "_", 1));
        names.push(entry.name.clone());
        assert!(
            names.iter().any(|name| example.code.contains(name.as_str())),
            "{} in {}: the example does not call it",
            entry.name,
            entry.file
        );
    }
}

/// All manual pages of section 3: the file's name, and text.
fn all_pages() -> Vec<(String, String)> {
    let pages = files::manual_pages().into_iter();
    pages.map(|(name, text)| (name.display().to_string(), text)).collect()
}

#[test]
fn pages_refer_to_pages() {
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    let pages = all_pages();
    for entry in &reference.entries {
        for name in &entry.see {
            assert!(
                pages.iter().any(|(page, _)| page.strip_suffix(".3") == Some(name)),
                "{} in {}: there is no page {name}",
                entry.name,
                entry.file
            );
        }
    }
}

#[test]
fn every_extension_has_a_manual_page() {
    let chapters = table::chapters();
    let families = chapters.iter().flat_map(|chapter| &chapter.families);
    let extensions = families.map(|family| display_name(family, false));
    let routines: BTreeSet<_> = extensions.filter(|name| name.starts_with("shmemx_")).collect();
    let pages = all_pages();
    let is_extension = |(name, _): &&(String, String)| name.starts_with("shmemx_");
    let header = include_str!("../../../include/shmem/extensions.h");
    let pages: Vec<_> = pages.iter().filter(is_extension).collect();
    let mut documented = BTreeSet::new();
    for (path, page) in pages {
        for name in manual::names(page) {
            assert!(documented.insert(name.to_owned()), "{path}: {name} has two pages");
            let is_shown = |request: &str| page.contains(&format!("\n.{request} {name}"));
            if name.ends_with("_t") {
                assert!(is_shown("Vt"), "{path}: {name} is not described");
                let is_declared = header.contains(&format!("\n}} {name};"));
                assert!(is_declared, "{path}: shmem/extensions.h declares no type {name}");
                continue;
            }
            assert!(is_shown("Fo") || is_shown("Fn"), "{path}: {name} has no synopsis");
            let without_context = name.replacen("shmemx_ctx_", "shmemx_", 1);
            let known = routines.contains(&without_context) || name == "shmemx_kernel_call";
            assert!(known, "{path}: there is no {name}");
        }
    }
    let missing: Vec<_> = routines.difference(&documented).collect();
    assert!(
        missing.is_empty(),
        "these are on no page of crates/abi/reference/pages: {missing:?}; without `Manual:` in their entry, a page is \
         generated"
    );
}
