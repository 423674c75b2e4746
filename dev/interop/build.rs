//! Compiles the parts in C, against the `shmem.h` of the crate `ferroshmem-sys`.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=c");
    let include = env::var_os("DEP_SHMEM_INCLUDE").expect("ferroshmem-sys says where shmem.h is");
    cc::Build::new()
        .include(include)
        .files(["c/part.c", "c/loops.c"])
        .warnings(true)
        // Also in debug builds: the fast path is inlined by compilers that optimise.
        .opt_level(2)
        .compile("ferroshmem_interop_c");
}
