//! The routines that may be expanded where they are called: `shmem/inline.h`. Each has its prototype and a macro:
//! that of `shmem/native.h` is its body; where calls are not expanded, it is a semicolon.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{C_NOTE, doc, wrapped_to};
use crate::family::{Family, Symbol};
use crate::reference::Reference;
use crate::table::Chapter;
use crate::types::Group;

/// `include/shmem/inline.h`.
pub fn inline(chapters: &[Chapter], reference: &Reference) -> String {
    let families = || chapters.iter().flat_map(|c| &c.families);
    let inlined: Vec<(&Family, &str)> = families().filter_map(|f| f.inline.map(|inline| (f, inline))).collect();
    let mut out = format!(
        "{C_NOTE}/* The functions that compilers with GNU extensions expand where they are called. */\n\n#ifndef \
            SHMEMI_FAST_PATH\n#define SHMEMI_INLINE\n"
    );
    let mut macros: BTreeMap<String, &str> = BTreeMap::new();
    for (family, inline) in &inlined {
        for symbol in family.symbols() {
            macros.insert(name(&symbol, inline), parameters(&symbol));
        }
    }
    for (name, parameters) in &macros {
        writeln!(out, "#define {name}({parameters}) ;").unwrap();
    }
    out.push_str("#endif\n");
    for (comment, symbols) in doc::commented(reference, inlined.iter().map(|(family, _)| *family)) {
        out.push('\n');
        out.push_str(&comment);
        for symbol in symbols {
            let inline = symbol.family.inline.expect("only inlined families");
            let group = symbol.family.group;
            let arguments = match group {
                Group::Single => symbol.name(),
                Group::Sizes | Group::Mem => format!("{}, {}", symbol.name(), symbol.ty.size),
                _ => format!("{}, {}, {}", symbol.name(), symbol.ty.basic().name, symbol.ty.c),
            };
            let prototype = format!("SHMEMI_INLINE {}", symbol.prototype());
            let body = format!("{}({arguments})", name(&symbol, inline));
            let line = format!("{} {body}", wrapped_to(&prototype, 100));
            // Of many types, the names are on lines of one form.
            let is_long = group == Group::Sizes && line.lines().any(|line| line.len() > 120);
            let line = if is_long { wrapped_to(&format!("{prototype} {body}"), 100) } else { line };
            writeln!(out, "{line}").unwrap();
        }
    }
    out.push_str("\n#ifndef SHMEMI_FAST_PATH\n#undef SHMEMI_INLINE\n#endif\n");
    out
}

/// The macro of a function.
fn name(symbol: &Symbol<'_>, inline: &str) -> String {
    let ctx = if symbol.ctx { "CTX_" } else { "" };
    format!("SHMEMI_{ctx}{inline}")
}

/// The parameters of its macro.
fn parameters(symbol: &Symbol<'_>) -> &'static str {
    match symbol.family.group {
        Group::Single => "routine",
        Group::Sizes | Group::Mem => "routine, size",
        _ => "routine, name, type",
    }
}
