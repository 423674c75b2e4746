//! The table: every environment variable of FerroSHMEM, with type, default and text.

use Program::{Library, Oshcc, Oshcxx, Oshfort, OshmemInfo, Oshrun, Oshtune};
use ferroshmem_tuning::Collective;

use super::value::{
    Aggregation, AlgorithmChoice, Command, Count, Flag, OptionalFlag, Polls, Seconds, Size, SocketList, Switch, Text,
    TuningPath,
};
use super::variable::{Entry, Program, Scope, Variable};

/// Prints the version at start-up (standard, "Environment Variables").
pub static VERSION: Variable<Switch> = Variable {
    name: "SHMEM_VERSION",
    alias: Some("SMA_VERSION"),
    readers: &[Library],
    scope: Scope::Pe,
    help: "PE 0 prints the library version at start-up.",
    value: Switch,
};
/// Prints this table at start-up (standard).
pub static INFO: Variable<Switch> = Variable {
    name: "SHMEM_INFO",
    alias: Some("SMA_INFO"),
    readers: &[Library],
    scope: Scope::Pe,
    help: "PE 0 prints what oshmem_info prints: version, environment variables, build and machine.",
    value: Switch,
};
/// Size of the symmetric heap (standard).
pub static SYMMETRIC_SIZE: Variable<Size> = Variable {
    name: "SHMEM_SYMMETRIC_SIZE",
    alias: Some("SMA_SYMMETRIC_SIZE"),
    readers: &[Library, Oshrun],
    scope: Scope::Job,
    help: "Size of each PE's symmetric heap. Memory is used only once it is touched.",
    value: Size { unset: "the node's memory" },
};
/// Debugging messages (standard).
pub static DEBUG: Variable<Switch> = Variable {
    name: "SHMEM_DEBUG",
    alias: Some("SMA_DEBUG"),
    readers: &[Library, Oshrun],
    scope: Scope::Pe,
    help: "Prints debugging messages: memory layout, fast path, failed allocations.",
    value: Switch,
};
/// Checks every argument.
pub static CHECK: Variable<Flag> = Variable {
    name: "SHMEM_CHECK",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "Checks every argument of every call, and that the PEs agree on collective calls; turns the fast path off.",
    value: Flag { default: false },
};
/// Turns the inlined fast path off.
pub static FAST_PATH: Variable<Flag> = Variable {
    name: "SHMEM_FAST_PATH",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "0 sends every call through the library, as profiling tools need it (a tool that interposes is noticed by \
        itself).",
    value: Flag { default: true },
};
/// Polls before a waiting PE yields its core.
pub static SPIN: Variable<Polls> = Variable {
    name: "SHMEM_SPIN",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "How often a waiting PE polls before it yields its core.",
    value: Polls { default: 2000, oversubscribed: 20 },
};
/// Puts symmetric memory on huge pages as it is allocated.
pub static HUGE_PAGES: Variable<OptionalFlag> = Variable {
    name: "SHMEM_HUGE_PAGES",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "1 puts allocated blocks of 2 MiB and more on huge pages, whatever the system's setting for shared memory; a \
        block takes all of its memory at once then. 0 leaves all memory to the system's setting.",
    value: OptionalFlag {
        unset: "memory moves to huge pages when it has been copied 4 times in pieces that go past the caches",
    },
};
/// From how many bytes on copies go past the caches.
pub static NON_TEMPORAL_THRESHOLD: Variable<Size> = Variable {
    name: "SHMEM_NON_TEMPORAL_THRESHOLD",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Puts and gets of so many bytes and more are written past the caches, by non-temporal stores; in an \
        all-to-all exchange, half as many. Unset, copies of 2 MiB and more use what is faster in the program that \
        runs.",
    value: Size { unset: "5/16 of the last-level cache, divided by half the number of PEs that share it" },
};
/// Threads of the library that share large copies.
pub static WORKERS: Variable<Count> = Variable {
    name: "SHMEM_WORKERS",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "How many threads of the library share a PE's large copies and make its large non-blocking ones while it \
        computes. They are started by the first such copy and sleep while there is none. Those of auto run only while \
        one of the job's cores idles.",
    value: Count {
        unset: None,
        auto: "1 to 4, as many as there are cores for each PE beyond its own; none for more PEs than cores, or under a \
            quota of processor time",
    },
};
/// From how many bytes on idle threads share a copy.
pub static SHARE_THRESHOLD: Variable<Size> = Variable {
    name: "SHMEM_SHARE_THRESHOLD",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Blocking puts and gets, and a PE's own part of collectives, of so many bytes and more are shared by idle \
        threads, if there are any.",
    value: Size { unset: "2m" },
};
/// From how many bytes on non-blocking copies go on after their calls.
pub static OFFLOAD_THRESHOLD: Variable<Size> = Variable {
    name: "SHMEM_OFFLOAD_THRESHOLD",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Non-blocking puts and gets within a node of so many bytes and more are made by idle threads, if there are \
        any, while the PE computes.",
    value: Size { unset: "1m" },
};
/// Lets threads of OpenMP take part in large copies.
pub static OPENMP: Variable<Flag> = Variable {
    name: "SHMEM_OPENMP",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Threads of OpenMP that wait, in a barrier or after a parallel region, take part in a PE's large copies, \
        under the run-time of LLVM. Where it has another tool, workers do.",
    value: Flag { default: false },
};
/// Makes results independent of the algorithm and the number of PEs.
pub static REPRODUCIBLE: Variable<Flag> = Variable {
    name: "SHMEM_REPRODUCIBLE",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "Sums of floating-point numbers get the same bits by any algorithm and on any number of PEs, and take \
        longer.",
    value: Flag { default: false },
};

