//! The checks of `SHMEM_CHECK=1`: one Rust function for each function of the runtime, which the exported
//! functions call before it.

use std::fmt::Write;

use super::RUST_NOTE;
use super::rust::{erased, identifier};
use crate::family::{Family, Symbol};
use crate::roles::{self, Extent, Role};
use crate::table::Chapter;
use crate::types::Group;

/// `shmem-sys/src/generated/checks.rs`.
pub fn file(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{RUST_NOTE}\n//! The checks of the arguments, by their roles.\n\nuse ferroshmem_core::api::check::{{Check, Extent}};\n\nuse crate::entry::*;\n"
    );
    let mut done: Vec<&str> = Vec::new();
    for family in chapters.iter().flat_map(|c| &c.families) {
        let function = roles::function(family);
        if is_checked(family) && !done.contains(&function) {
            done.push(function);
            check(&mut out, family);
        }
    }
    out
}

/// Whether some argument is looked at with checks on alone.
pub fn is_checked(family: &Family) -> bool {
    roles::of(family)
        .iter()
        .any(|(_, role)| roles::needs_check(*role))
}

/// The name of the check of a function of the runtime.
fn name(family: &Family) -> String {
    roles::function(family).replace("::", "_")
}

/// The parameters that a check looks at: (name, role).
fn parameters(family: &Family) -> Vec<(&'static str, Role)> {
    let roles = roles::of(family);
    let is_mask = |name: &str| {
        let of = |role: &Role| matches!(role, Role::Configuration(mask) if *mask == name);
        roles.iter().any(|(_, role)| of(role))
    };
    let seen = roles
        .iter()
        // Groups the routines look at.
        .filter(|(name, role)| {
            !matches!(role, Role::Value | Role::GroupOrInvalid) || is_mask(name)
        });
    seen.copied().collect()
}

/// Whether the check gets a context, given or default.
fn has_ctx(family: &Family) -> bool {
    family.body.contains("{ctx}")
}

/// Bytes and alignment of a routine's elements. The routines that are no family of several types
/// and take a variable take a `long`.
pub fn element(symbol: &Symbol<'_>) -> (usize, usize) {
    match symbol.family.group {
        Group::Single => (8, 8),
        _ => (symbol.ty.size, symbol.ty.align()),
    }
}

/// The call of the check of a routine, or nothing.
pub fn call(symbol: &Symbol<'_>) -> String {
    let family = symbol.family;
    if !is_checked(family) {
        return String::new();
    }
    let types = symbol.params();
    let mut arguments = vec![
        format!("\"{}\"", symbol.name()),
        element(symbol).0.to_string(),
        element(symbol).1.to_string(),
    ];
    if has_ctx(family) {
        arguments.push(
            if symbol.ctx {
                "ctx"
            } else {
                "SHMEM_CTX_DEFAULT"
            }
            .to_owned(),
        );
    }
    for (name, _) in parameters(family) {
        let (ty, _) = types.iter().find(|(_, n)| n == name).expect("a parameter");
        let cast = if ty.ends_with('*') { ".cast()" } else { "" };
        arguments.push(format!("{}{cast}", identifier(name)));
    }
    format!("checks::{}({})", self::name(family), arguments.join(", "))
}

fn check(out: &mut String, family: &Family) {
    let symbol = &family.symbols()[0];
    let parameters = parameters(family);
    let body = body(family, &parameters);
    let used = |name: &str| {
        let is_used = [format!(", {name})"), format!("({name})")]
            .iter()
            .any(|u| body.contains(u));
        if is_used { "" } else { "_" }
    };
    let mut declared = vec![
        "routine: &'static str".to_owned(),
        format!("{}size: usize", used("size")),
        format!("{}align: usize", used("align")),
    ];
    if has_ctx(family) {
        declared.push("ctx: usize".to_owned());
    }
    for (name, _) in &parameters {
        let types = symbol.params();
        let (ty, _) = types.iter().find(|(_, n)| n == name).expect("a parameter");
        declared.push(format!("{}: {}", identifier(name), erased(ty, symbol)));
    }
    writeln!(
        out,
        "\n/// Of `{}`.\n#[cold]\n#[inline(never)]\n#[allow(clippy::too_many_arguments, reason = \"the standard's prototypes\")]\npub(crate) fn {}({}) {{\n    let call = Check::of(routine);\n{body}}}",
        roles::function(family),
        name(family),
        declared.join(", "),
    )
    .unwrap();
}

