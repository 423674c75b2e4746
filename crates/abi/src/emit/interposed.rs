//! The list of inlined functions, by which the library detects that a tool has replaced one.

use std::fmt::Write;

use super::RUST_NOTE;
use crate::table::Chapter;
use crate::types::Group;

/// Types that represent all others: looking up every name would slow down each start.
const TYPES: &[&str] = &["int", "long", "double", "uint64", "mem", "8", "64"];

/// The list, in a module of `ferroshmem-sys`.
pub fn rust(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{RUST_NOTE}\n//! Functions that `shmem/inline.h` defines inline: all families, some types.\n\nuse \
            crate::interposition::inlined;\n\ninlined! {{\n"
    );
    for family in chapters.iter().flat_map(|c| &c.families).filter(|f| f.inline.is_some()) {
        for symbol in family.symbols() {
            if family.group == Group::Single || TYPES.contains(&symbol.ty.name) {
                writeln!(out, "    {}, {};", symbol.name(), symbol.profiling_name()).unwrap();
            }
        }
    }
    out.push_str("}\n");
    out
}
