//! Exports OpenSHMEM's C ABI; unlike most crates named `-sys` it does not bind a foreign library.
//!
//! It is all of `libshmem.so` and `libshmem.a`. A Rust program with parts in C depends on it to link
//! these parts, and its build script finds the headers by `DEP_SHMEM_INCLUDE`. The crate has no Rust
//! interface: for that, use the crate `ferroshmem`.
//!
//! The build script makes the functions in `generated` from the table in the crate `abi`. Each is `pshmem_X`, with the
//! weak alias `shmem_X`, so that a tool may define its own `shmem_X`, linked statically or
//! dynamically, or preloaded (standard, "OpenSHMEM Profiling Interface").
//!
//! The functions call `api`. Besides, the crate has what only a C library needs: its start before `main`, the answer to
//! tools that interpose functions, OpenMP's interface for tools.

#[macro_use]
mod entry;
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated/mod.rs"));
}
mod inline_counts;
mod interposition;
mod long_double;
mod native;
mod objects;
mod openmp;
mod operator;
mod startup;

const _: () = {
    use ferroshmem_api::constants as runtime;
    use ferroshmem_core::info;
    use generated::constants::*;

    // The table's Rust types are those of LP64.
    assert!(size_of::<std::ffi::c_long>() == 8 && size_of::<usize>() == 8);
    // The runtime and the header agree.
    let mut of_runtime = runtime::TABLE;
    while let [(name, value), rest @ ..] = of_runtime {
        let mut of_header = TABLE;
        while let [(other, _), rest @ ..] = of_header
            && !is_same(name, other)
        {
            of_header = rest;
        }
        assert!(matches!(of_header, [(_, other), ..] if *other == *value), "{}", *name);
        of_runtime = rest;
    }
    assert!(runtime::THREAD_MULTIPLE == SHMEM_THREAD_MULTIPLE && SHMEMX_ANY_SOURCE == -1 && SHMEMX_ANY_TAG == -1);
    assert!(info::SPEC_MAJOR == SHMEM_MAJOR_VERSION && info::SPEC_MINOR == SHMEM_MINOR_VERSION);
    assert!(info::MAX_NAME_LEN == SHMEM_MAX_NAME_LEN);
    assert!(info::VENDOR.len() == SHMEM_VENDOR_STRING.len());
};

const fn is_same(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b)
        && *x == *y
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    a.is_empty() && b.is_empty()
}
