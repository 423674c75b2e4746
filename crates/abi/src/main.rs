//! `cargo run -p ferroshmem-abi -- --write` writes the generated files; without `--write` it lists those that differ
//! from the table. To be read, `--functions DIR` writes the functions that `ferroshmem-sys` makes for itself, and
//! `--tests DIR` the sources that tests make. `--compat DIR` writes the sources of libraries for programs of other
//! OpenSHMEMs, `--fortran DIR` what an installation has for Fortran, `--manual DIR` the manual pages that it has,
//! `--markdown DIR` the reference, and the pages of the commands, as Markdown for the book.

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use ferroshmem_abi::emit::{commands, pages};
use ferroshmem_abi::files::Generated;
use ferroshmem_abi::reference::Reference;
use ferroshmem_abi::{files, table};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let outdated = files::outdated();
            for (path, _) in &outdated {
                println!("differs from the table: {}", path.display());
            }
            if outdated.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        ["--write"] => write(&ferroshmem_abi::root(), files::outdated()),
        ["--manual", folder] => write(Path::new(folder), files::manual_pages()),
        ["--compat", folder] => write(Path::new(folder), files::compat()),
        ["--fortran", folder] => write(Path::new(folder), files::fortran()),
        ["--functions", folder] => write(Path::new(folder), files::functions()),
        ["--tests", folder] => write(Path::new(folder), files::tests()),
        ["--markdown", folder] => match markdown(Path::new(folder)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("ferroshmem-abi: cannot write the reference to {folder}: {e}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!(
                "usage: ferroshmem-abi [--write | --compat DIR | --fortran DIR | --functions DIR | --manual DIR | \
                    --tests DIR | --markdown DIR]"
            );
            ExitCode::FAILURE
        }
    }
}

/// Writes files, and prints their paths.
fn write(folder: &Path, files: Vec<Generated>) -> ExitCode {
    match files::write(folder, files) {
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
    }
}

/// Writes the reference as Markdown below a folder, and the pages of the commands.
fn markdown(folder: &Path) -> io::Result<()> {
    let reference = folder.join("reference");
    fs::create_dir_all(&reference)?;
    let chapters = table::chapters();
    for (name, text) in pages::markdown(&chapters, &Reference::read()?) {
        fs::write(reference.join(name), text)?;
    }
    commands::markdown()?.into_iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
