//! `oshmem_info`: what this OpenSHMEM library is and which environment variables it reads.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use ferroshmem_config as config;
use ferroshmem_core::info;
use ferroshmem_tools::terminal::{columns, print, print_line};
use ferroshmem_tools::tune;

/// Prints the library's version, its environment variables, and facts of build and machine.
#[derive(Parser)]
#[command(name = "oshmem_info", disable_version_flag = true, term_width = columns())]
struct Options {
    /// Only the environment variables, with the values that are set here
    #[arg(short, long, conflicts_with = "version")]
    env: bool,

    /// Only the versions of the library and of the standard
    #[arg(short = 'V', long)]
    version: bool,

    /// Only the algorithms of collectives: which there are, and up to how many bytes each is
    /// used here, by the tuning file, the environment or the cost model
    #[arg(short, long, conflicts_with_all = ["version", "env"])]
    collectives: bool,

    /// Only what this machine offers to reach other nodes with, what of it would be chosen, and why
    #[arg(short, long, conflicts_with_all = ["version", "env", "collectives"])]
    fabric: bool,

    /// Only the threads that would take part in a PE's large copies, why those, and from which sizes on
    #[arg(short, long, conflicts_with_all = ["version", "env", "collectives", "fabric"])]
    threads: bool,

    /// Numbers of PEs that --collectives shows
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        requires = "collectives",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pes: Vec<u32>,
}

fn text(options: &Options) -> Result<String> {
    Ok(if options.version {
        info::version_line() + "\n"
    } else if options.env {
        config::describe()
    } else if options.collectives {
        let counts: Vec<usize> = options.pes.iter().map(|n| *n as usize).collect();
        tune::overview(&counts)?
    } else if options.fabric {
        info::fabric()?
    } else if options.threads {
        info::threads(&tune::copies())?
    } else {
        info::describe()
    })
}

fn main() -> ExitCode {
    let options = Options::parse();
    let printed = text(&options).and_then(|text| Ok(print(&text)?));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line("oshmem_info: ", &error.to_string());
            ExitCode::FAILURE
        }
    }
}
