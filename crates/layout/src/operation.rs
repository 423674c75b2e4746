// Generated from the table in crates/abi/: change that, not this file.

//! What routines do.

/// An operation, as the functions of the preloaded library name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Nothing that the checks look at.
    Other,
    /// Initialises the library.
    Init,
    /// Ends its use.
    Finalize,
    /// Ends the job.
    GlobalExit,
    /// Allocates.
    Malloc,
    /// Allocates memory that is zero.
    Calloc,
    /// Allocates with an alignment.
    Align,
    /// Allocates with hints.
    MallocWithHints,
    /// Changes the size of a block.
    Realloc,
    /// Gives a block back.
    Free,
    /// Allocates in a symmetric space.
    SpaceMalloc,
    /// Gives a block of a symmetric space back.
    SpaceFree,
    /// Ends a symmetric space.
    SpaceDestroy,
    /// Writes memory of a PE.
    Put,
    /// The same, complete after a quiet.
    PutNbi,
    /// The same, complete with a request.
    PutRequest,
    /// Reads memory of a PE.
    Get,
    /// The same, complete after a quiet.
    GetNbi,
    /// Reads atomically.
    AtomicFetch,
    /// Updates atomically.
    AtomicUpdate,
    /// Updates atomically, and returns the old value.
    AtomicFetchUpdate,
    /// Writes memory of a PE, then a signal.
    PutSignal,
    /// Updates a signal.
    Signal,
    /// Reads an own signal.
    SignalFetch,
    /// Waits for own variables.
    Wait,
    /// Looks at own variables.
    Test,
    /// Completes operations.
    Quiet,
    /// Orders operations.
    Fence,
    /// Takes a lock.
    SetLock,
    /// Takes a lock if it is free.
    TestLock,
    /// Lets go of a lock.
    ClearLock,
    /// Synchronises PEs, and completes operations.
    Barrier,
    /// Synchronises PEs.
    Sync,
    /// Copies from one PE to others.
    Broadcast,
    /// Copies from all PEs to one.
    Gather,
    /// Copies from all PEs to all.
    Exchange,
    /// Combines arrays of all PEs.
    Reduce,
    /// Combines arrays of the PEs before.
    Scan,
    /// Makes a team.
    Split,
    /// Ends a context.
    DestroyContext,
    /// Sends something to another PE.
    Send,
    /// May have received something of any PE.
    Receive,
}
