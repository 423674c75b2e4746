//! The checks of `SHMEM_CHECK=1`: one Rust function for each function of the runtime, which the exported
//! functions call before it.

use std::fmt::Write;

use super::RUST_NOTE;
use super::rust::{erased, identifier};
use crate::family::{Family, Symbol};
use crate::roles::{self, Extent, Role};
use crate::table::Chapter;
use crate::types::Group;

/// The checks, in a module of `ferroshmem-sys`.
pub fn file(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{RUST_NOTE}\n//! The checks of the arguments, by their roles.\n\nuse ferroshmem_api::check::{{self, Check, \
            Concerns, Extent, Kind, Recorded}};\n\nuse crate::entry::*;\n"
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

/// Whether some argument is looked at with checks on alone, or calls are recorded. Those of no kind in particular are
/// recorded where there is a check: a second copy of each would be large.
pub fn is_checked(family: &Family) -> bool {
    has_checks(family) || roles::kind(family).is_some_and(|kind| kind != "Other")
}

fn has_checks(family: &Family) -> bool {
    let roles = roles::of(family);
    roles.iter().any(|(_, role)| roles::needs_check(*role))
}

/// Whether a parameter whose value is not checked is recorded: how much is allocated or sent, and to whom.
fn is_recorded(family: &Family, name: &str) -> bool {
    let function = roles::function(family);
    let names: &[&str] = match roles::kind(family) {
        Some("Allocate") => &["size", "count"],
        Some("Send" | "Receive") if function.starts_with("message::") => &["nbytes", "pe"],
        _ => &[],
    };
    names.contains(&name)
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
            !matches!(role, Role::Value | Role::GroupOrInvalid) || is_mask(name) || is_recorded(family, name)
        });
    seen.copied().collect()
}

