//! For each other OpenSHMEM library, the source of a library of its name: it defines what that one has in another form
//! than this library, and programs find the rest in this one, which it needs.

use std::fmt::Write;

use super::{C_NOTE, wrapped};
use crate::constants::{HANDLES, SECTIONS, needs};
use crate::family::Symbol;
use crate::peers::{COMPARISONS, OPTIONS, PEERS, Peer, SYNC};
use crate::table::{self, Chapter};

/// The C code that is the same for all.
const HEAD: &str = include_str!("../templates/compat.c");

/// The sources: path, of which the folder is the library's, and text.
pub fn files(chapters: &[Chapter]) -> Vec<(String, String)> {
    let symbols = table::symbols(chapters);
    PEERS.iter().map(|peer| (format!("{}/{}.c", peer.name, peer.soname), library(peer, &symbols))).collect()
}

/// For tests, of each library a program that compiles if the header that it finds has the values of the table, and a
/// header of those values over ours: path and text.
pub fn tests() -> Vec<(String, String)> {
    let of = |peer: &Peer| {
        [(format!("compat/{}.c", peer.name), check(peer)), (format!("compat/{}.h", peer.name), header(peer))]
    };
    PEERS.iter().flat_map(of).collect()
}

fn value(name: &str) -> i64 {
    let all = SECTIONS.iter().flat_map(|s| s.constants());
    let constant = all.clone().find(|c| c.name == name).expect("a constant of the table");
    constant.value.trim_end_matches('L').parse().expect("a number")
}

fn library(peer: &Peer, symbols: &[Symbol<'_>]) -> String {
    let list = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let mut out = format!("{C_NOTE}\n");
    writeln!(out, "#define WORK_ARRAY {}", value("SHMEM_SYNC_SIZE")).unwrap();
    writeln!(out, "#define COMPARISONS {{ {} }}", list(&peer.comparisons)).unwrap();
    writeln!(out, "#define OUR_COMPARISONS {{ {} }}", list(&COMPARISONS.map(value))).unwrap();
    writeln!(out, "#define OPTIONS {{ {} }}", list(&peer.options)).unwrap();
    writeln!(out, "#define OUR_OPTIONS {{ {} }}\n", list(&OPTIONS.map(value))).unwrap();
    let [soname, major, minor, patch] = needs();
    writeln!(out, "#define NEEDS \"{soname}, {major}, {minor}, {patch}\"").unwrap();
    out.push_str(HEAD);
    for (variable, handle) in peer.handles {
        let found = HANDLES.iter().find(|(name, ..)| name == handle);
        let (_, ty, value) = found.expect("a handle of the table");
        writeln!(out, "\n{ty} {variable} = ({ty}){value};").unwrap();
    }
    for symbol in symbols {
        if arguments(peer, symbol).is_some() {
            out.push_str(&wrapper(peer, symbol, &symbol.name()));
        }
    }
    for (theirs, types, ours) in peer.renamed {
        for (type_there, type_here) in *types {
            let ours = ours.replace("{T}", type_here);
            let found = symbols.iter().find(|s| s.name() == ours);
            let symbol = found.unwrap_or_else(|| panic!("no routine {ours}"));
            out.push_str(&wrapper(peer, symbol, &theirs.replace("{T}", type_there)));
        }
    }
    for symbol in symbols {
        let name = symbol.name();
        if peer.promoted.iter().any(|part| name.contains(part)) {
            out.push_str(&wrapper(peer, symbol, &name.replacen("shmem_", "shmemx_", 1)));
        }
    }
    out
}

/// What of a call is translated: the arguments, if any of them is.
fn arguments(peer: &Peer, symbol: &Symbol<'_>) -> Option<String> {
    let params = symbol.params();
    let is_context = ["shmem_ctx_create", "shmem_team_create_ctx"].contains(&symbol.name().as_str());
    let translated = |name: &str| match name {
        "pSync" => Some("work_array(PE_start, logPE_stride, PE_size)"),
        "cmp" if peer.comparisons != COMPARISONS.map(value) => Some("comparison(cmp)"),
        "options" if peer.options != OPTIONS.map(value) && is_context => Some("options_of(options)"),
        _ => None,
    };
    let is_first_or_last =
        ["shmem_init", "shmem_init_thread", "start_pes", "shmem_finalize"].contains(&symbol.name().as_str());
    let any = is_first_or_last || params.iter().any(|(_, name)| translated(name).is_some());
    let words = params.iter().map(|(_, name)| translated(name).unwrap_or(name)).collect::<Vec<_>>();
    any.then(|| words.join(", "))
}

/// A function `name` that calls the routine, by its name, so that tools that are loaded before this library see it.
fn wrapper(peer: &Peer, symbol: &Symbol<'_>, name: &str) -> String {
    let plain = || symbol.params().into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(", ");
    let arguments = arguments(peer, symbol).unwrap_or_else(plain);
    let routine = symbol.name();
    let call = format!("NEXT(next, \"{routine}\")({arguments})");
    let body = match (routine.as_str(), symbol.family.ret) {
        ("shmem_init_thread", _) => format!("    int result = {call};\n    make_work_arrays();\n    return result;\n"),
        ("shmem_init" | "start_pes", _) => format!("    {call};\n    make_work_arrays();\n"),
        ("shmem_finalize", _) => format!("    free_work_arrays();\n    {call};\n"),
        (_, "void") => format!("    {call};\n"),
        _ => format!("    return {call};\n"),
    };
    let declared = wrapped(&format!("    static {};", symbol.prototype_as("(*next)")));
    format!("\n{}\n{{\n{declared}\n{body}}}\n", wrapped(&symbol.prototype_as(name)))
}

/// All constants that differ.
fn differing(peer: &Peer) -> impl Iterator<Item = (&'static str, i64)> {
    let named = |names: &'static [&'static str], values: Vec<i64>| names.iter().copied().zip(values);
    named(&COMPARISONS, peer.comparisons.into())
        .chain(named(&OPTIONS, peer.options.into()))
        .chain(named(&SYNC, peer.sync.into()))
}

