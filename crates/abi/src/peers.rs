//! Other OpenSHMEM libraries: in what their binary interfaces differ from this one's. A program that was compiled for
//! one runs here with a small library of that one's name (`emit::compat`).

/// Another library.
#[derive(Debug)]
pub struct Peer {
    /// The name that `oshrun --compat` knows.
    pub name: &'static str,
    /// Whose it is.
    pub whose: &'static str,
    /// The release whose header was read.
    pub version: &'static str,
    /// The name by which programs load it.
    pub soname: &'static str,
    /// Its comparisons, in the order of [`COMPARISONS`].
    pub comparisons: [i64; 6],
    /// Its options of contexts, in the order of [`OPTIONS`].
    pub options: [i64; 3],
    /// Its variables that are handles, and the handle that each is here.
    pub handles: &'static [(&'static str, &'static str)],
    /// Its initial value of work arrays, and their lengths, in the order of [`SYNC`]. Programs set arrays of these
    /// lengths to the value; collectives get others here.
    pub sync: [i64; 8],
    /// Constants that need no translation, with their values there.
    pub others: &'static [(&'static str, i64)],
    /// Routines by names that this library does not have, and its own. `{T}` stands for each of the types.
    pub renamed: &'static [Renamed],
    /// Parts of names of routines that it has as `shmemx_`, and this library as `shmem_`.
    pub promoted: &'static [&'static str],
}

/// A name there, what its `{T}` stands for, there and here, and the name here.
pub type Renamed = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// The names of comparisons.
pub const COMPARISONS: [&str; 6] =
    ["SHMEM_CMP_EQ", "SHMEM_CMP_NE", "SHMEM_CMP_GT", "SHMEM_CMP_GE", "SHMEM_CMP_LT", "SHMEM_CMP_LE"];

/// The names of options of contexts.
pub const OPTIONS: [&str; 3] = ["SHMEM_CTX_SERIALIZED", "SHMEM_CTX_PRIVATE", "SHMEM_CTX_NOSTORE"];

/// The names of the initial value of work arrays, and of their lengths.
pub const SYNC: [&str; 8] = [
    "SHMEM_SYNC_VALUE", "SHMEM_SYNC_SIZE", "SHMEM_BARRIER_SYNC_SIZE", "SHMEM_BCAST_SYNC_SIZE",
    "SHMEM_COLLECT_SYNC_SIZE", "SHMEM_REDUCE_SYNC_SIZE", "SHMEM_ALLTOALL_SYNC_SIZE", "SHMEM_ALLTOALLS_SYNC_SIZE",
];

const THREADS: [(&str, i64); 4] = [
    ("SHMEM_THREAD_SINGLE", 0),
    ("SHMEM_THREAD_FUNNELED", 1),
    ("SHMEM_THREAD_SERIALIZED", 2),
    ("SHMEM_THREAD_MULTIPLE", 3),
];

const OF_1_5: [(&str, i64); 9] = [
    THREADS[0],
    THREADS[1],
    THREADS[2],
    THREADS[3],
    ("SHMEM_SIGNAL_SET", 0),
    ("SHMEM_SIGNAL_ADD", 1),
    ("SHMEM_TEAM_NUM_CONTEXTS", 1),
    ("SHMEM_MAX_NAME_LEN", 256),
    ("sizeof(shmem_team_config_t)", 4),
];

const TEAMS: [(&str, &str); 3] = [
    ("SHMEM_CTX_DEFAULT", "SHMEM_CTX_DEFAULT"),
    ("SHMEM_TEAM_WORLD", "SHMEM_TEAM_WORLD"),
    ("SHMEM_TEAM_SHARED", "SHMEM_TEAM_SHARED"),
];

