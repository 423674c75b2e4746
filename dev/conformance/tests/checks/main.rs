//! Programs with one planted fault that `oshrun --check` finds, and without it: what is said of the one, and that
//! nothing is found in the other. The first comment of each program in `dev/diagnosis` has what is checked, and what is
//! to be said. Of the suite's own programs nothing is said.

mod mutants;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::programs::{programs as own_programs, stem};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// The exit status where there are findings.
const FOUND: i32 = 66;

/// What `--check=race` says where it has found nothing and loads and stores were not looked at.
const CALLS_ALONE: &str = "oshrun: --check=race has found no race between calls; to have the program's loads and \
    stores looked at, too, compile it with -fsanitize=thread, and link it without that but with -lshmem-accesses";

/// Folders of `dev/diagnosis`.
const FOLDERS: &[&str] = &["collective", "memory", "races"];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for folder in FOLDERS {
        for path in programs(folder) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            suite.add(format!("{folder}::{name}"), move |s| {
                let program = Seeded::read(&path)?;
                let built = program.build(s)?;
                program.fault(s, &built)?;
                program.twin(s, &built)
            });
        }
    }
    suite.add("without-a-word".into(), without_a_word);
    mutants::add(&mut suite);
    for source in own_programs() {
        for check in ["memory", "race"] {
            let source = source.clone();
            if check == "race" && POLLING.contains(&stem(&source)) {
                continue;
            }
            // All of them would take ten seconds.
            suite.add_long(format!("own::{}::{check}", stem(&source)), move |s| {
                let program = s.compile(&source, &[])?;
                let check = format!("--check={check}");
                let job = Job::new(0, &program).options(&["-n", "3", &check]);
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
    }
    suite.run();
}

/// `--check` alone takes no word from the options behind it, and checks what is cheap.
fn without_a_word(s: &Setting) -> Result<()> {
    for (program, status) in [("collective/not_symmetric.c", 1), ("memory/put_past_block.c", FOUND)] {
        let program = Seeded::read(&workspace().join("dev/diagnosis").join(program))?;
        let job = Job::new(0, &program.build(s)?).options(&["--check", "-n", "2"]);
        program.says_fault(s, &job, status)?;
    }
    Ok(())
}

/// Programs of this suite that read in a loop, by gets or atomics, what others put: the library allows it, the standard
/// does not.
const POLLING: &[&str] = &["lock", "ordering", "poll"];

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = workspace().join("dev/diagnosis").join(folder);
    let entries = fs::read_dir(folder).expect("the folder of the programs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    paths.sort_unstable();
    paths
}

/// A program, and what its first comment says.
struct Seeded {
    path: PathBuf,
    check: String,
    pes: String,
    /// What code is compiled with whose loads and stores are seen; the linker is not to see it.
    instrumented: Option<String>,
    /// The exit status with the fault.
    status: i32,
    expected: Vec<String>,
}

impl Seeded {
    fn read(path: &Path) -> Result<Self> {
        let source = fs::read_to_string(path)?;
        let field = |key: &str| -> Vec<String> {
            let prefix = format!(" * {key}: ");
            let lines = source.lines();
            let of = lines.filter_map(|line| line.strip_prefix(&prefix));
            of.map(|line| line.trim_end_matches(" */").to_owned()).collect()
        };
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let marked = |text: String| {
            let mut words = text.split('@');
            let mut out = words.next().unwrap_or_default().to_owned();
            for part in words {
                let end = part.find(|c: char| !c.is_alphanumeric());
                let (mark, rest) = part.split_at(end.unwrap_or(part.len()));
                let comment = format!("/* @{mark} */");
                let at = source.lines().position(|line| line.contains(&comment));
                let at = at.with_context(|| format!("no line {comment} in {file}"))?;
                out.push_str(&format!("{file}:{}{rest}", at + 1));
            }
            Ok(out)
        };
        let one = |key: &str, default: &str| {
            let given = field(key).into_iter().next();
            given.unwrap_or_else(|| default.to_owned())
        };
        let check = one("check", "");
        // Wrong arguments of collectives end the job at once.
        let found = if check == "collective" { 1 } else { FOUND };
        let status = field("status").first().map_or(Ok(found), |status| status.parse())?;
        Ok(Self {
            path: path.to_owned(),
            check,
            status,
            pes: one("pes", "2"),
            instrumented: field("instrumented").into_iter().next(),
            expected: field("expect").into_iter().map(marked).collect::<Result<_>>()?,
        })
    }

    fn build(&self, s: &Setting) -> Result<PathBuf> {
        fs::create_dir_all(&s.scratch)?;
        let name = self.path.file_stem().unwrap_or_default();
        let program = s.scratch.join(name);
        let compile = |arguments: &mut dyn FnMut(&mut Command)| {
            let mut command = Command::new(s.prefix.bin("oshcc"));
            command.args(["-g", "-O1", "-Wall", "-Werror"]);
            arguments(&mut command);
            let output = command.output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{command:?}: {errors}");
            Ok(())
        };
        match &self.instrumented {
            None => compile(&mut |command| {
                command.arg("-o").arg(&program).arg(&self.path);
            })?,
            Some(flag) => {
                let object = program.with_extension("o");
                compile(&mut |command| {
                    command.args(["-c", flag, "-o"]).arg(&object).arg(&self.path);
                })?;
                compile(&mut |command| {
                    command.arg("-o").arg(&program).arg(&object);
                    command.arg("-lshmem-accesses");
                })?;
            }
        }
        Ok(program)
    }

    fn job(&self, program: &Path) -> Job {
        let check = format!("--check={}", self.check);
        Job::new(0, program).options(&["-n", &self.pes, &check])
    }

    fn fault(&self, s: &Setting, program: &Path) -> Result<()> {
        self.says_fault(s, &self.job(program), self.status)
    }

    fn says_fault(&self, s: &Setting, job: &Job, expected: i32) -> Result<()> {
        let outcome = job.clone().args(&["fault"]).run(&s.prefix, &s.scratch)?;
        ensure!(!outcome.hung, "hangs\n{outcome}");
        ensure!(outcome.left == 0, "processes are left\n{outcome}");
        let status = shell_status(outcome.status);
        ensure!(status == expected, "status {status}\n{outcome}");
        for words in &self.expected {
            ensure!(outcome.stderr.contains(words.as_str()), "does not say \"{words}\"\n{outcome}");
        }
        Ok(())
    }

    fn twin(&self, s: &Setting, program: &Path) -> Result<()> {
        let outcome = self.job(program).expect_success(&s.prefix, &s.scratch)?;
        let mut report = outcome.stderr.as_str();
        if self.check == "race" && self.instrumented.is_none() {
            // What was not looked at.
            report = report.trim_start_matches(CALLS_ALONE).trim_start();
            ensure!(report.len() < outcome.stderr.len(), "does not say it\n{outcome}");
        }
        ensure!(report.is_empty(), "says something\n{outcome}");
        Ok(())
    }
}
