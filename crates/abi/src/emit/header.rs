//! The prototypes: `shmem/api.h` and `pshmem.h`.

use std::fmt::Write;

use super::{C_NOTE, doc, wrapped};
use crate::family::{Family, Symbol};
use crate::reference::Reference;
use crate::table::Chapter;
use crate::types::{Group, Type};

/// Prototypes, chapter by chapter, of the families that are not left out, with their comments.
fn prototypes<'a>(
    out: &mut String,
    chapters: impl IntoIterator<Item = &'a Chapter>,
    left_out: impl Fn(&Family) -> bool,
    reference: &Reference,
) {
    for chapter in chapters {
        writeln!(out, "/* {} */\n", chapter.title).unwrap();
        for (comment, symbols) in doc::commented(reference, chapter.families.iter().filter(|f| !left_out(f))) {
            out.push_str(&comment);
            let end = if symbols.len() > 1 { " SHMEMI_END" } else { ";" };
            for symbol in symbols {
                writeln!(out, "{}", wrapped(&format!("{}{end}", prototype(&symbol, &symbol.name())))).unwrap();
            }
            out.push('\n');
        }
    }
}

fn prototype(symbol: &Symbol<'_>, name: &str) -> String {
    let attribute = if symbol.family.pattern == "shmem_global_exit" { "SHMEMI_NORETURN " } else { "" };
    format!("{attribute}{}", complex(&symbol.prototype_as(name)))
}

/// Another piece of text in the last line, or in one more.
fn fill(out: &mut String, piece: &str) {
    let last = out.len() - out.rfind('\n').map_or(0, |end| end + 1);
    let between = if last == 0 {
        ""
    } else if last + 1 + piece.len() > 120 {
        "\n"
    } else {
        " "
    };
    *out += between;
    *out += piece;
}

/// The names of the profiling interface, whose prototypes are those of the functions. Those that
/// C++ overloads, and the one with an attribute, have a prototype of their own.
fn profiling_names<'a>(out: &mut String, chapters: impl IntoIterator<Item = &'a Chapter>) {
    let families: Vec<&Family> = chapters.into_iter().flat_map(|c| &c.families).collect();
    let generics: Vec<&str> = families.iter().filter_map(|f| f.generic).collect();
    let is_macro = |family: &Family| family.group.types().len() > 1;
    let mut groups: Vec<Group> = Vec::new();
    for family in families.iter().filter(|f| is_macro(f)) {
        if !groups.iter().any(|group| has_names_of(group, &family.group)) {
            groups.push(family.group);
        }
    }
    let defined = |group: &Group| {
        let first = groups.iter().find(|of| has_names_of(of, group)).unwrap_or(group);
        format!("SHMEMI_PSHMEM_{}", format!("{first:?}").to_uppercase())
    };
    out.push_str("#define SHMEMI_PSHMEM(name) extern __typeof__(name) p##name;\n");
    for group in &groups {
        let names: Vec<_> = real_names(group).map(|name| format!("SHMEMI_PSHMEM(before##{name}##after)")).collect();
        let lines: Vec<_> = names.chunks(3).map(|line| format!("    {}", line.join(" "))).collect();
        writeln!(out, "#define {}(before, after) \\\n{}", defined(group), lines.join(" \\\n")).unwrap();
    }
    out.push('\n');
    let with_ctx = |family: &Family| is_macro(family) && family.has_ctx();
    let has_ctx = families.iter().any(|family| with_ctx(family));
    if has_ctx {
        out.push_str(PROFILING_WITH_CTX);
    }
    let (mut plain, mut others) = (String::new(), String::new());
    for family in families {
        let symbols = family.symbols();
        if with_ctx(family) {
            let names = family.pattern.strip_prefix("shmem_{ctx}").and_then(|names| names.split_once("{T}"));
            let (before, after) = names.expect("a family of types with a context");
            let group = defined(&family.group);
            let group = group.trim_start_matches("SHMEMI_PSHMEM_");
            fill(&mut plain, &format!("SHMEMI_PSHMEM_CTX({group}, {before}, {after})"));
            continue;
        }
        let with_types = symbols.chunks(family.group.types().len());
        for symbols in with_types {
            let name = symbols[0].name();
            let has_own = generics.contains(&&*name) || name == "shmem_global_exit";
            if is_macro(family) {
                let (before, after) = family.pattern.split_once("{T}").expect("a family of types");
                fill(&mut plain, &format!("{}({before}, {after})", defined(&family.group)));
            } else if !has_own {
                fill(&mut plain, &format!("SHMEMI_PSHMEM({name})"));
            }
            for symbol in symbols.iter().filter(|s| has_own || is_complex(&s.ty)) {
                writeln!(others, "{};", wrapped(&prototype(symbol, &symbol.profiling_name()))).unwrap();
            }
        }
    }
    writeln!(out, "{plain}\n\n{others}").unwrap();
    for group in groups.iter().map(defined).chain(has_ctx.then(|| "SHMEMI_PSHMEM_CTX".to_owned())) {
        writeln!(out, "#undef {group}").unwrap();
    }
    out.push_str("#undef SHMEMI_PSHMEM\n\n");
}

