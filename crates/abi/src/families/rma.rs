//! Remote memory access: put, get, their strided, blocked and non-blocking forms, `p` and `g`.

use crate::family::{Family, family};
use crate::types::Group::{Mem, Rma, Sizes};

const BLOCK: &str = "TYPE *dest, const TYPE *source, size_t nelems, int pe";
const STRIDED: &str = "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe";
const BLOCKED: &str =
    "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe";
const P: &str = "TYPE *dest, TYPE value, int pe";
const G: &str = "const TYPE *source, int pe";

const PUT: &str = "rma::put({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe)";
const PUT_NBI: &str = "rma::put_nbi({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe)";
const GET: &str = "rma::get({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe)";
const GET_NBI: &str = "rma::get_nbi({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe)";
const IPUT: &str = "rma::iput({n}, {ctx}, dest.cast(), source.cast(), dst, sst, nelems, {size}, pe)";
const IGET: &str = "rma::iget({n}, {ctx}, dest.cast(), source.cast(), dst, sst, nelems, {size}, pe)";
const IBPUT: &str = "rma::ibput({n}, {ctx}, dest.cast(), source.cast(), dst, sst, bsize, nblocks, {size}, pe)";
const IBGET: &str = "rma::ibget({n}, {ctx}, dest.cast(), source.cast(), dst, sst, bsize, nblocks, {size}, pe)";

/// The families.
pub fn all() -> Vec<Family> {
    let f = family;
    vec![
        f("shmem_put", "shmem_{ctx}{T}_put", Rma, "void", BLOCK, PUT).generic("shmem_put").inline("PUT").test("PUT"),
        f("shmem_put", "shmem_{ctx}put{T}", Sizes, "void", BLOCK, PUT).inline("PUT_SIZE").test("PUT_SIZE"),
        f("shmem_put", "shmem_{ctx}put{T}", Mem, "void", BLOCK, PUT).inline("PUT_SIZE").test("PUT_SIZE"),
        f("shmem_p", "shmem_{ctx}{T}_p", Rma, "void", P, "rma::p").generic("shmem_p").inline("P").test("P"),
        f("shmem_iput", "shmem_{ctx}{T}_iput", Rma, "void", STRIDED, IPUT)
            .generic("shmem_iput")
            .inline("IPUT")
            .test("IPUT"),
        f("shmem_iput", "shmem_{ctx}iput{T}", Sizes, "void", STRIDED, IPUT).inline("IPUT_SIZE").test("IPUT_SIZE"),
        f("shmem_ibput", "shmem_{ctx}{T}_ibput", Rma, "void", BLOCKED, IBPUT)
            .generic("shmem_ibput")
            .inline("IBPUT")
            .test("IBPUT"),
        f("shmem_ibput", "shmem_{ctx}ibput{T}", Sizes, "void", BLOCKED, IBPUT).inline("IBPUT_SIZE").test("IBPUT_SIZE"),
        f("shmem_get", "shmem_{ctx}{T}_get", Rma, "void", BLOCK, GET).generic("shmem_get").inline("GET").test("GET"),
        f("shmem_get", "shmem_{ctx}get{T}", Sizes, "void", BLOCK, GET).inline("GET_SIZE").test("GET_SIZE"),
        f("shmem_get", "shmem_{ctx}get{T}", Mem, "void", BLOCK, GET).inline("GET_SIZE").test("GET_SIZE"),
        f("shmem_g", "shmem_{ctx}{T}_g", Rma, "TYPE", G, "rma::g").generic("shmem_g").inline("G").test("G"),
        f("shmem_iget", "shmem_{ctx}{T}_iget", Rma, "void", STRIDED, IGET)
            .generic("shmem_iget")
            .inline("IGET")
            .test("IGET"),
        f("shmem_iget", "shmem_{ctx}iget{T}", Sizes, "void", STRIDED, IGET).inline("IGET_SIZE").test("IGET_SIZE"),
        f("shmem_ibget", "shmem_{ctx}{T}_ibget", Rma, "void", BLOCKED, IBGET)
            .generic("shmem_ibget")
            .inline("IBGET")
            .test("IBGET"),
        f("shmem_ibget", "shmem_{ctx}ibget{T}", Sizes, "void", BLOCKED, IBGET).inline("IBGET_SIZE").test("IBGET_SIZE"),
        f("shmem_put_nbi", "shmem_{ctx}{T}_put_nbi", Rma, "void", BLOCK, PUT_NBI)
            .generic("shmem_put_nbi")
            .inline("PUT_NBI")
            .test("PUT"),
        f("shmem_put_nbi", "shmem_{ctx}put{T}_nbi", Sizes, "void", BLOCK, PUT_NBI)
            .inline("PUT_SIZE_NBI")
            .test("PUT_SIZE"),
        f("shmem_put_nbi", "shmem_{ctx}put{T}_nbi", Mem, "void", BLOCK, PUT_NBI)
            .inline("PUT_SIZE_NBI")
            .test("PUT_SIZE"),
        f("shmem_get_nbi", "shmem_{ctx}{T}_get_nbi", Rma, "void", BLOCK, GET_NBI)
            .generic("shmem_get_nbi")
            .inline("GET_NBI")
            .test("GET"),
        f("shmem_get_nbi", "shmem_{ctx}get{T}_nbi", Sizes, "void", BLOCK, GET_NBI)
            .inline("GET_SIZE_NBI")
            .test("GET_SIZE"),
        f("shmem_get_nbi", "shmem_{ctx}get{T}_nbi", Mem, "void", BLOCK, GET_NBI)
            .inline("GET_SIZE_NBI")
            .test("GET_SIZE"),
    ]
}
