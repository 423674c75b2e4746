//! Where the kernel has put the core file of a process.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

/// A process that has dumped core.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dumped<'a> {
    /// Its number.
    pub pid: Pid,
    /// The program's file.
    pub program: &'a Path,
    /// The directory that it ran in.
    pub directory: &'a Path,
    /// The signal that ended it.
    pub signal: i32,
}

impl Dumped<'_> {
    /// What is said of the core file: ` to /scratch/core.77`; nothing where that is not certain.
    pub(super) fn place(self) -> String {
        let read = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        let pattern = read("core_pattern").unwrap_or_default();
        let adds_pid = read("core_uses_pid").is_ok_and(|text| text.trim() == "1");
        self.by_pattern(pattern.trim_end_matches('\n'), adds_pid)
    }

    fn by_pattern(self, pattern: &str, adds_pid: bool) -> String {
        if let Some(command) = pattern.strip_prefix('|') {
            let name = command.split(' ').next().unwrap_or_default();
            return match name.contains("systemd-coredump") {
                true => format!(": see coredumpctl debug {}", self.pid),
                false => format!(": given to {name}"),
            };
        }
        let Some(mut name) = self.expand(pattern) else {
            return String::new();
        };
        if adds_pid && !pattern.contains("%p") {
            name.push_str(&format!(".{}", self.pid));
        }
        let file: PathBuf = self.directory.join(name);
        match file.is_file() {
            true => format!(" to {}", file.display()),
            false => String::new(),
        }
    }

    /// The name of the file; None if the pattern has something that is not known here, as the time.
    fn expand(self, pattern: &str) -> Option<String> {
        let program = self.program.file_name()?.to_str()?;
        let mut name = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                name.push(c);
                continue;
            }
            match chars.next() {
                None => {}
                Some('%') => name.push('%'),
                Some('p' | 'i' | 'I' | 'P') => name.push_str(&self.pid.to_string()),
                Some('s') => name.push_str(&self.signal.to_string()),
                Some('u') => name.push_str(&rustix::process::getuid().as_raw().to_string()),
                Some('g') => name.push_str(&rustix::process::getgid().as_raw().to_string()),
                Some('f') => name.push_str(program),
                // The kernel's name of a process has at most 15 bytes.
                Some('e') => name.extend(program.chars().take(15)),
                Some('E') => name.push_str(&self.program.to_str()?.replace('/', "!")),
                Some(_) => return None,
            }
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_named_if_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let dumped = Dumped {
            pid: Pid::from_raw(77),
            program: Path::new("/bin/solver_with_a_long_name"),
            directory: folder.path(),
            signal: 11,
        };
        assert_eq!(dumped.by_pattern("core", false), "");
        for (pattern, adds_pid, file) in [
            ("core", false, "core"),
            ("core", true, "core.77"),
            ("%e-%p%%", true, "solver_with_a_l-77%"),
            ("%E.%s", false, "!bin!solver_with_a_long_name.11"),
        ] {
            let path = folder.path().join(file);
            fs::write(&path, "").unwrap();
            let expected = format!(" to {}", path.display());
            assert_eq!(dumped.by_pattern(pattern, adds_pid), expected);
        }
        assert_eq!(dumped.by_pattern("core.%t", false), "");
        let systemd = "|/usr/lib/systemd/systemd-coredump %P %u";
        assert_eq!(dumped.by_pattern(systemd, false), ": see coredumpctl debug 77");
        assert_eq!(dumped.by_pattern("|/bin/keep %p", false), ": given to /bin/keep");
    }
}
