//! What this library is: version, level of the standard, build and machine facts.

use ferroshmem_config as config;
use ferroshmem_simd as simd;
use ferroshmem_tuning::CopySizes;

use crate::offload;

/// `SHMEM_MAJOR_VERSION` of the standard implemented.
pub const SPEC_MAJOR: i32 = 1;
/// `SHMEM_MINOR_VERSION` of the standard implemented.
pub const SPEC_MINOR: i32 = 6;
/// Version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// `SHMEM_VENDOR_STRING`; the header repeats it, and a test compares them.
pub const VENDOR: &str = concat!("FerroSHMEM ", env!("CARGO_PKG_VERSION"));
/// `SHMEM_MAX_NAME_LEN`.
pub const MAX_NAME_LEN: usize = 256;

/// One line: product, version, level of the standard.
pub fn version_line() -> String {
    format!("FerroSHMEM {VERSION}, OpenSHMEM {SPEC_MAJOR}.{SPEC_MINOR}")
}

/// All that `oshmem_info` and `SHMEM_INFO` print.
pub fn describe() -> String {
    let machine = ferroshmem_platform::Machine::here();
    format!(
        "{}\n\n{}\nBuild\n  target: {}-{}\n  profile: {}\n  Rust: {} or later\n\nMachine\n  cores this process may \
            use: {}\n  memory: {} MiB\n  page size: {} bytes\n  huge pages for shared memory: {}; with \
            SHMEM_HUGE_PAGES=1: {}\n{}",
        version_line(),
        config::describe(),
        std::env::consts::ARCH,
        std::env::consts::OS,
        if cfg!(debug_assertions) { "debug" } else { "release" },
        env!("CARGO_PKG_RUST_VERSION"),
        machine.cores,
        machine.memory >> 20,
        machine.page_size,
        machine.huge_pages,
        if ferroshmem_platform::mapping::can_collapse() {
            "yes"
        } else {
            "no (they need Linux 6.1, and huge pages of 2 MiB)"
        },
        crate::memory::describe_memkinds(),
    )
}

/// What `oshmem_info --threads` prints: which threads take part in the large copies of a PE, why, and from which sizes
/// on, where `copies` were measured.
///
/// # Errors
/// A variable cannot be read: one line for the user.
pub fn threads(copies: &CopySizes) -> Result<String, config::ConfigError> {
    let environment = config::Environment::process();
    let config = offload::Config {
        workers: config::WORKERS.read(&environment)?,
        share: (config::SHARE_THRESHOLD.read(&environment)?).or(CopySizes::known(copies.share)),
        offload: (config::OFFLOAD_THRESHOLD.read(&environment)?).or(CopySizes::known(copies.offload)),
        openmp: config::OPENMP.read(&environment)?,
        cores: ferroshmem_platform::NodeCores::new(&ferroshmem_platform::Cores::of_this_process()),
        pes: 1,
        check: false,
        may_queue: true,
    };
    let past_caches = config::NON_TEMPORAL_THRESHOLD.read(&environment)?;
    let usually = simd::non_temporal_threshold_of(1, CopySizes::known(copies.non_temporal));
    let large = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(offload::overview(&config, past_caches.map(large), large(usually)))
}

/// What `oshmem_info --fabric` prints: the providers by which other nodes can be reached.
///
/// # Errors
/// A variable cannot be read, or libfabric cannot be opened: one line for the user.
pub fn fabric() -> Result<String, impl std::error::Error> {
    crate::internode::discovery::describe()
}
