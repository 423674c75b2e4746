//! The table: every environment variable of FerroSHMEM, with type, default and text.

use Program::{Library, Oshcc, Oshcxx, Oshfort, OshmemInfo, Oshrun, Oshtune};
use ferroshmem_tuning::Collective;

use super::value::{
    Aggregation, AlgorithmChoice, Command, Count, Flag, OptionalFlag, Polls, Seconds, Size, SocketList, Switch, Text,
    TuningPath,
};
use super::variable::{Entry, Program, Scope, Variable};

/// The variable that forces the algorithm of a collective.
const fn forcing(name: &'static str, collective: Collective, help: &'static str) -> Variable<AlgorithmChoice> {
    Variable::of_job(name, AlgorithmChoice(collective), help).read_by(&[Library, OshmemInfo])
}

/// Prints the version at start-up (standard, "Environment Variables").
pub static VERSION: Variable<Switch> =
    Variable::of_pe("SHMEM_VERSION", Switch, "PE 0 prints the library version at start-up.").or("SMA_VERSION");
/// Prints this table at start-up (standard).
pub static INFO: Variable<Switch> = Variable::of_pe(
    "SHMEM_INFO",
    Switch,
    "PE 0 prints what oshmem_info prints: version, environment variables, build and machine.",
)
.or("SMA_INFO");
/// Size of the symmetric heap (standard).
pub static SYMMETRIC_SIZE: Variable<Size> = Variable::of_job(
    "SHMEM_SYMMETRIC_SIZE",
    Size { unset: "the node's memory" },
    "Size of each PE's symmetric heap. Memory is used only once it is touched.",
)
.read_by(&[Library, Oshrun])
.or("SMA_SYMMETRIC_SIZE");
/// Debugging messages (standard).
pub static DEBUG: Variable<Switch> =
    Variable::of_pe("SHMEM_DEBUG", Switch, "Prints debugging messages: memory layout, fast path, failed allocations.")
        .read_by(&[Library, Oshrun])
        .or("SMA_DEBUG");
/// Checks every argument.
pub static CHECK: Variable<Flag> = Variable::of_job(
    "SHMEM_CHECK",
    Flag { default: false },
    "Checks every argument of every call, and that the PEs agree on collective calls; turns the fast path off.",
);
/// Turns the inlined fast path off.
pub static FAST_PATH: Variable<Flag> = Variable::of_pe(
    "SHMEM_FAST_PATH",
    Flag { default: true },
    "0 sends every call through the library, as profiling tools need it (a tool that interposes is noticed by \
        itself).",
);
/// Has the library initialise MPI, too.
pub static MPI_INIT: Variable<Flag> = Variable::of_pe(
    "SHMEM_MPI_INIT",
    Flag { default: false },
    "1 has the first `shmem_init` initialise MPI, if the program is linked with one, and the last `shmem_finalize` end \
        it, as Open MPI's OpenSHMEM does.",
);
/// Polls before a waiting PE yields its core.
pub static SPIN: Variable<Polls> = Variable::of_pe(
    "SHMEM_SPIN",
    Polls { default: 2000, oversubscribed: 20 },
    "How often a waiting PE polls before it yields its core.",
);
/// Puts symmetric memory on huge pages as it is allocated.
pub static HUGE_PAGES: Variable<OptionalFlag> = Variable::of_pe(
    "SHMEM_HUGE_PAGES",
    OptionalFlag {
        unset: "memory moves to huge pages when it has been copied 4 times in pieces that go past the caches",
    },
    "1 puts allocated blocks of 2 MiB and more on huge pages, whatever the system's setting for shared memory; a \
        block takes all of its memory at once then. 0 leaves all memory to the system's setting.",
);
/// From how many bytes on copies go past the caches.
pub static NON_TEMPORAL_THRESHOLD: Variable<Size> = Variable::of_pe(
    "SHMEM_NON_TEMPORAL_THRESHOLD",
    Size { unset: "5/16 of the last-level cache, divided by half the number of PEs that share it" },
    "Puts and gets of so many bytes and more are written past the caches, by non-temporal stores; in an \
        all-to-all exchange, half as many. Unset, copies of 2 MiB and more use what is faster in the program that \
        runs.",
);
/// Threads of the library that share large copies.
pub static WORKERS: Variable<Count> = Variable::of_pe(
    "SHMEM_WORKERS",
    Count {
        unset: None,
        auto: "1 to 4, as many as there are cores for each PE beyond its own; none for more PEs than cores, or under a \
            quota of processor time",
    },
    "How many threads of the library share a PE's large copies and make its large non-blocking ones while it \
        computes. They are started by the first such copy and sleep while there is none. Those of auto run only while \
        one of the job's cores idles.",
);
/// From how many bytes on idle threads share a copy.
pub static SHARE_THRESHOLD: Variable<Size> = Variable::of_pe(
    "SHMEM_SHARE_THRESHOLD",
    Size { unset: "2m" },
    "Blocking puts and gets, and a PE's own part of collectives, of so many bytes and more are shared by idle \
        threads, if there are any.",
);
/// From how many bytes on non-blocking copies go on after their calls.
pub static OFFLOAD_THRESHOLD: Variable<Size> = Variable::of_pe(
    "SHMEM_OFFLOAD_THRESHOLD",
    Size { unset: "1m" },
    "Non-blocking puts and gets within a node of so many bytes and more are made by idle threads, if there are \
        any, while the PE computes.",
);
/// Lets threads of OpenMP take part in large copies.
pub static OPENMP: Variable<OptionalFlag> = Variable::of_pe(
    "SHMEM_OPENMP",
    OptionalFlag { unset: "as 1, but beside the workers of `auto`, and where these may run alone" },
    "1: threads of OpenMP that wait, in a barrier or after a parallel region, take part in a PE's large copies, \
        under the run-time of LLVM, instead of workers. Where it has another tool, workers do. 0: they do not.",
);
/// Makes results independent of the algorithm and the number of PEs.
pub static REPRODUCIBLE: Variable<Flag> = Variable::of_job(
    "SHMEM_REPRODUCIBLE",
    Flag { default: false },
    "Sums of floating-point numbers get the same bits by any algorithm and on any number of PEs, and take \
        longer.",
);

