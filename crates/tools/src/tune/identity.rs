//! Which machine a tuning file is of.

use std::fmt;

use ferroshmem_platform::{Machine, Processor};
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
        let name = Processor::here().name;
        Self {
            processor: name.unwrap_or_else(|| "unknown processor".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_and_cores() {
        let here = Identity::here();
        assert!(!here.processor.is_empty());
        assert_ne!(here.cores, 0);
    }
}
