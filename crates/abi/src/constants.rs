//! Constants of the C API.

/// One constant.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// Name in C and Rust.
    pub name: &'static str,
    /// Value, as an integer literal that C and Rust share.
    pub value: &'static str,
    /// Rust type.
    pub rust: &'static str,
    /// Whether the deprecated form with a leading underscore exists too.
    pub underscored: bool,
}

const fn c(name: &'static str, value: &'static str, rust: &'static str) -> Constant {
    Constant { name, value, rust, underscored: false }
}

const fn old(name: &'static str, value: &'static str, rust: &'static str) -> Constant {
    Constant { name, value, rust, underscored: true }
}

/// A group of [`Constant`]s, with the comment that describes it.
#[derive(Debug)]
pub struct Section {
    /// The comment.
    pub title: &'static str,
    /// The constants.
    pub constants: &'static [Constant],
}

/// All integer constants.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Level of the standard",
        constants: &[
            old("SHMEM_MAJOR_VERSION", "1", "c_int"),
            old("SHMEM_MINOR_VERSION", "6", "c_int"),
            old("SHMEM_MAX_NAME_LEN", "256", "usize"),
        ],
    },
    Section {
        title: "Thread support",
        constants: &[
            c("SHMEM_THREAD_SINGLE", "0", "c_int"),
            c("SHMEM_THREAD_FUNNELED", "1", "c_int"),
            c("SHMEM_THREAD_SERIALIZED", "2", "c_int"),
            c("SHMEM_THREAD_MULTIPLE", "3", "c_int"),
        ],
    },
    Section {
        title: "Comparisons of the point-to-point routines",
        constants: &[
            old("SHMEM_CMP_EQ", "1", "c_int"),
            old("SHMEM_CMP_NE", "2", "c_int"),
            old("SHMEM_CMP_GT", "3", "c_int"),
            old("SHMEM_CMP_GE", "4", "c_int"),
            old("SHMEM_CMP_LT", "5", "c_int"),
            old("SHMEM_CMP_LE", "6", "c_int"),
        ],
    },
    Section {
        title: "Signal operations",
        constants: &[c("SHMEM_SIGNAL_SET", "0", "c_int"), c("SHMEM_SIGNAL_ADD", "1", "c_int")],
    },
    Section {
        title: "Hints of shmem_malloc_with_hints",
        constants: &[c("SHMEM_MALLOC_ATOMICS_REMOTE", "1L", "c_long"), c("SHMEM_MALLOC_SIGNAL_REMOTE", "2L", "c_long")],
    },
    Section {
        title: "Options of contexts, sessions and teams",
        constants: &[
            c("SHMEM_CTX_SERIALIZED", "1L", "c_long"),
            c("SHMEM_CTX_PRIVATE", "2L", "c_long"),
            c("SHMEM_CTX_NOSTORE", "4L", "c_long"),
            c("SHMEM_CTX_SESSION_BATCH", "1L", "c_long"),
            c("SHMEM_CTX_SESSION_TOTAL_OPS", "1L", "c_long"),
            c("SHMEM_TEAM_NUM_CONTEXTS", "1L", "c_long"),
        ],
    },
    Section {
        title: "Work arrays of the deprecated collectives on active sets",
        constants: &[
            old("SHMEM_SYNC_VALUE", "0L", "c_long"),
            c("SHMEM_SYNC_SIZE", "32", "usize"),
            old("SHMEM_BARRIER_SYNC_SIZE", "32", "usize"),
            old("SHMEM_BCAST_SYNC_SIZE", "32", "usize"),
            old("SHMEM_COLLECT_SYNC_SIZE", "32", "usize"),
            old("SHMEM_REDUCE_SYNC_SIZE", "32", "usize"),
            c("SHMEM_ALLTOALL_SYNC_SIZE", "32", "usize"),
            c("SHMEM_ALLTOALLS_SYNC_SIZE", "32", "usize"),
            old("SHMEM_REDUCE_MIN_WRKDATA_SIZE", "1", "usize"),
        ],
    },
];