/// From how many bytes on the PEs of a node share the table of a team.
pub static TEAM_TABLE: Variable<Size> = Variable::of_job(
    "SHMEM_TEAM_TABLE",
    Size { unset: "4k" },
    "The PEs of a node share the table of a team without equal distances, if it takes more bytes; a smaller one each \
        PE has for itself.",
);
/// On which sockets the PEs of a node run.
pub static SOCKETS: Variable<SocketList> = Variable::of_job(
    "SHMEM_SOCKETS",
    SocketList,
    "On which socket each PE of a node runs: collectives of PEs on several pass as little as possible between \
        them. By default as PEs are bound.",
);

/// Forces the algorithm of barriers and syncs, also of those inside other collectives.
pub static BARRIER_ALGORITHM: Variable<AlgorithmChoice> = forcing(
    "SHMEM_BARRIER_ALGORITHM",
    Collective::Barrier,
    "Algorithm of barriers and syncs, also of those inside other collectives.",
);
/// Forces the algorithm of reductions.
pub static REDUCE_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_REDUCE_ALGORITHM", Collective::Reduce, "Algorithm of reductions.");
/// Forces the algorithm of broadcasts.
pub static BROADCAST_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_BROADCAST_ALGORITHM", Collective::Broadcast, "Algorithm of broadcasts.");
/// Forces the algorithm of collects.
pub static COLLECT_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_COLLECT_ALGORITHM", Collective::Collect, "Algorithm of collects.");
/// Forces the algorithm of fcollects.
pub static FCOLLECT_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_FCOLLECT_ALGORITHM", Collective::Fcollect, "Algorithm of fcollects.");
/// Forces the algorithm of alltoalls of blocks.
pub static ALLTOALL_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_ALLTOALL_ALGORITHM", Collective::Alltoall, "Algorithm of alltoalls of blocks.");
/// Forces the algorithm of alltoalls of strided elements.
pub static ALLTOALLS_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_ALLTOALLS_ALGORITHM", Collective::Alltoalls, "Algorithm of alltoalls of strided elements.");
/// Forces the algorithm of prefix sums.
pub static SCAN_ALGORITHM: Variable<AlgorithmChoice> =
    forcing("SHMEM_SCAN_ALGORITHM", Collective::Scan, "Algorithm of prefix sums.");

/// The tuning file.
pub static TUNING_FILE: Variable<TuningPath> = Variable::of_pe(
    "SHMEM_TUNING_FILE",
    TuningPath { default: "ferroshmem/tuning.toml" },
    "File that oshtune writes and oshrun reads: which algorithm pays on this machine.",
)
.read_by(&[Oshrun, Oshtune, OshmemInfo])
.within(Scope::Node);

