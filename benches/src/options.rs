//! What the command line of `benches/collectives` asks for.

use std::time::Duration;

use crate::contest::Effort;

/// Usage, for those who ask.
pub const USAGE: &str = "\
usage: cargo bench -p ferroshmem-benches --bench collectives [-- [--full] [FILTER...]]

Measures what has one of FILTER in its name, such as reduction/16-PEs/4KiB, forms/2-PEs/,
read/, crowd/64-PEs/ or others/broadcast/. --full takes more sizes, more blocks and longer.";

/// What is measured, and how thoroughly.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// More of everything.
    pub full: bool,
    filters: Vec<String>,
}

impl Options {
    /// Reads the arguments of the command line; none if help is asked for.
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

    /// Whether the item `name` is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// Those of `all` whose names are asked for.
    pub fn wanted<T: Copy>(&self, all: &[T], name: impl Fn(T) -> String) -> Vec<T> {
        let wants = |item: &T| self.wants(&name(*item));
        all.iter().copied().filter(wants).collect()
    }

    /// How long a point is measured. Where PEs outnumber cores (`crowded`), blocks are longer: the
    /// kernel spreads processes that have just woken up over the cores only after a while.
    pub fn effort(&self, crowded: bool) -> Effort {
        let (block, blocks, budget) = match (self.full, crowded) {
            (false, false) => (3, 15, 8),
            (false, true) => (30, 11, 10),
            (true, false) => (5, 41, 40),
            (true, true) => (50, 41, 60),
        };
        Effort {
            block: Duration::from_millis(block),
            blocks,
            budget: Duration::from_secs(budget),
            patient: self.full,
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
