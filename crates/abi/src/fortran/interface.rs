//! The routines of the module `shmem`: what each current one of the standard is in Fortran.

use crate::family::{Family, Status, Symbol, wrapped};
use crate::reference::display_name;
use crate::table::Chapter;
use crate::types::Group;

/// A type of elements.
#[derive(Debug)]
pub(super) struct Kind {
    /// Its name in C's functions.
    pub(super) name: &'static str,
    pub(super) fortran: &'static str,
    /// The C type of its size whose functions move it: C has no functions that move complex numbers.
    moved_as: &'static str,
}

const fn kind(name: &'static str, fortran: &'static str, moved_as: &'static str) -> Kind {
    Kind { name, fortran, moved_as }
}

/// The types of elements.
pub(super) const KINDS: &[Kind] = &[
    kind("int8", "integer(c_int8_t)", "int8"),
    kind("int16", "integer(c_int16_t)", "int16"),
    kind("int32", "integer(c_int32_t)", "int32"),
    kind("int64", "integer(c_int64_t)", "int64"),
    kind("float", "real(c_float)", "float"),
    kind("double", "real(c_double)", "double"),
    kind("complexf", "complex(c_float_complex)", "double"),
    kind("complexd", "complex(c_double_complex)", "longdouble"),
];

/// An address that is no argument of C's type.
const POINTER: &str = "type(c_ptr)";

/// What an argument is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Comes by value.
    Value,
    /// A scalar that comes by reference.
    Reference,
    /// An array of one dimension.
    List,
    /// Elements: a scalar or an array of any rank, as a descriptor.
    Buffer,
    /// A number of elements, or a stride: a default INTEGER or a `c_size_t`.
    Count,
    /// A text, as a descriptor.
    Text,
}

/// A routine: one of those that a generic name stands for.
#[derive(Debug)]
pub(super) struct Interface<'a> {
    /// The C function that it calls.
    pub(super) symbol: Symbol<'a>,
    /// The type of its elements, if it has one.
    pub(super) kind: Option<&'static Kind>,
    /// Numbers of elements have 8 bytes.
    pub(super) wide: bool,
}

/// All routines of the module, in table order.
pub(super) fn interfaces(chapters: &[Chapter]) -> Vec<Interface<'_>> {
    let families = chapters.iter().filter(|c| !c.is_extension).flat_map(|c| &c.families);
    let mut all = Vec::new();
    for family in families.filter(|family| family.status == Status::Current) {
        for (symbol, kind) in symbols(family) {
            let narrow = Interface { symbol, kind, wide: false };
            let has_counts = narrow.arguments().iter().any(|(_, _, role)| *role == Role::Count);
            all.push(narrow);
            all.extend(has_counts.then_some(Interface { symbol, kind, wide: true }));
        }
    }
    all
}

/// The routines of families as their page shows them: by generic names, and without the types of arguments.
pub fn synopses(families: &[&Family]) -> Vec<String> {
    let mut all = Vec::new();
    for family in families.iter().filter(|family| family.status == Status::Current) {
        let Some((symbol, kind)) = symbols(family).first().copied() else { continue };
        let interface = Interface { symbol, kind, wide: false };
        let name = family.generic.map_or_else(|| display_name(family, false), str::to_owned);
        let arguments: Vec<String> = interface.arguments().into_iter().map(|(_, name, _)| name).collect();
        let ctx = match (family.has_ctx(), arguments.is_empty()) {
            (true, true) => "[ctx]",
            (true, false) => "[ctx,] ",
            _ => "",
        };
        let what = match (family.ret, interface.result()) {
            ("TYPE", _) => "TYPE function".to_owned(),
            (_, Some(ty)) => format!("{ty} function"),
            _ => "subroutine".to_owned(),
        };
        let synopsis = continued(&format!("{what} {name}({ctx}{})", arguments.join(", ")));
        if !all.contains(&synopsis) {
            all.push(synopsis);
        }
    }
    all
}

/// A statement in lines.
pub(super) fn continued(statement: &str) -> String {
    wrapped(statement).replace(",\n", ", &\n")
}

/// The functions of a family that Fortran has types for.
fn symbols(family: &Family) -> Vec<(Symbol<'_>, Option<&'static Kind>)> {
    if matches!(family.group, Group::Single | Group::Sizes | Group::Mem) {
        return family.symbols().into_iter().map(|symbol| (symbol, None)).collect();
    }
    let by_value =
        family.ret == "TYPE" || family.params.split(", ").any(|p| p.starts_with("TYPE ") && !p.contains('*'));
    let is_move = family.group == Group::Rma && !by_value;
    let named = |kind: &'static Kind| if is_move { kind.moved_as } else { kind.name };
    let of_type = |symbol: Symbol<'_>, name| symbol.ty.name == name;
    let symbols = family.symbols();
    let forms = [false, true].into_iter().flat_map(|ctx| KINDS.iter().map(move |kind| (ctx, kind)));
    let found = forms.filter_map(|(ctx, kind)| {
        let symbol = symbols.iter().find(|symbol| symbol.ctx == ctx && of_type(**symbol, named(kind)))?;
        Some((*symbol, Some(kind)))
    });
    found.collect()
}

