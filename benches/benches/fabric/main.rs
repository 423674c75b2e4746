//! PEs of two hosts, which are made of namespaces on this machine: one-sided operations beside Open
//! MPI's OpenSHMEM over UCX, how much of a put is hidden behind computation, and IS.
//! docs/benchmarks.md says what is compared and how.

mod contenders;
mod keys;
mod overlap;
mod transfers;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use contenders::Field;
use ferroshmem_benches::{Options, Prefix};
use ferroshmem_cluster::hosts::{Cluster, applets};

const USAGE: &str = "\
usage: cargo bench -p ferroshmem-benches --bench fabric [-- [--full] [FILTER...]]

Measures what has one of FILTER in its name, such as put/8B, reduce/64KiB, overlap/1MiB or IS, with
PEs on two hosts made of namespaces (which takes root). --full takes more turns, and longer.";

fn run(options: &Options) -> Result<bool> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let cluster = Cluster::new(2)?;
    let mut field = Field::open(&cluster, &Prefix::find()?, folder)?;
    transfers::run(&mut field, options)?;
    overlap::run(&mut field, options)?;
    keys::run(&mut field, options)?;
    Ok(field.report())
}

fn main() -> ExitCode {
    applets::dispatch();
    let Some(options) = Options::parse(env::args().skip(1)) else {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fabric: {error:#}");
            ExitCode::FAILURE
        }
    }
}
