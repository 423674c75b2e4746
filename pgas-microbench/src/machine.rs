//! Facts of the machine that results depend on.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use ferroshmem_core::platform::Processor;

/// Cores that this process may use.
pub fn cores() -> u32 {
    available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Memory that programs can get without others losing theirs, in bytes; 0 where it is not known.
pub fn memory_available() -> u64 {
    meminfo("MemAvailable").unwrap_or(0)
}

/// Name and value of each fact.
pub fn facts() -> Vec<(String, String)> {
    let mut facts = vec![
        ("Processor", processor()),
        ("Cores", cores().to_string()),
        ("Caches", caches()),
        ("Memory", memory()),
        ("System", system()),
        ("C compiler", first_line("cc", "--version")),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    facts.into_iter().map(owned).collect()
}

fn processor() -> String {
    let Processor {
        name,
        virtual_machine,
    } = Processor::here();
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    if virtual_machine {
        format!("{name} (virtual machine)")
    } else {
        name
    }
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
    meminfo("MemTotal").map_or(String::new(), |bytes| {
        format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
    })
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
    format!("{distribution}, Linux {}", kernel.trim())
        .trim_start_matches(", ")
        .to_owned()
}

fn first_line(command: &str, argument: &str) -> String {
    let output = Command::new(command)
        .arg(argument)
        .stdin(Stdio::null())
        .output();
    output.map_or_else(
        |_| String::new(),
        |o| {
            let text = String::from_utf8_lossy(&o.stdout);
            text.lines().next().unwrap_or_default().to_owned()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let facts = facts();
        for name in ["Processor", "Cores", "Memory", "System"] {
            let fact = facts.iter().find(|(n, _)| n == name);
            assert!(
                fact.is_some_and(|(_, value)| !value.is_empty()),
                "{name}: {facts:?}"
            );
        }
        assert!(memory_available() > 0);
    }
}
