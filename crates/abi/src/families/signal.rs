//! Put with signal, and operations on signals.

use crate::family::{Family, family};
use crate::types::Group::{Mem, Rma, Single, Sizes};

const PUT: &str =
    "TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe";
const BODY: &str =
    "signal::put_signal({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), sig_addr, signal, sig_op, pe)";
const BODY_NBI: &str = "signal::put_signal_nbi({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), \
    sig_addr, signal, sig_op, pe)";

/// The families.
pub fn all() -> Vec<Family> {
    let f = family;
    let set = "uint64_t *sig_addr, uint64_t signal, int pe";
    vec![
        f("shmem_put_signal", "shmem_{ctx}{T}_put_signal", Rma, "void", PUT, BODY)
            .generic("shmem_put_signal")
            .test("PUT_SIGNAL"),
        f("shmem_put_signal", "shmem_{ctx}put{T}_signal", Sizes, "void", PUT, BODY).test("PUT_SIGNAL_SIZE"),
        f("shmem_put_signal", "shmem_{ctx}put{T}_signal", Mem, "void", PUT, BODY).test("PUT_SIGNAL_SIZE"),
        f("shmem_put_signal_nbi", "shmem_{ctx}{T}_put_signal_nbi", Rma, "void", PUT, BODY_NBI)
            .generic("shmem_put_signal_nbi")
            .test("PUT_SIGNAL"),
        f("shmem_put_signal_nbi", "shmem_{ctx}put{T}_signal_nbi", Sizes, "void", PUT, BODY_NBI).test("PUT_SIGNAL_SIZE"),
        f("shmem_put_signal_nbi", "shmem_{ctx}put{T}_signal_nbi", Mem, "void", PUT, BODY_NBI).test("PUT_SIGNAL_SIZE"),
        f("shmem_signal_set", "shmem_{ctx}signal_set", Single, "void", set, "signal::signal_set")
            .generic("shmem_signal_set")
            .test("SIGNAL_SET"),
        f("shmem_signal_add", "shmem_{ctx}signal_add", Single, "void", set, "signal::signal_add")
            .generic("shmem_signal_add")
            .test("SIGNAL_ADD"),
        f(
            "shmem_signal_fetch", "shmem_signal_fetch", Single, "uint64_t", "const uint64_t *sig_addr",
            "signal::signal_fetch",
        )
        .test("SIGNAL_FETCH"),
        f(
            "shmem_signal_wait_until",
            "shmem_signal_wait_until",
            Single,
            "uint64_t",
            "uint64_t *sig_addr, int cmp, uint64_t cmp_value",
            "signal::signal_wait_until",
        )
        .test("SIGNAL_WAIT_UNTIL"),
    ]
}
