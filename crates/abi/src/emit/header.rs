//! The prototypes: `shmem/api.h` and `pshmem.h`.

use std::fmt::Write;

use super::{C_NOTE, wrapped};
use crate::family::{Status, Symbol};
use crate::table::Chapter;

/// Prototypes of `name(symbol)`, chapter by chapter. `left_out` precedes the families that have another
/// declaration where it holds.
fn prototypes<'a>(
    out: &mut String,
    chapters: impl IntoIterator<Item = &'a Chapter>,
    name: impl Fn(&Symbol<'_>) -> String,
    left_out: Option<&str>,
) {
    for chapter in chapters {
        writeln!(out, "/* {} */\n", chapter.title).unwrap();
        for family in &chapter.families {
            let left_out = left_out.filter(|_| family.inline.is_some());
            if let Some(condition) = left_out {
                writeln!(out, "#ifndef {condition}").unwrap();
            }
            match family.status {
                Status::Current => {}
                Status::Deprecated => out.push_str("/* deprecated */\n"),
                Status::Extension => out.push_str("/* extension */\n"),
            }
            for symbol in family.symbols() {
                let prototype = complex(&symbol.prototype_as(&name(&symbol)));
                let attribute = match family.pattern {
                    "shmem_global_exit" => "SHMEMI_NORETURN ",
                    _ => "",
                };
                writeln!(out, "{}", wrapped(&format!("{attribute}{prototype};"))).unwrap();
            }
            if left_out.is_some() {
                out.push_str("#endif\n");
            }
            out.push('\n');
        }
    }
}

/// Complex types are spelt by macros, because C++ and some C compilers lack `_Complex`.
fn complex(prototype: &str) -> String {
    prototype
        .replace("float _Complex", "shmemi_complexf")
        .replace("double _Complex", "shmemi_complexd")
}

/// `include/shmem/api.h`.
pub fn api(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The functions of OpenSHMEM. Included by shmem.h. Where calls are expanded, shmem/inline.h declares those\n   that it defines: compilers take as long for a declaration as for a fourth of a definition. */\n#ifndef SHMEM_API_H\n#define SHMEM_API_H\n\n"
    );
    let chapters = chapters.iter().filter(|c| !c.is_extension);
    prototypes(&mut out, chapters, |s| s.name(), Some("SHMEMI_FAST_PATH"));
    out.push_str("#endif\n");
    out
}

/// `include/pshmem.h`.
pub fn profiling(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The profiling interface: every function of shmem.h once more, with a name that no tool replaces. */\n#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    let chapters = chapters.iter().filter(|c| !c.is_extension);
    prototypes(&mut out, chapters, |s| s.profiling_name(), None);
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// The prototypes of extensions, each with its name of the profiling interface.
pub fn extensions(chapters: &[Chapter]) -> String {
    let mut out = String::new();
    for chapter in chapters.iter().filter(|c| c.is_extension) {
        prototypes(&mut out, [chapter], |s| s.name(), None);
        prototypes(&mut out, [chapter], |s| s.profiling_name(), None);
    }
    out
}