const SIGNED: &[(&str, &str)] = &[("int32", "int32"), ("int64", "int64")];
const BITS: &[(&str, &str)] = &[("int32", "int32"), ("int64", "int64"), ("uint32", "uint32"), ("uint64", "uint64")];
const SIZED: &[(&str, &str)] = &[("int16", "int16"), ("int32", "int32"), ("int64", "int64")];
const OLD: &[(&str, &str)] = &[("int16", "short"), ("int32", "int"), ("int64", "long")];
const ONE: &[(&str, &str)] = &[("", "")];

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "openmpi",
        whose: "Open MPI's",
        version: "4.1.4",
        soname: "liboshmem.so.40",
        comparisons: [0, 1, 2, 5, 4, 3],
        options: [2, 1, 4],
        sync: [-1, 3, 1, 2, 3, 3, 1, 1],
        handles: &[("oshmem_ctx_default", "SHMEM_CTX_DEFAULT")],
        others: &[THREADS[0], THREADS[1], THREADS[2], THREADS[3], ("SHMEM_MAX_NAME_LEN", 256)],
        renamed: &[
            ("shmemx_{T}_add", SIGNED, "shmem_{T}_atomic_add"),
            ("shmemx_{T}_inc", SIGNED, "shmem_{T}_atomic_inc"),
            ("shmemx_{T}_set", SIGNED, "shmem_{T}_atomic_set"),
            ("shmemx_{T}_swap", SIGNED, "shmem_{T}_atomic_swap"),
            ("shmemx_{T}_fetch", SIGNED, "shmem_{T}_atomic_fetch"),
            ("shmemx_{T}_fadd", SIGNED, "shmem_{T}_atomic_fetch_add"),
            ("shmemx_{T}_finc", SIGNED, "shmem_{T}_atomic_fetch_inc"),
            ("shmemx_{T}_cswap", SIGNED, "shmem_{T}_atomic_compare_swap"),
            ("shmemx_{T}_atomic_and", BITS, "shmem_{T}_atomic_and"),
            ("shmemx_{T}_atomic_or", BITS, "shmem_{T}_atomic_or"),
            ("shmemx_{T}_atomic_xor", BITS, "shmem_{T}_atomic_xor"),
            ("shmemx_{T}_atomic_fetch_and", BITS, "shmem_{T}_atomic_fetch_and"),
            ("shmemx_{T}_atomic_fetch_or", BITS, "shmem_{T}_atomic_fetch_or"),
            ("shmemx_{T}_atomic_fetch_xor", BITS, "shmem_{T}_atomic_fetch_xor"),
            ("shmemx_{T}_p", SIZED, "shmem_{T}_p"),
            ("shmemx_{T}_g", SIZED, "shmem_{T}_g"),
            ("shmemx_{T}_wait", SIGNED, "shmem_{T}_wait"),
            ("shmemx_{T}_wait_until", SIGNED, "shmem_{T}_wait_until"),
            ("shmemx_{T}_and_to_all", OLD, "shmem_{T}_and_to_all"),
            ("shmemx_{T}_or_to_all", OLD, "shmem_{T}_or_to_all"),
            ("shmemx_{T}_xor_to_all", OLD, "shmem_{T}_xor_to_all"),
            ("shmemx_{T}_max_to_all", OLD, "shmem_{T}_max_to_all"),
            ("shmemx_{T}_min_to_all", OLD, "shmem_{T}_min_to_all"),
            ("shmemx_{T}_sum_to_all", OLD, "shmem_{T}_sum_to_all"),
            ("shmemx_{T}_prod_to_all", OLD, "shmem_{T}_prod_to_all"),
            ("my_pe", ONE, "shmem_my_pe"),
            ("num_pes", ONE, "shmem_n_pes"),
        ],
        promoted: &[],
    },
    Peer {
        name: "sandia",
        whose: "Sandia's",
        version: "1.5.3",
        soname: "libsma.so.0",
        comparisons: [1, 2, 3, 4, 5, 6],
        options: [2, 1, 4],
        sync: [0, 35, 16, 1, 18, 35, 16, 16],
        handles: &[TEAMS[0], TEAMS[1], TEAMS[2], ("SHMEMX_TEAM_NODE", "SHMEM_TEAM_SHARED")],
        others: &OF_1_5,
        renamed: &[],
        promoted: &["_ibput", "_ibget", "_sum_inscan", "_sum_exscan", "_signal_add", "_signal_set"],
    },
    Peer {
        name: "osss",
        whose: "OSSS's",
        version: "1.0.0",
        soname: "libshmem.so.0",
        comparisons: [0, 1, 2, 5, 4, 3],
        options: [1, 2, 4],
        sync: [0, 128, 2, 64, 64, 128, 64, 64],
        handles: &[TEAMS[0], TEAMS[1], TEAMS[2], ("SHMEM_TEAM_INVALID", "SHMEM_TEAM_INVALID")],
        others: &OF_1_5,
        renamed: &[],
        promoted: &[],
    },
];
