//! Collectives on teams.

use crate::family::{Family, family};
use crate::types::Group::{self, Mem, ReduceArith, ReduceBits, ReduceBitsSigned, ReduceOrder, Rma, Single};

const BLOCK: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems";
const ROOTED: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root";
const STRIDED: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems";
const REDUCE: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce";

/// (section, typed pattern, untyped pattern, type-generic name, parameters, body, test)
type Row = [&'static str; 7];

#[rustfmt::skip]
const MOVES: &[Row] = &[
    ["shmem_alltoall", "shmem_{T}_alltoall", "shmem_alltoall{T}", "shmem_alltoall", BLOCK,
     "collective::alltoall({n}, team, dest.cast(), source.cast(), bytes(nelems, {size}))", "ALLTOALL"],
    ["shmem_alltoalls", "shmem_{T}_alltoalls", "shmem_alltoalls{T}", "shmem_alltoalls", STRIDED,
     "collective::alltoalls({n}, team, dest.cast(), source.cast(), dst, sst, nelems, {size})", "ALLTOALLS"],
    ["shmem_broadcast", "shmem_{T}_broadcast", "shmem_broadcast{T}", "shmem_broadcast", ROOTED,
     "collective::broadcast({n}, team, dest.cast(), source.cast(), bytes(nelems, {size}), PE_root)", "BROADCAST"],
    ["shmem_collect", "shmem_{T}_collect", "shmem_collect{T}", "shmem_collect", BLOCK,
     "collective::collect({n}, team, dest.cast(), source.cast(), bytes(nelems, {size}))", "COLLECT"],
    ["shmem_collect", "shmem_{T}_fcollect", "shmem_fcollect{T}", "shmem_fcollect", BLOCK,
     "collective::fcollect({n}, team, dest.cast(), source.cast(), bytes(nelems, {size}))", "COLLECT"],
];

/// (types, pattern, type-generic name, body, test)
#[rustfmt::skip]
const REDUCTIONS: &[(Group, &str, &str, &str, &str)] = &[
    (ReduceBits, "shmem_{T}_and_reduce", "shmem_and_reduce", "collective::reduce::<{T}, ops::And>", "AND_REDUCE"),
    (ReduceBits, "shmem_{T}_or_reduce", "shmem_or_reduce", "collective::reduce::<{T}, ops::Or>", "OR_REDUCE"),
    (ReduceBits, "shmem_{T}_xor_reduce", "shmem_xor_reduce", "collective::reduce::<{T}, ops::Xor>", "XOR_REDUCE"),
    (ReduceOrder, "shmem_{T}_max_reduce", "shmem_max_reduce", "collective::reduce::<{T}, ops::Max>", "MAX_REDUCE"),
    (ReduceOrder, "shmem_{T}_min_reduce", "shmem_min_reduce", "collective::reduce::<{T}, ops::Min>", "MIN_REDUCE"),
    (ReduceArith, "shmem_{T}_sum_reduce", "shmem_sum_reduce", "collective::reduce::<{T}, ops::Sum>", "SUM_REDUCE"),
    (ReduceArith, "shmem_{T}_prod_reduce", "shmem_prod_reduce", "collective::reduce::<{T}, ops::Prod>", "PROD_REDUCE"),
];

/// The families.
pub fn all() -> Vec<Family> {
    let mut all = vec![
        family("shmem_barrier_all", "shmem_barrier_all", Single, "void", "", "collective::barrier_all").test("CALL"),
        family("shmem_sync_all", "shmem_sync_all", Single, "void", "", "collective::sync_all").test("CALL"),
        family("shmem_sync", "shmem_team_sync", Single, "int", "shmem_team_t team", "collective::sync")
            .generic("shmem_sync")
            .test("TEAM_SYNC"),
    ];
    for &[section, typed, untyped, generic, params, body, test] in MOVES {
        all.push(family(section, typed, Rma, "int", params, body).generic(generic).test(test));
        all.push(family(section, untyped, Mem, "int", params, body).test(mem_test(test)));
    }
    for &(group, pattern, generic, body, test) in REDUCTIONS {
        let reduce =
            |group| family("shmem_reductions", pattern, group, "int", REDUCE, body).generic(generic).test(test);
        all.push(reduce(group));
        if group == ReduceBits {
            all.push(reduce(ReduceBitsSigned).extension());
        }
    }
    let scan = |pattern, generic, body, test| {
        family("shmem_scan", pattern, ReduceArith, "int", BLOCK, body).generic(generic).test(test)
    };
    all.extend([
        scan(
            "shmem_{T}_sum_inscan",
            "shmem_sum_inscan",
            "collective::scan::<{T}>({n}, team, dest, source, nelems, true)",
            "INSCAN",
        ),
        scan(
            "shmem_{T}_sum_exscan",
            "shmem_sum_exscan",
            "collective::scan::<{T}>({n}, team, dest, source, nelems, false)",
            "EXSCAN",
        ),
    ]);
    all
}

fn mem_test(test: &str) -> &'static str {
    match test {
        "ALLTOALL" => "ALLTOALL_SIZE",
        "ALLTOALLS" => "ALLTOALLS_SIZE",
        "BROADCAST" => "BROADCAST_SIZE",
        _ => "COLLECT_SIZE",
    }
}