/// Asserts that the header has the values of the table.
fn check(peer: &Peer) -> String {
    let mut out = format!("{C_NOTE}\n#include <shmem.h>\n\n");
    for (name, value) in differing(peer).chain(peer.others.iter().copied()) {
        writeln!(out, "_Static_assert({name} == {value}, \"{name}\");").unwrap();
    }
    for (variable, _) in peer.handles {
        writeln!(out, "_Static_assert(sizeof({variable}) == sizeof(void *), \"{variable}\");").unwrap();
    }
    out.push_str("\nint main(void) { return 0; }\n");
    out
}

/// The values of the table over our header.
fn header(peer: &Peer) -> String {
    let mut out = format!("{C_NOTE}\n#include <shmem.h>\n\n");
    for (name, value) in differing(peer) {
        writeln!(out, "#undef {name}\n#define {name} {value}").unwrap();
    }
    for (variable, handle) in peer.handles {
        let ty = HANDLES.iter().find(|(name, ..)| name == handle).map_or("void *", |(_, ty, _)| ty);
        writeln!(out, "#undef {handle}\nextern {ty} {variable};\n#define {handle} {variable}").unwrap();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `docs/compat.md` says of each library.
    #[test]
    fn the_page_has_the_table() {
        let page = std::fs::read_to_string(crate::root().join("docs/compat.md")).unwrap();
        let words = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        for peer in PEERS {
            let [longest, shortest] = [peer.sync[1..].iter().max(), peer.sync[1..].iter().min()].map(|n| n.unwrap());
            let row = format!(
                "| `{}` | `{}`, {} | {} | {} | {}; {longest}, {shortest} |",
                peer.name,
                peer.soname,
                peer.version,
                words(&peer.comparisons),
                words(&peer.options),
                peer.sync[0],
            );
            assert!(page.contains(&row), "no {row}");
        }
    }
}
