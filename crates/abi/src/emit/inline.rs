//! The routines that may be expanded where they are called: `shmem/inline.h`. Each has its prototype and a body: a
//! macro of `shmem/native.h`, or a semicolon where calls are not expanded.

use std::fmt::Write;

use super::{C_NOTE, doc, wrapped_to};
use crate::family::Family;
use crate::reference::Reference;
use crate::table::Chapter;
use crate::types::Group;

/// `include/shmem/inline.h`.
pub fn inline(chapters: &[Chapter], reference: &Reference) -> String {
    let families = || chapters.iter().flat_map(|c| &c.families);
    let inlined: Vec<(&Family, &str)> = families().filter_map(|f| f.inline.map(|inline| (f, inline))).collect();
    let mut out = format!(
        "{C_NOTE}/* The functions that compilers with GNU extensions expand where they are called. */\n\n\
            #ifdef SHMEMI_FAST_PATH\n#define SHMEMI_(kind) SHMEMI_##kind\n\
            #else\n#define SHMEMI_INLINE\n#define SHMEMI_(kind) SHMEMI_NO_BODY\n#define SHMEMI_NO_BODY(...) ;\n#endif\n"
    );
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
            let ctx = if symbol.ctx { "CTX_" } else { "" };
            let body = format!("SHMEMI_({ctx}{inline})({arguments})");
            let line = format!("{} {body}", wrapped_to(&prototype, 100));
            // Of many types, the names are on lines of one form.
            let is_long = group == Group::Sizes && line.lines().any(|line| line.len() > 120);
            let line = if is_long { wrapped_to(&format!("{prototype} {body}"), 100) } else { line };
            writeln!(out, "{line}").unwrap();
        }
    }
    out.push_str("\n#undef SHMEMI_\n#ifndef SHMEMI_FAST_PATH\n#undef SHMEMI_INLINE\n#undef SHMEMI_NO_BODY\n#endif\n");
    out
}
