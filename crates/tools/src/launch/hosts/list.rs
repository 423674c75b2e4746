//! The hosts that a user names.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ferroshmem_layout::MAX_PES;

use crate::launch::failure::Failure;

/// A host and the number of PEs that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub name: String,
    pub slots: usize,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.slots)
    }
}

impl Host {
    /// Whether this is the host on which this runs, by one of its usual names.
    pub(super) fn is_this_host(&self) -> bool {
        let here = nix::unistd::gethostname().unwrap_or_default();
        let here = here.to_string_lossy();
        let short = here.split('.').next();
        ["localhost", "127.0.0.1"].contains(&self.name.as_str())
            || self.name == here
            || Some(self.name.as_str()) == short
    }

    /// From `HOST` or `HOST:SLOTS`; the error is what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        let (name, slots) = match text.split_once(':') {
            Some((name, slots)) => (name, number(slots, text)?),
            None => (text, 1),
        };
        Self::new(name, slots)
    }

    fn new(name: &str, slots: usize) -> Result<Self, String> {
        let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() {
            return Err("a host without a name".into());
        }
        if name.starts_with('-') {
            return Err(format!("\"{name}\" is an option, not a host"));
        }
        if !name.chars().all(legal) {
            return Err(format!("\"{name}\" is not the name of a host"));
        }
        Ok(Self { name: name.into(), slots })
    }
}

fn number(slots: &str, whole: &str) -> Result<usize, String> {
    match slots.parse() {
        Ok(n) if (1..=MAX_PES).contains(&n) => Ok(n),
        _ => Err(format!("\"{whole}\": give a number of slots from 1 to {MAX_PES}")),
    }
}

/// From `--hosts`.
pub(super) fn from_list(text: &str) -> Result<Vec<Host>, Failure> {
    let named = |why: String| Failure::usage(format!("--hosts {text}: {why}"));
    let hosts: Result<Vec<Host>, String> = text.split(',').map(Host::parse).collect();
    hosts.and_then(merged).map_err(named)
}

/// The hosts of a list as Slurm writes it: `n[08-10,12],m` are n08, n09, n10, n12 and m.
pub(in crate::launch) fn expanded(list: &str) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let name = rest.find([',', '[']).unwrap_or(rest.len());
        let (prefix, tail) = rest.split_at(name);
        let (ranges, tail) = match tail.strip_prefix('[') {
            Some(inner) => inner.split_once(']').map(|(ranges, tail)| (Some(ranges), tail))?,
            None => (None, tail),
        };
        rest = tail.strip_prefix(',').or_else(|| tail.is_empty().then_some(""))?;
        let Some(ranges) = ranges else {
            hosts.push(prefix.to_owned());
            continue;
        };
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (from, to) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
            let width = first.len();
            (from <= to && to - from < MAX_PES).then_some(())?;
            hosts.extend((from..=to).map(|number| format!("{prefix}{number:0width$}")));
        }
    }
    (!list.contains('/')).then_some(hosts)
}

/// From `--hostfile`.
pub(super) fn from_file(file: &Path) -> Result<Vec<Host>, Failure> {
    let shown = file.display();
    let named = |why: String| Failure::usage(format!("--hostfile {shown}: {why}"));
    let text = read(file).map_err(|e| named(e.to_string()))?;
    let mut hosts = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let host = match words[..] {
            [] => continue,
            [host] => Host::parse(host),
            // No more PEs than slots run anyway, so Open MPI's `max_slots=` limits nothing.
            [host, slots] | [host, slots, _]
                if words.get(2).is_none_or(|w| w.replace('-', "_").starts_with("max_slots=")) =>
            {
                match slots.strip_prefix("slots=") {
                    Some(n) => number(n, slots).and_then(|n| Host::new(host, n)),
                    None => Err(format!("\"{slots}\" is not slots=N")),
                }
            }
            _ => Err(format!("\"{}\" is not HOST slots=N", line.trim())),
        };
        hosts.push(host.map_err(|why| named(format!("line {}: {why}", i + 1)))?);
    }
    merged(hosts).map_err(named)
}

/// The text of a file or a pipe: a device may have no end.
fn read(file: &Path) -> io::Result<String> {
    /// Bytes of the longest file: more than [`MAX_PES`] hosts with names of 255 characters.
    const LONGEST: u64 = 4 << 20;

    let kind = fs::metadata(file)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(io::Error::other("give a file or a pipe with lines HOST slots=N"));
    }
    let mut text = String::new();
    File::open(file)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("longer than {LONGEST} bytes")));
    }
    Ok(text)
}

