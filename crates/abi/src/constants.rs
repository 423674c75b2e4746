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

/// A group of [`Constant`]s, with the comment that describes it.
#[derive(Debug)]
pub struct Section {
    /// The comment.
    pub title: &'static str,
    /// Rust types; of each, names and values. A name that has a deprecated form with a leading underscore has one here.
    of_types: &'static [(&'static str, &'static str)],
}

const fn section(title: &'static str, of_types: &'static [(&'static str, &'static str)]) -> Section {
    Section { title, of_types }
}

impl Section {
    /// The constants.
    pub fn constants(&self) -> impl Iterator<Item = Constant> + Clone + use<> {
        self.of_types.iter().flat_map(|&(rust, all)| {
            all.split(", ").map(move |one| {
                let (name, value) = one.split_once(' ').expect("a name and a value");
                let plain = name.trim_start_matches('_');
                Constant { name: plain, value, rust, underscored: name != plain }
            })
        })
    }
}

/// All integer constants.
#[rustfmt::skip]
pub const SECTIONS: &[Section] = &[
    section(
        "Level of the standard",
        &[
            ("c_int", "_SHMEM_MAJOR_VERSION 1, _SHMEM_MINOR_VERSION 6"),
            ("usize", "_SHMEM_MAX_NAME_LEN 256"),
        ],
    ),
    section(
        "Thread support",
        &[("c_int", "SHMEM_THREAD_SINGLE 0, SHMEM_THREAD_FUNNELED 1, SHMEM_THREAD_SERIALIZED 2, \
            SHMEM_THREAD_MULTIPLE 3")],
    ),
    section(
        "Comparisons of the point-to-point routines",
        &[("c_int", "_SHMEM_CMP_EQ 1, _SHMEM_CMP_NE 2, _SHMEM_CMP_GT 3, _SHMEM_CMP_GE 4, _SHMEM_CMP_LT 5, \
            _SHMEM_CMP_LE 6")],
    ),
    section("Signal operations", &[("c_int", "SHMEM_SIGNAL_SET 0, SHMEM_SIGNAL_ADD 1")]),
    section(
        "Hints of shmem_malloc_with_hints",
        &[("c_long", "SHMEM_MALLOC_ATOMICS_REMOTE 1L, SHMEM_MALLOC_SIGNAL_REMOTE 2L")],
    ),
    section(
        "Options of contexts, sessions and teams",
        &[("c_long", "SHMEM_CTX_SERIALIZED 1L, SHMEM_CTX_PRIVATE 2L, SHMEM_CTX_NOSTORE 4L, \
            SHMEM_CTX_SESSION_BATCH 1L, SHMEM_CTX_SESSION_TOTAL_OPS 1L, SHMEM_TEAM_NUM_CONTEXTS 1L")],
    ),
    section(
        "Work arrays of the deprecated collectives on active sets",
        &[
            ("c_long", "_SHMEM_SYNC_VALUE 0L"),
            ("usize", "SHMEM_SYNC_SIZE 32, _SHMEM_BARRIER_SYNC_SIZE 32, _SHMEM_BCAST_SYNC_SIZE 32, \
                _SHMEM_COLLECT_SYNC_SIZE 32, _SHMEM_REDUCE_SYNC_SIZE 32, SHMEM_ALLTOALL_SYNC_SIZE 32, \
                SHMEM_ALLTOALLS_SYNC_SIZE 32, _SHMEM_REDUCE_MIN_WRKDATA_SIZE 1"),
        ],
    ),
];

