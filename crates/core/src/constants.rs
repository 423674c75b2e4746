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
/// `SHMEM_THREAD_MULTIPLE`.
pub const THREAD_MULTIPLE: c_int = 3;

/// `SHMEM_SIGNAL_SET`.
pub const SIGNAL_SET: c_int = 0;
/// `SHMEM_SIGNAL_ADD`.
pub const SIGNAL_ADD: c_int = 1;

/// `SHMEM_CTX_NOSTORE`.
pub const CTX_NOSTORE: c_long = 4;
/// All `SHMEM_CTX_*` creation options: serialized, private, nostore.
pub const CTX_OPTIONS: c_long = 1 | 2 | CTX_NOSTORE;

/// `SHMEM_TEAM_NUM_CONTEXTS`.
pub const TEAM_NUM_CONTEXTS: c_long = 1;

/// `SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE`.
pub const MALLOC_HINTS: c_long = 1 | 2;
