//! `cargo xtask demo`: an integer sort in C, compiled by `oshcc` and run by `oshrun`.

use crate::run::{run, shown};
use crate::{install, workspace};
use anyhow::Result;
use clap::Args;
use std::process::Command;

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of PEs
    #[arg(short, default_value_t = 4, value_name = "PES")]
    n: usize,

    /// Logarithm (base 2) of the number of keys
    #[arg(default_value_t = 25)]
    log2_keys: u32,

    /// After a whole run of the tests: takes the crates that it built
    #[arg(long, hide = true)]
    built: bool,
}

/// Installs into `target/ferroshmem`, compiles `examples/intsort.c` and runs it. Ends with the lines to be pasted next.
///
/// # Errors
/// If something cannot be built, or if the keys are not sorted.
pub(crate) fn main(options: &Options) -> Result<()> {
    let target = workspace::target()?;
    let prefix = target.join("ferroshmem");
    eprintln!("+ building the library, without optimisation, and the commands oshrun and oshcc");
    install::first_look_into(&prefix, options.built)?;

    let source = workspace::root().join("examples/intsort.c");
    let program = target.join("intsort");
    let bin = prefix.join("bin");
    run(Command::new(bin.join("oshcc")).args(["-O3", "-Wall", "-Wextra"]).arg(source).arg("-o").arg(&program))?;
    run(Command::new(bin.join("oshrun"))
        .arg("-n")
        .arg(options.n.to_string())
        .arg(program)
        .arg(options.log2_keys.to_string()))?;
    println!(
        "\nThe installation in {} is for a first look: `cargo xtask install` makes one that is fast. Next:\n",
        shown(&prefix).display()
    );
    println!("    export PATH={}:$PATH", bin.display());
    println!("    oshcc -O2 examples/hello.c -o hello");
    println!("    oshrun -n 4 ./hello");
    Ok(())
}
