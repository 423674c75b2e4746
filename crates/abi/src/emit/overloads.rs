//! The type-generic routines for C++, as overloads: `shmem/overloads.h`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::C_NOTE;
use crate::family::declaration;
use crate::generics::{Generic, generics};
use crate::table::Chapter;
use crate::types::Group;

/// `include/shmem/overloads.h`.
pub fn overloads(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* C++ overloads, which correspond to the type-generic routines of C11. */\n#ifndef \
            SHMEM_OVERLOADS_H\n#define SHMEM_OVERLOADS_H\n\n{MACROS}\nextern \"C++\" {{\n"
    );
    let generics = generics(chapters);
    let mut sets: BTreeMap<String, Vec<&Generic<'_>>> = BTreeMap::new();
    for generic in &generics {
        sets.entry(set_name(generic)).or_default().push(generic);
    }
    for (set, generics) in &sets {
        writeln!(out, "\n#define SHMEMI_OVERLOADS_{set}(TYPE, NAME)").unwrap();
        for generic in generics {
            for form in generic.forms() {
                // The line before still lacks its continuation.
                out.insert_str(out.len() - 1, " \\");
                let ctx = if form.ctx { "ctx_" } else { "" };
                let function = format!("shmem_{ctx}##NAME##{}", generic.suffix());
                let macro_name = match generic.shape().inline {
                    Some(_) => "SHMEMI_EXPAND",
                    None => "SHMEMI_NAME",
                };
                writeln!(
                    out,
                    "    {macro_name}({}, \"shmem_{ctx}\" #NAME \"{}\", {})",
                    form.synopsis().expect("generic"),
                    generic.suffix(),
                    call(&form, |args| format!("{function}({args})"))
                )
                .unwrap();
            }
        }
        for ty in generics[0].types() {
            // C++ has this overload already: extern "C" shmem_wait_until(long *, int, long).
            if (set == "WAIT_UNTIL" && ty.c == "long") || ty.c.contains("_Complex") {
                continue;
            }
            writeln!(out, "SHMEMI_OVERLOADS_{set}({}, {})", ty.c, ty.name).unwrap();
        }
        writeln!(out, "#undef SHMEMI_OVERLOADS_{set}").unwrap();
    }
    complex(&mut out, chapters, &generics);
    out.push_str(BY_COUNT);
    out.push_str("\n} /* extern \"C++\" */\n\n#endif\n");
    out
}

fn set_name(generic: &Generic<'_>) -> String {
    match generic.name {
        "shmem_wait_until" => "WAIT_UNTIL".to_owned(),
        _ => generic.set().to_owned(),
    }
}

/// `return call(args)`
fn call(form: &crate::family::Symbol<'_>, call: impl Fn(&str) -> String) -> String {
    let args: Vec<String> = form.params().into_iter().map(|(_, name)| name).collect();
    let ret = if form.family.ret == "void" { "" } else { "return " };
    format!("{ret}{}", call(&args.join(", ")))
}

/// `inline synopsis { return call(args); }`
fn forward(synopsis: &str, form: &crate::family::Symbol<'_>, forwarded: impl Fn(&str) -> String) -> String {
    format!("SHMEMI_OVERLOAD {synopsis} {{ {}; }}", call(form, forwarded))
}

/// `std::complex` in place of C's complex types, for the functions and for the overloads.
fn complex(out: &mut String, chapters: &[Chapter], generics: &[Generic<'_>]) {
    out.push_str(COMPLEX);
    let arith: Vec<&Generic<'_>> = generics.iter().filter(|g| g.shape().group == Group::ReduceArith).collect();
    let standard = chapters.iter().filter(|c| !c.is_extension);
    for family in standard.flat_map(|c| &c.families) {
        let complex = family.symbols().into_iter().filter(|s| s.ty.c.contains("_Complex"));
        for symbol in complex {
            let (name, c) = (symbol.name(), symbol.ty.c);
            let cpp = if c.starts_with("float") { "shmemi_std<float>" } else { "shmemi_std<double>" };
            let plain = c.replace("float _Complex", "shmemi_complexf").replace("double _Complex", "shmemi_complexd");
            let synopsis = symbol.prototype().replace(c, cpp);
            let cast = |params: &[(String, String)]| {
                let args: Vec<String> = params
                    .iter()
                    .map(|(ty, arg)| match ty.contains("TYPE") {
                        true => format!("reinterpret_cast<{}>({arg})", ty.replace("TYPE", &plain)),
                        false => arg.clone(),
                    })
                    .collect();
                args.join(", ")
            };
            let args = cast(&symbol.params());
            let ret = symbol.family.ret;
            let template = |synopsis: &str, call: &str| {
                let rest = synopsis.strip_prefix(ret).expect("a synopsis begins with its type");
                let synopsis = format!("SHMEMI_IF_COMPLEX({cpp}, {ret}){rest}");
                let inner = forward(&synopsis, &symbol, |_| call.to_owned());
                format!("template <template <class> class shmemi_std> {inner}")
            };
            writeln!(out, "{}", template(&synopsis, &format!("{name}({args})"))).unwrap();
            if let Some(generic) = arith.iter().find(|g| Some(g.name) == family.generic) {
                let synopsis = |ty: &str| declaration(ret, generic.name, &symbol.family.params.replace("TYPE", ty));
                let call = format!("{name}({args})");
                writeln!(out, "{}", template(&synopsis(cpp), &call)).unwrap();
                let plain = synopsis(&plain);
                let plain = forward(&plain, &symbol, |args| format!("{name}({args})"));
                writeln!(out, "{plain}").unwrap();
            }
        }
    }
}

/// How an overload gets to its function of C.
const MACROS: &str = r"#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define SHMEMI_OVERLOAD inline __attribute__((__always_inline__, __artificial__))
#else
#define SHMEMI_OVERLOAD inline
#endif
/* An overload is another name of its function; a compiler takes three times as long for a definition. */
#if defined(__GNUC__)
#define SHMEMI_NAME(synopsis, function, call) synopsis __asm__(function);
#else
#define SHMEMI_NAME(synopsis, function, call) inline synopsis { call; }
#endif
/* The same where the function may be expanded. */
#ifdef SHMEMI_FAST_PATH
#define SHMEMI_EXPAND(synopsis, function, call) SHMEMI_OVERLOAD synopsis { call; }
#else
#define SHMEMI_EXPAND SHMEMI_NAME
#endif
";

/// A template matches `std::complex` without its declaration.
const COMPLEX: &str = r"
/* std::complex has the layout of C's complex types. A program that has such numbers includes
   <complex> itself, which takes twice as long to compile as all of this header. */
template <class C, class T, class R, bool = sizeof(C) == 2 * sizeof(T)> struct shmemi_if_complex {};
template <class C, class T, class R> struct shmemi_if_complex<C, T, R, true> { typedef R type; };
#define SHMEMI_IF_COMPLEX(C, R) typename shmemi_if_complex<C, typename C::value_type, R>::type
";

const BY_COUNT: &str = r"
SHMEMI_OVERLOAD int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
SHMEMI_OVERLOAD void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
SHMEMI_OVERLOAD void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
";
