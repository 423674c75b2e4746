//! `oshcc` and, by its other names, `oshc++` and `oshfort`: compiles and links OpenSHMEM programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferroshmem_tools::wrapper::main(std::env::args_os().collect())
}
