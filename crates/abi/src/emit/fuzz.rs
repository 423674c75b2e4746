//! The dispatcher of the fuzzer: a function for each routine of the table that takes its arguments from
//! a structure, and a table of these functions by kind.

use std::fmt::Write;

use super::C_NOTE;
use crate::family::Family;
use crate::table::Chapter;
use crate::types::{Group, Type};

/// Path of the file, from the repository's root.
pub const PATH: &str = "fuzz/routines.h";

/// Chapters whose single routines the fuzzer calls by hand: it has to know what they make.
const BY_HAND: &[&str] = &[
    "setup", "memory", "teams", "contexts", "spaces", "splits", "threads", "spawn", "ports", "groups", "nonblocking",
    "messages", "streams", "regions", "counters", "neighbors", "resilience",
];

/// A routine's kind: what the fuzzer's model of it depends on besides the type. None if the fuzzer calls
/// the routine by hand.
fn kind(chapter: &Chapter, family: &Family) -> Option<String> {
    // Reductions to one PE are drawn as others are, and then called by hand.
    let is_by_hand = BY_HAND.contains(&chapter.name) || chapter.name == "mpi_collectives" && family.group != Group::Mem;
    if is_by_hand || family.section == "shmem_lock" {
        return None;
    }
    // Atomic operations have old names, but their section is that of the current one.
    let name = match chapter.name {
        "amo" => family.section.to_owned(),
        _ => family.pattern.replace("{ctx}", "").replace("{T}", ""),
    };
    let name = name.trim_start_matches("shmem").trim_start_matches('x').trim_matches('_');
    let set = if chapter.name == "active_sets" { "set_" } else { "" };
    Some(format!("{set}{}", name.replace("__", "_")).to_uppercase())
}

/// How the model computes with a type.
fn class(ty: Type) -> &'static str {
    match ty.name {
        "float" | "double" | "longdouble" => "REAL",
        "complexf" | "complexd" => "COMPLEX",
        "char" => "PLAIN_CHAR",
        _ if ty.c == "void" => "BYTES",
        name if name.starts_with('u') || name == "size" => "UNSIGNED",
        _ => "SIGNED",
    }
}

/// The argument for a parameter, from the structure `a`.
fn argument(ty: &str, name: &str, c: &str) -> String {
    match name {
        "value" | "cond" if ty == "TYPE" => format!("*(const {c} *)a->{name}"),
        "cmp_value" => format!("*(const {c} *)a->value"),
        "cmp_values" => "a->values".to_owned(),
        "ivar" | "ivars" => "a->dest".to_owned(),
        "nreduce" if ty == "int" => "(int)a->nelems".to_owned(),
        "nreduce" => "a->nelems".to_owned(),
        _ => format!("a->{name}"),
    }
}

/// The call of a routine as a statement, with `nelems` in place of that argument if it is given.
fn call(symbol: &crate::family::Symbol<'_>, c: &str, nelems: Option<usize>) -> String {
    let arguments: Vec<String> = symbol
        .params()
        .iter()
        .map(|(ty, name)| match (name.as_str(), nelems) {
            ("nelems", Some(n)) => n.to_string(),
            _ => argument(ty, name, c),
        })
        .collect();
    let result = match symbol.family.ret {
        "void" => String::new(),
        "TYPE" => format!("*({c} *)a->result = "),
        "uint64_t" => "*(uint64_t *)a->result = ".to_owned(),
        "int" => "a->code = ".to_owned(),
        "size_t" => "a->index = ".to_owned(),
        other => panic!("{}: no place for a {other}", symbol.name()),
    };
    format!("{result}F({})({});", symbol.name(), arguments.join(", "))
}

/// Whether inlined puts or gets of contiguous elements have this name.
fn is_copy(inline: &str) -> bool {
    let blocking = inline.strip_suffix("_NBI").unwrap_or(inline);
    ["PUT", "GET", "PUT_SIZE", "GET_SIZE"].contains(&blocking)
}

/// Numbers of elements that the inlined forms expand to something of their own if they are constants.
fn constants(family: &Family) -> &'static [usize] {
    match (family.inline, family.group) {
        (Some(copy), Group::Mem) if is_copy(copy) => &[1, 2, 4, 8, 24],
        (Some(copy), _) if is_copy(copy) => &[1, 3],
        (Some("IPUT" | "IGET" | "IPUT_SIZE" | "IGET_SIZE"), _) => &[1],
        _ => &[],
    }
}