/// Constants of extensions, in `shmemx.h`.
#[rustfmt::skip]
pub const EXTENSIONS: &[Section] = &[
    section(
        "More hints of shmem_malloc_with_hints",
        &[("c_long", "SHMEMX_MALLOC_LOW_LAT_MEM 0x10000L, SHMEMX_MALLOC_HIGH_BW_MEM 0x20000L")],
    ),
    section(
        "Fields of shmemx_space_config_t that are set: config_mask",
        &[("c_long", "SHMEMX_SPACE_SHEAP_SIZE 1L, SHMEMX_SPACE_MEMKIND 2L, SHMEMX_SPACE_NUMA_DOMAIN 4L, \
            SHMEMX_SPACE_PGSIZE 8L, SHMEMX_SPACE_FALLBACK 16L")],
    ),
    section(
        "Kinds of memory: as the heap; of the NUMA node that the PE is bound to; of a given node; of\n * all nodes \
            with CPUs in turn, page by page; high-bandwidth; of least latency; slower, such as CXL's",
        &[("c_int", "SHMEMX_MEM_DEFAULT 0, SHMEMX_MEM_LOCAL 1, SHMEMX_MEM_NUMA 2, SHMEMX_MEM_INTERLEAVED 3, \
            SHMEMX_MEM_HIGH_BW 4, SHMEMX_MEM_LOW_LAT 5, SHMEMX_MEM_LARGE_CAP 6")],
    ),
    section(
        "Pages of a space; huge ones take their memory at once",
        &[("c_int", "SHMEMX_PAGES_DEFAULT 0, SHMEMX_PAGES_HUGE 1")],
    ),
    section(
        "What a PE does that has no memory of the kind: no space is made, or one of the default kind",
        &[("c_int", "SHMEMX_FALLBACK_NONE 0, SHMEMX_FALLBACK_DEFAULT 1")],
    ),
    section(
        "What the PEs of a team share: a node, a socket, a NUMA node, a last-level cache",
        &[("c_int", "SHMEMX_TEAM_NODE 0, SHMEMX_TEAM_SOCKET 1, SHMEMX_TEAM_NUMA 2, SHMEMX_TEAM_CACHE 3")],
    ),
    section(
        "Instead of a root, in collectives between groups: this PE is the root; another PE of this group is",
        &[("c_int", "SHMEMX_ROOT -2, SHMEMX_PROC_NULL -1")],
    ),
    section("Bytes of the text of a port, with the NUL at its end", &[("usize", "SHMEMX_MAX_PORT_NAME 256")]),
    section(
        "Messages of any sender, and of any tag; error of a receive that is shorter than its message;\n * error of \
            messages of a team of which a PE has failed",
        &[("c_int", "SHMEMX_ANY_SOURCE -1, SHMEMX_ANY_TAG -1, SHMEMX_MSG_TRUNCATED 1, SHMEMX_MSG_FAILED 2")],
    ),
    section(
        "Kinds of elements of shmemx_reduce, shmemx_reduce_nb and so on, to which their bytes are added",
        &[("c_int", "SHMEMX_SIGNED 0x100, SHMEMX_UNSIGNED 0x200, SHMEMX_FLOATING 0x300, SHMEMX_COMPLEX 0x400, \
            SHMEMX_BFLOAT 0x500, SHMEMX_OPAQUE 0x10000")],
    ),
    section(
        "Operators of shmemx_atomic_fetch_op_nb, beside SHMEMX_SUM, SHMEMX_AND, SHMEMX_OR and SHMEMX_XOR",
        &[("c_int", "SHMEMX_FETCH 9, SHMEMX_SWAP 10, SHMEMX_COMPARE_SWAP 11")],
    ),
    section(
        "Added to the datatype of a value, that of a structure of it and an int, its index",
        &[("c_int", "SHMEMX_PAIR 0x800")],
    ),
    section(
        "Operators of shmemx_reduce, shmemx_reduce_nb and so on; the last two of pairs",
        &[("c_int", "SHMEMX_SUM 0, SHMEMX_PROD 1, SHMEMX_MIN 2, SHMEMX_MAX 3, SHMEMX_AND 4, SHMEMX_OR 5, \
            SHMEMX_XOR 6, SHMEMX_MINLOC 7, SHMEMX_MAXLOC 8, SHMEMX_OP_INVALID -1")],
    ),
    section("Options of streams", &[("c_long", "SHMEMX_STREAM_STEADY 1")]),
    section(
        "Fields of shmemx_spawn_config_t that are set: config_mask",
        &[("c_long", "SHMEMX_SPAWN_ARGV 0x10001L, SHMEMX_SPAWN_ENV 0x10002L, SHMEMX_SPAWN_WDIR 0x10004L, \
            SHMEMX_SPAWN_SHEAP_SIZE 0x10008L, SHMEMX_SPAWN_BIND_TO 0x10020L, SHMEMX_SPAWN_MAP_BY 0x10040L, \
            SHMEMX_SPAWN_CORES 0x10080L, SHMEMX_SPAWN_CPUS 0x10100L, SHMEMX_SPAWN_HOST 0x10200L, \
            SHMEMX_SPAWN_INDEPENDENT 0x10010L")],
    ),
    section(
        "State of a group: shmemx_group_state",
        &[("c_int", "SHMEMX_GROUP_CONNECTED 0, SHMEMX_GROUP_DISCONNECTED 1, SHMEMX_GROUP_FAILED 2")],
    ),
    section("State of a PE: shmemx_pe_state", &[("c_int", "SHMEMX_PE_ALIVE 0, SHMEMX_PE_FAILED 1")]),
    section(
        "Kinds of routines that are counted: all of them first",
        &[("c_int", "SHMEMX_COUNTER_ALL 0, SHMEMX_COUNTER_PUT 1, SHMEMX_COUNTER_GET 2, SHMEMX_COUNTER_ATOMIC 3, \
            SHMEMX_COUNTER_SIGNAL 4, SHMEMX_COUNTER_COLLECTIVE 5, SHMEMX_COUNTER_WAIT 6, SHMEMX_COUNTER_QUIET 7, \
            SHMEMX_COUNTER_LOCK 8, SHMEMX_COUNTER_MESSAGE 9")],
    ),
    section(
        "What is counted of them: calls, bytes that this PE moved, nanoseconds in them",
        &[("c_int", "SHMEMX_COUNTER_OPERATIONS 0, SHMEMX_COUNTER_BYTES 1, SHMEMX_COUNTER_NANOSECONDS 2")],
    ),
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
