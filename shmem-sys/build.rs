//! Writes the exported functions from the table in `crates/abi`, compiles the C part, and passes the folder of the
//! headers to the build scripts of crates with C of their own.

use std::path::PathBuf;
use std::{env, fs};

use ferroshmem_abi::emit::rust;
use ferroshmem_abi::table;

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let generated = out.join("generated");
    fs::create_dir_all(&generated).expect("OUT_DIR is writable");
    for (name, text) in rust::files(&table::chapters()) {
        fs::write(generated.join(name), text).expect("OUT_DIR is writable");
    }
    let compiled = cc::Build::new()
        .file("c/long_double.c")
        .file("c/variadic.c")
        .file("c/stdio.c")
        .warnings(true)
        .pic(true)
        .cargo_metadata(false)
        .try_compile("shmem_c");
    if let Err(why) = compiled {
        let why = why.to_string();
        let why = why.lines().next().unwrap_or_default();
        println!(
            "cargo::error=parts of this crate are in C, and they cannot be compiled ({why}): install gcc or clang, or \
                name a compiler in CC; the crate ferroshmem alone needs none"
        );
        return;
    }
    // The whole archive: Rust refers to only some of its functions.
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static:+whole-archive=shmem_c");

    // Their variable is DEP_SHMEM_INCLUDE.
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo:include={}", package.join("include").display());
}
