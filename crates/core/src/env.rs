//! The environment variables: one table for reading, `oshmem_info`, `SHMEM_INFO` and docs.

use std::env;
use std::process::Command;

/// One environment variable of the library or the launcher.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Name as in the standard or with the same prefix.
    pub name: &'static str,
    /// Older name that is read where `name` is unset (the standard's `SMA_*`).
    pub alias: Option<&'static str>,
    /// WaitReason a value looks like.
    pub kind: &'static str,
    /// WaitReason holds when it is unset.
    pub default: &'static str,
    /// Meaning, one sentence.
    pub help: &'static str,
}

/// Prints the version at start-up (standard, "Environment Variables").
pub const VERSION: Variable = Variable {
    name: "SHMEM_VERSION",
    alias: Some("SMA_VERSION"),
    kind: "any value",
    default: "unset",
    help: "PE 0 prints the library version at start-up.",
};
/// Prints this table at start-up (standard).
pub const INFO: Variable = Variable {
    name: "SHMEM_INFO",
    alias: Some("SMA_INFO"),
    kind: "any value",
    default: "unset",
    help: "PE 0 prints what oshmem_info prints: version, environment variables, build and machine.",
};
/// Size of the symmetric heap (standard).
pub const SYMMETRIC_SIZE: Variable = Variable {
    name: "SHMEM_SYMMETRIC_SIZE",
    alias: Some("SMA_SYMMETRIC_SIZE"),
    kind: "number of bytes, or with k, m, g or t",
    default: "the node's memory",
    help: "Size of each PE's symmetric heap. Memory is used only once it is touched.",
};
/// Debugging messages (standard).
pub const DEBUG: Variable = Variable {
    name: "SHMEM_DEBUG",
    alias: Some("SMA_DEBUG"),
    kind: "any value",
    default: "unset",
    help: "Prints debugging messages: memory layout, fast path, failed allocations.",
};
/// Checks every argument.
pub const CHECK: Variable = Variable {
    name: "SHMEM_CHECK",
    alias: None,
    kind: "0 or 1",
    default: "0",
    help: "Checks every argument of every call, and that the PEs agree on collective calls; turns the fast path off.",
};
/// Turns the inlined fast path off.
pub const FAST_PATH: Variable = Variable {
    name: "SHMEM_FAST_PATH",
    alias: None,
    kind: "0 or 1",
    default: "1",
    help: "0 sends every call through the library, as profiling tools need it (a tool that interposes is noticed by itself).",
};
/// Polls before yielding.
pub const SPIN: Variable = Variable {
    name: "SHMEM_SPIN",
    alias: None,
    kind: "number of polls",
    default: "2000, or 20 where PEs outnumber cores",
    help: "How often a waiting PE looks before it gives up its core.",
};