/// The statements: what arguments say by themselves, then how many bytes are accessed, then where.
fn body(family: &Family, parameters: &[(&'static str, Role)]) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "    {text}").unwrap();
    let id = identifier;
    if has_ctx(family) && roles::context(family) == Role::ContextOrInvalid {
        line("call.context(ctx);".to_owned());
    }
    let is_set = parameters.iter().any(|(_, role)| *role == Role::Start);
    let needs_members = parameters.iter().any(|(_, role)| {
        let of = |e: &Extent| matches!(e, Extent::PerMember(_) | Extent::StridedPerMember(..));
        matches!(role, Role::Array(e) if of(e)) || *role == Role::Root
    });
    let binding = if needs_members { "let members = " } else { "" };
    if is_set {
        line(format!(
            "{binding}call.active_set(pe_start, logpe_stride, pe_size);"
        ));
    }
    for (name, role) in parameters {
        let n = id(name);
        match role {
            Role::Pe => {
                let ctx = if has_ctx(family) {
                    "ctx"
                } else {
                    "SHMEM_CTX_DEFAULT"
                };
                line(format!("call.pe({ctx}, {n});"));
            }
            Role::ContextOrInvalid => line(format!("call.context({n});")),
            Role::Team => line(format!("{binding}call.team({n});")),
            Role::TeamOrInvalid => line(format!("call.team_or_invalid({n});")),
            Role::Root => line(format!("call.root({n}, members);")),
            Role::Comparison => line(format!("call.comparison({n});")),
            Role::SignalOperation => line(format!("call.signal_operation({n});")),
            Role::IntCount => line(format!("let {n} = call.count((\"{name}\", {n}));")),
            Role::PositiveStride => line(format!("call.positive_stride((\"{name}\", {n}));")),
            _ => {}
        }
    }
    for (name, role) in parameters {
        let n = id(name);
        let (method, extent, align) = match role {
            Role::Symmetric(e) | Role::Array(e) => ("symmetric", e, Some(align(*e))),
            Role::Read(e) | Role::OptionalRead(e) | Role::Write(e) => ("local", e, None),
            Role::Result(e) => ("variable", e, Some(align(*e))),
            Role::Configuration(mask) => {
                line(format!(
                    "call.configuration(\"{name}\", {n}, (\"{mask}\", {}));",
                    id(mask)
                ));
                continue;
            }
            Role::Pes(count) => {
                line(format!(
                    "call.local(\"{name}\", {n}, call.elements((\"{count}\", {count}), 1, 4));"
                ));
                continue;
            }
            _ => continue,
        };
        line(format!("let {n}_extent = {};", bytes(*extent)));
        for (stride, of) in parameters {
            let is_mine =
                matches!(extent, Extent::Strided(s, _) | Extent::Blocks(s, ..) if s == stride);
            if is_mine && *of == Role::SymmetricStride {
                line(format!(
                    "call.stride((\"{stride}\", {stride}), {n}_extent);"
                ));
            }
        }
        let align = align.map_or(String::new(), |a| format!(", {a}"));
        let call = format!("call.{method}(\"{name}\", {n}, {n}_extent{align});");
        if matches!(role, Role::OptionalRead(_)) {
            line(format!("if !{n}.is_null() {{ {call} }}"));
        } else {
            line(call);
        }
    }
    let arrays = parameters
        .iter()
        .filter(|(_, r)| matches!(r, Role::Array(_)));
    if arrays.count() == 2 {
        let may_be_same = match roles::function(family).rsplit("::").next() {
            Some("broadcast" | "reduce" | "scan") => "true",
            _ => "false",
        };
        line(format!(
            "call.apart(dest, dest_extent, source, source_extent, {may_be_same});"
        ));
    }
    out
}

/// The alignment of an extent's elements.
fn align(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => bytes.min(8).to_string(),
        Extent::ElementsOf(bytes, _) => bytes.to_string(),
        _ => "align".to_owned(),
    }
}

/// The expression of an extent.
fn bytes(extent: Extent) -> String {
    let elements = |n: &str, members: &str, size: &str| {
        format!("call.elements((\"{n}\", {n}), {members}, {size})")
    };
    match extent {
        Extent::One => "Extent::of(size)".to_owned(),
        Extent::Bytes(bytes) => format!("Extent::of({bytes})"),
        Extent::Elements(n) => elements(n, "1", "size"),
        Extent::ElementsOf(bytes, n) => elements(n, "1", &bytes.to_string()),
        Extent::PerMember(n) => elements(n, "members", "size"),
        Extent::Work(n) => format!("call.elements((\"{n}\", {n} / 2 + 1), 1, size)"),
        Extent::Strided(s, n) => {
            format!("call.strided((\"{s}\", {s}), (\"{n}\", 1), (\"{n}\", {n}), size)")
        }
        Extent::Blocks(s, b, n) => {
            format!("call.strided((\"{s}\", {s}), (\"{b}\", {b}), (\"{n}\", {n}), size)")
        }
        Extent::StridedPerMember(s, n) => format!(
            "call.strided((\"{s}\", {s}), (\"{n}\", 1), (\"{n}\", call.of_members((\"{n}\", {n}), members)), size)"
        ),
    }
}
