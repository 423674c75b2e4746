//! The deprecated collectives on active sets: (first PE, log2 of the stride, number of PEs).

use crate::family::{Family, family};
use crate::types::Group::{self, OldArith, OldBits, OldOrder, OldSizes, Single};

const SET: &str = "int PE_start, int logPE_stride, int PE_size, long *pSync";
const BLOCK: &str =
    "TYPE *dest, const TYPE *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync";
const ROOTED: &str = "TYPE *dest, const TYPE *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int \
    PE_size, long *pSync";
const STRIDED: &str = "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int \
    logPE_stride, int PE_size, long *pSync";
const REDUCE: &str =
    "TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride, int PE_size, TYPE *pWrk, long *pSync";

/// (section, pattern, parameters, body, test)
#[rustfmt::skip]
const MOVES: &[(&str, &str, &str, &str, &str)] = &[
    ("shmem_alltoall", "shmem_alltoall{T}", BLOCK,
     "active::alltoall({n}, dest, source, bytes(nelems, {size}), (PE_start, logPE_stride, PE_size, pSync))",
     "OLD_ALLTOALL"),
    ("shmem_alltoalls", "shmem_alltoalls{T}", STRIDED,
     "active::alltoalls({n}, dest, source, dst, sst, nelems, {size}, (PE_start, logPE_stride, PE_size, pSync))",
     "OLD_ALLTOALLS"),
    ("shmem_broadcast", "shmem_broadcast{T}", ROOTED,
     "active::broadcast({n}, dest, source, bytes(nelems, {size}), PE_root, (PE_start, logPE_stride, PE_size, pSync))",
     "OLD_BROADCAST"),
    ("shmem_collect", "shmem_collect{T}", BLOCK,
     "active::collect({n}, dest, source, bytes(nelems, {size}), (PE_start, logPE_stride, PE_size, pSync))",
     "OLD_COLLECT"),
    ("shmem_collect", "shmem_fcollect{T}", BLOCK,
     "active::fcollect({n}, dest, source, bytes(nelems, {size}), (PE_start, logPE_stride, PE_size, pSync))",
     "OLD_COLLECT"),
];

/// `shmem_<type>_<name>_to_all`: types, name, operator, and the macro that tests it.
macro_rules! reduction {
    ($group:expr, $name:literal, $operator:literal, $test:literal) => {
        (
            $group,
            concat!("shmem_{T}_", $name, "_to_all"),
            concat!(
                "active::reduce::<{T}, ops::",
                $operator,
                ">({n}, dest, source, nreduce, (PE_start, logPE_stride, PE_size, pSync))"
            ),
            $test,
        )
    };
}

/// (types, pattern, body, test)
const REDUCTIONS: &[(Group, &str, &str, &str)] = &[
    reduction!(OldBits, "and", "And", "AND_TO_ALL"),
    reduction!(OldBits, "or", "Or", "OR_TO_ALL"),
    reduction!(OldBits, "xor", "Xor", "XOR_TO_ALL"),
    reduction!(OldOrder, "max", "Max", "MAX_TO_ALL"),
    reduction!(OldOrder, "min", "Min", "MIN_TO_ALL"),
    reduction!(OldArith, "sum", "Sum", "SUM_TO_ALL"),
    reduction!(OldArith, "prod", "Prod", "PROD_TO_ALL"),
];

/// The families.
pub fn all() -> Vec<Family> {
    let old = |section, pattern, group, params, body, test| {
        family(section, pattern, group, "void", params, body).deprecated().test(test)
    };
    let barrier = |name, body| old(name, name, Single, SET, body, "OLD_BARRIER");
    let mut all = vec![
        barrier("shmem_barrier", "active::barrier({n}, (PE_start, logPE_stride, PE_size, pSync))"),
        barrier("shmem_sync", "active::sync({n}, (PE_start, logPE_stride, PE_size, pSync))"),
    ];
    for &(section, pattern, params, body, test) in MOVES {
        all.push(old(section, pattern, OldSizes, params, body, test));
    }
    for &(group, pattern, body, test) in REDUCTIONS {
        all.push(old("shmem_reductions", pattern, group, REDUCE, body, test));
    }
    all
}
