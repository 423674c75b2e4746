//! `libshmem-check.a`, of which `cargo xtask install` makes `libshmem-check.so`: functions of the C API that `oshrun
//! --check` puts before those of the library. They hand their arguments to the crate `ferroshmem-check`.

extern crate ferroshmem_check;