/// On which sockets the PEs of a node run.
pub static SOCKETS: Variable<SocketList> = Variable {
    name: "SHMEM_SOCKETS",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "On which socket each PE of a node runs: collectives of PEs on several pass as little as possible between \
        them. By default as PEs are bound.",
    value: SocketList,
};

/// Forces the algorithm of barriers and syncs, also of those inside other collectives.
pub static BARRIER_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_BARRIER_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of barriers and syncs, also of those inside other collectives.",
    value: AlgorithmChoice(Collective::Barrier),
};
/// Forces the algorithm of reductions.
pub static REDUCE_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_REDUCE_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of reductions.",
    value: AlgorithmChoice(Collective::Reduce),
};
/// Forces the algorithm of broadcasts.
pub static BROADCAST_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_BROADCAST_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of broadcasts.",
    value: AlgorithmChoice(Collective::Broadcast),
};
/// Forces the algorithm of collects.
pub static COLLECT_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_COLLECT_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of collects.",
    value: AlgorithmChoice(Collective::Collect),
};
/// Forces the algorithm of fcollects.
pub static FCOLLECT_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_FCOLLECT_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of fcollects.",
    value: AlgorithmChoice(Collective::Fcollect),
};
/// Forces the algorithm of alltoalls of blocks.
pub static ALLTOALL_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_ALLTOALL_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of alltoalls of blocks.",
    value: AlgorithmChoice(Collective::Alltoall),
};
/// Forces the algorithm of alltoalls of strided elements.
pub static ALLTOALLS_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_ALLTOALLS_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of alltoalls of strided elements.",
    value: AlgorithmChoice(Collective::Alltoalls),
};
/// Forces the algorithm of prefix sums.
pub static SCAN_ALGORITHM: Variable<AlgorithmChoice> = Variable {
    name: "SHMEM_SCAN_ALGORITHM",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "Algorithm of prefix sums.",
    value: AlgorithmChoice(Collective::Scan),
};

/// The tuning file.
pub static TUNING_FILE: Variable<TuningPath> = Variable {
    name: "SHMEM_TUNING_FILE",
    alias: None,
    readers: &[Oshrun, Oshtune, OshmemInfo],
    scope: Scope::Node,
    help: "File that oshtune writes and oshrun reads: which algorithm pays on this machine.",
    value: TuningPath { default: "ferroshmem/tuning.toml" },
};

