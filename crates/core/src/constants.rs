//! Values of the constants in `shmem.h` (standard, "Library Constants").

use std::ffi::{c_int, c_long};

/// `SHMEM_CTX_DEFAULT`. As in every handle of a context that numbers PEs as the world does, the
/// lowest bit is 1: the inlined fast path looks at it.
pub const CTX_DEFAULT: usize = 1;
/// `SHMEM_CTX_INVALID`.
pub const CTX_INVALID: usize = 0;
/// `SHMEM_TEAM_INVALID`.
pub const TEAM_INVALID: usize = 0;
/// `SHMEM_TEAM_WORLD`: the first team's id plus 1, as every handle's low bits.
pub const TEAM_WORLD: usize = 1;
/// Team ids that exist from the start: those of `SHMEM_TEAM_WORLD` and `SHMEM_TEAM_SHARED`.
pub const PREDEFINED_TEAMS: usize = 2;

/// `SHMEM_CMP_EQ`.
pub const CMP_EQ: c_int = 1;
/// `SHMEM_CMP_NE`.
pub const CMP_NE: c_int = 2;
/// `SHMEM_CMP_GT`.
pub const CMP_GT: c_int = 3;
/// `SHMEM_CMP_GE`.
pub const CMP_GE: c_int = 4;
/// `SHMEM_CMP_LT`.
pub const CMP_LT: c_int = 5;
/// `SHMEM_CMP_LE`.
pub const CMP_LE: c_int = 6;

/// `SHMEM_THREAD_SINGLE`.
pub const THREAD_SINGLE: c_int = 0;
pub use ferroshmem_layout::THREAD_MULTIPLE;

/// `SHMEM_SIGNAL_SET`.
pub const SIGNAL_SET: c_int = 0;
/// `SHMEM_SIGNAL_ADD`.
pub const SIGNAL_ADD: c_int = 1;

/// `SHMEM_CTX_SESSION_BATCH`.
pub const CTX_SESSION_BATCH: c_long = 1;
/// `SHMEM_CTX_SERIALIZED`.
pub const CTX_SERIALIZED: c_long = 1;
/// `SHMEM_CTX_PRIVATE`.
pub const CTX_PRIVATE: c_long = 2;
/// `SHMEM_CTX_NOSTORE`.
pub const CTX_NOSTORE: c_long = 4;
/// All `SHMEM_CTX_*` creation options: serialized, private, nostore.
pub const CTX_OPTIONS: c_long = CTX_SERIALIZED | CTX_PRIVATE | CTX_NOSTORE;

/// `SHMEM_TEAM_NUM_CONTEXTS`.
pub const TEAM_NUM_CONTEXTS: c_long = 1;

/// `SHMEM_MALLOC_ATOMICS_REMOTE`.
pub const MALLOC_ATOMICS_REMOTE: c_long = 1;
/// `SHMEM_MALLOC_SIGNAL_REMOTE`.
pub const MALLOC_SIGNAL_REMOTE: c_long = 2;
/// `SHMEMX_MALLOC_LOW_LAT_MEM`.
pub const MALLOC_LOW_LAT_MEM: c_long = 1 << 16;
/// `SHMEMX_MALLOC_HIGH_BW_MEM`.
pub const MALLOC_HIGH_BW_MEM: c_long = 1 << 17;
/// All hints of `shmem_malloc_with_hints`.
pub const MALLOC_HINTS: c_long = MALLOC_ATOMICS_REMOTE | MALLOC_SIGNAL_REMOTE | MALLOC_LOW_LAT_MEM | MALLOC_HIGH_BW_MEM;

