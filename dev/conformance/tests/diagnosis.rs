//! Programs with one planted fault each, and without it: what `oshrun` says of the one, and that it says nothing of the
//! other. The first comment of each program in `dev/diagnosis` has the options, and what is to be said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// The exit status of a job that `--hang-timeout` ends.
const ENDED: i32 = 124;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for name in names() {
        suite.add(format!("hangs::{name}::fault"), {
            let name = name.clone();
            move |s| fault(s, &Program::read(&name)?)
        });
        suite.add(format!("hangs::{name}::twin"), move |s| twin(s, &Program::read(&name)?));
    }
    suite.run();
}

fn folder() -> PathBuf {
    workspace().join("dev/diagnosis/hangs")
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the folder of the programs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let c = paths.filter(|path| path.extension().is_some_and(|e| e == "c"));
    let names = c.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// A program, and what its first comment says.
struct Program {
    name: String,
    options: Vec<String>,
    flags: Vec<String>,
    status: i32,
    expected: Vec<String>,
    /// What it says instead if it finds a deadlock before the limit.
    or: Vec<String>,
}

impl Program {
    fn read(name: &str) -> Result<Self> {
        let file = format!("{name}.c");
        let source = fs::read_to_string(folder().join(&file))?;
        let field = |key: &'static str| {
            let prefix = format!(" * {key}: ");
            let lines = source.lines();
            let of = lines.filter_map(move |line| line.strip_prefix(&prefix).map(str::to_owned));
            of.collect::<Vec<_>>()
        };
        let words = |key| -> Vec<String> {
            let all = field(key).join(" ");
            all.split_whitespace().map(str::to_owned).collect()
        };
        let marked = |text: String| {
            let Some((before, after)) = text.split_once('@') else {
                return Ok(text);
            };
            let end = after.find(|c: char| !c.is_alphanumeric());
            let (mark, rest) = after.split_at(end.unwrap_or(after.len()));
            if mark == "program" {
                return Ok(format!("{before}{name}-fault{rest}"));
            }
            let comment = format!("/* @{mark} */");
            let at = source.lines().position(|line| line.contains(&comment));
            let at = at.with_context(|| format!("no line {comment} in {name}.c"))?;
            let file = folder().join(&file);
            Ok(format!("{before}{}:{}{rest}", file.display(), at + 1))
        };
        let expected = field("expect").into_iter().map(marked);
        Ok(Self {
            name: name.to_owned(),
            options: words("run"),
            flags: words("flags"),
            status: match field("status").first() {
                Some(status) => status.parse()?,
                None => ENDED,
            },
            expected: expected.collect::<Result<_>>()?,
            or: field("or"),
        })
    }

    fn build(&self, s: &Setting, is_faulty: bool) -> Result<PathBuf> {
        let what = if is_faulty { "fault" } else { "twin" };
        fs::create_dir_all(&s.scratch)?;
        let program = s.scratch.join(format!("{}-{what}", self.name));
        let mut command = Command::new(s.prefix.bin("oshcc"));
        command.args(["-g", "-Wall", "-Werror"]).args(&self.flags);
        if is_faulty {
            command.arg("-DFAULT");
        }
        // By its name alone, as it is to appear.
        command.current_dir(folder());
        command.arg("-o").arg(&program);
        command.arg(format!("{}.c", self.name));
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{errors}");
        Ok(program)
    }

    fn job(&self, program: &Path, hang_timeout: &str) -> Job {
        let mut job = Job::new(0, program);
        if !self.options.iter().any(|o| o == "--hang-timeout") {
            job.options = vec!["--hang-timeout".into(), hang_timeout.into()];
        }
        job.options.extend(self.options.iter().cloned());
        job.watchdog = Duration::from_secs(60);
        job
    }
}

fn fault(s: &Setting, program: &Program) -> Result<()> {
    let job = program.job(&program.build(s, true)?, "1.5");
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung, "hangs\n{outcome}");
    ensure!(outcome.left == 0, "processes are left\n{outcome}");
    let status = shell_status(outcome.status);
    // Deadlocks end the job by themselves, if they are found before the limit.
    let says = |words: &String| outcome.stderr.contains(words);
    if status == 1 && !program.or.is_empty() && program.or.iter().all(says) {
        return Ok(());
    }
    let is_circle = status == 1 && outcome.stderr.contains("PEs wait for each other");
    ensure!(status == program.status || is_circle, "status {status}\n{outcome}");
    for words in &program.expected {
        ensure!(outcome.stderr.contains(words), "does not say \"{words}\"\n{outcome}");
    }
    Ok(())
}

fn twin(s: &Setting, program: &Program) -> Result<()> {
    // Another limit: the machine may be busy.
    let job = program.job(&program.build(s, false)?, "30");
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.is_empty(), "says something\n{outcome}");
    Ok(())
}
