//! `libshmem.so` and `libshmem.a`: all of `ferroshmem-sys`, and nothing else.

extern crate ferroshmem_sys;