/// Each host once, with the slots of all its lines: `$PBS_NODEFILE` has a line for each slot.
fn merged(hosts: Vec<Host>) -> Result<Vec<Host>, String> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        match merged.iter_mut().find(|other| other.name == host.name) {
            Some(other) => other.slots += host.slots,
            None => merged.push(host),
        }
    }
    match merged.iter().find(|host| host.slots > MAX_PES) {
        Some(Host { name, .. }) => Err(format!("\"{name}\": give a number of slots from 1 to {MAX_PES}")),
        None if merged.is_empty() => Err("no host in it".into()),
        None => Ok(merged),
    }
}

/// The number of PEs that all take.
pub(super) fn slots(hosts: &[Host]) -> usize {
    hosts.iter().map(|h| h.slots).sum()
}

/// Whether so many slots take so many PEs.
pub(in crate::launch) fn check_room(slots: usize, n_pes: usize) -> Result<(), Failure> {
    if n_pes <= slots {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "-n {n_pes}: the hosts have slots for {slots}; give them more (--hosts HOST:SLOTS), or another --ppn (-N here; \
            srun's -N is of nodes): PEs may outnumber cores"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<String, String> {
        let hosts = from_list(text).map_err(|f| f.to_string())?;
        Ok(hosts.iter().map(|h| format!("{h} ")).collect())
    }

    #[test]
    fn lists() {
        assert_eq!(list("a:4,b-1.c_d:12").unwrap(), "a:4 b-1.c_d:12 ");
        assert_eq!(list("a,10.0.0.1:2").unwrap(), "a:1 10.0.0.1:2 ");
        assert_eq!(list("a:2,b,a:2").unwrap(), "a:4 b:1 ");
        for (bad, word) in [
            ("", "without a name"),
            ("a:4,", "without a name"),
            (":4", "without a name"),
            ("a:0", "slots from 1"),
            ("a:-1", "slots from 1"),
            ("a:x", "slots from 1"),
            ("a:", "slots from 1"),
            ("a:4097", "to 4096"),
            ("a:1:2", "slots from 1"),
            ("-x:2", "an option"),
            ("a b", "not the name"),
            ("a;reboot", "not the name"),
            ("a:4096,b,a", "\"a\": give a number of slots"),
        ] {
            let error = list(bad).unwrap_err();
            assert!(error.starts_with("--hosts") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hosts");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            let hosts = from_file(&file).map_err(|f| f.to_string())?;
            Ok::<String, String>(hosts.iter().map(|h| format!("{h} ")).collect())
        };
        let text = "# mine\n\na slots=4   # fast\n  b:2\nc\n";
        assert_eq!(read(text).unwrap(), "a:4 b:2 c:1 ");
        assert_eq!(read("a\na\nb\nb\na slots=2 max_slots=4\n").unwrap(), "a:4 b:2 ");
        for (bad, word) in [
            ("# nothing\n", "no host"),
            ("a\nb slots=0\n", "line 2"),
            ("a cores=4\n", "line 1: \"cores=4\""),
            ("a slots=1 cores=2\n", "HOST slots=N"),
            ("-v\n", "an option"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let missing = from_file(&dir.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("No such file"), "{missing}");
    }

    #[test]
    fn ranges_of_slurm() {
        assert_eq!(expanded("n[08-10,12],m").unwrap(), ["n08", "n09", "n10", "n12", "m"]);
        for bad in ["n[1-4", "n[4-1]", "n[1-4]x", "n[a]", "n[0-9999]", "./file"] {
            assert_eq!(expanded(bad), None, "{bad}");
        }
    }

    #[test]
    fn room() {
        let hosts = from_list("a:4,b:4").unwrap();
        assert_eq!(slots(&hosts), 8);
        assert!(check_room(8, 8).is_ok());
        let error = check_room(8, 9).unwrap_err().to_string();
        assert!(error.starts_with("-n 9: the hosts have slots for 8;"), "{error}");
    }

    #[test]
    fn this_host_is_known() {
        let is_this_host = |name: &str| Host::parse(name).unwrap().is_this_host();
        assert!(is_this_host("localhost:3") && !is_this_host("no-such-host"));
        let me = nix::unistd::gethostname().unwrap();
        assert!(is_this_host(&me.to_string_lossy()));
    }
}
