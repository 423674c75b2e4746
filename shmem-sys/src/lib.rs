//! OpenSHMEM's C ABI: `libshmem.so` and `libshmem.a`.
//!
//! The functions in `generated` come from the table in `abi/`. Each is `pshmem_X`, with the
//! weak alias `shmem_X`, so that a tool may define its own `shmem_X`, linked statically or
//! dynamically, or preloaded (standard, "OpenSHMEM Profiling Interface").

#[macro_use]
mod entry;
mod generated;
mod interposition;
mod long_double;
mod native;
mod startup;

const _: () = {
    // The table's Rust types are those of LP64.
    assert!(size_of::<std::ffi::c_long>() == 8 && size_of::<usize>() == 8);
};
