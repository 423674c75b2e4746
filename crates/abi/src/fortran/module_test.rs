//! The program that calls each routine of the module, and checks what it does.

use std::fmt::Write;

use super::interface::{Interface, KINDS, Kind, interfaces};
use crate::table::Chapter;
use crate::types::Group;

/// The program, and then tests, each after a line with what it is of.
const TEXT: &str = include_str!("../templates/fortran/every_interface.f90");

/// Atomics: name, operands, and what becomes of 100.
const ATOMICS: &[(&str, &str, &str)] = &[
    ("fetch", "", "100"),
    ("set", "{=7}, ", "7"),
    ("compare_swap", "{=100}, {=7}, ", "7"),
    ("swap", "{=7}, ", "7"),
    ("inc", "", "101"),
    ("add", "{=7}, ", "107"),
    ("and", "{=7}, ", "4"),
    ("or", "{=7}, ", "103"),
    ("xor", "{=7}, ", "99"),
];

/// Reductions and scans: name, two elements, and what becomes of them and of the one after.
const REDUCTIONS: &[(&str, &str, &str)] = &[
    ("and_reduce", "not(ishft({=1}, me)), {=6}", "not(ishft({=1}, n_pes) - {=1}), {=6}, -{=1}"),
    ("or_reduce", "ishft({=1}, me), {=6}", "2**n_pes - 1, 6, -1"),
    ("xor_reduce", "ishft({=1}, me), {=6}", "2**n_pes - 1, 6 * mod(n_pes, 2), -1"),
    ("max_reduce", "me, -me", "n_pes - 1, 0, -1"),
    ("min_reduce", "me, -me", "0, 1 - n_pes, -1"),
    ("sum_reduce", "me, -2", "n_pes * (n_pes - 1) / 2, -2 * n_pes, -1"),
    ("prod_reduce", "merge(5, 1, me == 0), -1", "5, (-1)**n_pes, -1"),
    ("sum_inscan", "me + 1, 1", "(me + 1) * (me + 2) / 2, me + 1, -1"),
    ("sum_exscan", "me + 1, 1", "me * (me + 1) / 2, me, -1"),
];

/// Tests of a subroutine. flang makes all that a module has known to each subroutine: with one for each test, it takes
/// twice as long.
const TESTS: usize = 16;

pub(super) fn text(chapters: &[Chapter]) -> String {
    let (program, _) = TEXT.split_once("\n== ").expect("a program and its tests");
    let (mut variables, mut tests, mut calls) = (String::new(), String::new(), String::new());
    for kind in KINDS {
        let (name, ty) = (kind.name, kind.fortran);
        writeln!(variables, "  {ty}, volatile :: value_{name}, fetched_{name}").unwrap();
        writeln!(variables, "  {ty} :: into_{name}(100), from_{name}(100), expected_{name}(100)").unwrap();
        writeln!(tests, "{}\n", of_kind(section("common"), kind)).unwrap();
    }
    let mut blocks = Vec::new();
    for interface in interfaces(chapters) {
        let name = interface.name();
        if interface.symbol.family.group == Group::Single {
            assert!(program.contains(&interface.generic()), "{name} is not tested");
            continue;
        }
        let test = test(&interface);
        blocks.push(format!("block\n  character(*), parameter :: routine = '{name}'\n{test}\nend block\n"));
    }
    for (number, blocks) in blocks.chunks(TESTS).enumerate() {
        writeln!(tests, "subroutine test_{number}\n{}end\n", blocks.concat()).unwrap();
        writeln!(calls, "  call test_{number}").unwrap();
    }
    program.replace("{variables}\n", &variables).replace("{tests}\n", &tests).replace("{calls}\n", &calls)
}

/// The test of that name.
fn section(name: &str) -> &'static str {
    let start = format!("\n== {name}\n");
    let (_, text) = TEXT.split_once(&start).unwrap_or_else(|| panic!("no test {name}"));
    text.split("\n== ").next().unwrap_or_default().trim_end()
}

/// The statements that test a routine.
fn test(interface: &Interface<'_>) -> String {
    let (symbol, generic) = (interface.symbol, interface.generic());
    let kind = interface.kind.unwrap_or_else(|| of_size(symbol.ty.size));
    let (text, operands, after) = match generic.strip_prefix("shmem_atomic_") {
        Some(operation) => {
            let plain = operation.trim_end_matches("_nbi");
            let plain = plain.strip_prefix("fetch_").unwrap_or(plain);
            let (_, operands, after) = ATOMICS.iter().find(|row| row.0 == plain).expect("a known operation");
            let form = match symbol.family.ret {
                "void" if operation.ends_with("_nbi") => "atomic_nbi",
                "void" => "atomic",
                _ => "atomic_fetching",
            };
            (section(form), *operands, *after)
        }
        None => match REDUCTIONS.iter().find(|(name, ..)| generic == format!("shmem_{name}")) {
            Some((_, source, result)) => (section("reduction"), *source, *result),
            None => {
                let pattern = symbol.family.pattern.trim_end_matches("_nbi").replace("{ctx}", "");
                let name = pattern.replace("{T}_signal", "_signal").replace("{T}_", "").replace("{T}", "");
                (section(&name), "", "")
            }
        },
    };
    let mut text = text.replace("{operands}", operands).replace("{after}", after);
    let count = |n: &str| if interface.wide { format!("{n}_c_size_t") } else { n.to_owned() };
    for n in ["2", "3", "4", "5"] {
        text = text.replace(&format!("{{{n}}}"), &count(n));
    }
    text = text.replace("{me}", if interface.wide { "int(me, c_size_t)" } else { "me" });
    text = text.replace("{ctx}", if symbol.ctx { "ctx, " } else { "" });
    of_kind(&text.replace("{name}", &generic), kind)
}

/// Puts a type's name, and numbers of it.
fn of_kind(text: &str, kind: &Kind) -> String {
    let (ty, parameter) = kind.fortran.trim_end_matches(')').split_once('(').expect("a type and its kind");
    let number = |digits: &str| match ty {
        "integer" => format!("{digits}_{parameter}"),
        "real" => format!("{digits}.0_{parameter}"),
        _ => format!("({digits}.0_{parameter}, 0.0_{parameter})"),
    };
    let mut parts = text.split("{=");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').expect("the end of a number");
        out += &number(digits);
        out += rest;
    }
    out.replace("{T}", kind.name).replace("{type}", kind.fortran)
}

/// A type of that many bytes, to be moved by an untyped routine.
fn of_size(bytes: usize) -> &'static Kind {
    let name = ["int8", "int16", "int32", "int64", "complexd"][bytes.ilog2() as usize];
    KINDS.iter().find(|kind| kind.name == name).expect("a type of each size")
}