/// Names without a context, and the same with one.
const PROFILING_WITH_CTX: &str = r"#define SHMEMI_PSHMEM_CTX(set, before, after) \
    SHMEMI_PSHMEM_##set(shmem_##before, after) SHMEMI_PSHMEM_##set(shmem_ctx_##before, after)

";

/// The types of a group that have a name in the macros.
fn real_names(group: &Group) -> impl Iterator<Item = &'static str> {
    group.types().iter().filter(|ty| !is_complex(ty)).map(|ty| ty.name)
}

/// Whether one macro serves both groups.
fn has_names_of(group: &Group, other: &Group) -> bool {
    real_names(group).eq(real_names(other))
}

fn is_complex(ty: &Type) -> bool {
    ty.c.ends_with("_Complex")
}

/// Complex types are spelt by macros, because C++ and some C compilers lack `_Complex`.
fn complex(prototype: &str) -> String {
    prototype.replace("float _Complex", "shmemi_complexf").replace("double _Complex", "shmemi_complexd")
}

/// `include/shmem/api.h`.
pub fn api(chapters: &[Chapter], reference: &Reference) -> String {
    let mut out = format!(
        "{C_NOTE}/* The functions of OpenSHMEM, but those of shmem/inline.h. Included by shmem.h. */\n#ifndef \
            SHMEM_API_H\n#define SHMEM_API_H\n\n{END}"
    );
    let chapters = chapters.iter().filter(|c| !c.is_extension);
    let inlined = |family: &Family| family.inline.is_some();
    prototypes(&mut out, chapters, inlined, reference);
    out.push_str("#endif\n");
    out
}

/// How functions end that share a comment: `emit/doc.rs` says why.
const END: &str = "/* Ends a declaration that shares its comment with those after it. */\n#define SHMEMI_END ;\n\n";

/// `include/pshmem.h`.
pub fn profiling(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The profiling interface: every function of shmem.h once more, with a name that no tool replaces.\n \
            * The prototype of pshmem_X is that of shmem_X. */\n#ifndef PSHMEM_H\n#define PSHMEM_H\n\n\
            #include <shmem.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    let chapters = chapters.iter().filter(|c| !c.is_extension);
    profiling_names(&mut out, chapters);
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// The prototypes of extensions, and their names of the profiling interface.
pub fn extensions(chapters: &[Chapter], reference: &Reference) -> String {
    let mut out = String::new();
    let chapters = || chapters.iter().filter(|c| c.is_extension);
    prototypes(&mut out, chapters(), |_| false, reference);
    out.push_str("/* The profiling interface: the same functions with names that no tool replaces. */\n\n");
    profiling_names(&mut out, chapters());
    out
}