/// Whether the check gets a context, given or default.
fn has_ctx(family: &Family) -> bool {
    family.call().contains("{ctx}")
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
    let mut arguments =
        vec![format!("\"{}\"", symbol.name()), element(symbol).0.to_string(), element(symbol).1.to_string()];
    if has_ctx(family) {
        arguments.push(if symbol.ctx { "ctx" } else { "SHMEM_CTX_DEFAULT" }.to_owned());
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
    let record = record(family, &parameters);
    let checks = if has_checks(family) { body(family, &parameters) } else { String::new() };
    let call = if checks.is_empty() { "_call" } else { "call" };
    let body = format!("{record}    let Some({call}) = Check::of(routine) else {{ return }};\n{checks}");
    let used = |name: &str| {
        let is_used = [format!(", {name})"), format!("({name})"), format!(" {name},"), format!("{name}.addr()")];
        if is_used.iter().any(|u| body.contains(u)) { "" } else { "_" }
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
        // Beside the size of the elements.
        let id = match *name {
            "size" => "asked".to_owned(),
            name => identifier(name),
        };
        declared.push(format!("{id}: {}", erased(ty, symbol)));
    }
    writeln!(
        out,
        "\n/// Of `{}`.\n#[cold]\n#[inline(never)]\n#[allow(unused_variables, clippy::too_many_arguments, reason \
            = \"the standard's prototypes\")]\npub(crate) fn {}({}) {{\n{body}}}",
        roles::function(family),
        name(family),
        declared.join(", "),
    )
    .unwrap();
}

/// The statement that begins to record the call, or nothing.
fn record(family: &Family, parameters: &[(&'static str, Role)]) -> String {
    let Some(kind) = roles::kind(family) else {
        return String::new();
    };
    let has = |wanted: Role| parameters.iter().find(|(_, role)| *role == wanted);
    let named = |wanted: &str| parameters.iter().any(|(name, _)| *name == wanted);
    let root = has(Role::Root).map_or("0".to_owned(), |(name, _)| identifier(name));
    let ctx = if has_ctx(family) { "ctx" } else { "SHMEM_CTX_DEFAULT" };
    let concerns = if has(Role::Pe).is_some() {
        format!("Concerns::Pe({ctx}, pe)")
    } else if has(Role::Start).is_some() {
        format!("Concerns::Set(pe_start, logpe_stride, pe_size, {root})")
    } else if has(Role::Team).is_some() {
        format!("Concerns::Team(team, {root})")
    } else if named("pe") && named("team") {
        "Concerns::TeamPe(team, pe)".to_owned()
    } else if matches!(kind, "Barrier" | "Allocate" | "Free") {
        "Concerns::World".to_owned()
    } else {
        "Concerns::None".to_owned()
    };
    let extent = parameters.iter().find_map(|(_, role)| match role {
        Role::Symmetric(e) | Role::Array(e) if *e != Extent::Bytes(32 * 8) => Some(*e),
        _ => None,
    });
    // What this PE contributes: not what all members do together.
    let bytes = match extent {
        _ if kind == "Allocate" && named("count") => "count.saturating_mul(asked)".to_owned(),
        _ if kind == "Allocate" => "asked".to_owned(),
        _ if named("nbytes") => "nbytes".to_owned(),
        Some(Extent::One) => "size".to_owned(),
        Some(Extent::Elements(n) | Extent::PerMember(n) | Extent::Strided(_, n) | Extent::StridedPerMember(_, n)) => {
            let is_int = parameters.iter().any(|(name, role)| *name == n && *role == Role::IntCount);
            let cast = if is_int { " as usize" } else { "" };
            format!("({}{cast}).saturating_mul(size)", identifier(n))
        }
        Some(Extent::Blocks(_, block, n)) => {
            format!("{block}.saturating_mul({n}).saturating_mul(size)")
        }
        _ => "0".to_owned(),
    };
    let symmetric: Vec<_> = parameters
        .iter()
        .filter(|(_, role)| matches!(role, Role::Symmetric(_) | Role::Array(_)))
        .map(|(name, _)| format!("{}.addr()", identifier(name)))
        .collect();
    let address = symmetric.first().cloned().unwrap_or_else(|| "0".to_owned());
    let has_signal = parameters.iter().any(|(name, _)| *name == "sig_addr");
    let signal = if has_signal && ["PutSignal", "Get"].contains(&kind) { "sig_addr.addr()" } else { "0" };
    format!(
        "    check::record(&Recorded {{ routine, kind: Kind::{kind}, concerns: {concerns}, bytes: {bytes}, address: \
            {address}, signal: {signal} }});\n"
    )
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
        line(format!("{binding}call.active_set(pe_start, logpe_stride, pe_size);"));
    }
    for (name, role) in parameters {
        let n = id(name);
        match role {
            Role::Pe => {
                let ctx = if has_ctx(family) { "ctx" } else { "SHMEM_CTX_DEFAULT" };
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
                line(format!("call.configuration(\"{name}\", {n}, (\"{mask}\", {}));", id(mask)));
                continue;
            }
            Role::Pes(count) => {
                line(format!("call.local(\"{name}\", {n}, call.elements((\"{count}\", {count}), 1, 4));"));
                continue;
            }
            _ => continue,
        };
        line(format!("let {n}_extent = {};", bytes(*extent)));
        for (stride, of) in parameters {
            let is_mine = matches!(extent, Extent::Strided(s, _) | Extent::Blocks(s, ..) if s == stride);
            if is_mine && *of == Role::SymmetricStride {
                line(format!("call.stride((\"{stride}\", {stride}), {n}_extent);"));
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
    let arrays = parameters.iter().filter(|(_, r)| matches!(r, Role::Array(_)));
    if arrays.count() == 2 {
        let may_be_same = match roles::function(family).rsplit("::").next() {
            Some("broadcast" | "reduce" | "scan") => "true",
            _ => "false",
        };
        line(format!("call.apart(dest, dest_extent, source, source_extent, {may_be_same});"));
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
    let elements = |n: &str, members: &str, size: &str| format!("call.elements((\"{n}\", {n}), {members}, {size})");
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
