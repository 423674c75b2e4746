//! Environment variables of other OpenSHMEM implementations, which have no effect here.

use std::ffi::OsStr;

/// Variables of other implementations: name, whose it is, and what to write instead.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("XT_SYMMETRIC_HEAP_SIZE", "Cray SHMEM", "SHMEM_SYMMETRIC_SIZE"),
    ("SHMEM_SYMMETRIC_HEAP_SIZE", "Open MPI", "SHMEM_SYMMETRIC_SIZE"),
    ("SHMEM_VERSION_DISPLAY", "Cray SHMEM", "SHMEM_VERSION=1"),
    ("SHMEM_ENV_DISPLAY", "Cray SHMEM", "SHMEM_INFO=1"),
    ("SHMEM_OFI_PROVIDER", "Sandia OpenSHMEM", "SHMEM_FABRIC"),
    ("SHMEM_OFI_DOMAIN", "Sandia OpenSHMEM", "SHMEM_FABRIC_INTERFACE"),
    ("SHMEM_BCAST_ALGORITHM", "Sandia OpenSHMEM", "SHMEM_BROADCAST_ALGORITHM"),
    ("SHMEM_COLL_CROSSOVER", "Sandia OpenSHMEM", "SHMEM_TUNING_FILE, which oshtune writes"),
    ("SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES", "Sandia OpenSHMEM", "SHMEM_HUGE_PAGES"),
];

/// A line for each variable that `is_set` and is another implementation's.
pub(super) fn of_others(is_set: impl Fn(&OsStr) -> bool) -> Vec<String> {
    let set = VARIABLES.iter().filter(|(name, ..)| is_set(OsStr::new(name)));
    let line = |(name, whose, instead): &(&str, &str, &str)| {
        format!("{name} is a variable of {whose} and has no effect; here: {instead}")
    };
    set.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_answered_with_ours() {
        let lines = of_others(|name| name == "XT_SYMMETRIC_HEAP_SIZE");
        let [line] = &lines[..] else {
            panic!("{lines:?}");
        };
        assert!(line.ends_with("here: SHMEM_SYMMETRIC_SIZE"), "{line}");
        let ours: Vec<_> = ferroshmem_config::TABLE.iter().map(|v| v.name()).collect();
        for (name, _, instead) in VARIABLES {
            let end = instead.find(['=', ',']).unwrap_or(instead.len());
            assert!(ours.contains(&&instead[..end]), "{instead}");
            assert!(!ours.contains(name), "{name}");
        }
    }
}