/// Forces the algorithm of barriers and syncs, also of those inside other collectives.
pub const BARRIER_ALGORITHM: Variable = Variable {
    name: "SHMEM_BARRIER_ALGORITHM",
    alias: None,
    kind: "auto, central, dissemination or tree",
    default: "auto",
    help: "Algorithm of barriers and syncs, also of those inside other collectives.",
};
/// Forces the algorithm of reductions.
pub const REDUCE_ALGORITHM: Variable = Variable {
    name: "SHMEM_REDUCE_ALGORITHM",
    alias: None,
    kind: "auto, eager, flat, rd, bruck, rsag or slices; with :ptr or :putget after flat, rd, bruck or rsag",
    default: "auto",
    help: "Algorithm of reductions.",
};
/// Forces the algorithm of broadcasts.
pub const BROADCAST_ALGORITHM: Variable = Variable {
    name: "SHMEM_BROADCAST_ALGORITHM",
    alias: None,
    kind: "auto, eager, pull, push, tree or slices",
    default: "auto",
    help: "Algorithm of broadcasts.",
};
/// Forces the algorithm of collects.
pub const COLLECT_ALGORITHM: Variable = Variable {
    name: "SHMEM_COLLECT_ALGORITHM",
    alias: None,
    kind: "auto, eager, pull or push",
    default: "auto",
    help: "Algorithm of collects.",
};
/// Forces the algorithm of fcollects.
pub const FCOLLECT_ALGORITHM: Variable = Variable {
    name: "SHMEM_FCOLLECT_ALGORITHM",
    alias: None,
    kind: "auto, eager, pull or push",
    default: "auto",
    help: "Algorithm of fcollects.",
};
/// Forces the algorithm of alltoalls of blocks.
pub const ALLTOALL_ALGORITHM: Variable = Variable {
    name: "SHMEM_ALLTOALL_ALGORITHM",
    alias: None,
    kind: "auto, eager, pull or push",
    default: "auto",
    help: "Algorithm of alltoalls of blocks.",
};
/// Forces the algorithm of alltoalls of strided elements.
pub const ALLTOALLS_ALGORITHM: Variable = Variable {
    name: "SHMEM_ALLTOALLS_ALGORITHM",
    alias: None,
    kind: "auto, pull or push",
    default: "auto",
    help: "Algorithm of alltoalls of strided elements.",
};
/// Forces the algorithm of prefix sums.
pub const SCAN_ALGORITHM: Variable = Variable {
    name: "SHMEM_SCAN_ALGORITHM",
    alias: None,
    kind: "auto, eager, pull or slices",
    default: "auto",
    help: "Algorithm of prefix sums.",
};
/// Makes results independent of the algorithm and the number of PEs.
pub const REPRODUCIBLE: Variable = Variable {
    name: "SHMEM_REPRODUCIBLE",
    alias: None,
    kind: "0 or 1",
    default: "0",
    help: "Sums of floating-point numbers get the same bits by any algorithm and on any number of PEs, and take longer.",
};
/// WaitReason `oshtune` measured.
pub const TUNING_FILE: Variable = Variable {
    name: "SHMEM_TUNING_FILE",
    alias: None,
    kind: "path; empty for none",
    default: "$XDG_CONFIG_HOME/ferroshmem/tuning.toml, or the same below ~/.config",
    help: "File that oshtune writes and oshrun reads: which algorithm pays on this machine.",
};

/// Which provider of libfabric to use.
pub const FABRIC: Variable = Variable {
    name: "SHMEM_FABRIC",
    alias: None,
    kind: "name of a provider, as oshmem_info --fabric lists them, or auto",
    default: "auto",
    help: "How PEs of different nodes reach each other.",
};
/// Which network to use.
pub const FABRIC_INTERFACE: Variable = Variable {
    name: "SHMEM_FABRIC_INTERFACE",
    alias: None,
    kind: "name or address of a network interface",
    default: "the first that is up and not loopback",
    help: "Network interface through which PEs of other nodes are reached; this PE listens there alone.",
};
/// How soon a PE that is gone must be noticed.
pub const FABRIC_TIMEOUT: Variable = Variable {
    name: "SHMEM_FABRIC_TIMEOUT",
    alias: None,
    kind: "seconds; 0: never",
    default: "10",
    help: "Within this time of a PE's or a node's end, or of a cut of the network, the job ends with a line that says so.",
};
/// The library that moves data between nodes.
pub const LIBFABRIC: Variable = Variable {
    name: "SHMEM_LIBFABRIC",
    alias: None,
    kind: "path",
    default: "libfabric.so.1, where the system's loader finds it",
    help: "The libfabric to use between nodes.",
};

/// All variables, in the order they are printed.
pub const TABLE: &[Variable] = &[
    VERSION,
    INFO,
    SYMMETRIC_SIZE,
    DEBUG,
    CHECK,
    FAST_PATH,
    SPIN,
    REPRODUCIBLE,
    BARRIER_ALGORITHM,
    REDUCE_ALGORITHM,
    BROADCAST_ALGORITHM,
    COLLECT_ALGORITHM,
    FCOLLECT_ALGORITHM,
    ALLTOALL_ALGORITHM,
    ALLTOALLS_ALGORITHM,
    SCAN_ALGORITHM,
    TUNING_FILE,
    FABRIC,
    FABRIC_INTERFACE,
    FABRIC_TIMEOUT,
    LIBFABRIC,
];

