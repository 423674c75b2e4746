//! Collectives and long transfers compared with the installed implementations, and with what the machine can do.
//! docs/benchmarks.md describes the comparisons.

mod crowd;
mod forms;
mod late;
mod nonblocking;
mod others;
mod read;
mod reduction;
mod shared;
mod spawn;
mod testbed;
mod transfers;
mod uneven;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use ferroshmem_benches::{Options, Prefix, options};
use testbed::Testbed;

fn run(options: &Options) -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let testbed = Testbed::open(Prefix::find()?, folder)?;
    reduction::run(&testbed, options, reduction::SUM)?;
    if options.full {
        reduction::run(&testbed, options, reduction::IN_PLACE)?;
    }
    forms::run(&testbed, options)?;
    read::run(options)?;
    crowd::run(&testbed, options)?;
    late::run(&testbed, options)?;
    uneven::run(&testbed, options)?;
    transfers::run(&testbed, options)?;
    shared::run(&testbed, options)?;
    spawn::run(&testbed, options)?;
    nonblocking::run(&testbed, options)?;
    others::run(&testbed, options)
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(env::args().skip(1)) else {
        println!("{}", options::USAGE);
        return ExitCode::SUCCESS;
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("collectives: {error:#}");
            ExitCode::FAILURE
        }
    }
}
