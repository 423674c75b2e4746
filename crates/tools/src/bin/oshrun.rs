//! Runs an OpenSHMEM program on the PEs of one node.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferroshmem_tools::launch::main(std::env::args_os().skip(1).collect())
}
