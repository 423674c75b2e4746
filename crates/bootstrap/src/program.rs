//! Processes that a launcher is to start.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Processes that a launcher is to start, which all run one program.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The file of the program.
    pub file: &'a Path,
    /// What follows it in `argv`.
    pub arguments: &'a [OsString],
    /// Variables as `NAME=VALUE`, beside those that the launcher sets.
    pub variables: &'a [OsString],
    /// The directory to run in.
    pub directory: &'a Path,
    /// Number of processes.
    pub processes: usize,
    /// The hosts to start on, separated by commas, if these are not for the launcher to choose.
    pub hosts: Option<&'a OsStr>,
}

/// A host for each of `n` processes, from a list `host[:processes],...`: in its order, and from its begin again where
/// it ends.
pub(crate) fn one_each(list: &str, n: usize) -> Vec<String> {
    let slots = list.split(',').flat_map(|host| {
        let (name, many) = host.split_once(':').unwrap_or((host, "1"));
        std::iter::repeat_n(name, many.parse().unwrap_or(1).clamp(1, n))
    });
    let slots: Vec<_> = slots.collect();
    let first = |host| slots.iter().position(|slot| slot == host).unwrap_or(0);
    let mut hosts: Vec<_> = (0..n).map(|i| first(&slots[i % slots.len()])).collect();
    // Neighbours on one host.
    hosts.sort_unstable();
    hosts.into_iter().map(|i| slots[i].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::one_each;

    #[test]
    fn a_list_of_hosts_goes_round() {
        assert_eq!(one_each("a", 3), ["a", "a", "a"]);
        assert_eq!(one_each("a:2,b", 2), ["a", "a"]);
        assert_eq!(one_each("b,a", 5), ["b", "b", "b", "a", "a"]);
        assert_eq!(one_each("a:2,b", 6), ["a", "a", "a", "a", "b", "b"]);
        assert_eq!(one_each("a:0,b:x", 2), ["a", "b"]);
        assert_eq!(one_each("a:99999999", 1), ["a"]);
    }
}
