//! Writes the functions of the C API, from the table in `crates/abi`, and compiles them.

use std::path::PathBuf;
use std::{env, fs};

use ferroshmem_abi::emit::checker;
use ferroshmem_abi::table;

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=../include");
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let functions = out.join("functions.c");
    fs::write(&functions, checker::functions(&table::chapters())).expect("OUT_DIR is writable");
    cc::Build::new()
        .file(functions)
        .file("c/library.c")
        .include("c")
        .include("../include")
        .define("SHMEM_NO_INLINE", None)
        .define("SHMEM_NO_GENERIC", None)
        // 2,000 functions that do the same: with "s", gcc takes 9 s for them instead of 6.
        .opt_level_str("1")
        .warnings(true)
        .pic(true)
        .cargo_metadata(false)
        .compile("shmem_check_c");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static:+whole-archive=shmem_check_c");
}