/// `SHMEMX_GROUP_INVALID`.
pub const GROUP_INVALID: usize = 0;
/// `SHMEMX_TEAM_NODE`.
pub const TEAM_NODE: c_int = 0;
/// `SHMEMX_TEAM_SOCKET`.
pub const TEAM_SOCKET: c_int = 1;
/// `SHMEMX_TEAM_NUMA`.
pub const TEAM_NUMA: c_int = 2;
/// `SHMEMX_TEAM_CACHE`.
pub const TEAM_CACHE: c_int = 3;
/// `SHMEMX_ROOT`.
pub const ROOT: c_int = -2;
/// `SHMEMX_PROC_NULL`.
pub const PROC_NULL: c_int = -1;
/// `SHMEMX_MAX_PORT_NAME`.
pub const MAX_PORT_NAME: usize = 256;
/// In the mask of each field: the configuration has all of the fields, as an array's elements must be found. Programs
/// that were compiled before have the first four, and masks without this.
pub const SPAWN_ALL_FIELDS: c_long = 0x10000;
/// `SHMEMX_SPAWN_ARGV`.
pub const SPAWN_ARGV: c_long = SPAWN_ALL_FIELDS | 1;
/// `SHMEMX_SPAWN_ENV`.
pub const SPAWN_ENV: c_long = SPAWN_ALL_FIELDS | 2;
/// `SHMEMX_SPAWN_WDIR`.
pub const SPAWN_WDIR: c_long = SPAWN_ALL_FIELDS | 4;
/// `SHMEMX_SPAWN_SHEAP_SIZE`.
pub const SPAWN_SHEAP_SIZE: c_long = SPAWN_ALL_FIELDS | 8;
/// `SHMEMX_SPAWN_BIND_TO`.
pub const SPAWN_BIND_TO: c_long = SPAWN_ALL_FIELDS | 0x20;
/// `SHMEMX_SPAWN_MAP_BY`.
pub const SPAWN_MAP_BY: c_long = SPAWN_ALL_FIELDS | 0x40;
/// `SHMEMX_SPAWN_CORES`.
pub const SPAWN_CORES: c_long = SPAWN_ALL_FIELDS | 0x80;
/// `SHMEMX_SPAWN_CPUS`.
pub const SPAWN_CPUS: c_long = SPAWN_ALL_FIELDS | 0x100;
/// `SHMEMX_SPAWN_HOST`.
pub const SPAWN_HOST: c_long = SPAWN_ALL_FIELDS | 0x200;

/// `SHMEMX_SPAWN_INDEPENDENT`.
pub const SPAWN_INDEPENDENT: c_long = SPAWN_ALL_FIELDS | 0x10;
/// `SHMEMX_GROUP_CONNECTED`.
pub const GROUP_CONNECTED: c_int = 0;
/// `SHMEMX_GROUP_DISCONNECTED`.
pub const GROUP_DISCONNECTED: c_int = 1;
/// `SHMEMX_GROUP_FAILED`.
pub const GROUP_FAILED: c_int = 2;
/// `SHMEMX_MSG_TRUNCATED`.
pub const MSG_TRUNCATED: c_int = 1;
/// `SHMEMX_MSG_FAILED`.
pub const MSG_FAILED: c_int = 2;

/// `SHMEMX_GRAPH_INVALID`.
pub const GRAPH_INVALID: usize = 0;
/// `SHMEMX_SPACE_INVALID`.
pub const SPACE_INVALID: usize = 0;
/// `SHMEMX_SPACE_SHEAP_SIZE`.
pub const SPACE_SHEAP_SIZE: c_long = 1;
/// `SHMEMX_SPACE_MEMKIND`.
pub const SPACE_MEMKIND: c_long = 2;
/// `SHMEMX_SPACE_NUMA_DOMAIN`.
pub const SPACE_NUMA_DOMAIN: c_long = 4;
/// `SHMEMX_SPACE_PGSIZE`.
pub const SPACE_PGSIZE: c_long = 8;
/// `SHMEMX_SPACE_FALLBACK`.
pub const SPACE_FALLBACK: c_long = 16;

/// `SHMEMX_MEM_DEFAULT`.
pub const MEM_DEFAULT: c_int = 0;
/// `SHMEMX_MEM_LOCAL`.
pub const MEM_LOCAL: c_int = 1;
/// `SHMEMX_MEM_NUMA`.
pub const MEM_NUMA: c_int = 2;
/// `SHMEMX_MEM_INTERLEAVED`.
pub const MEM_INTERLEAVED: c_int = 3;
/// `SHMEMX_MEM_HIGH_BW`.
pub const MEM_HIGH_BW: c_int = 4;
/// `SHMEMX_MEM_LOW_LAT`.
pub const MEM_LOW_LAT: c_int = 5;
/// `SHMEMX_MEM_LARGE_CAP`.
pub const MEM_LARGE_CAP: c_int = 6;

/// `SHMEMX_PAGES_DEFAULT`.
pub const PAGES_DEFAULT: c_int = 0;
/// `SHMEMX_PAGES_HUGE`.
pub const PAGES_HUGE: c_int = 1;

/// `SHMEMX_FALLBACK_NONE`.
pub const FALLBACK_NONE: c_int = 0;
/// `SHMEMX_FALLBACK_DEFAULT`.
pub const FALLBACK_DEFAULT: c_int = 1;
