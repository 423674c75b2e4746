//! The prototypes: `shmem/api.h` and `pshmem.h`.

use std::fmt::Write;

use super::{C_NOTE, wrapped};
use crate::family::{Status, Symbol};
use crate::table::Chapter;

/// Prototypes of `name(symbol)`, chapter by chapter.
fn prototypes(out: &mut String, chapters: &[Chapter], name: impl Fn(&Symbol<'_>) -> String) {
    for chapter in chapters {
        writeln!(out, "/* {} */\n", chapter.title).unwrap();
        for family in &chapter.families {
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
        "{C_NOTE}/* The functions of OpenSHMEM. Included by shmem.h. */\n#ifndef SHMEM_API_H\n#define SHMEM_API_H\n\n"
    );
    prototypes(&mut out, chapters, |s| s.name());
    out.push_str("#endif\n");
    out
}

/// `include/pshmem.h`.
pub fn profiling(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The profiling interface: every function of shmem.h once more, with a name that no tool replaces. */\n#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    prototypes(&mut out, chapters, |s| s.profiling_name());
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}
