//! The constants, for C and for Rust.

use std::fmt::Write;

use super::{C_NOTE, RUST_NOTE};
use crate::constants::{EXTENSION_HANDLES, EXTENSIONS, HANDLES, SECTIONS, Section, VENDOR_STRING, needs};

/// `include/shmem/constants.h`.
pub fn c() -> String {
    let mut out = format!("{C_NOTE}#ifndef SHMEM_CONSTANTS_H\n#define SHMEM_CONSTANTS_H\n");
    out += &sections(SECTIONS);
    writeln!(out, "\n#define SHMEM_VENDOR_STRING \"{VENDOR_STRING}\"").unwrap();
    writeln!(out, "#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING").unwrap();
    let [soname, major, minor, patch] = needs();
    writeln!(
        out,
        "\n/* What shmem.h notes in programs: the number of the soname, and the version of the headers. */\n#define \
            SHMEMI_NEEDS \"{soname}, {major}, {minor}, {patch}\""
    )
    .unwrap();
    writeln!(out, "\n/* Handles. A context's lowest bit says that its PE numbers are the world's. */").unwrap();
    out += &handles(HANDLES);
    out.push_str("\n#endif\n");
    out
}

/// The constants of extensions.
pub fn extensions() -> String {
    sections(EXTENSIONS) + &handles(EXTENSION_HANDLES)
}

fn sections(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        writeln!(out, "\n/* {} */", section.title).unwrap();
        for c in section.constants() {
            writeln!(out, "#define {} {}", c.name, c.value).unwrap();
            if c.underscored {
                writeln!(out, "#define _{} {}", c.name, c.name).unwrap();
            }
        }
    }
    out
}

fn handles(handles: &[(&str, &str, usize)]) -> String {
    let mut out = String::new();
    for (name, ty, value) in handles {
        writeln!(out, "#define {name} ((({ty})(uintptr_t){value}))").unwrap();
    }
    out
}

/// The constants, in a module of `ferroshmem-sys`.
pub fn rust() -> String {
    let mut out = format!(
        "{RUST_NOTE}\n//! Constants of the C API, as `shmem/constants.h` defines them.\n#![allow(dead_code, reason \
            = \"complete, not only those used\")]\n\nuse std::ffi::{{c_int, c_long}};\n"
    );
    for section in SECTIONS.iter().chain(EXTENSIONS) {
        let title = section.title.replace("\n *", "\n//");
        writeln!(out, "\n// {title}\n").unwrap();
        for c in section.constants() {
            let value = c.value.trim_end_matches('L');
            writeln!(out, "/// `{}`.\npub(crate) const {}: {} = {value};", c.name, c.name, c.rust).unwrap();
        }
    }
    writeln!(out, "\n/// `SHMEM_VENDOR_STRING`.\npub(crate) const SHMEM_VENDOR_STRING: &str = \"{VENDOR_STRING}\";\n")
        .unwrap();
    writeln!(
        out,
        "/// What programs compiled with the headers of this version need: soname, and version.\npub(crate) const \
            NEEDS: [u32; 4] = {:?};\n",
        needs()
    )
    .unwrap();
    out.push_str("// Handles\n\n");
    for (name, _, value) in HANDLES.iter().chain(EXTENSION_HANDLES) {
        writeln!(out, "/// `{name}`.\npub(crate) const {name}: usize = {value};").unwrap();
    }
    let numbers = SECTIONS.iter().chain(EXTENSIONS).flat_map(|section| section.constants());
    let numbers = numbers.map(|c| format!("    (\"{}\", {}),\n", c.name, c.value.trim_end_matches('L')));
    let handles = HANDLES.iter().chain(EXTENSION_HANDLES);
    let rows: String = numbers.chain(handles.map(|(name, _, n)| format!("    (\"{name}\", {n}),\n"))).collect();
    writeln!(out, "\n/// All by their names.\npub(crate) const TABLE: &[(&str, i64)] = &[\n{rows}];").unwrap();
    out
}
