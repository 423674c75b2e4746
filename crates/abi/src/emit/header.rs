//! The prototypes: `shmem/api.h` and `pshmem.h`.

use std::fmt::Write;

use super::{C_NOTE, doc, wrapped};
use crate::family::{Family, Status, Symbol};
use crate::reference::Reference;
use crate::table::Chapter;

/// Prototypes of `name(symbol)`, chapter by chapter, of the families that are not left out, with their comments if
/// there is a reference.
fn prototypes<'a>(
    out: &mut String,
    chapters: impl IntoIterator<Item = &'a Chapter>,
    name: impl Fn(&Symbol<'_>) -> String,
    left_out: impl Fn(&Family) -> bool,
    reference: Option<&Reference>,
) {
    for chapter in chapters {
        writeln!(out, "/* {} */\n", chapter.title).unwrap();
        for family in chapter.families.iter().filter(|f| !left_out(f)) {
            if reference.is_none() {
                match family.status {
                    Status::Current => {}
                    Status::Deprecated => out.push_str("/* deprecated */\n"),
                    Status::Extension => out.push_str("/* extension */\n"),
                }
            }
            let symbols = family.symbols();
            for (i, symbol) in symbols.iter().enumerate() {
                let prototype = complex(&symbol.prototype_as(&name(symbol)));
                let attribute = match family.pattern {
                    "shmem_global_exit" => "SHMEMI_NORETURN ",
                    _ => "",
                };
                let prototype = wrapped(&format!("{attribute}{prototype}"));
                let Some(reference) = reference else {
                    writeln!(out, "{prototype};").unwrap();
                    continue;
                };
                let types = family.group.types().len();
                if i % types == 0 {
                    out.push_str(if i > 0 { "\n" } else { "" });
                    out.push_str(&doc::comment(reference, symbol));
                }
                let end = if types > 1 { " SHMEMI_END" } else { ";" };
                writeln!(out, "{prototype}{end}").unwrap();
            }
            out.push('\n');
        }
    }
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
    prototypes(&mut out, chapters, |s| s.name(), inlined, Some(reference));
    out.push_str("#endif\n");
    out
}

/// How functions of several types end: `emit/doc.rs` says why.
const END: &str = "/* Ends a declaration that shares its comment with those after it. */\n#define SHMEMI_END ;\n\n";

/// `include/pshmem.h`.
pub fn profiling(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The profiling interface: every function of shmem.h once more, with a name that no tool replaces. \
            */\n#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n\n#ifdef __cplusplus\nextern \"C\" \
            {{\n#endif\n\n"
    );
    let chapters = chapters.iter().filter(|c| !c.is_extension);
    prototypes(&mut out, chapters, |s| s.profiling_name(), |_| false, None);
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// The prototypes of extensions, each with its name of the profiling interface.
pub fn extensions(chapters: &[Chapter], reference: &Reference) -> String {
    let mut out = String::new();
    for chapter in chapters.iter().filter(|c| c.is_extension) {
        prototypes(&mut out, [chapter], |s| s.name(), |_| false, Some(reference));
        prototypes(&mut out, [chapter], |s| s.profiling_name(), |_| false, None);
    }
    out
}