/// Constants of extensions, in `shmemx.h`.
pub const EXTENSIONS: &[Section] = &[
    Section {
        title: "More hints of shmem_malloc_with_hints",
        constants: &[
            c("SHMEMX_MALLOC_LOW_LAT_MEM", "0x10000L", "c_long"),
            c("SHMEMX_MALLOC_HIGH_BW_MEM", "0x20000L", "c_long"),
        ],
    },
    Section {
        title: "Fields of shmemx_space_config_t that are set: config_mask",
        constants: &[
            c("SHMEMX_SPACE_SHEAP_SIZE", "1L", "c_long"),
            c("SHMEMX_SPACE_MEMKIND", "2L", "c_long"),
            c("SHMEMX_SPACE_NUMA_DOMAIN", "4L", "c_long"),
            c("SHMEMX_SPACE_PGSIZE", "8L", "c_long"),
            c("SHMEMX_SPACE_FALLBACK", "16L", "c_long"),
        ],
    },
    Section {
        title: "Kinds of memory: as the heap; of the NUMA node that the PE is bound to; of a given node; of\n * all \
            nodes with CPUs in turn, page by page; high-bandwidth; of least latency; slower, such as CXL's",
        constants: &[
            c("SHMEMX_MEM_DEFAULT", "0", "c_int"),
            c("SHMEMX_MEM_LOCAL", "1", "c_int"),
            c("SHMEMX_MEM_NUMA", "2", "c_int"),
            c("SHMEMX_MEM_INTERLEAVED", "3", "c_int"),
            c("SHMEMX_MEM_HIGH_BW", "4", "c_int"),
            c("SHMEMX_MEM_LOW_LAT", "5", "c_int"),
            c("SHMEMX_MEM_LARGE_CAP", "6", "c_int"),
        ],
    },
    Section {
        title: "Pages of a space; huge ones take their memory at once",
        constants: &[c("SHMEMX_PAGES_DEFAULT", "0", "c_int"), c("SHMEMX_PAGES_HUGE", "1", "c_int")],
    },
    Section {
        title: "What a PE does that has no memory of the kind: no space is made, or one of the default kind",
        constants: &[c("SHMEMX_FALLBACK_NONE", "0", "c_int"), c("SHMEMX_FALLBACK_DEFAULT", "1", "c_int")],
    },
    Section {
        title: "What the PEs of a team share: a node, a socket, a NUMA node, a last-level cache",
        constants: &[
            c("SHMEMX_TEAM_NODE", "0", "c_int"),
            c("SHMEMX_TEAM_SOCKET", "1", "c_int"),
            c("SHMEMX_TEAM_NUMA", "2", "c_int"),
            c("SHMEMX_TEAM_CACHE", "3", "c_int"),
        ],
    },
    Section {
        title: "Instead of a root, in collectives between groups: this PE is the root; another PE of this group is",
        constants: &[c("SHMEMX_ROOT", "-2", "c_int"), c("SHMEMX_PROC_NULL", "-1", "c_int")],
    },
    Section {
        title: "Bytes of the text of a port, with the NUL at its end",
        constants: &[c("SHMEMX_MAX_PORT_NAME", "256", "usize")],
    },
    Section {
        title: "Messages of any sender, and of any tag; error of a receive that is shorter than its message;\n * \
            error of messages of a team of which a PE has failed",
        constants: &[
            c("SHMEMX_ANY_SOURCE", "-1", "c_int"),
            c("SHMEMX_ANY_TAG", "-1", "c_int"),
            c("SHMEMX_MSG_TRUNCATED", "1", "c_int"),
            c("SHMEMX_MSG_FAILED", "2", "c_int"),
        ],
    },
    Section {
        title: "Kinds of elements of shmemx_reduce, shmemx_reduce_nb and so on, to which their bytes are added",
        constants: &[
            c("SHMEMX_SIGNED", "0x100", "c_int"),
            c("SHMEMX_UNSIGNED", "0x200", "c_int"),
            c("SHMEMX_FLOATING", "0x300", "c_int"),
            c("SHMEMX_COMPLEX", "0x400", "c_int"),
            c("SHMEMX_BFLOAT", "0x500", "c_int"),
            c("SHMEMX_OPAQUE", "0x10000", "c_int"),
        ],
    },
    Section {
        title: "Operators of shmemx_atomic_fetch_op_nb, beside SHMEMX_SUM, SHMEMX_AND, SHMEMX_OR and SHMEMX_XOR",
        constants: &[
            c("SHMEMX_FETCH", "9", "c_int"),
            c("SHMEMX_SWAP", "10", "c_int"),
            c("SHMEMX_COMPARE_SWAP", "11", "c_int"),
        ],
    },
    Section {
        title: "Added to the datatype of a value, that of a structure of it and an int, its index",
        constants: &[c("SHMEMX_PAIR", "0x800", "c_int")],
    },
    Section {
        title: "Operators of shmemx_reduce, shmemx_reduce_nb and so on; the last two of pairs",
        constants: &[
            c("SHMEMX_SUM", "0", "c_int"),
            c("SHMEMX_PROD", "1", "c_int"),
            c("SHMEMX_MIN", "2", "c_int"),
            c("SHMEMX_MAX", "3", "c_int"),
            c("SHMEMX_AND", "4", "c_int"),
            c("SHMEMX_OR", "5", "c_int"),
            c("SHMEMX_XOR", "6", "c_int"),
            c("SHMEMX_MINLOC", "7", "c_int"),
            c("SHMEMX_MAXLOC", "8", "c_int"),
            c("SHMEMX_OP_INVALID", "-1", "c_int"),
        ],
    },
    Section { title: "Options of streams", constants: &[c("SHMEMX_STREAM_STEADY", "1", "c_long")] },
    Section {
        title: "Fields of shmemx_spawn_config_t that are set: config_mask",
        constants: &[
            c("SHMEMX_SPAWN_ARGV", "0x10001L", "c_long"),
            c("SHMEMX_SPAWN_ENV", "0x10002L", "c_long"),
            c("SHMEMX_SPAWN_WDIR", "0x10004L", "c_long"),
            c("SHMEMX_SPAWN_SHEAP_SIZE", "0x10008L", "c_long"),
            c("SHMEMX_SPAWN_BIND_TO", "0x10020L", "c_long"),
            c("SHMEMX_SPAWN_MAP_BY", "0x10040L", "c_long"),
            c("SHMEMX_SPAWN_CORES", "0x10080L", "c_long"),
            c("SHMEMX_SPAWN_CPUS", "0x10100L", "c_long"),
            c("SHMEMX_SPAWN_HOST", "0x10200L", "c_long"),
            c("SHMEMX_SPAWN_INDEPENDENT", "0x10010L", "c_long"),
        ],
    },
    Section {
        title: "State of a group: shmemx_group_state",
        constants: &[
            c("SHMEMX_GROUP_CONNECTED", "0", "c_int"),
            c("SHMEMX_GROUP_DISCONNECTED", "1", "c_int"),
            c("SHMEMX_GROUP_FAILED", "2", "c_int"),
        ],
    },
    Section {
        title: "State of a PE: shmemx_pe_state",
        constants: &[c("SHMEMX_PE_ALIVE", "0", "c_int"), c("SHMEMX_PE_FAILED", "1", "c_int")],
    },
    Section {
        title: "Kinds of routines that are counted: all of them first",
        constants: &[
            c("SHMEMX_COUNTER_ALL", "0", "c_int"),
            c("SHMEMX_COUNTER_PUT", "1", "c_int"),
            c("SHMEMX_COUNTER_GET", "2", "c_int"),
            c("SHMEMX_COUNTER_ATOMIC", "3", "c_int"),
            c("SHMEMX_COUNTER_SIGNAL", "4", "c_int"),
            c("SHMEMX_COUNTER_COLLECTIVE", "5", "c_int"),
            c("SHMEMX_COUNTER_WAIT", "6", "c_int"),
            c("SHMEMX_COUNTER_QUIET", "7", "c_int"),
            c("SHMEMX_COUNTER_LOCK", "8", "c_int"),
            c("SHMEMX_COUNTER_MESSAGE", "9", "c_int"),
        ],
    },
    Section {
        title: "What is counted of them: calls, bytes that this PE moved, nanoseconds in them",
        constants: &[
            c("SHMEMX_COUNTER_OPERATIONS", "0", "c_int"),
            c("SHMEMX_COUNTER_BYTES", "1", "c_int"),
            c("SHMEMX_COUNTER_NANOSECONDS", "2", "c_int"),
        ],
    },
];

