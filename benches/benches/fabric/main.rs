//! PEs on two hosts made of namespaces: one-sided operations compared with Open MPI's OpenSHMEM over
//! UCX, messages with libfabric's own, updates of random words with bale's conveyors, puts by threads with contexts of
//! their own, and IS. docs/benchmarks.md describes the comparisons.

mod keys;
mod messages;
mod testbed;
mod threads;
mod transfers;
mod updates;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use ferroshmem_benches::{Options, Prefix};
use ferroshmem_cluster::hosts::{Cluster, applets};
use testbed::Testbed;

const USAGE: &str = "\
usage: cargo bench -p ferroshmem-benches --bench fabric [-- [--full] [FILTER...]]

Measures the items with one of FILTER in their names, such as put/8B, reduce/64KiB, message/8B,
updates/add, threads/put or IS, with PEs on two hosts made of namespaces (which takes root). --full \
takes more turns, and longer.";

fn run(options: &Options) -> Result<bool> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let cluster = Cluster::new(2)?;
    let mut testbed = Testbed::open(&cluster, &Prefix::find()?, folder)?;
    transfers::run(&mut testbed, options)?;
    messages::run(&mut testbed, options)?;
    updates::run(&mut testbed, options)?;
    threads::run(&mut testbed, options)?;
    keys::run(&mut testbed, options)?;
    Ok(testbed.report())
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
