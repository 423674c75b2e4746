//! The command line of the suites.

use std::time::Duration;

use crate::comparison::Effort;

/// The help text of `benches/collectives`.
pub const USAGE: &str = "\
usage: cargo bench -p ferroshmem-benches --bench collectives [-- [--full] [FILTER...]]

Measures the items with one of FILTER in their names, such as reduction/16-PEs/4KiB, forms/2-PEs/,
read/, crowd/64-PEs/, transfers/put/ or others/broadcast/. --full takes more sizes, more blocks and longer.";

/// Which items are measured, and how much.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// More sizes, blocks and time.
    pub full: bool,
    filters: Vec<String>,
}

impl Options {
    /// Reads the arguments of the command line; none if it asks for help.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--full" => options.full = true,
                "--bench" => {} // from cargo
                other if other.starts_with('-') => return None,
                _ => options.filters.push(argument),
            }
        }
        Some(options)
    }

    /// Whether the item `name` is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// Those of `all` whose names are to be measured.
    pub fn wanted<T: Copy>(&self, all: &[T], name: impl Fn(T) -> String) -> Vec<T> {
        let wants = |item: &T| self.wants(&name(*item));
        all.iter().copied().filter(wants).collect()
    }

    /// How much is measured at a point. Where PEs outnumber cores (`oversubscribed`), blocks are
    /// longer: the kernel takes a while to distribute woken processes over the cores.
    pub fn effort(&self, oversubscribed: bool) -> Effort {
        let (block, blocks, budget) = match (self.full, oversubscribed) {
            (false, false) => (3, 15, 8),
            (false, true) => (30, 11, 10),
            (true, false) => (5, 41, 40),
            (true, true) => (50, 41, 60),
        };
        Effort {
            block: Duration::from_millis(block),
            blocks,
            budget: Duration::from_secs(budget),
            keeps_slow: self.full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_parts_of_names() {
        let parse = |words: &[&str]| Options::parse(words.iter().map(|w| (*w).to_owned()));
        let options = parse(&["--bench", "16-PEs", "--full"]).unwrap();
        assert!(options.full && options.wants("reduction/16-PEs/8B"));
        assert!(!options.wants("reduction/4-PEs/8B"));
        assert!(!parse(&[]).unwrap().full && parse(&[]).unwrap().wants("anything"));
        assert!(parse(&["--help"]).is_none());
    }
}
