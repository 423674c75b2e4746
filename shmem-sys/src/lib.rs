//! Exports OpenSHMEM's C ABI; unlike most crates named `-sys` it does not bind a foreign library.
//!
//! It is all of `libshmem.so` and `libshmem.a`. A Rust program with parts in C depends on it to link
//! these parts, and its build script finds the headers by `DEP_SHMEM_INCLUDE`. The crate has no Rust
//! interface: for that, use the crate `ferroshmem`.
//!
//! The build script makes the functions in `generated` from the table in the crate `abi`. Each is `pshmem_X`, with the
//! weak alias `shmem_X`, so that a tool may define its own `shmem_X`, linked statically or
//! dynamically, or preloaded (standard, "OpenSHMEM Profiling Interface").
//!
//! The functions call `api`. Besides, the crate has what only a C library needs: its start before `main`, the answer to
//! tools that interpose functions, OpenMP's interface for tools.

#[macro_use]
mod entry;
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated/mod.rs"));
}
mod inline_counts;
mod interposition;
mod long_double;
mod native;
mod objects;
mod openmp;
mod operator;
mod startup;

const _: () = {
    use ferroshmem_api::constants as runtime;
    use ferroshmem_core::info;
    use generated::constants::*;

    // The table's Rust types are those of LP64.
    assert!(size_of::<std::ffi::c_long>() == 8 && size_of::<usize>() == 8);
    // The runtime and the header agree.
    assert!(runtime::CMP_EQ == SHMEM_CMP_EQ && runtime::CMP_NE == SHMEM_CMP_NE);
    assert!(runtime::CMP_GT == SHMEM_CMP_GT && runtime::CMP_GE == SHMEM_CMP_GE);
    assert!(runtime::CMP_LT == SHMEM_CMP_LT && runtime::CMP_LE == SHMEM_CMP_LE);
    assert!(runtime::THREAD_SINGLE == SHMEM_THREAD_SINGLE);
    assert!(runtime::THREAD_MULTIPLE == SHMEM_THREAD_MULTIPLE);
    assert!(runtime::SIGNAL_SET == SHMEM_SIGNAL_SET && runtime::SIGNAL_ADD == SHMEM_SIGNAL_ADD);
    assert!(
        runtime::CTX_OPTIONS == SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE
            && runtime::CTX_NOSTORE == SHMEM_CTX_NOSTORE
    );
    assert!(runtime::TEAM_NUM_CONTEXTS == SHMEM_TEAM_NUM_CONTEXTS);
    assert!(runtime::MALLOC_ATOMICS_REMOTE == SHMEM_MALLOC_ATOMICS_REMOTE);
    assert!(runtime::MALLOC_SIGNAL_REMOTE == SHMEM_MALLOC_SIGNAL_REMOTE);
    assert!(runtime::MALLOC_LOW_LAT_MEM == SHMEMX_MALLOC_LOW_LAT_MEM);
    assert!(runtime::MALLOC_HIGH_BW_MEM == SHMEMX_MALLOC_HIGH_BW_MEM);
    assert!(runtime::GROUP_INVALID == SHMEMX_GROUP_INVALID);
    assert!(runtime::MAX_PORT_NAME == SHMEMX_MAX_PORT_NAME);
    assert!(runtime::TEAM_NODE == SHMEMX_TEAM_NODE && runtime::TEAM_SOCKET == SHMEMX_TEAM_SOCKET);
    assert!(runtime::TEAM_NUMA == SHMEMX_TEAM_NUMA && runtime::TEAM_CACHE == SHMEMX_TEAM_CACHE);
    assert!(runtime::ROOT == SHMEMX_ROOT && runtime::PROC_NULL == SHMEMX_PROC_NULL);
    assert!(runtime::SPAWN_ARGV == SHMEMX_SPAWN_ARGV && runtime::SPAWN_ENV == SHMEMX_SPAWN_ENV);
    assert!(runtime::SPAWN_WDIR == SHMEMX_SPAWN_WDIR);
    assert!(runtime::SPAWN_SHEAP_SIZE == SHMEMX_SPAWN_SHEAP_SIZE);
    assert!(runtime::SPAWN_BIND_TO == SHMEMX_SPAWN_BIND_TO);
    assert!(runtime::SPAWN_MAP_BY == SHMEMX_SPAWN_MAP_BY);
    assert!(runtime::SPAWN_CORES == SHMEMX_SPAWN_CORES && runtime::SPAWN_CPUS == SHMEMX_SPAWN_CPUS);
    assert!(runtime::SPAWN_HOST == SHMEMX_SPAWN_HOST);
    assert!(runtime::SPAWN_INDEPENDENT == SHMEMX_SPAWN_INDEPENDENT);
    assert!(runtime::GROUP_CONNECTED == SHMEMX_GROUP_CONNECTED);
    assert!(runtime::GROUP_DISCONNECTED == SHMEMX_GROUP_DISCONNECTED);
    assert!(runtime::GROUP_FAILED == SHMEMX_GROUP_FAILED);
    assert!(runtime::MSG_TRUNCATED == SHMEMX_MSG_TRUNCATED);
    assert!(SHMEMX_ANY_SOURCE == -1 && SHMEMX_ANY_TAG == -1);
    assert!(runtime::GRAPH_INVALID == SHMEMX_GRAPH_INVALID);
    assert!(runtime::SPACE_INVALID == SHMEMX_SPACE_INVALID);
    assert!(runtime::SPACE_SHEAP_SIZE == SHMEMX_SPACE_SHEAP_SIZE);
    assert!(runtime::SPACE_MEMKIND == SHMEMX_SPACE_MEMKIND);
    assert!(runtime::SPACE_NUMA_DOMAIN == SHMEMX_SPACE_NUMA_DOMAIN);
    assert!(runtime::SPACE_PGSIZE == SHMEMX_SPACE_PGSIZE);
    assert!(runtime::SPACE_FALLBACK == SHMEMX_SPACE_FALLBACK);
    assert!(runtime::MEM_DEFAULT == SHMEMX_MEM_DEFAULT);
    assert!(runtime::MEM_LOCAL == SHMEMX_MEM_LOCAL);
    assert!(runtime::MEM_NUMA == SHMEMX_MEM_NUMA);
    assert!(runtime::MEM_INTERLEAVED == SHMEMX_MEM_INTERLEAVED);
    assert!(runtime::MEM_HIGH_BW == SHMEMX_MEM_HIGH_BW);
    assert!(runtime::MEM_LOW_LAT == SHMEMX_MEM_LOW_LAT);
    assert!(runtime::MEM_LARGE_CAP == SHMEMX_MEM_LARGE_CAP);
    assert!(runtime::PAGES_DEFAULT == SHMEMX_PAGES_DEFAULT);
    assert!(runtime::PAGES_HUGE == SHMEMX_PAGES_HUGE);
    assert!(runtime::FALLBACK_NONE == SHMEMX_FALLBACK_NONE);
    assert!(runtime::FALLBACK_DEFAULT == SHMEMX_FALLBACK_DEFAULT);
    assert!(info::SPEC_MAJOR == SHMEM_MAJOR_VERSION && info::SPEC_MINOR == SHMEM_MINOR_VERSION);
    assert!(info::MAX_NAME_LEN == SHMEM_MAX_NAME_LEN);
    assert!(info::VENDOR.len() == SHMEM_VENDOR_STRING.len());
};
