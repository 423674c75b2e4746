//! Collectives between groups, and contexts of groups (extension).

use crate::family::{Family, family};
use crate::types::Group::{ReduceArith, ReduceBits, ReduceBitsSigned, ReduceOrder, Single};

const REDUCE: &str = "shmemx_group_t group, TYPE *dest, const TYPE *source, size_t nreduce";

/// The reductions: operator in names, and body.
#[rustfmt::skip]
const REDUCTIONS: &[(&str, &str)] = &[
    ("shmemx_{T}_group_and_reduce", "group::reduce::<{T}, ops::And>"),
    ("shmemx_{T}_group_or_reduce", "group::reduce::<{T}, ops::Or>"),
    ("shmemx_{T}_group_xor_reduce", "group::reduce::<{T}, ops::Xor>"),
    ("shmemx_{T}_group_max_reduce", "group::reduce::<{T}, ops::Max>"),
    ("shmemx_{T}_group_min_reduce", "group::reduce::<{T}, ops::Min>"),
    ("shmemx_{T}_group_sum_reduce", "group::reduce::<{T}, ops::Sum>"),
    ("shmemx_{T}_group_prod_reduce", "group::reduce::<{T}, ops::Prod>"),
];

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_group_sync", "shmemx_group_t group", "group::sync"),
        ("shmemx_group_barrier", "shmemx_group_t group", "group::barrier"),
        ("shmemx_group_broadcastmem",
         "shmemx_group_t group, void *dest, const void *source, size_t nelems, int PE_root", "group::broadcast"),
        ("shmemx_group_fcollectmem",
         "shmemx_group_t group, void *dest, size_t dest_nelems, const void *source, size_t source_nelems",
         "group::fcollect"),
        ("shmemx_group_alltoallmem",
         "shmemx_group_t group, void *dest, size_t dest_nelems, const void *source, size_t source_nelems",
         "group::alltoall"),
        ("shmemx_group_create_ctx", "shmemx_group_t group, long options, shmem_ctx_t *ctx", "group::create_ctx"),
    ];
    let single = |(name, params, body)| family("", name, Single, "int", params, body).extension();
    let mut all: Vec<_> = rows.map(single).into();
    for (pattern, body) in REDUCTIONS {
        let types = match *pattern {
            p if ["_and_", "_or_", "_xor_"].iter().any(|op| p.contains(op)) => &[ReduceBits, ReduceBitsSigned][..],
            p if ["_max_", "_min_"].iter().any(|op| p.contains(op)) => &[ReduceOrder],
            _ => &[ReduceArith],
        };
        let reduce = |types| family("", pattern, types, "int", REDUCE, body).extension().test("GROUP_REDUCE");
        all.extend(types.iter().map(|types| reduce(*types)));
    }
    all
}
