//! The program that calls each routine, and checks what it does.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::legacy::{Test, routines};

const PROGRAM: &str = include_str!("../templates/fortran/every_routine.f90");
/// What subroutines for any type do with a `routine` of some `name`, each after a line with its own name; and what they
/// call.
const TYPED: &str = include_str!("../templates/fortran/typed.f90");

/// Types: in names, of variables, and one of it.
const TYPES: &[(&str, &str, &str)] = &[
    ("int4", "integer(4)", "1_4"),
    ("int8", "integer(8)", "1_8"),
    ("real4", "real(4)", "1.0_4"),
    ("real8", "real(8)", "1.0_8"),
    ("comp4", "complex(4)", "(1.0_4, 0.0_4)"),
    ("comp8", "complex(8)", "(1.0_8, 0.0_8)"),
];

/// Those whose routine returns a value.
const FETCHING: &[&str] = &["fadd", "finc", "cswap", "swap", "fetch"];

pub(super) fn text() -> String {
    let (mut calls, mut externals, mut subroutines) = (String::new(), String::new(), BTreeSet::new());
    for routine in routines() {
        let name = &routine.name;
        let (check, further) = match routine.test {
            Test::ByHand => {
                assert!(PROGRAM.contains(name), "{name} is not tested");
                continue;
            }
            Test::Bytes(check) => (check.to_owned(), format!(", {}", bytes(&routine.c, name))),
            Test::Typed(check) => {
                subroutines.insert((check, routine.member));
                (format!("{check}_{}", routine.member), String::new())
            }
        };
        writeln!(calls, "  call {check}({name}, '{name}'{further})").unwrap();
        let returns = matches!(routine.test, Test::Typed(check) if FETCHING.contains(&check));
        match of_type(routine.member).filter(|_| returns) {
            Some((_, ty, _)) => writeln!(externals, "  {ty}, external :: {name}").unwrap(),
            None => writeln!(externals, "  external {name}").unwrap(),
        }
    }
    let mut typed = String::new();
    subroutines.extend(TYPES.iter().map(|(name, ..)| ("common", *name)));
    for (subroutine, name) in subroutines {
        let (_, ty, one) = of_type(name).unwrap_or_else(|| panic!("no type {name}"));
        let start = format!("== {subroutine}\n");
        let (_, text) = TYPED.split_once(&start).unwrap_or_else(|| panic!("no test {subroutine}"));
        let mut text = text.split("\n== ").next().unwrap_or_default().to_owned();
        if subroutine != "common" {
            let external =
                if FETCHING.contains(&subroutine) { "{type}, external :: routine" } else { "external routine" };
            text = format!(
                "subroutine {subroutine}_{name}(routine, name)\n  {external}\n  character(*) name\n{text}\nend"
            );
        }
        typed += &text.replace("{T}", name).replace("{type}", ty).replace("{one}", one);
        typed.push('\n');
    }
    let variables: String =
        TYPES.iter().map(|(name, ty, _)| format!("  {ty} value_{name}, into_{name}(2), source_{name}(2)\n")).collect();
    PROGRAM
        .replace("{variables}\n", &variables)
        .replace("{typed}\n", &typed)
        .replace("{externals}\n", &externals)
        .replace("{calls}\n", &calls)
}

fn of_type(name: &str) -> Option<(&'static str, &'static str, &'static str)> {
    TYPES.iter().find(|ty| ty.0 == name).copied()
}

/// Bytes of an element, which the name of the C function says in bits.
fn bytes(c: &str, name: &str) -> u32 {
    let bits: String = c.chars().filter(char::is_ascii_digit).collect();
    match c.trim_start_matches("shmem_").contains("mem") {
        true => 1,
        false => bits.parse::<u32>().unwrap_or_else(|_| panic!("{name}: no size in {c}")) / 8,
    }
}
