//! The inline definitions: `shmem/inline.h`, one macro of `shmem/native.h` per function.

use std::fmt::Write;

use super::C_NOTE;
use crate::table::Chapter;
use crate::types::Group;

/// `include/shmem/inline.h`.
pub fn inline(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* The functions that compilers with GNU extensions expand where they are called. */\n"
    );
    for family in chapters.iter().flat_map(|c| &c.families) {
        let Some(inline) = family.inline else {
            continue;
        };
        out.push('\n');
        for symbol in family.symbols() {
            let ctx = if symbol.ctx { "CTX_" } else { "" };
            let name = symbol.name();
            match family.group {
                Group::Single => writeln!(out, "SHMEMI_{ctx}{inline}({name})"),
                Group::Sizes | Group::Mem => {
                    writeln!(out, "SHMEMI_{ctx}{inline}({name}, {})", symbol.ty.size)
                }
                _ => writeln!(
                    out,
                    "SHMEMI_{ctx}{inline}({name}, {}, {})",
                    symbol.ty.basic().name,
                    symbol.ty.c
                ),
            }
            .unwrap();
        }
    }
    out
}
