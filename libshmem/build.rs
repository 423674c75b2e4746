//! Passes the shared library's exported names and soname to the linker.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    link_unwinder_statically();

    // rustc's own list of exports leaves out the weak names, which only the assembler knows.
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let exports = out.join("exports.map");
    fs::write(
        &exports,
        "{ global: shmem_*; pshmem_*; shmemi_native; shmemi_require_native; start_pes; pstart_pes; _my_pe; p_my_pe; _num_pes; p_num_pes; shmalloc; pshmalloc; shfree; pshfree; shrealloc; pshrealloc; shmemalign; pshmemalign; };\n",
    )
    .expect("OUT_DIR is writable");
    println!(
        "cargo:rustc-cdylib-link-arg=-Wl,--version-script={}",
        exports.display()
    );
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libshmem.so.1");
}

/// Rust's library needs the unwinder of gcc. Linked statically it saves every PE the loading
/// of one more shared library, which is a good part of its start-up time. Where the archive
/// is missing, the shared library serves.
fn link_unwinder_statically() {
    const ARCHIVE: &str = "libgcc_eh.a";
    let compiler = cc::Build::new().get_compiler();
    let found = compiler
        .to_command()
        .arg(format!("-print-file-name={ARCHIVE}"))
        .output();
    // The compiler prints the bare name of a file that it does not find.
    if let Ok(output) = found
        && let Ok(path) = String::from_utf8(output.stdout)
        && let Some(folder) = PathBuf::from(path.trim()).parent()
        && folder.is_absolute()
    {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}
