//! `cargo run -p ferroshmem-abi -- --write` writes the generated files; without
//! `--write` it lists those that differ from the table.

use std::process::ExitCode;

use ferroshmem_abi::files;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let outdated = files::outdated();
            for (path, _) in &outdated {
                println!("differs from the table: {}", path.display());
            }
            if outdated.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        ["--write"] => match files::write() {
            Ok(written) => {
                for path in written {
                    println!("wrote {}", path.display());
                }
                ExitCode::SUCCESS
            }
            Err(e) => {
                eprintln!("ferroshmem-abi: cannot write the generated files: {e}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: ferroshmem-abi [--write]");
            ExitCode::FAILURE
        }
    }
}
