//! The C11 type-generic routines: `shmem/generic.h`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{C_NOTE, doc, wrapped};
use crate::generics::{Generic, generics};
use crate::reference::Reference;
use crate::table::Chapter;

/// Routines whose type-generic form selects by the number of arguments alone:
/// (name, arguments of the function of that name, arguments and name of the other function).
pub const BY_COUNT: &[(&str, usize, usize, &str)] = &[
    ("shmem_sync", 4, 1, "shmem_team_sync"),
    ("shmem_signal_set", 3, 4, "shmem_ctx_signal_set"),
    ("shmem_signal_add", 3, 4, "shmem_ctx_signal_add"),
];

/// `include/shmem/generic.h`.
pub fn generic(chapters: &[Chapter], reference: &Reference) -> String {
    let mut out = format!(
        "{C_NOTE}/* C11 type-generic routines. They select by the type that the first pointer points to, and by\n   \
            the number of arguments between the forms with and without a context. */\n#ifndef SHMEM_GENERIC_H\n#define \
            SHMEM_GENERIC_H\n"
    );
    let generics = generics(chapters);
    for n in 3..=11 {
        let names: Vec<String> = (1..=n).map(|i| format!("a{i}")).collect();
        writeln!(out, "{}#define SHMEMI_ARG_{n}({}, ...) a{n}", if n == 3 { "\n" } else { "" }, names.join(", "))
            .unwrap();
    }
    let sets: BTreeMap<_, _> = generics.iter().map(|g| (g.set(), g)).collect();
    for (set, generic) in sets {
        let choices: Vec<String> =
            generic.types().iter().map(|t| format!("{}: prefix##{}##suffix", c_type(t.c), t.name)).collect();
        let selection = format!("_Generic(*(pointer), {})", choices.join(", "));
        let selection = wrapped(&selection).replace('\n', " \\\n");
        writeln!(out, "\n#define SHMEMI_SELECT_{set}(pointer, prefix, suffix) \\\n    {selection}").unwrap();
    }
    out.push_str(FORMS);
    out.push('\n');
    for generic in &generics {
        one(&mut out, generic, reference);
    }
    for (name, own, other, function) in BY_COUNT {
        let most = *own.max(other);
        let mut list = vec!["0".to_owned(); most + 1];
        // The choice stands at place most + 1 counted from the first argument.
        list[most - own] = format!("({name})");
        list[most - other] = (*function).to_owned();
        writeln!(
            out,
            "\n#define {name}(...) \\\n    SHMEMI_ARG_{}(__VA_ARGS__, {})(__VA_ARGS__)",
            most + 1,
            list.join(", ")
        )
        .unwrap();
    }
    out.push_str("\n#endif\n");
    out
}

fn c_type(c: &str) -> &str {
    match c {
        "float _Complex" => "shmemi_complexf",
        "double _Complex" => "shmemi_complexd",
        other => other,
    }
}

/// How a routine that has a form with a context gets to one of its functions. The name of the set and of the routine
/// are pasted, so that a program's macros of these names change nothing.
const FORMS: &str = r"
#define SHMEMI_GENERIC(set, name, pointer, ...) \
    SHMEMI_SELECT_##set(pointer, shmem_, _##name)(pointer, __VA_ARGS__)
#define SHMEMI_CTX_GENERIC(set, name, ctx, pointer, ...) \
    SHMEMI_SELECT_##set(pointer, shmem_ctx_, _##name)(ctx, pointer, __VA_ARGS__)
";

fn one(out: &mut String, generic: &Generic<'_>, reference: &Reference) {
    let (name, set, suffix) = (generic.name, generic.set(), generic.suffix());
    let forms = generic.forms();
    let words = doc::of_macro(reference, name);
    let params = forms[0].params();
    let at = params.iter().position(|(ty, _)| ty.contains("TYPE")).expect("a typed parameter");
    if let [_, with_ctx] = &forms[..] {
        assert_eq!(at, 0, "{name}: the pointer is the first argument after the context");
        let (n, short) = (with_ctx.params().len(), suffix.trim_start_matches('_'));
        writeln!(
            out,
            "#define {name}(...) {words}\\\n    SHMEMI_ARG_{}(__VA_ARGS__, SHMEMI_CTX_GENERIC, SHMEMI_GENERIC, \
                0)({set}, {short}, __VA_ARGS__)",
            n + 1
        )
        .unwrap();
        return;
    }
    let lead: Vec<&str> = params[..=at].iter().map(|(_, n)| n.as_str()).collect();
    let (lead, pointer) = (lead.join(", "), &params[at].1);
    writeln!(
        out,
        "#define {name}({lead}, ...) {words}\\\n    SHMEMI_SELECT_{set}({pointer}, shmem_, {suffix})({lead}, \
            __VA_ARGS__)"
    )
    .unwrap();
}
