//! `libshmem.so` and `libshmem.a`: the crate `ferroshmem-sys`, linked as C libraries.

extern crate ferroshmem_sys;
