//! The last-level cache, as the kernel describes it.

use std::fs;
use std::sync::OnceLock;

use super::Cores;

/// The largest cache that a core reads through, and how many cores share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLevelCache {
    /// Its size in bytes.
    pub bytes: usize,
    /// Number of cores that share it.
    pub cores: usize,
}

impl LastLevelCache {
    /// That of the first core which this process may use; None if the kernel does not describe it. Read once.
    pub fn here() -> Option<Self> {
        static HERE: OnceLock<Option<LastLevelCache>> = OnceLock::new();
        *HERE.get_or_init(Self::of_first_core)
    }

    fn of_first_core() -> Option<Self> {
        let core = Cores::of_this_process().iter().next()?;
        let folder = format!("/sys/devices/system/cpu/cpu{core}/cache");
        Self::read(|file| fs::read_to_string(format!("{folder}/{file}")).ok())
    }

    /// The last of the levels that the kernel's files describe.
    fn read(text: impl Fn(&str) -> Option<String>) -> Option<Self> {
        /// More than any machine has: two of level 1, one of each further level.
        const INDICES: usize = 8;

        let caches = (0..INDICES).filter_map(|index| {
            let value = |name: &str| {
                let text = text(&format!("index{index}/{name}"))?;
                Some(text.trim().to_owned())
            };
            if value("type")? == "Instruction" {
                return None;
            }
            let level: usize = value("level")?.parse().ok()?;
            let cores = count(&value("shared_cpu_list")?)?;
            let bytes = size(&value("size")?)?;
            Some((level, Self { bytes, cores }))
        });
        caches.max_by_key(|(level, _)| *level).map(|(_, cache)| cache)
    }

    /// What one of `pes` processes has of it, if they keep to different cores.
    pub fn share(&self, pes: usize) -> usize {
        self.bytes / pes.clamp(1, self.cores)
    }
}

/// The bytes of a size in the kernel's words, as in `32768K`; None for none.
fn size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    let number: usize = digits.parse().ok()?;
    number.checked_mul(factor).filter(|bytes| *bytes > 0)
}

/// How many numbers are in a list like `0-3,8`; None if it is none.
fn count(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').map(count).try_fold(0, |sum: usize, n| sum.checked_add(n?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists() {
        assert_eq!(size("32768K"), Some(32 << 20));
        assert_eq!(size("2M"), Some(2 << 20));
        assert_eq!(size("512"), Some(512));
        for none in ["", "K", "0K", "1G", "12 K", "-1K", "18446744073709551615K"] {
            assert_eq!(size(none), None, "{none}");
        }
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-1"), Some(2));
        assert_eq!(count("0-3,8,16-17"), Some(7));
        for none in ["", "a", "3-1", "1,", "0-", "0-18446744073709551615"] {
            assert_eq!(count(none), None, "{none}");
        }
    }

    #[test]
    fn the_last_level_counts() {
        let caches = [
            ["1", "Data", "32K", "5"],
            ["1", "Instruction", "64K", "5"],
            ["2", "Unified", "512K", "5,69"],
            ["3", "Unified", "32768K", "0-7,64-71"],
        ];
        let first = |n: usize| {
            LastLevelCache::read(|file| {
                let (index, name) = file.strip_prefix("index")?.split_once('/')?;
                let names = ["level", "type", "size", "shared_cpu_list"];
                let cache = caches[..n].get(index.parse::<usize>().ok()?)?;
                let place = names.iter().position(|known| *known == name)?;
                Some(format!("{}\n", cache[place]))
            })
        };
        assert_eq!(first(0), None);
        let one = LastLevelCache { bytes: 32 << 10, cores: 1 };
        assert_eq!(first(2), Some(one));
        let last = first(4).unwrap();
        assert_eq!((last.bytes, last.cores), (32 << 20, 16));
        assert_eq!(last.share(2), 16 << 20);
        assert_eq!(last.share(0), 32 << 20);
        assert_eq!(last.share(1000), 2 << 20);
    }
}
