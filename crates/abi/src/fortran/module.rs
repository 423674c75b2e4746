//! The source of the module `shmem`: interfaces alone, so that programs need nothing of it but the compiler's file.

use std::fmt::Write;

use super::interface::{Interface, continued, interfaces};
use crate::constants::{HANDLES, SECTIONS, VENDOR_STRING};
use crate::table::Chapter;

/// Types, and operators of handles.
const MODULE: &str = include_str!("../templates/fortran/module.f90");

pub(super) fn text(chapters: &[Chapter]) -> String {
    let mut generics: Vec<(String, Vec<Interface<'_>>)> = Vec::new();
    for interface in interfaces(chapters) {
        let name = interface.generic();
        match generics.iter_mut().find(|generic| generic.0 == name) {
            Some(generic) => generic.1.push(interface),
            None => generics.push((name, vec![interface])),
        }
    }
    let mut out = String::new();
    for (name, interfaces) in generics {
        writeln!(out, "  interface {name}").unwrap();
        out.extend(interfaces.iter().map(body));
        out += "  end interface\n";
    }
    MODULE.replace("{constants}\n", &constants()).replace("{interfaces}\n", &out)
}

fn constants() -> String {
    let mut out = String::new();
    let sections = SECTIONS.iter().filter(|section| !section.title.contains("deprecated"));
    for constant in sections.flat_map(|section| section.constants()) {
        let kind = if constant.rust == "c_long" { "c_long" } else { "c_int" };
        // Names of constants and of routines are alike in Fortran.
        let name = constant.name.replace("SHMEM_SIGNAL_", "SHMEM_SIGNAL_OP_");
        let value = constant.value.trim_end_matches('L');
        writeln!(out, "  integer({kind}), parameter :: {name} = {value}").unwrap();
    }
    writeln!(out, "  character(*), parameter :: SHMEM_VENDOR_STRING = '{VENDOR_STRING}'").unwrap();
    for (name, ty, value) in HANDLES {
        writeln!(out, "  type({ty}), parameter :: {name} = {ty}({value})").unwrap();
    }
    out
}

/// The interface body of a routine.
fn body(interface: &Interface<'_>) -> String {
    let arguments = interface.arguments();
    let names: Vec<&str> = arguments.iter().map(|(_, name, _)| name.as_str()).collect();
    let (what, end) = match interface.result() {
        Some(ty) => (format!("{ty} function"), "function"),
        None => ("subroutine".to_owned(), "subroutine"),
    };
    let head = format!("    {what} {}({}) bind(C)", interface.name(), names.join(", "));
    let mut out = continued(&head) + "\n      import\n";
    for (ty, name, role) in &arguments {
        writeln!(out, "      {} :: {name}", interface.declared(ty, name, role)).unwrap();
    }
    out + &format!("    end {end}\n")
}
