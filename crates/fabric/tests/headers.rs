//! Compares `src/libfabric/bindings.rs` with the headers of libfabric, where they are installed: each constant, and
//! where each field lies.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

const BINDINGS: &str = include_str!("../src/libfabric/bindings.rs");

/// The size of a field, which is also its alignment but for a `fid`.
fn size(field_type: &str) -> usize {
    match field_type {
        "u32" | "c_int" => 4,
        "fid" => 24,
        "[*mut c_void; 8]" => 64,
        "u64" | "usize" | "fi_addr_t" => 8,
        pointer if pointer.starts_with('*') || pointer == "Unused" || pointer.starts_with("Option<") => 8,
        enumeration => {
            assert!(BINDINGS.contains(&format!("pub type {enumeration} = c_uint;")), "{enumeration}");
            4
        }
    }
}

/// The assertions, in C.
fn assertions() -> String {
    let mut c = String::from("#include <stddef.h>\n");
    for header in ["fabric", "fi_errno", "fi_eq", "fi_domain", "fi_endpoint", "fi_cm", "fi_rma", "fi_atomic"] {
        writeln!(c, "#include <rdma/{header}.h>").expect("a string");
    }
    let mut add = |condition: String| writeln!(c, "_Static_assert({condition}, \"\");").expect("a string");
    let (mut structure, mut end) = ("", 0);
    for line in BINDINGS.lines() {
        if let Some((name, value)) = line.strip_prefix("pub const ").and_then(|l| l.split_once(" = ")) {
            let name = name.split(':').next().expect("a name");
            add(format!("{name} == {}u", value.trim_end_matches(';')));
        } else if let Some(name) = line.strip_prefix("pub struct ") {
            (structure, end) = (name.trim_end_matches(" {"), 0);
        } else if let Some((name, field_type)) = line.strip_prefix("    pub ").and_then(|l| l.split_once(':')) {
            let field_type = match field_type.trim().trim_end_matches(',') {
                "" => "Option<", // rustfmt puts a long one into the next line
                field_type => field_type,
            };
            let size = size(field_type);
            let offset = usize::next_multiple_of(end, size.min(8));
            add(format!("offsetof(struct {structure}, {}) == {offset}", name.trim_end_matches('_')));
            end = offset + size;
        } else if line == "}" && !structure.starts_with("fi_ops") {
            add(format!("sizeof(struct {structure}) == {}", end.next_multiple_of(8)));
        }
    }
    c
}

#[test]
fn bindings_are_as_the_headers() {
    if !Path::new("/usr/include/rdma/fi_endpoint.h").exists() {
        println!("skipped: the headers of libfabric are missing (Debian: libfabric-dev)");
        return;
    }
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bindings.c");
    fs::write(&source, assertions()).expect("a file in the target folder");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler).arg("-fsyntax-only").arg(&source).output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
