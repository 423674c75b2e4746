//! The C sources of the library that Fortran programs call. Each routine of `shmem.fh` takes its arguments by reference
//! and has an underscore at the end of its name, as compilers expect; those of the module take descriptors.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::interface::{Role, interfaces};
use super::legacy::routines;
use crate::family::{Symbol, wrapped};
use crate::table::{Chapter, symbols};

/// What no row of the table says.
const BY_HAND: &str = include_str!("../templates/fortran/glue.c");
const MODULE_BY_HAND: &str = include_str!("../templates/fortran/module.c");

/// What the module calls, but for C's functions themselves.
pub(super) fn module(chapters: &[Chapter]) -> String {
    let mut out = MODULE_BY_HAND.to_owned();
    for interface in interfaces(chapters) {
        let (arguments, symbol) = (interface.arguments(), interface.symbol);
        if !interface.has_glue() || arguments.iter().any(|(_, _, role)| *role == Role::Text) {
            continue;
        }
        let parameter = |(ty, name, role): &(String, String, Role)| match role {
            Role::Buffer => format!("const struct descriptor *{name}"),
            Role::Count if !interface.wide => format!("int {name}"),
            _ => format!("{} {name}", ty.replace("TYPE", symbol.ty.c)),
        };
        let passed = |(_, name, role): &(String, String, Role)| match role {
            Role::Buffer => format!("ADDRESS({name})"),
            _ => name.clone(),
        };
        let parameters: Vec<String> = arguments.iter().map(parameter).collect();
        let passed: Vec<String> = arguments.iter().map(passed).collect();
        out += &function(symbol.family.ret, &interface.name(), &parameters, &symbol.name(), &passed);
    }
    out
}

/// The routines of `shmem.fh`.
pub(super) fn text(chapters: &[Chapter]) -> String {
    let symbols: BTreeMap<String, Symbol<'_>> = symbols(chapters).into_iter().map(|s| (s.name(), s)).collect();
    let mut out = BY_HAND.to_owned();
    for routine in routines() {
        let symbol = symbols.get(&routine.c).unwrap_or_else(|| panic!("{} calls no routine", routine.name));
        out += &definition(&routine.name, symbol);
    }
    out
}

/// The routine `name`, which calls `symbol`.
fn definition(name: &str, symbol: &Symbol<'_>) -> String {
    let of_type = |ty: &str| ty.replace("TYPE", symbol.ty.c);
    let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
    for (ty, parameter) in symbol.params() {
        if parameter == "pSync" {
            parameters.push("int *pSync".to_owned());
            arguments.push("aligned(pSync)".to_owned());
        } else if ty.ends_with('*') {
            parameters.push(format!("{}{parameter}", of_type(&ty)));
            arguments.push(parameter);
        } else {
            // What is no element has the default kind of INTEGER.
            let ty = if ty == "TYPE" { of_type(&ty) } else { "int".to_owned() };
            parameters.push(format!("const {ty} *{parameter}"));
            arguments.push(format!("*{parameter}"));
        }
    }
    let ret = of_type(symbol.family.ret);
    function(&ret, &format!("{name}_"), &parameters, &symbol.name(), &arguments)
}

/// The function `name`, which passes `arguments` to `callee`.
fn function(ret: &str, name: &str, parameters: &[String], callee: &str, arguments: &[String]) -> String {
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let result = if ret == "void" { "" } else { "return " };
    let mut out = String::new();
    writeln!(out, "\n{} {{", wrapped(&format!("{ret} {name}({parameters})"))).unwrap();
    writeln!(out, "    {result}{};\n}}", wrapped(&format!("{callee}({})", arguments.join(", ")))).unwrap();
    out
}