impl Interface<'_> {
    /// The name by which programs call it.
    pub(super) fn generic(&self) -> String {
        let name = || Symbol { ctx: false, ..self.symbol }.name();
        self.symbol.family.generic.map_or_else(name, str::to_owned)
    }

    /// Its own name, and that of what is called: the C function itself, or one that takes descriptors.
    pub(super) fn name(&self) -> String {
        let ctx = if self.symbol.ctx { "ctx_" } else { "" };
        let ty = self.kind.map_or(self.symbol.ty.name, |kind| kind.name);
        let name = self.symbol.family.pattern.replace("{ctx}", ctx).replace("{T}", ty);
        let suffix = if self.has_glue() { "_f08" } else { "" };
        format!("{name}{suffix}{}", if self.wide { "_c" } else { "" })
    }

    /// Whether C's function cannot be called as it is.
    pub(super) fn has_glue(&self) -> bool {
        let special = |role: &Role| matches!(role, Role::Buffer | Role::Count | Role::Text);
        self.symbol.family.params.contains("...") || self.arguments().iter().any(|(_, _, role)| special(role))
    }

    /// Its arguments: C type, name, and what it is.
    pub(super) fn arguments(&self) -> Vec<(String, String, Role)> {
        let params = self.symbol.params();
        let has_count = params.iter().any(|(ty, _)| ty == "size_t") && params.iter().any(|(ty, _)| is_constant(ty));
        let role = |ty: &str| match (base(ty), ty.ends_with('*')) {
            ("void", true) if !is_constant(ty) => Role::Value,
            ("void", true) => Role::Buffer,
            ("TYPE", true) if has_count => Role::Buffer,
            ("int" | "size_t", true) if has_count => Role::List,
            ("char", true) => Role::Text,
            (_, true) => Role::Reference,
            ("size_t" | "ptrdiff_t", false) if has_count => Role::Count,
            _ => Role::Value,
        };
        params.into_iter().map(|(ty, name)| (ty.clone(), name, role(&ty))).collect()
    }

    /// The declaration of an argument in Fortran, without its name.
    pub(super) fn declared(&self, ty: &str, name: &str, role: &Role) -> String {
        let intent = if is_constant(ty) { "intent(in)" } else { "intent(inout)" };
        // Those that C programs may leave out by NULL.
        let optional = if name == "status" || name.ends_with("config") && is_constant(ty) { ", optional" } else { "" };
        let pending = if self.symbol.family.pattern.ends_with("_nbi") { ", asynchronous" } else { "" };
        let of_type =
            if base(ty) == "void" && *role == Role::Value { POINTER.to_owned() } else { self.fortran(base(ty)) };
        match role {
            Role::Value => format!("{of_type}, value"),
            Role::Reference => format!("{of_type}, {intent}{optional}{pending}"),
            Role::List => format!("{of_type}, dimension(*), {intent}{optional}"),
            Role::Buffer => format!("{of_type}, dimension(..), {intent}{pending}"),
            Role::Count => format!("integer({}), value", if self.wide { "c_size_t" } else { "c_int" }),
            Role::Text => "character(kind=c_char, len=*), intent(out)".to_owned(),
        }
    }

    /// The type of its result.
    pub(super) fn result(&self) -> Option<String> {
        match self.symbol.family.ret {
            "void" => None,
            "void *" => Some(POINTER.to_owned()),
            ret => Some(self.fortran(ret)),
        }
    }

    fn fortran(&self, c: &str) -> String {
        match c {
            "TYPE" => self.kind.map_or("type(*)", |kind| kind.fortran).to_owned(),
            "int" | "long" | "size_t" => format!("integer(c_{c})"),
            "uint64_t" => "integer(c_int64_t)".to_owned(),
            handle if handle.starts_with("shmem_") => format!("type({handle})"),
            _ => "type(*)".to_owned(),
        }
    }
}

fn is_constant(ty: &str) -> bool {
    ty.starts_with("const ")
}

/// A type without `const` and `*`.
fn base(ty: &str) -> &str {
    ty.trim_start_matches("const ").trim_end_matches([' ', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_current_routine_is_there() {
        let chapters = crate::table::chapters();
        let families = chapters.iter().filter(|chapter| !chapter.is_extension).flat_map(|chapter| &chapter.families);
        for family in families.filter(|family| family.status == Status::Current) {
            let symbols = symbols(family);
            assert!(!symbols.is_empty(), "{} is not in the module", family.pattern);
            let has_ctx = symbols.iter().any(|(symbol, _)| symbol.ctx);
            assert_eq!(has_ctx, family.has_ctx(), "{}: contexts", family.pattern);
        }
    }
}
