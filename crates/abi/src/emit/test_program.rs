//! The C programs that call every prototype and every type-generic routine, and check what
//! they do.

use std::fmt::Write;

use super::C_NOTE;
use crate::generics::generics;
use crate::table::Chapter;
use crate::types::Group;

const CALLS: &str = include_str!("../templates/calls.h");
const CALLS_BY_CHAPTER: &[(&str, &str)] = &[
    ("rma.h", include_str!("../templates/calls/rma.h")),
    ("amo.h", include_str!("../templates/calls/amo.h")),
    ("signals.h", include_str!("../templates/calls/signals.h")),
    ("collectives.h", include_str!("../templates/calls/collectives.h")),
    ("p2p.h", include_str!("../templates/calls/p2p.h")),
];
const SINGLES: &str = include_str!("../templates/singles.c");

/// Calls in a function: what clang does with one takes longer than in proportion to their number.
const CALLS_EACH: usize = 4;

/// The folder `generated` of [`tests`](crate::files::tests): (file name, text).
pub fn files(chapters: &[Chapter]) -> Vec<(String, String)> {
    let mut files = vec![
        ("calls.h".to_owned(), format!("{C_NOTE}{CALLS}")),
        ("every_prototype.c".to_owned(), every_prototype(chapters)),
        ("every_generic.c".to_owned(), every_generic(chapters)),
    ];
    let calls = CALLS_BY_CHAPTER.iter();
    files.extend(calls.map(|(name, text)| (format!("calls/{name}"), format!("{C_NOTE}{text}"))));
    files
}

/// Calls every function; with `-DPROFILING_NAMES`, by its `pshmem_` name.
fn every_prototype(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* Calls every function of the C API; with -DPROFILING_NAMES, by the names of the profiling \
            interface. */\n#define PROGRAM \"every prototype\"\n#ifdef PROFILING_NAMES\n#define F(name) \
            p##name\n#else\n#define F(name) (name)\n#endif\n#include \"calls.h\"\n"
    );
    let mut functions = Vec::new();
    for (i, family) in chapters.iter().flat_map(|c| &c.families).enumerate() {
        if family.test.is_empty() {
            continue;
        }
        let calls = family.symbols().into_iter().map(|symbol| {
            let (name, test) = (symbol.name(), family.test);
            let ctx = if symbol.ctx { "CTX" } else { "NO_CTX" };
            match family.group {
                Group::Single => format!("{test}({name}, {ctx})"),
                Group::Sizes | Group::OldSizes | Group::Mem => {
                    format!("{test}({name}, {}, {ctx})", symbol.ty.size)
                }
                _ => format!("{test}({name}, {}, {ctx})", symbol.ty.c),
            }
        });
        let calls: Vec<String> = calls.collect();
        functions.extend(write_calls(&mut out, &format!("family_{i}"), &calls));
    }
    every_family(&mut out, &functions);
    out.push_str(SINGLES);
    out
}

/// Calls every type-generic routine with every type; also as C++.
fn every_generic(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* Calls every type-generic routine with every type that it takes, in C11 and in C++. */\n#define \
            PROGRAM \"every generic\"\n#define F(name) name\n#include \"calls.h\"\n"
    );
    let mut functions = Vec::new();
    for generic in generics(chapters) {
        let function = format!("generic_{}", generic.name.trim_start_matches("shmem_"));
        let mut calls = Vec::new();
        for form in generic.forms() {
            let ctx = if form.ctx { "CTX" } else { "NO_CTX" };
            for ty in generic.types() {
                let test = generic.shape().test;
                calls.push(format!("{test}({}, {}, {ctx})", generic.name, ty.c));
            }
        }
        functions.extend(write_calls(&mut out, &function, &calls));
    }
    out.push_str(
        "\nstatic void by_number_of_arguments(void) {\n    TEAM_SYNC(shmem_sync, NO_CTX)\n    OLD_BARRIER(shmem_sync, \
            NO_CTX)\n    SIGNAL_SET(shmem_signal_set, NO_CTX)\n    SIGNAL_SET(shmem_signal_set, CTX)\n    \
            SIGNAL_ADD(shmem_signal_add, NO_CTX)\n    SIGNAL_ADD(shmem_signal_add, CTX)\n}\n",
    );
    functions.push("by_number_of_arguments".to_owned());
    every_family(&mut out, &functions);
    out.push_str(
        "\nint main(void) {\n    shmem_init();\n    set_up();\n    every_family();\n    int failed = \
        summary(PROGRAM);\n    shmem_finalize();\n    return failed;\n}\n",
    );
    out
}

/// Writes functions that make the calls, and returns their names.
fn write_calls(out: &mut String, name: &str, calls: &[String]) -> Vec<String> {
    let mut functions = Vec::new();
    for (part, calls) in calls.chunks(CALLS_EACH).enumerate() {
        let function = match part {
            0 => name.to_owned(),
            _ => format!("{name}_{part}"),
        };
        writeln!(out, "\nALONE void {function}(void) {{").unwrap();
        for call in calls {
            writeln!(out, "    {call}").unwrap();
        }
        out.push_str("}\n");
        functions.push(function);
    }
    functions
}

fn every_family(out: &mut String, functions: &[String]) {
    out.push_str("\nstatic void every_family(void) {\n");
    for function in functions {
        writeln!(out, "    {function}();").unwrap();
    }
    out.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn every_function_is_called() {
        let chapters = table::chapters();
        let program = every_prototype(&chapters);
        for symbol in table::symbols(&chapters) {
            let name = symbol.name();
            let by_macro = program.contains(&format!("({name}, "));
            assert!(by_macro || program.contains(&format!("F({name})(")), "{name} is not called");
        }
    }

    #[test]
    fn every_generic_is_called() {
        let chapters = table::chapters();
        let program = every_generic(&chapters);
        for family in chapters.iter().flat_map(|c| &c.families) {
            if let Some(name) = family.generic {
                assert!(program.contains(&format!("({name}, ")), "{name} is not called");
            }
        }
    }
}
