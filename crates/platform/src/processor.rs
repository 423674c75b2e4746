//! The processor, as the kernel describes it.

use std::fs::File;
use std::io::{self, Read};

/// The first processor of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// Its name; on Arm, where that is a number, "part" and the number.
    pub name: Option<String>,
    /// Whether a hypervisor makes it.
    pub virtual_machine: bool,
}

impl Processor {
    /// Looks at this machine.
    pub fn here() -> Self {
        Self::read(&beginning().unwrap_or_default())
    }

    /// From the text of `/proc/cpuinfo`.
    fn read(text: &str) -> Self {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|l| l.split_once(':'));
            let (_, value) = lines.find(|(k, _)| k.trim() == key)?;
            Some(value.trim().to_owned())
        };
        let part = || value("CPU part").map(|part| format!("part {part}"));
        let flags = value("flags").unwrap_or_default();
        Self {
            name: value("model name").or_else(part),
            virtual_machine: flags.split(' ').any(|flag| flag == "hypervisor"),
        }
    }
}

/// The beginning of `/proc/cpuinfo`, which is long where there are many cores.
fn beginning() -> io::Result<String> {
    let mut text = Vec::new();
    File::open("/proc/cpuinfo")?.take(4096).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processors() {
        let name = |text| Processor::read(text).name;
        let x86 = "processor\t: 0\nmodel\t\t: 167\nmodel name\t: Xeon(R)  Gold\nprocessor\t: 1\n";
        assert_eq!(name(x86).unwrap(), "Xeon(R)  Gold");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(name(arm).unwrap(), "part 0xd0c");
        assert_eq!(name(""), None);
        assert!(Processor::here().name.is_some());
    }

    #[test]
    fn hypervisors_raise_a_flag() {
        let is_virtual = |text| Processor::read(text).virtual_machine;
        assert!(is_virtual("flags\t\t: fpu vme hypervisor lahf_lm\n"));
        assert!(!is_virtual("flags\t\t: fpu vme lahf_lm\n"));
    }
}
