//! The C source of the library that Fortran programs call: each routine takes its arguments by reference and has an
//! underscore at the end of its name, as compilers expect.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::legacy::routines;
use crate::emit::wrapped;
use crate::family::Symbol;
use crate::table::{Chapter, symbols};

/// What no row of the table says.
const BY_HAND: &str = include_str!("../templates/fortran/glue.c");

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
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let ret = of_type(symbol.family.ret);
    let result = if ret == "void" { "" } else { "return " };
    let mut out = String::new();
    writeln!(out, "\n{} {{", wrapped(&format!("{ret} {name}_({parameters})"))).unwrap();
    writeln!(out, "    {result}{};\n}}", wrapped(&format!("{}({})", symbol.name(), arguments.join(", ")))).unwrap();
    out
}
