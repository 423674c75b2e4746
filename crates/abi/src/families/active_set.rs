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
     "active::alltoall({n}, dest, source, bytes(nelems, {size}), PE_start, logPE_stride, PE_size, \
         pSync)", "OLD_ALLTOALL"),
    ("shmem_alltoalls", "shmem_alltoalls{T}", STRIDED,
     "active::alltoalls({n}, dest, source, dst, sst, nelems, {size}, PE_start, logPE_stride, PE_size, \
         pSync)", "OLD_ALLTOALLS"),
    ("shmem_broadcast", "shmem_broadcast{T}", ROOTED,
     "active::broadcast({n}, dest, source, bytes(nelems, {size}), PE_root, PE_start, logPE_stride, PE_size, \
         pSync)", "OLD_BROADCAST"),
    ("shmem_collect", "shmem_collect{T}", BLOCK,
     "active::collect({n}, dest, source, bytes(nelems, {size}), PE_start, logPE_stride, PE_size, \
         pSync)", "OLD_COLLECT"),
    ("shmem_collect", "shmem_fcollect{T}", BLOCK,
     "active::fcollect({n}, dest, source, bytes(nelems, {size}), PE_start, logPE_stride, PE_size, \
         pSync)", "OLD_COLLECT"),
];

/// (types, pattern, body, test)
#[rustfmt::skip]
const REDUCTIONS: &[(Group, &str, &str, &str)] = &[
    (OldBits, "shmem_{T}_and_to_all",
     "active::reduce::<{T}, ops::And>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "AND_TO_ALL"),
    (OldBits, "shmem_{T}_or_to_all",
     "active::reduce::<{T}, ops::Or>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, pSync)", "OR_TO_ALL"),
    (OldBits, "shmem_{T}_xor_to_all",
     "active::reduce::<{T}, ops::Xor>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "XOR_TO_ALL"),
    (OldOrder, "shmem_{T}_max_to_all",
     "active::reduce::<{T}, ops::Max>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "MAX_TO_ALL"),
    (OldOrder, "shmem_{T}_min_to_all",
     "active::reduce::<{T}, ops::Min>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "MIN_TO_ALL"),
    (OldArith, "shmem_{T}_sum_to_all",
     "active::reduce::<{T}, ops::Sum>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "SUM_TO_ALL"),
    (OldArith, "shmem_{T}_prod_to_all",
     "active::reduce::<{T}, ops::Prod>({n}, dest, source, nreduce, PE_start, logPE_stride, PE_size, \
         pSync)", "PROD_TO_ALL"),
];

/// The families.
pub fn all() -> Vec<Family> {
    let old = |section, pattern, group, params, body, test| {
        family(section, pattern, group, "void", params, body).deprecated().test(test)
    };
    let mut all = vec![
        old(
            "shmem_barrier",
            "shmem_barrier",
            Single,
            SET,
            "active::barrier({n}, PE_start, logPE_stride, PE_size, pSync)",
            "OLD_BARRIER",
        ),
        old(
            "shmem_sync",
            "shmem_sync",
            Single,
            SET,
            "active::sync({n}, PE_start, logPE_stride, PE_size, pSync)",
            "OLD_BARRIER",
        ),
    ];
    for &(section, pattern, params, body, test) in MOVES {
        all.push(old(section, pattern, OldSizes, params, body, test));
    }
    for &(group, pattern, body, test) in REDUCTIONS {
        all.push(old("shmem_reductions", pattern, group, REDUCE, body, test));
    }
    all
}