/// `SHMEM_VENDOR_STRING`.
pub const VENDOR_STRING: &str = concat!("FerroSHMEM ", env!("CARGO_PKG_VERSION"));

/// The number of the soname, libshmem.so.1 (docs/releasing.md).
pub const SONAME: u32 = 1;

/// What programs compiled with the headers need of the library that they run with: the number of its soname, and a
/// version as new as the headers'.
pub fn needs() -> [u32; 4] {
    let mut version = env!("CARGO_PKG_VERSION").split(['.', '-', '+']);
    let mut number = || {
        let number = version.next().and_then(|n| n.parse().ok());
        number.expect("a version begins with three numbers")
    };
    [SONAME, number(), number(), number()]
}

/// Predefined handles: (name, C type, value). The lowest bit of a context says that its PE
/// numbers are those of the world team.
pub const HANDLES: &[(&str, &str, usize)] = &[
    ("SHMEM_CTX_INVALID", "shmem_ctx_t", 0),
    ("SHMEM_CTX_DEFAULT", "shmem_ctx_t", 1),
    ("SHMEM_TEAM_INVALID", "shmem_team_t", 0),
    ("SHMEM_TEAM_WORLD", "shmem_team_t", 1),
    ("SHMEM_TEAM_SHARED", "shmem_team_t", 2),
];

/// Handles of extensions, in `shmemx.h`.
pub const EXTENSION_HANDLES: &[(&str, &str, usize)] = &[
    ("SHMEMX_SPACE_INVALID", "shmemx_space_t", 0),
    ("SHMEMX_GROUP_INVALID", "shmemx_group_t", 0),
    ("SHMEMX_REQ_INVALID", "shmemx_req_h", 0),
    ("SHMEMX_REQUEST_INVALID", "shmemx_request_t", 0),
    ("SHMEMX_MSG_REQUEST_INVALID", "shmemx_msg_request_t", 0),
    ("SHMEMX_STREAM_INVALID", "shmemx_stream_t", 0),
    ("SHMEMX_GRAPH_INVALID", "shmemx_graph_t", 0),
];
