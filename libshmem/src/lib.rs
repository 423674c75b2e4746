//! `libshmem.a`: the crate `ferroshmem-sys`, linked as a C library. `cargo xtask install` makes `libshmem.so` of it.

extern crate ferroshmem_sys;
