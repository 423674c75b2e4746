//! Collectives beside the implementations that are installed, and beside what the machine can
//! do. docs/benchmarks.md says what is compared and how.

mod crowd;
mod field;
mod forms;
mod others;
mod read;
mod reduction;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use ferroshmem_benches::{Options, Prefix, options};
use field::Field;

fn run(options: &Options) -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let field = Field::open(Prefix::find()?, folder)?;
    reduction::run(&field, options, reduction::SUM)?;
    if options.full {
        reduction::run(&field, options, reduction::IN_PLACE)?;
    }
    forms::run(&field, options)?;
    read::run(options)?;
    crowd::run(&field, options)?;
    others::run(&field, options)
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