impl Variable {
    /// The variable's value, or its alias's. Values that are not UTF-8 are read lossily.
    pub fn get(&self) -> Option<String> {
        let read = |name: &str| env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        read(self.name).or_else(|| self.alias.and_then(read))
    }

    /// Whether the variable is set at all.
    pub fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// A `0 or 1` variable. The error is one line that names variable and value.
    pub fn flag(&self, default: bool) -> Result<bool, String> {
        match self.get().as_deref().map(str::trim) {
            None | Some("") => Ok(default),
            Some("0" | "no" | "off" | "false") => Ok(false),
            Some("1" | "yes" | "on" | "true") => Ok(true),
            Some(v) => Err(format!("{}: cannot read \"{v}\": give 0 or 1", self.name)),
        }
    }

    /// A number. The error is one line that names variable and value.
    pub fn number(&self) -> Result<Option<u32>, String> {
        match self.get() {
            None => Ok(None),
            Some(v) => v
                .trim()
                .parse()
                .map(Some)
                .map_err(|_| format!("{}: cannot read \"{v}\" as a number", self.name)),
        }
    }
}

/// WaitReason the library reads once at start-up.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// `SHMEM_CHECK`.
    pub check: bool,
    /// `SHMEM_FAST_PATH`.
    pub fast_path: bool,
    /// `SHMEM_DEBUG`.
    pub debug: bool,
    /// `SHMEM_SPIN`.
    pub spin: Option<u32>,
    /// `SHMEM_REPRODUCIBLE`.
    pub reproducible: bool,
}

impl Settings {
    /// Reads the environment. The error is one line for the user.
    pub fn from_environment() -> Result<Self, String> {
        Ok(Self {
            check: CHECK.flag(false)?,
            fast_path: FAST_PATH.flag(true)?,
            debug: DEBUG.is_set(),
            spin: SPIN.number()?,
            reproducible: REPRODUCIBLE.flag(false)?,
        })
    }
}

/// Has `command` inherit no variable of an OpenSHMEM (`SHMEM_*`, `SMA_*`), nor one that begins with
/// one of `others`: what a user's shell has set must not change what is measured or tested.
/// Variables that `command` sets itself stay.
pub fn keep_from(command: &mut Command, others: &[&str]) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let mut prefixes = ["SHMEM_", "SMA_"].iter().chain(others);
        let meant = prefixes.any(|prefix| text.starts_with(prefix));
        if meant && !command.get_envs().any(|(set, _)| set == name) {
            command.env_remove(&name);
        }
    }
}

/// The table as text, with the value in force where one is set.
pub fn describe() -> String {
    let mut out = String::from("Environment variables\n");
    for v in TABLE {
        let alias = v.alias.map(|a| format!(" (or {a})")).unwrap_or_default();
        out += &format!("  {}{alias}\n      {}\n", v.name, v.help);
        out += &format!("      value: {}; default: {}", v.kind, v.default);
        if let Some(value) = v.get() {
            out += &format!("; set to \"{value}\"");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn commands_inherit_what_is_not_meant() {
        let mut names = env::vars_os().map(|(name, _)| name);
        let inherited = names.next().expect("tests have an environment");
        let set = names.next().expect("of several variables");
        let mut command = Command::new("true");
        command.env(&set, "value");
        let text = inherited.to_string_lossy();
        keep_from(&mut command, &[&text, &set.to_string_lossy()]);
        let of = |name: &OsStr| command.get_envs().find(|(n, _)| *n == name).map(|(_, v)| v);
        assert_eq!(of(&inherited), Some(None));
        assert_eq!(of(&set), Some(Some(OsStr::new("value"))));
        let mut command = Command::new("true");
        keep_from(&mut command, &[]);
        assert!(
            command
                .get_envs()
                .all(|(name, _)| name.to_string_lossy().starts_with('S'))
        );
    }

    #[test]
    fn names_are_unique_and_prefixed() {
        for (i, v) in TABLE.iter().enumerate() {
            assert!(v.name.starts_with("SHMEM_"));
            assert!(!v.help.is_empty() && !v.default.is_empty() && !v.kind.is_empty());
            assert!(
                TABLE[..i].iter().all(|w| w.name != v.name),
                "{} twice",
                v.name
            );
        }
    }
}
