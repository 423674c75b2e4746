//! The option `--check`.

use clap::{Args, ValueEnum};

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum What {
    /// Arguments of calls, and that PEs call the same collectives: as SHMEM_CHECK=1.
    Collective,
    /// Memory that calls access: ends of blocks and variables, freed and unwritten memory, sources that change, leaks.
    Memory,
    /// Accesses of two PEs that conflict, and that nothing orders.
    Race,
}

/// The option.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks and debugging")]
pub(super) struct CheckArgs {
    /// Checks what the PEs do while they run, and lists what is wrong; WHAT may be several, separated by commas;
    /// without it, collective and memory, which cost least
    #[arg(
        long, value_name = "WHAT", value_enum, value_delimiter = ',', num_args = 0..=1, require_equals = true,
        default_missing_value = "collective,memory"
    )]
    check: Vec<What>,
}

impl CheckArgs {
    /// What is asked for, None if nothing.
    pub(super) fn read(self) -> Option<Checks> {
        (!self.check.is_empty()).then_some(Checks(self.check))
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Checks(pub(super) Vec<What>);