/// The file.
pub fn routines(chapters: &[Chapter]) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    let mut functions = String::new();
    for chapter in chapters {
        for family in &chapter.families {
            let Some(kind) = kind(chapter, family) else {
                continue;
            };
            for symbol in family.symbols() {
                let (name, ty) = (symbol.name(), symbol.ty);
                // Single routines of point-to-point synchronization and of signals have one type.
                let (c, size, class) = match (family.group, chapter.name) {
                    (Group::Single, "p2p") => ("long", 8, "SIGNED"),
                    (Group::Single, "signals") => ("uint64_t", 8, "UNSIGNED"),
                    (Group::Single, _) => ("", 0, "BYTES"),
                    _ => (ty.c, ty.size, class(ty)),
                };
                write!(functions, "static void call_{name}(struct arguments *a)\n{{\n").unwrap();
                if symbol.params().is_empty() {
                    functions.push_str("    (void)a;\n");
                }
                for n in constants(family) {
                    writeln!(functions, "    if (a->nelems == {n}) {{").unwrap();
                    writeln!(functions, "        {}", call(&symbol, c, Some(*n))).unwrap();
                    functions.push_str("        return;\n    }\n");
                }
                writeln!(functions, "    {}\n}}", call(&symbol, c, None)).unwrap();
                let row = format!(
                    "    {{\"{name}\", call_{name}, KIND_{kind}, {class}, {size}, {}}},\n",
                    u8::from(symbol.ctx)
                );
                match kinds.iter_mut().find(|(k, _)| *k == kind) {
                    Some((_, rows)) => rows.push(row),
                    None => kinds.push((kind.clone(), vec![row])),
                }
            }
        }
    }
    let mut out = format!(
        "{C_NOTE}/* The routines that the fuzzer draws. A kind that its model lacks does not compile (-Wswitch). \
            */\n\nenum kind {{\n"
    );
    for (kind, _) in &kinds {
        writeln!(out, "    KIND_{kind},").unwrap();
    }
    out.push_str("};\n\n#include \"fuzz/routine.h\"\n\n");
    out.push_str(&functions);
    out.push_str("\nstatic const struct routine routines[] = {\n");
    for (_, rows) in &kinds {
        out.push_str(&rows.concat());
    }
    out.push_str(
        "};\n\n/* The routines of each kind: the first, and how many. */\nstatic const struct span of_kind[] = {\n",
    );
    let mut first = 0;
    for (kind, rows) in &kinds {
        writeln!(out, "    [KIND_{kind}] = {{{first}, {}}},", rows.len()).unwrap();
        first += rows.len();
    }
    out.push_str("};\n");
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::table;

    /// Routines that no random sequence can have, and why.
    const NEVER: &[(&str, &str)] = &[
        ("shmem_finalize", "ends the sequence: called once, at its end"),
        ("shmem_global_exit", "ends the job: called where a difference is found"),
    ];

    #[test]
    fn every_routine_is_drawn_or_called_by_hand() {
        /// Chapters of several jobs, which have programs of their own: dev/conformance/c/spawn.
        const BY_PROGRAMS: &[&str] = &["spawn", "ports", "groups"];

        let chapters = table::chapters();
        let dispatcher = routines(&chapters);
        let folder = crate::root().join("dev/conformance/c/fuzz");
        let by_hand: String = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        let drawn = dispatcher.split("{\"").filter_map(|row| Some(row.split_once("\", ")?.0));
        let drawn: BTreeSet<&str> = drawn.collect();
        // By its name, or from a table of functions: `(NAME)` before another parenthesis, a comma or a brace.
        let called = by_hand.split('(').filter_map(|text| {
            let (name, next) = text.split_once(')')?;
            (next.is_empty() || next.starts_with([',', '}'])).then_some(name)
        });
        let called: BTreeSet<&str> = called.collect();
        let by_programs = chapters.iter().filter(|c| BY_PROGRAMS.contains(&c.name));
        let by_programs: Vec<_> =
            by_programs.flat_map(|c| &c.families).flat_map(Family::symbols).map(|symbol| symbol.name()).collect();
        for symbol in table::symbols(&chapters) {
            let name = symbol.name();
            let (drawn, called) = (drawn.contains(&*name), called.contains(&*name));
            let grows = by_programs.contains(&name);
            let never = grows || NEVER.iter().any(|(n, _)| *n == name);
            assert!(drawn || called || never, "the fuzzer does not call {name}");
            assert!(!(drawn && never), "{name} is drawn after all");
        }
    }

    #[test]
    fn kinds_join_the_forms_of_a_routine() {
        let chapters = table::chapters();
        let dispatcher = routines(&chapters);
        for (name, kind) in [
            ("shmem_ctx_put16_nbi", "PUT_NBI"),
            ("shmem_int_finc", "ATOMIC_FETCH_INC"),
            ("shmem_short_wait", "WAIT"),
            ("shmem_fcollectmem", "FCOLLECT"),
            ("shmem_fcollect32", "SET_FCOLLECT"),
            ("shmem_sync", "SET_SYNC"),
            ("shmem_complexd_prod_to_all", "SET_PROD_TO_ALL"),
        ] {
            let row = format!("{{\"{name}\", call_{name}, KIND_{kind}, ");
            assert!(dispatcher.contains(&row), "{name} is not of kind {kind}");
        }
    }
}