/// Which provider of libfabric to use.
pub static FABRIC: Variable<Text> = Variable::of_job(
    "SHMEM_FABRIC",
    Text {
        accepts: "name of a provider, as oshmem_info --fabric lists them, or auto",
        default: Some("auto"),
        unset: "",
    },
    "How PEs of different nodes reach each other.",
)
.read_by(&[Library, OshmemInfo]);
/// Which network to use.
pub static FABRIC_INTERFACE: Variable<Text> = Variable::of_pe(
    "SHMEM_FABRIC_INTERFACE",
    Text {
        accepts: "name or address of a network interface",
        default: None,
        unset: "the first that is up and not loopback",
    },
    "Network interface through which PEs of other nodes are reached; this PE listens there alone.",
)
.read_by(&[Library, OshmemInfo]);
/// How soon a failed PE must be noticed.
pub static FABRIC_TIMEOUT: Variable<Seconds> = Variable::of_job(
    "SHMEM_FABRIC_TIMEOUT",
    Seconds { default: 10 },
    "Within this time of a PE's or a node's end, or of a cut of the network, the job ends with a line that says \
        so.",
);
/// How long spawned PEs may take.
pub static SPAWN_TIMEOUT: Variable<Seconds> = Variable::of_pe(
    "SHMEM_SPAWN_TIMEOUT",
    Seconds { default: 60 },
    "Where another launcher than oshrun starts PEs for shmemx_spawn: within this time all of them call \
        shmem_init, or the job ends with a line that says so. The value of PE_root counts.",
);
/// Where names of ports are that other nodes find.
pub static NAME_DIRECTORY: Variable<Text> = Variable::of_pe(
    "SHMEM_NAME_DIRECTORY",
    Text {
        accepts: "absolute path of a folder that this user alone can write to",
        default: None,
        unset: "names are known on one node",
    },
    "Folder on a file system that nodes share: shmemx_port_publish names ports there for jobs of this user on \
        all of them.",
);
/// What goes to another node together.
pub static AGGREGATE: Variable<Aggregation> = Variable::of_job(
    "SHMEM_AGGREGATE",
    Aggregation,
    "How long puts are at most that go to a PE of another node together, where the provider has messages, and \
        how many microseconds they wait for more; 0: each goes by itself.",
);
/// Endpoints for contexts of threads.
pub static ENDPOINTS: Variable<Count> = Variable::of_pe(
    "SHMEM_ENDPOINTS",
    Count { unset: Some(0), auto: "4" },
    "Between nodes, private and serialised contexts take turns at so many endpoints beside the first under \
        SHMEM_THREAD_MULTIPLE, over tcp. Each takes some 1 MB from its first use on, 90 with ofi_rxm; at most 16, 0: \
        all contexts use the first.",
);
/// The library that moves data between nodes.
pub static LIBFABRIC: Variable<Text> = Variable::of_pe(
    "SHMEM_LIBFABRIC",
    Text { accepts: "path", default: Some(ferroshmem_fabric::LIBFABRIC), unset: "where the system's loader finds it" },
    "The libfabric to use between nodes.",
)
.read_by(&[Library, OshmemInfo]);

/// The C compiler behind `oshcc`.
pub static CC: Variable<Command> =
    Variable::of_pe("OSHMEM_CC", Command { candidates: &["cc", "gcc", "clang"] }, "The compiler that oshcc runs.")
        .read_by(&[Oshcc])
        .within(Scope::Tool);
/// The C++ compiler behind `oshc++`.
pub static CXX: Variable<Command> =
    Variable::of_pe("OSHMEM_CXX", Command { candidates: &["c++", "g++", "clang++"] }, "The compiler that oshc++ runs.")
        .read_by(&[Oshcxx])
        .within(Scope::Tool);
/// The Fortran compiler behind `oshfort`.
pub static FC: Variable<Command> = Variable::of_pe(
    "OSHMEM_FC",
    Command { candidates: &["gfortran", "flang", "ifx"] },
    "The compiler that oshfort runs.",
)
.read_by(&[Oshfort])
.within(Scope::Tool);

/// Internal: by it `oshrun` hands each PE its place in the job.
pub static JOB: Variable<Text> = Variable::of_pe(
    "FERROSHMEM_JOB",
    Text { accepts: "<descriptor of the job's memory>:<PE number>", default: None, unset: "not a PE of oshrun's" },
    "Set by oshrun for each PE.",
);

/// Internal: by it `oshrun --check` hands each PE the file that findings go to.
pub static CHECK_FILE: Variable<Text> = Variable::of_pe(
    "FERROSHMEM_CHECK_FILE",
    Text {
        accepts: "<descriptor of the file of findings, or where oshrun has it>",
        default: None,
        unset: "the PE is not checked",
    },
    "Set by oshrun --check for each PE.",
);

