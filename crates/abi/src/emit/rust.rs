//! The Rust side of the C ABI: one module per chapter.

use std::fmt::Write;

use super::{RUST_NOTE, checks, constants, interposed};
use crate::family::Symbol;
use crate::table::Chapter;

/// The sources that the crate `ferroshmem-sys` makes for itself, `mod.rs` and a file of each module: (name, text).
pub fn files(chapters: &[Chapter]) -> Vec<(String, String)> {
    let mut modules = vec![
        ("checks", checks::file(chapters)),
        ("constants", constants::rust()),
        ("inlined", interposed::rust(chapters)),
    ];
    modules.extend(chapters.iter().map(|c| (c.name, module(c))));
    // It is included, so it has no documentation of its own.
    let declare = |(name, _): &(&str, String)| format!("pub(crate) mod {name};\n");
    let declarations = modules.iter().map(declare).collect();
    let files = modules.into_iter().map(|(name, text)| (format!("{name}.rs"), text));
    files.chain([("mod.rs".to_owned(), declarations)]).collect()
}

fn module(chapter: &Chapter) -> String {
    let mut out = format!("{RUST_NOTE}\n//! {}.\n\nuse crate::entry::*;\n\nc_api! {{\n", chapter.title);
    for symbol in chapter.families.iter().flat_map(|f| f.symbols()) {
        if !in_c(&symbol) {
            writeln!(out, "    {}", entry(&symbol)).unwrap();
        }
    }
    out.push_str("}\n");
    out
}

/// Whether the function is written in C: variadic, or `long double` by value.
pub fn in_c(symbol: &Symbol<'_>) -> bool {
    let by_value = symbol.family.ret == "TYPE" || symbol.params().iter().any(|(ty, _)| ty == "TYPE");
    symbol.family.body.is_empty() || (symbol.ty.c == "long double" && by_value)
}

/// One line of `c_api!`.
fn entry(symbol: &Symbol<'_>) -> String {
    let rust = |c: &str| rust_type(c, symbol);
    let params: Vec<String> = symbol.params().iter().map(|(ty, name)| format!("{name}: {}", rust(ty))).collect();
    let ret = match symbol.family.ret {
        "void" => String::new(),
        other => format!(" -> {}", rust(other)),
    };
    let name = symbol.name();
    let body = symbol
        .family
        .call()
        .replace("{n}", &format!("\"{name}\""))
        .replace("{T}", symbol.ty.rust)
        .replace("{size}", &symbol.ty.size.to_string())
        .replace("{ctx}", if symbol.ctx { "ctx" } else { "SHMEM_CTX_DEFAULT" });
    let check = checks::call(symbol);
    let line = format!("\"{name}\" [{check}] ({}){ret} = {body};", params.join(", "));
    identifier(&line)
}

/// `text` with identifiers as Rust writes them: the standard's capitals are not Rust's.
pub fn identifier(text: &str) -> String {
    [("PE_", "pe_"), ("pSync", "psync"), ("pWrk", "pwrk")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The Rust type of a C parameter type where it does not matter what a pointer points to.
pub fn erased(c: &str, symbol: &Symbol<'_>) -> String {
    if c.ends_with('*') { "*const c_void".to_owned() } else { rust_type(c, symbol) }
}

/// The Rust type of a C parameter type.
fn rust_type(c: &str, symbol: &Symbol<'_>) -> String {
    // As of execv.
    if c == "char *const *" {
        return "*const *const c_char".to_owned();
    }
    if let Some(pointee) = c.strip_suffix('*') {
        let pointee = pointee.trim_end();
        return match pointee.strip_prefix("const ") {
            Some(pointee) => format!("*const {}", rust_type(pointee, symbol)),
            None => format!("*mut {}", rust_type(pointee, symbol)),
        };
    }
    match c {
        "TYPE" => symbol.ty.rust,
        "int" => "c_int",
        "long" => "c_long",
        "char" => "c_char",
        "void" => "c_void",
        "size_t" => "usize",
        "ptrdiff_t" => "isize",
        "uint64_t" => "u64",
        "shmem_team_t"
        | "shmem_ctx_t"
        | "shmemx_space_t"
        | "shmemx_group_t"
        | "shmemx_request_t"
        | "shmemx_msg_request_t"
        | "shmemx_req_h"
        | "shmemx_stream_t"
        | "shmemx_graph_t" => "usize",
        "shmemx_msg_status_t" => "MessageStatus",
        "shmemx_kernel_call_t" => "KernelCall",
        "shmemx_op_function_t" => "c_void",
        "shmemx_kernel_t" => "Kernel",
        "shmemx_spawn_config_t" => "SpawnConfig",
        "shmemx_space_config_t" => "SpaceConfig",
        "shmemx_blocks_t" => "Strided",
        "shmem_team_config_t" => "TeamConfig",
        "shmem_ctx_session_config_t" => "SessionConfig",
        other => panic!("{}: no Rust type for C type {other}", symbol.name()),
    }
    .to_owned()
}