/// Which provider of libfabric to use.
pub static FABRIC: Variable<Text> = Variable {
    name: "SHMEM_FABRIC",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Job,
    help: "How PEs of different nodes reach each other.",
    value: Text {
        accepts: "name of a provider, as oshmem_info --fabric lists them, or auto",
        default: Some("auto"),
        unset: "",
    },
};
/// Which network to use.
pub static FABRIC_INTERFACE: Variable<Text> = Variable {
    name: "SHMEM_FABRIC_INTERFACE",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Pe,
    help: "Network interface through which PEs of other nodes are reached; this PE listens there alone.",
    value: Text {
        accepts: "name or address of a network interface",
        default: None,
        unset: "the first that is up and not loopback",
    },
};
/// How soon a failed PE must be noticed.
pub static FABRIC_TIMEOUT: Variable<Seconds> = Variable {
    name: "SHMEM_FABRIC_TIMEOUT",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "Within this time of a PE's or a node's end, or of a cut of the network, the job ends with a line that says \
        so.",
    value: Seconds { default: 10 },
};
/// How long spawned PEs may take.
pub static SPAWN_TIMEOUT: Variable<Seconds> = Variable {
    name: "SHMEM_SPAWN_TIMEOUT",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Where another launcher than oshrun starts PEs for shmemx_spawn: within this time all of them call \
        shmem_init, or the job ends with a line that says so. The value of PE_root counts.",
    value: Seconds { default: 60 },
};
/// Where names of ports are that other nodes find.
pub static NAME_DIRECTORY: Variable<Text> = Variable {
    name: "SHMEM_NAME_DIRECTORY",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Folder on a file system that nodes share: shmemx_port_publish names ports there for jobs of this user on \
        all of them.",
    value: Text {
        accepts: "absolute path of a folder that this user alone can write to",
        default: None,
        unset: "names are known on one node",
    },
};
/// What goes to another node together.
pub static AGGREGATE: Variable<Aggregation> = Variable {
    name: "SHMEM_AGGREGATE",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "How long puts are at most that go to a PE of another node together, where the provider has messages, and \
        how many microseconds they wait for more; 0: each goes by itself.",
    value: Aggregation,
};
/// Endpoints for contexts of threads.
pub static ENDPOINTS: Variable<Count> = Variable {
    name: "SHMEM_ENDPOINTS",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Between nodes, private and serialised contexts take turns at so many endpoints beside the first under \
        SHMEM_THREAD_MULTIPLE, over tcp. Each takes some 1 MB from its first use on, 90 with ofi_rxm; at most 16, 0: \
        all contexts use the first.",
    value: Count { unset: Some(0), auto: "4" },
};
/// The library that moves data between nodes.
pub static LIBFABRIC: Variable<Text> = Variable {
    name: "SHMEM_LIBFABRIC",
    alias: None,
    readers: &[Library, OshmemInfo],
    scope: Scope::Pe,
    help: "The libfabric to use between nodes.",
    value: Text {
        accepts: "path",
        default: Some(ferroshmem_fabric::LIBFABRIC),
        unset: "where the system's loader finds it",
    },
};

/// The C compiler behind `oshcc`.
pub static CC: Variable<Command> = Variable {
    name: "OSHMEM_CC",
    alias: None,
    readers: &[Oshcc],
    scope: Scope::Tool,
    help: "The compiler that oshcc runs.",
    value: Command { candidates: &["cc", "gcc", "clang"] },
};
/// The C++ compiler behind `oshc++`.
pub static CXX: Variable<Command> = Variable {
    name: "OSHMEM_CXX",
    alias: None,
    readers: &[Oshcxx],
    scope: Scope::Tool,
    help: "The compiler that oshc++ runs.",
    value: Command { candidates: &["c++", "g++", "clang++"] },
};
/// The Fortran compiler behind `oshfort`.
pub static FC: Variable<Command> = Variable {
    name: "OSHMEM_FC",
    alias: None,
    readers: &[Oshfort],
    scope: Scope::Tool,
    help: "The compiler that oshfort runs.",
    value: Command { candidates: &["gfortran", "flang", "ifx"] },
};

