//! How a fabric is to be opened.

use std::time::Duration;

/// What the owner of a [`Fabric`](crate::Fabric) wants of it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the provider, as `fi_info` prints it ("verbs;ofi_rxm"); `None`: the best one there is.
    pub provider: Option<String>,
    /// Name or address of the network interface; `None`: the first that is up and is not loopback.
    pub interface: Option<String>,
    /// Path of the library to open instead of [`LIBFABRIC`](crate::LIBFABRIC).
    pub library: Option<String>,
    /// Number of this PE.
    pub pe: usize,
    /// PEs of the job: some providers size their queues by it.
    pub n_pes: usize,
    /// PEs of this node: they share the memory that may be registered.
    pub local_pes: usize,
    /// How long a thread that waits polls before it offers its core to others. Zero where PEs
    /// outnumber cores.
    pub spin: Duration,
    /// How often [`Events::tick`](crate::Events::tick) is called at least.
    pub tick: Duration,
    /// How long a provider may refuse an operation to a PE from which nothing comes back,
    /// before that PE counts as failed.
    pub peer_timeout: Duration,
    /// What goes together.
    pub aggregate: Aggregate,
    /// Endpoints beside the first, for contexts that [use their own](crate::Context::use_own_endpoint): at most 16,
    /// each opened when one of these first needs it, if the provider is tcp.
    pub endpoints: usize,
    /// Whether the owner goes on when a PE has failed, without the fabric.
    pub survives: bool,
    /// Whether the environment may be changed: while the program has no other threads.
    pub sets_environment: bool,
}

/// What goes together in messages, if the provider has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Length in bytes of the longest put of [aggregating](crate::Context::aggregating) contexts that does;
    /// 0: none, and no atomics either.
    pub bytes: usize,
    /// How long a message may wait for more, about.
    pub delay: Duration,
}

impl Default for Aggregate {
    fn default() -> Aggregate {
        Aggregate { bytes: 2048, delay: Duration::from_millis(2) }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            provider: None,
            interface: None,
            library: None,
            pe: 0,
            n_pes: 1,
            local_pes: 1,
            spin: Duration::from_micros(50),
            tick: Duration::from_millis(500),
            peer_timeout: Duration::from_secs(10),
            aggregate: Aggregate::default(),
            endpoints: 0,
            survives: false,
            sets_environment: true,
        }
    }
}
