//! A family: one routine of the standard, written once for all of its types.

use crate::types::{Group, Type};

/// Standing of a routine in OpenSHMEM 1.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Current.
    Current,
    /// Deprecated: still to be provided.
    Deprecated,
    /// Not in the standard (any more), but used by programs.
    Extension,
}

impl Status {
    /// The status' name in the standard's lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Deprecated => "deprecated",
            Self::Extension => "extension",
        }
    }
}

/// One routine for a group of types.
///
/// In `pattern`, `{T}` stands for the type's name and `{ctx}` for the two forms without and
/// with a context. In `params` and `ret`, `TYPE` stands for the type. `body` is a Rust expression,
/// in which `{n}` is the C name as a string, `{T}` the Rust type, `{size}` its bytes, and `{ctx}`
/// the context; or a function's path, which is called with the name, the context of a family that
/// has such forms, and the parameters. An empty body means that the function is written in C.
#[derive(Debug, Clone)]
pub struct Family {
    /// C name.
    pub pattern: &'static str,
    /// Types.
    pub group: Group,
    /// Standing.
    pub status: Status,
    /// Section of the standard, by the name in its lists.
    pub section: &'static str,
    /// C return type.
    pub ret: &'static str,
    /// C parameters, less the context.
    pub params: &'static str,
    /// What the Rust function does.
    pub body: &'static str,
    /// Name of the type-generic form that selects among the family, if it has one.
    pub generic: Option<&'static str>,
    /// Whether the standard lists the type-generic form.
    pub generic_listed: bool,
    /// Macro of `shmem/native.h` that defines the family inline, if it is inlined.
    pub inline: Option<&'static str>,
    /// Macro of the test program's head that calls the family.
    pub test: &'static str,
}

/// Families of one routine each: pattern, return type, parameters, body. The section of a current one has its name.
pub fn singles(status: Status, rows: &[[&'static str; 4]]) -> Vec<Family> {
    let single = |&[pattern, ret, params, body]: &[&'static str; 4]| {
        let section = match status {
            Status::Current => pattern,
            Status::Deprecated => "backmatter",
            Status::Extension => "",
        };
        let family = family(section, pattern, Group::Single, ret, params, body);
        Family { generic_listed: status != Status::Extension, status, ..family }
    };
    rows.iter().map(single).collect()
}

/// A family of current routines; the builder methods set what differs from that.
pub fn family(
    section: &'static str,
    pattern: &'static str,
    group: Group,
    ret: &'static str,
    params: &'static str,
    body: &'static str,
) -> Family {
    Family {
        pattern,
        group,
        status: Status::Current,
        section,
        ret,
        params,
        body,
        generic: None,
        generic_listed: true,
        inline: None,
        test: "",
    }
}

impl Family {
    /// Deprecated by the standard.
    pub fn deprecated(self) -> Self {
        Self { status: Status::Deprecated, ..self }
    }

    /// Not in the standard.
    pub fn extension(self) -> Self {
        Self { status: Status::Extension, generic_listed: false, ..self }
    }

    /// Selected by type-generic `name`.
    pub fn generic(self, name: &'static str) -> Self {
        Self { generic: Some(name), ..self }
    }

    /// Defined inline by macro `name`.
    pub fn inline(self, name: &'static str) -> Self {
        Self { inline: Some(name), ..self }
    }

    /// Called in the test program by macro `name`.
    pub fn test(self, name: &'static str) -> Self {
        Self { test: name, ..self }
    }

    /// The call that its functions make, with what stands for their names, types and contexts.
    pub fn call(&self) -> String {
        let body = self.body;
        if body.is_empty() || body.contains(['(', '{', ' ']) && !body.ends_with('>') {
            return body.to_owned();
        }
        // Atomics have old names without forms that take a context.
        let context = if self.has_ctx() || body.starts_with("amo::") { ", {ctx}" } else { "" };
        let form = Symbol { family: self, ty: self.group.types()[0], ctx: false };
        let arguments: String = form.params().iter().map(|(_, name)| format!(", {name}")).collect();
        format!("{body}({{n}}{context}{arguments})")
    }

    /// Whether the family has a second form with a context.
    pub fn has_ctx(&self) -> bool {
        self.pattern.contains("{ctx}")
    }

    /// The family's functions.
    pub fn symbols(&self) -> Vec<Symbol<'_>> {
        let forms: &[bool] = if self.has_ctx() { &[false, true] } else { &[false] };
        let types = self.group.types();
        forms.iter().flat_map(|&ctx| types.iter().map(move |&ty| Symbol { family: self, ty, ctx })).collect()
    }
}

/// One function of the C API.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'a> {
    /// The family it belongs to.
    pub family: &'a Family,
    /// Its type.
    pub ty: Type,
    /// Whether it takes a context.
    pub ctx: bool,
}

impl Symbol<'_> {
    /// C name.
    pub fn name(&self) -> String {
        let ctx = if self.ctx { "ctx_" } else { "" };
        self.family.pattern.replace("{ctx}", ctx).replace("{T}", self.ty.name)
    }

    /// Name of the function in the profiling interface.
    pub fn profiling_name(&self) -> String {
        format!("p{}", self.name())
    }

    /// C parameters as in the prototype, with `TYPE` not yet replaced.
    fn generic_params(&self) -> String {
        match (self.ctx, self.family.params) {
            (false, "") => "void".to_owned(),
            (false, params) => params.to_owned(),
            (true, "") => "shmem_ctx_t ctx".to_owned(),
            (true, params) => format!("shmem_ctx_t ctx, {params}"),
        }
    }

    /// The prototype without semicolon, for a function named `name`.
    pub fn prototype_as(&self, name: &str) -> String {
        let params = self.generic_params();
        replace_type(&declaration(self.family.ret, name, &params), self.ty.c)
    }

    /// The prototype without semicolon.
    pub fn prototype(&self) -> String {
        self.prototype_as(&self.name())
    }

    /// The synopsis of the type-generic form, if the family has one.
    pub fn synopsis(&self) -> Option<String> {
        let name = self.family.generic?;
        Some(declaration(self.family.ret, name, &self.generic_params()))
    }

    /// Parameters as (type, name), with `TYPE` for the family's type; variadic ones left out.
    pub fn params(&self) -> Vec<(String, String)> {
        self.generic_params()
            .split(", ")
            .filter(|p| !matches!(*p, "void" | "..."))
            .map(|p| {
                let at = p.rfind([' ', '*']).expect("parameters are named") + 1;
                (p[..at].trim_end().to_owned(), p[at..].to_owned())
            })
            .collect()
    }
}

/// `ret name(params)`, with the star of a returned pointer at the name.
pub fn declaration(ret: &str, name: &str, params: &str) -> String {
    let space = if ret.ends_with('*') { "" } else { " " };
    format!("{ret}{space}{name}({params})")
}

/// Breaks a C declaration after commas so that lines stay within 120 columns, also if they end in ` \`.
pub fn wrapped(declaration: &str) -> String {
    wrapped_to(declaration, 117)
}

/// Breaks it so that all but commas stay within so many columns.
pub fn wrapped_to(declaration: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (i, part) in declaration.split(", ").enumerate() {
        if i > 0 {
            out.push(',');
            if column + part.len() + 2 > columns {
                out.push_str("\n    ");
                column = 4;
            } else {
                out.push(' ');
                column += 2;
            }
        }
        out.push_str(part);
        column += part.len();
    }
    out
}

/// Puts `c` for the word `TYPE`.
fn replace_type(text: &str, c: &str) -> String {
    text.replace("TYPE", c)
}