/// Internal: by it `oshrun` hands each PE its place in the job.
pub static JOB: Variable<Text> = Variable {
    name: "FERROSHMEM_JOB",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Set by oshrun for each PE.",
    value: Text {
        accepts: "<descriptor of the job's memory>:<PE number>",
        default: None,
        unset: "not a PE of oshrun's",
    },
};

/// Internal: by it `oshrun --check` hands each PE the file that findings go to.
pub static CHECK_FILE: Variable<Text> = Variable {
    name: "FERROSHMEM_CHECK_FILE",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Set by oshrun --check for each PE.",
    value: Text {
        accepts: "<descriptor of the file of findings, or where oshrun has it>",
        default: None,
        unset: "the PE is not checked",
    },
};

/// Where each PE records what it does.
pub static PROFILE_DIR: Variable<Text> = Variable {
    name: "SHMEM_PROFILE_DIR",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Each PE records there where its time goes, for oshrun --profile and --trace, which set it; turns the fast \
        path off.",
    value: Text { accepts: "path of a directory", default: None, unset: "nothing is recorded" },
};
/// How much of a trace each PE keeps.
pub static TRACE_SIZE: Variable<Size> = Variable {
    name: "SHMEM_TRACE_SIZE",
    alias: None,
    readers: &[Library, Oshrun],
    scope: Scope::Pe,
    help: "How much of its newest calls each PE keeps for oshrun --trace, at 56 bytes a call; oshrun --trace sets 64m \
        where it is unset.",
    value: Size { unset: "no trace" },
};

/// Whether calls are counted.
pub static COUNTERS: Variable<Flag> = Variable {
    name: "SHMEM_COUNTERS",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "1 counts calls, bytes and time by kind of routine, for shmemx_counter_read and for oshrun --status and \
        --metrics, which set it; turns the fast path off, but not that of programs compiled with -DSHMEM_NATIVE_ONLY.",
    value: Flag { default: false },
};
/// How often each node shows what its PEs count.
pub static STATUS: Variable<Seconds> = Variable {
    name: "SHMEM_STATUS",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "Where another launcher than oshrun starts the PEs: each node shows every so many seconds what its PEs do, \
        if they count calls (SHMEM_COUNTERS). oshrun --hosts sets both by --status.",
    value: Seconds { default: 0 },
};
/// The time without progress after which each node shows what its PEs do.
pub static HANG_HINT: Variable<Seconds> = Variable {
    name: "SHMEM_HANG_HINT",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "Where another launcher than oshrun starts the PEs: after so many seconds in which a PE waits and none makes \
        progress, each node shows what its PEs do. For jobs of several nodes. oshrun --hosts sets it by --hang-hint.",
    value: Seconds { default: 60 },
};
/// After which time without progress the job is ended.
pub static HANG_TIMEOUT: Variable<Seconds> = Variable {
    name: "SHMEM_HANG_TIMEOUT",
    alias: None,
    readers: &[Library],
    scope: Scope::Job,
    help: "Where another launcher than oshrun starts the PEs: after so many seconds in which a PE waits and none makes \
        progress, each node shows what its PEs do, and the job ends with status 124. oshrun --hosts sets it by \
        --hang-timeout.",
    value: Seconds { default: 0 },
};
/// PEs that wait for a debugger.
pub static WAIT_FOR_DEBUGGER: Variable<Text> = Variable {
    name: "SHMEM_WAIT_FOR_DEBUGGER",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "These PEs wait in shmem_init until a debugger is attached, with any launcher; oshrun --debugger sets it.",
    value: Text { accepts: "numbers of PEs (0,4-7), or all", default: None, unset: "no PE waits" },
};
/// Whether a PE that is about to end badly starts gdb.
pub static GDB: Variable<Text> = Variable {
    name: "SHMEM_GDB",
    alias: None,
    readers: &[Library],
    scope: Scope::Pe,
    help: "A PE that is about to end badly (by a misuse that the library reports, or by a signal such as SIGSEGV and \
        SIGABRT) first starts gdb on itself, which prints a backtrace of all threads, or takes the terminal; oshrun \
        --gdb sets it.",
    value: Text { accepts: "1 for a backtrace, or interactive", default: None, unset: "no gdb" },
};

