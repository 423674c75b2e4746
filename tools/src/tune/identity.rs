//! What tells one machine from another, as far as tuning goes.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use ferroshmem_core::platform::Machine;
use serde::{Deserialize, Serialize};

/// The machine that a tuning file is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The processor's name as the kernel has it.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: u32,
}

impl Identity {
    /// This machine.
    pub fn here() -> Self {
        Self {
            processor: processor(&first_processor().unwrap_or_default()),
            cores: Machine::here().cores.try_into().unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cores == 1 { "" } else { "s" };
        write!(f, "{} core{plural} of {}", self.cores, self.processor)
    }
}

/// The beginning of `/proc/cpuinfo`, which is long where there are many cores.
fn first_processor() -> io::Result<String> {
    let mut text = Vec::new();
    File::open("/proc/cpuinfo")?
        .take(4096)
        .read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The name of the first processor in the text of `/proc/cpuinfo`.
fn processor(text: &str) -> String {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|l| l.split_once(':'));
        let (_, value) = lines.find(|(k, _)| k.trim() == key)?;
        Some(value.trim().to_owned())
    };
    // On Arm the name is a number.
    value("model name")
        .or_else(|| value("CPU part").map(|part| format!("part {part}")))
        .unwrap_or_else(|| "unknown processor".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processors() {
        let x86 = "processor\t: 0\nmodel\t\t: 167\nmodel name\t: Xeon(R)  Gold\nprocessor\t: 1\n";
        assert_eq!(processor(x86), "Xeon(R)  Gold");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(processor(arm), "part 0xd0c");
        assert_eq!(processor(""), "unknown processor");
        assert_ne!(Identity::here().cores, 0);
    }
}
