//! Jobs started by the launchers that are installed: this program starts itself by each, as
//! the processes of a job that runs one of the [`parts`].

mod launcher;
mod parts;

use std::env;
use std::process::{Command, ExitCode};

use launcher::Launcher;
use libtest_mimic::{Arguments, Failed, Trial};

/// Seconds after which a launcher that hangs is ended.
const WATCHDOG: &str = "90";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    if let [_, run, part, protocol] = &words[..]
        && run == parts::RUN
    {
        return parts::run(part, protocol);
    }
    let arguments = Arguments::from_args();
    let trials = launcher::all().into_iter().flat_map(trials_of).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials_of(launcher: Launcher) -> Vec<Trial> {
    let missing = launcher.missing();
    if let Some(why) = &missing {
        println!("skipped: {}: {why}", launcher.name);
    }
    let cases: &[(&str, Case)] = &[
        ("everything", everything),
        ("one_process", one_process),
        ("abort", abort),
        ("death_before_an_exchange", death),
        ("without_its_library", lost),
    ];
    let by_library = launcher.full_name.ends_with("PMIx");
    cases
        .iter()
        .filter(|(name, _)| by_library || *name != "without_its_library")
        .map(|(name, case)| {
            let launcher = launcher.clone();
            Trial::test(format!("{}::{name}", launcher.name), move || case(&launcher))
                .with_ignored_flag(missing.is_some())
        })
        .collect()
}

type Case = fn(&Launcher) -> Result<(), Failed>;

/// How a job ended: the launcher's exit status (none if by a signal), output and errors.
struct Ended {
    status: Option<i32>,
    text: String,
}

fn job(launcher: &Launcher, n: usize, part: &str) -> Result<Ended, Failed> {
    let me = env::current_exe()?;
    let output = Command::new("timeout")
        .args(["-k", "5", WATCHDOG])
        .args(launcher.command(n))
        .arg(me)
        .args([parts::RUN, part, launcher.protocol])
        .envs(launcher.environment.iter().copied())
        .output()?;
    let text = [output.stdout, output.stderr].concat();
    let ended = Ended { status: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() };
    match ended.status {
        Some(124) => Err(format!("hangs: {}", ended.text).into()),
        _ => Ok(ended),
    }
}

fn check(right: bool, ended: &Ended) -> Result<(), Failed> {
    match right {
        true => Ok(()),
        false => Err(format!("status {:?}, output:\n{}", ended.status, ended.text).into()),
    }
}

/// Whether the processes found each other at all.
fn began(ended: &Ended) -> bool {
    ended.text.contains(parts::THERE)
}

/// The number of processes that came to their regular end.
fn through(ended: &Ended) -> usize {
    ended.text.matches(parts::THROUGH).count()
}

fn everything(launcher: &Launcher) -> Result<(), Failed> {
    let ended = job(launcher, 4, "everything")?;
    check(ended.status == Some(0) && through(&ended) == 4, &ended)?;
    check(ended.text.contains(launcher.full_name), &ended)
}

fn one_process(launcher: &Launcher) -> Result<(), Failed> {
    let ended = job(launcher, 1, "everything")?;
    check(ended.status == Some(0) && through(&ended) == 1, &ended)
}

fn abort(launcher: &Launcher) -> Result<(), Failed> {
    let ended = job(launcher, 3, "abort")?;
    let status = match launcher.returns_abort_status {
        true => ended.status == Some(parts::STATUS),
        false => ended.status != Some(0),
    };
    check(status && began(&ended) && through(&ended) == 0, &ended)
}

fn death(launcher: &Launcher) -> Result<(), Failed> {
    let ended = job(launcher, 3, "death")?;
    let status = ended.status != Some(0);
    check(status && began(&ended) && through(&ended) == 0, &ended)
}

fn lost(launcher: &Launcher) -> Result<(), Failed> {
    let ended = job(launcher, 2, "lost")?;
    let explained = ended.text.contains("/no/such/libpmix.so.2") && ended.text.contains("install PMIx");
    check(ended.status != Some(0) && explained && through(&ended) == 0, &ended)
}
