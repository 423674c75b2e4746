//! The machine that results depend on: what it is, and whether other processes use it.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use ferroshmem_platform::Processor;

/// Cores that this process may use.
pub fn cores() -> u32 {
    available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Name and value of each fact.
pub fn facts() -> Vec<(String, String)> {
    let mut facts = vec![
        ("Processor", processor()),
        ("Cores", cores().to_string()),
        ("Caches", caches()),
        ("Memory", memory()),
        ("System", system()),
        ("C compiler", first_line("cc", &["--version"])),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    facts.into_iter().map(owned).collect()
}

/// The date and time, in UTC.
pub fn now() -> String {
    first_line("date", &["--utc", "+%Y-%m-%d %H:%M UTC"])
}

fn processor() -> String {
    let Processor { name, virtual_machine } = Processor::here();
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    if virtual_machine { format!("{name} (virtual machine)") } else { name }
}

/// Caches of the first core, smallest first.
fn caches() -> String {
    let mut caches = Vec::new();
    for index in 0..8 {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let read = |file: &str| fs::read_to_string(format!("{folder}/{file}"));
        let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size")) else {
            break;
        };
        if kind.trim() != "Instruction" {
            caches.push(format!("L{} {}", level.trim(), size.trim()));
        }
    }
    caches.join(", ")
}

fn memory() -> String {
    meminfo("MemTotal").map_or(String::new(), |bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)))
}

/// A value of `/proc/meminfo`, in bytes.
fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kilo: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilo << 10)
}

fn system() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let release = read("/etc/os-release");
    let distribution = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .unwrap_or_default()
        .trim_matches('"')
        .to_owned();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{distribution}, Linux {}", kernel.trim()).trim_start_matches(", ").to_owned()
}

fn first_line(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).stdin(Stdio::null()).output();
    output.map_or_else(
        |_| String::new(),
        |o| {
            let text = String::from_utf8_lossy(&o.stdout);
            text.lines().next().unwrap_or_default().to_owned()
        },
    )
}

/// Waits until no other process runs, while the jobs of this one sleep.
#[derive(Debug)]
pub struct IdleWait {
    /// Time that is left for waiting.
    left: Duration,
}

impl IdleWait {
    /// Waits at most `limit` in all.
    pub fn new(limit: Duration) -> Self {
        Self { left: limit }
    }

    /// Waits until the machine is idle; returns whether it is.
    pub fn wait(&mut self) -> bool {
        // Time in which the processes of a job fall asleep after they have answered.
        const SETTLE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        while !is_idle() {
            let waited = start.elapsed();
            if waited > SETTLE.max(self.left) {
                self.left = self.left.saturating_sub(waited);
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

/// Whether this thread is the only one that runs; true where that cannot be read.
fn is_idle() -> bool {
    fs::read_to_string("/proc/loadavg").map_or(true, |text| running(&text).is_none_or(|n| n <= 1))
}

/// The number of running threads in a line such as "0.20 0.18 0.12 1/80 11206".
fn running(text: &str) -> Option<u32> {
    let threads = text.split_whitespace().nth(3)?;
    threads.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let facts = facts();
        for name in ["Processor", "Cores", "Memory", "System"] {
            let fact = facts.iter().find(|(n, _)| n == name);
            assert!(fact.is_some_and(|(_, value)| !value.is_empty()), "{name}: {facts:?}");
        }
    }

    #[test]
    fn running_threads_are_read_from_loadavg() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(running("0.20"), None);
    }

    #[test]
    fn waiting_for_an_idle_machine_ends() {
        let start = Instant::now();
        IdleWait::new(Duration::ZERO).wait();
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
