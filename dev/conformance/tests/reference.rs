//! The reference: every example compiles without a warning and finds its results right, and every routine has a manual
//! page under its own name.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_abi::reference::Reference;
use ferroshmem_abi::table;
use ferroshmem_conformance::compile;
use ferroshmem_conformance::guide;
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool;
use ferroshmem_conformance::{Job, Suite};

/// PEs of an example: with neighbours on both sides, and a grid.
const PES: usize = 4;

/// The solutions of the book's exercises, which run on one PE, on an uneven number, and as the examples.
const SOLUTIONS: [&str; 5] = ["ring", "halo", "histogram", "sort", "heat"];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    for entry in reference.entries {
        for (number, example) in entry.examples.into_iter().enumerate() {
            let name = if number == 0 { entry.name.clone() } else { format!("{}-{}", entry.name, number + 1) };
            suite.add(format!("example::{name}"), move |s| {
                let program = compiled(s, &format!("{name}.c"), &example.code, "-lpthread")?;
                Job::new(PES, &program).expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
    }
    for name in SOLUTIONS {
        for language in ["c", "cpp"] {
            suite.add(format!("solution::{name}.{language}"), move |s| solution(s, name, language));
        }
    }
    for (name, code) in book_programs().unwrap_or_else(|why| panic!("{why:#}")) {
        suite.add(format!("book::{name}"), move |s| {
            let program = compiled(s, &name, &code, "-lpthread")?;
            Job::new(PES, &program).expect_success(&s.prefix, &s.scratch)?;
            Ok(())
        });
    }
    suite.add("book::from_mpi".to_owned(), from_mpi);
    suite.add("manual::every-routine".to_owned(), every_routine);
    suite.add("manual::form".to_owned(), form);
    suite.run()
}

/// The whole programs in the book's chapters: file name, and program.
fn book_programs() -> Result<Vec<(String, String)>> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(workspace().join("docs/book"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        for language in ["c", "cpp"] {
            let begin = format!("```{language}\n");
            let parts = text.split(&begin).skip(1);
            let whole = parts.filter_map(|part| part.split_once("```").map(|(code, _)| code));
            for (i, code) in whole.filter(|code| code.contains("int main(")).enumerate() {
                programs.push((format!("{stem}-{i}.{language}"), code.to_owned()));
            }
        }
    }
    Ok(programs)
}

/// The parts of programs that the pages on MPI show, in a program.
fn from_mpi(s: &Setting) -> Result<()> {
    let mut code = fs::read_to_string(workspace().join("dev/conformance/c/book/from_mpi.c"))?;
    let pages = guide::page("book/mpi.md")? + &guide::page("mpi.md")?;
    let parts = pages.split("```c\n").skip(1).filter_map(|part| part.split("```").next());
    let parts: Vec<&str> = parts.filter(|part| part.contains("shmem") && !part.contains("int main(")).collect();
    ensure!(parts.len() == 4, "{} parts", parts.len());
    for (name, part) in ["EDGES", "RING", "ALLTOALLV", "ROOT"].into_iter().zip(parts) {
        // Symmetric data first, if they are not those of the program.
        let (data, statements) = part.split_once("\n\n").unwrap_or(("", part));
        code = code.replace(&format!("{name}_DATA"), data).replace(&format!("    {name}\n"), statements);
    }
    let program = compiled(s, "from_mpi.c", &code, "-lm")?;
    for pes in [1, 3, PES] {
        Job::new(pes, &program).expect_success(&s.prefix, &s.scratch)?;
    }
    Ok(())
}

/// Compiles a program as its reader would; the ending of its name says in which language it is.
fn compiled(s: &Setting, name: &str, code: &str, library: &str) -> Result<PathBuf> {
    let source = compile::source(&s.scratch, name, code)?;
    let source = source.to_str().context("a path in UTF-8")?;
    let standard = match source.ends_with(".cpp") {
        true => "-std=c++17",
        false => "-std=c11",
    };
    let flags = [standard, "-O1", "-Wall", "-Wextra", "-Werror", library];
    s.compile(source, &flags)
}

/// Compiles and runs a solution, which ends with an error where a result is wrong.
fn solution(s: &Setting, name: &str, language: &str) -> Result<()> {
    let file = format!("{name}.{language}");
    let source = workspace().join("docs/book/solutions").join(&file);
    let program = compiled(s, &file, &fs::read_to_string(source)?, "-lm")?;
    for pes in [1, 3, PES] {
        Job::new(pes, &program).expect_success(&s.prefix, &s.scratch)?;
    }
    Ok(())
}

/// `man shmem_int_put` finds a page.
fn every_routine(s: &Setting) -> Result<()> {
    let chapters = table::chapters();
    let folder = s.prefix.root().join("share/man/man3");
    let names = table::symbols(&chapters).into_iter().map(|symbol| symbol.name());
    let lacking: Vec<String> = names.filter(|name| !folder.join(format!("{name}.3")).is_file()).collect();
    ensure!(lacking.is_empty(), "no page in {} for {lacking:?}", folder.display());
    Ok(())
}

/// mandoc(1) has nothing to warn of.
fn form(s: &Setting) -> Result<()> {
    tool::command("mandoc", "mandoc")?;
    let mut pages = Vec::new();
    for section in ["man1", "man3", "man7"] {
        let folder = s.prefix.root().join("share/man").join(section);
        for page in fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
            let path = page?.path();
            if !path.is_symlink() {
                pages.push(path);
            }
        }
    }
    let mut mandoc = Command::new("mandoc");
    let output = mandoc.args(["-T", "lint", "-W", "warning"]).args(&pages).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(printed.trim().is_empty(), "{printed}");
    ensure!(pages.len() > 100, "there are {} pages", pages.len());
    Ok(())
}
