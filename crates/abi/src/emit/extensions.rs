//! `shmemx.h`: the extensions of OpenSHMEM.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{C_NOTE, constants, header};
use crate::generics::Generic;
use crate::reference::Reference;
use crate::table::Chapter;

/// `shmemx.h`.
pub fn header(chapters: &[Chapter], reference: &Reference) -> String {
    let mut text = format!(
        "{C_NOTE}/* Extensions of OpenSHMEM: hints of shmem_malloc_with_hints, symmetric spaces, and jobs that grow. \
            The\n * environment variables are listed in ferroshmem(7), and by oshmem_info. */\n#ifndef \
            SHMEMX_H\n#define SHMEMX_H\n\n#include <shmem.h>\n#include <shmem/extensions.h>\n\n\
            /* As in shmem.h. */\n#if defined(__cplusplus) && defined(__GNUC__) && !defined(SHMEMI_WARNINGS)\n#pragma \
            GCC system_header\n#endif\n\n"
    );
    text += &constants::extensions();
    text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    text += &header::extensions(chapters, reference);
    // Programs include headers of C in `extern "C"`, too, where templates and overloads need their own linkage.
    text += "#ifdef __cplusplus\n}\nextern \"C++\" {\n#endif\n\n";
    text += "#include <shmem/kernels.h>\n#include <shmem/nonblocking.h>\n\n";
    text += &group_reductions(chapters);
    text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    text
}

/// The type-generic reductions between groups, in C11 and in C++.
fn group_reductions(chapters: &[Chapter]) -> String {
    let families = chapters.iter().flat_map(|c| &c.families);
    let mut all: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for family in families.filter(|f| f.pattern.starts_with("shmemx_{T}_group_")) {
        let suffix = family.pattern.trim_start_matches("shmemx_{T}");
        all.entry(suffix).or_default().push(family);
    }
    let mut c = String::new();
    let mut sets: BTreeMap<Vec<String>, (Vec<&str>, &str)> = BTreeMap::new();
    for (suffix, families) in all {
        let generic = Generic { name: "", families };
        let set = generic.set();
        writeln!(
            c,
            "#define shmemx{suffix}(group, dest, ...) \\\n    SHMEMI_SELECT_{set}(dest, shmemx_, {suffix})(group, \
                dest, __VA_ARGS__)"
        )
        .unwrap();
        let mut types = generic.types();
        types.retain(|ty| !ty.c.contains("_Complex"));
        let types = types.iter().map(|ty| format!("({}, {})", ty.c, ty.name)).collect();
        sets.entry(types).or_insert_with(|| (Vec::new(), set)).0.push(suffix);
    }
    let mut cpp = String::new();
    for (types, (suffixes, set)) in sets {
        let all = suffixes.iter().map(|suffix| format!("    SHMEMI_GROUP_REDUCE({suffix}, TYPE, NAME)"));
        let all: Vec<String> = all.collect();
        writeln!(cpp, "#define SHMEMI_GROUP_{set}(TYPE, NAME) \\\n{}", all.join(" \\\n")).unwrap();
        for ty in types {
            writeln!(cpp, "SHMEMI_GROUP_{set}{ty}").unwrap();
        }
        writeln!(cpp, "#undef SHMEMI_GROUP_{set}").unwrap();
    }
    format!(
        "/* Reductions between groups, for all types. */\n#ifdef __cplusplus\n{GROUP_REDUCE}{cpp}#undef \
            SHMEMI_GROUP_REDUCE\n#elif defined(SHMEM_GENERIC_H)\n{c}#endif\n\n"
    )
}

const GROUP_REDUCE: &str = r"#define SHMEMI_GROUP_REDUCE(suffix, TYPE, name) \
    inline int shmemx##suffix(shmemx_group_t group, TYPE *dest, const TYPE *source, size_t nreduce) \
    { \
        return shmemx_##name##suffix(group, dest, source, nreduce); \
    }
";
