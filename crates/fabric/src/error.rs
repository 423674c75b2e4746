//! What can go wrong while a fabric is opened, connected or extended.

use std::net::IpAddr;

/// An error, in one line that also says what can be done.
///
/// Errors of operations are not among them: those end in
/// [`Events::peer_failed`](crate::Events::peer_failed).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The loader does not find or open the library.
    #[error("cannot open libfabric ({reason}): install it (Debian: libfabric1) or name its file in SHMEM_LIBFABRIC")]
    LibraryMissing {
        /// The loader's reason.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no {function}: libfabric 1.17 or later is needed")]
    LibraryTooOld {
        /// Name of the library.
        library: String,
        /// Name of the function.
        function: &'static str,
    },
    /// libfabric has no provider for the networks of this machine.
    #[error("libfabric offers nothing here: is there a network interface that is up?")]
    NoProvider,
    /// No provider can be used; why the best one cannot.
    #[error(
        "libfabric offers nothing that can be used ({provider} on {interface}: {reason}): see oshmem_info --fabric"
    )]
    NoUsableProvider {
        /// The provider that comes closest.
        provider: String,
        /// Its interface.
        interface: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// libfabric refuses a step of opening an endpoint.
    #[error("{provider} on {domain} cannot {step}: {reason}; SHMEM_FABRIC chooses another provider")]
    Endpoint {
        /// The provider.
        provider: String,
        /// libfabric's name of the device.
        domain: String,
        /// The step.
        step: &'static str,
        /// libfabric's reason.
        reason: String,
    },
    /// A PE's number is too high.
    #[error("there is no PE {pe}: the job has {n_pes}")]
    NoSuchPe {
        /// The number.
        pe: usize,
        /// PEs of the job.
        n_pes: usize,
    },
    /// A PE's address blob has another form.
    #[error("a PE's address is not understood: do all nodes have the same FerroSHMEM?")]
    AddressMalformed,
    /// A PE uses another provider.
    #[error("PE {pe} uses {theirs}, this PE {ours}: set SHMEM_FABRIC to one that all nodes have")]
    ProvidersDiffer {
        /// The PE.
        pe: usize,
        /// Its provider.
        theirs: String,
        /// The provider of this PE.
        ours: String,
    },
    /// There is no route to a PE's address.
    #[error(
        "PE {pe} at {theirs} cannot be reached from {ours} ({reason}): set SHMEM_FABRIC_INTERFACE to the network that \
            joins the nodes"
    )]
    Unreachable {
        /// The PE.
        pe: usize,
        /// Its address.
        theirs: IpAddr,
        /// The address of this PE.
        ours: IpAddr,
        /// The kernel's reason.
        reason: String,
    },
    /// The provider refuses a PE's address.
    #[error("{provider} does not accept the address of PE {pe}: do all nodes have the same libfabric?")]
    AddressRefused {
        /// The provider.
        provider: String,
        /// The PE.
        pe: usize,
    },
    /// A segment's number is too high.
    #[error("there is no segment {segment}: they are 0 to {last}")]
    NoSuchSegment {
        /// The number.
        segment: usize,
        /// The highest number.
        last: usize,
    },
    /// Symmetric memory cannot be registered.
    #[error(
        "{provider} cannot register {bytes} bytes of symmetric memory: {reason}; raise the limit of locked memory \
            (ulimit -l) or make the heap smaller"
    )]
    SegmentRegistration {
        /// The provider.
        provider: String,
        /// Length of the memory.
        bytes: usize,
        /// libfabric's reason.
        reason: String,
    },
    /// The fabric's own buffers cannot be registered.
    #[error("cannot register memory for {purpose}: {reason}; raise the limit of locked memory (ulimit -l)")]
    BufferRegistration {
        /// What the buffers are for.
        purpose: &'static str,
        /// The reason of libfabric or the kernel.
        reason: String,
    },
    /// The kernel gives no random numbers.
    #[error("cannot get random numbers for keys of memory: {reason}; is the system call getrandom forbidden here?")]
    Random {
        /// The kernel's reason.
        reason: String,
    },
    /// The kernel gives no descriptor to wake the progress thread with.
    #[error("cannot make an eventfd: {reason}; raise the limit of open files (ulimit -n)")]
    Eventfd {
        /// The kernel's reason.
        reason: String,
    },
    /// The kernel starts no progress thread.
    #[error("cannot start the progress thread: {reason}; raise the limit of processes (ulimit -u)")]
    ProgressThread {
        /// The kernel's reason.
        reason: String,
    },
}
