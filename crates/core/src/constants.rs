//! Values of the constants in `shmem.h` (standard, "Library Constants").

use std::ffi::{c_int, c_long};

pub use ferroshmem_layout::THREAD_MULTIPLE;

/// Defines constants that C's headers have with a prefix, and a table of them.
macro_rules! constants {
    ($($prefix:literal $type:ty: $($name:ident = $value:expr),*;)*) => {
        $($(
            #[doc = concat!("`", $prefix, stringify!($name), "`.")]
            pub const $name: $type = $value;
        )*)*

        /// The names in C, and the values: a build of the C library compares them with its headers'.
        pub const TABLE: &[(&str, i64)] = &[$($((concat!($prefix, stringify!($name)), $name as i64)),*),*];
    };
}

constants! {
    // As in every handle of a context that numbers PEs as the world does, the lowest bit of the default context is 1:
    // the inlined fast path looks at it. A handle of a team has the team's id plus 1 in its low bits.
    "SHMEM_" usize: CTX_INVALID = 0, CTX_DEFAULT = 1, TEAM_INVALID = 0, TEAM_WORLD = 1;
    "SHMEM_" c_int: CMP_EQ = 1, CMP_NE = 2, CMP_GT = 3, CMP_GE = 4, CMP_LT = 5, CMP_LE = 6;
    "SHMEM_" c_int: THREAD_SINGLE = 0, SIGNAL_SET = 0, SIGNAL_ADD = 1;
    "SHMEM_" c_long: CTX_SERIALIZED = 1, CTX_PRIVATE = 2, CTX_NOSTORE = 4, CTX_SESSION_BATCH = 1, TEAM_NUM_CONTEXTS = 1;
    "SHMEM_" c_long: MALLOC_ATOMICS_REMOTE = 1, MALLOC_SIGNAL_REMOTE = 2;
    "SHMEMX_" c_long: MALLOC_LOW_LAT_MEM = 1 << 16, MALLOC_HIGH_BW_MEM = 1 << 17;
    "SHMEMX_" usize: GROUP_INVALID = 0, GRAPH_INVALID = 0, SPACE_INVALID = 0, MAX_PORT_NAME = 256;
    "SHMEMX_" c_int: TEAM_NODE = 0, TEAM_SOCKET = 1, TEAM_NUMA = 2, TEAM_CACHE = 3, ROOT = -2, PROC_NULL = -1;
    "SHMEMX_" c_long: SPAWN_ARGV = SPAWN_ALL_FIELDS | 1, SPAWN_ENV = SPAWN_ALL_FIELDS | 2,
        SPAWN_WDIR = SPAWN_ALL_FIELDS | 4, SPAWN_SHEAP_SIZE = SPAWN_ALL_FIELDS | 8,
        SPAWN_INDEPENDENT = SPAWN_ALL_FIELDS | 0x10, SPAWN_BIND_TO = SPAWN_ALL_FIELDS | 0x20,
        SPAWN_MAP_BY = SPAWN_ALL_FIELDS | 0x40, SPAWN_CORES = SPAWN_ALL_FIELDS | 0x80,
        SPAWN_CPUS = SPAWN_ALL_FIELDS | 0x100, SPAWN_HOST = SPAWN_ALL_FIELDS | 0x200;
    "SHMEMX_" c_int: GROUP_CONNECTED = 0, GROUP_DISCONNECTED = 1, GROUP_FAILED = 2, MSG_TRUNCATED = 1, MSG_FAILED = 2;
    "SHMEMX_" c_long: SPACE_SHEAP_SIZE = 1, SPACE_MEMKIND = 2, SPACE_NUMA_DOMAIN = 4, SPACE_PGSIZE = 8,
        SPACE_FALLBACK = 16;
    "SHMEMX_" c_int: MEM_DEFAULT = 0, MEM_LOCAL = 1, MEM_NUMA = 2, MEM_INTERLEAVED = 3, MEM_HIGH_BW = 4,
        MEM_LOW_LAT = 5, MEM_LARGE_CAP = 6;
    "SHMEMX_" c_int: PAGES_DEFAULT = 0, PAGES_HUGE = 1, FALLBACK_NONE = 0, FALLBACK_DEFAULT = 1;
}

/// Team ids that exist from the start: those of `SHMEM_TEAM_WORLD` and `SHMEM_TEAM_SHARED`.
pub const PREDEFINED_TEAMS: usize = 2;
/// All `SHMEM_CTX_*` creation options: serialized, private, nostore.
pub const CTX_OPTIONS: c_long = CTX_SERIALIZED | CTX_PRIVATE | CTX_NOSTORE;
/// All hints of `shmem_malloc_with_hints`.
pub const MALLOC_HINTS: c_long = MALLOC_ATOMICS_REMOTE | MALLOC_SIGNAL_REMOTE | MALLOC_LOW_LAT_MEM | MALLOC_HIGH_BW_MEM;
/// In the mask of each field: the configuration has all of the fields, as an array's elements must be found. Programs
/// that were compiled before have the first four, and masks without this.
pub const SPAWN_ALL_FIELDS: c_long = 0x10000;