/// Where each PE records what it does.
pub static PROFILE_DIR: Variable<Text> = Variable::of_pe(
    "SHMEM_PROFILE_DIR",
    Text { accepts: "path of a directory", default: None, unset: "nothing is recorded" },
    "Each PE records there where its time goes, for oshrun --profile and --trace, which set it; turns the fast \
        path off.",
);
/// How much of a trace each PE keeps.
pub static TRACE_SIZE: Variable<Size> = Variable::of_pe(
    "SHMEM_TRACE_SIZE",
    Size { unset: "no trace" },
    "How much of its newest calls each PE keeps for oshrun --trace, at 56 bytes a call; oshrun --trace sets 64m \
        where it is unset. 0: no trace.",
)
.read_by(&[Library, Oshrun]);

/// Whether calls are counted.
pub static COUNTERS: Variable<Flag> = Variable::of_pe(
    "SHMEM_COUNTERS",
    Flag { default: false },
    "1 counts calls, bytes and time by kind of routine, for shmemx_counter_read and for oshrun --status and \
        --metrics, which set it; turns the fast path off, but not that of programs compiled with -DSHMEM_NATIVE_ONLY.",
);
/// How often each node shows what its PEs count.
pub static STATUS: Variable<Seconds> = Variable::of_pe(
    "SHMEM_STATUS",
    Seconds { default: 0 },
    "Where another launcher than oshrun starts the PEs: each node shows every so many seconds what its PEs do, \
        if they count calls (SHMEM_COUNTERS). oshrun --hosts sets both by --status.",
);
/// The time without progress after which each node shows what its PEs do.
pub static HANG_HINT: Variable<Seconds> = Variable::of_job(
    "SHMEM_HANG_HINT",
    Seconds { default: 60 },
    "Where another launcher than oshrun starts the PEs: after so many seconds in which a PE waits and none makes \
        progress, each node shows what its PEs do. For jobs of several nodes. oshrun --hosts sets it by --hang-hint.",
);
/// After which time without progress the job is ended.
pub static HANG_TIMEOUT: Variable<Seconds> = Variable::of_job(
    "SHMEM_HANG_TIMEOUT",
    Seconds { default: 0 },
    "Where another launcher than oshrun starts the PEs: after so many seconds in which a PE waits and none makes \
        progress, each node shows what its PEs do, and the job ends with status 124. oshrun --hosts sets it by \
        --hang-timeout.",
);
/// PEs that wait for a debugger.
pub static WAIT_FOR_DEBUGGER: Variable<Text> = Variable::of_pe(
    "SHMEM_WAIT_FOR_DEBUGGER",
    Text { accepts: "numbers of PEs (0,4-7), or all", default: None, unset: "no PE waits" },
    "These PEs wait in shmem_init until a debugger is attached, with any launcher; oshrun --debugger sets it.",
);
/// Whether a PE that is about to end badly starts gdb.
pub static GDB: Variable<Text> = Variable::of_pe(
    "SHMEM_GDB",
    Text { accepts: "1 for a backtrace, or interactive", default: None, unset: "no gdb" },
    "A PE that is about to end badly (by a misuse that the library reports, or by a signal such as SIGSEGV and \
        SIGABRT) first starts gdb on itself, which prints a backtrace of all threads, or takes the terminal; oshrun \
        --gdb sets it.",
);

/// All variables that users set, in the order they are printed.
pub static TABLE: &[&dyn Entry] = &[
    &VERSION, &INFO, &SYMMETRIC_SIZE, &DEBUG, &CHECK, &FAST_PATH, &MPI_INIT, &SPIN, &HUGE_PAGES,
    &NON_TEMPORAL_THRESHOLD, &WORKERS, &SHARE_THRESHOLD, &OFFLOAD_THRESHOLD, &OPENMP, &REPRODUCIBLE, &TEAM_TABLE,
    &SOCKETS, &BARRIER_ALGORITHM, &REDUCE_ALGORITHM, &BROADCAST_ALGORITHM, &COLLECT_ALGORITHM, &FCOLLECT_ALGORITHM,
    &ALLTOALL_ALGORITHM, &ALLTOALLS_ALGORITHM, &SCAN_ALGORITHM, &TUNING_FILE, &FABRIC, &FABRIC_INTERFACE,
    &FABRIC_TIMEOUT, &SPAWN_TIMEOUT, &NAME_DIRECTORY, &AGGREGATE, &ENDPOINTS, &LIBFABRIC, &PROFILE_DIR, &TRACE_SIZE,
    &COUNTERS, &STATUS, &HANG_HINT, &HANG_TIMEOUT, &WAIT_FOR_DEBUGGER, &GDB, &CC, &CXX, &FC,
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
