//! `oshtune`: measures which algorithms of collectives pay on this machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferroshmem_tools::tune::main()
}