/// All variables that users set, in the order they are printed.
pub static TABLE: &[&dyn Entry] = &[
    &VERSION,
    &INFO,
    &SYMMETRIC_SIZE,
    &DEBUG,
    &CHECK,
    &FAST_PATH,
    &SPIN,
    &HUGE_PAGES,
    &NON_TEMPORAL_THRESHOLD,
    &WORKERS,
    &SHARE_THRESHOLD,
    &OFFLOAD_THRESHOLD,
    &OPENMP,
    &REPRODUCIBLE,
    &SOCKETS,
    &BARRIER_ALGORITHM,
    &REDUCE_ALGORITHM,
    &BROADCAST_ALGORITHM,
    &COLLECT_ALGORITHM,
    &FCOLLECT_ALGORITHM,
    &ALLTOALL_ALGORITHM,
    &ALLTOALLS_ALGORITHM,
    &SCAN_ALGORITHM,
    &TUNING_FILE,
    &FABRIC,
    &FABRIC_INTERFACE,
    &FABRIC_TIMEOUT,
    &SPAWN_TIMEOUT,
    &NAME_DIRECTORY,
    &AGGREGATE,
    &ENDPOINTS,
    &LIBFABRIC,
    &PROFILE_DIR,
    &TRACE_SIZE,
    &COUNTERS,
    &STATUS,
    &HANG_HINT,
    &HANG_TIMEOUT,
    &WAIT_FOR_DEBUGGER,
    &GDB,
    &CC,
    &CXX,
    &FC,
];

/// Variables that one part of FerroSHMEM sets for another: never printed.
pub static INTERNAL: &[&dyn Entry] = &[&JOB, &CHECK_FILE];

/// The variable that forces the algorithm of `collective`.
pub fn algorithm(collective: Collective) -> &'static Variable<AlgorithmChoice> {
    match collective {
        Collective::Barrier => &BARRIER_ALGORITHM,
        Collective::Reduce => &REDUCE_ALGORITHM,
        Collective::Broadcast => &BROADCAST_ALGORITHM,
        Collective::Collect => &COLLECT_ALGORITHM,
        Collective::Fcollect => &FCOLLECT_ALGORITHM,
        Collective::Alltoall => &ALLTOALL_ALGORITHM,
        Collective::Alltoalls => &ALLTOALLS_ALGORITHM,
        Collective::Scan => &SCAN_ALGORITHM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_prefixed() {
        let all: Vec<_> = TABLE.iter().chain(INTERNAL).collect();
        for (i, entry) in all.iter().enumerate() {
            let name = entry.name();
            let prefixes = ["SHMEM_", "OSHMEM_", "FERROSHMEM_"];
            assert!(prefixes.iter().any(|prefix| name.starts_with(prefix)));
            assert!(!entry.help().is_empty() && !entry.readers().is_empty());
            assert!(!entry.default().is_empty() && !entry.accepts().is_empty());
            assert!(all[..i].iter().all(|e| e.name() != name), "{name} twice");
        }
    }

    #[test]
    fn algorithms_are_named_after_their_collectives() {
        for collective in Collective::ALL {
            let variable = algorithm(collective);
            let upper = collective.name().to_uppercase();
            assert_eq!(variable.name, format!("SHMEM_{upper}_ALGORITHM"));
            assert_eq!(variable.value.0, collective);
        }
    }
}
