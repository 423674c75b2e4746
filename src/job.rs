//! Programs and tests that start their own PEs: what the attributes `main` and `test` expand to.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitCode, Stdio, Termination};

use ferroshmem_api::launch;

use crate::World;

/// Seconds after which a test ends that gives no other number.
pub const TIMEOUT: u32 = 120;

/// A command that starts `pes` PEs of this program.
fn oshrun(pes: usize) -> Command {
    let found = launch::oshrun().unwrap_or_else(|why| panic!("{pes} PEs are started by oshrun, and {why}"));
    let mut command = Command::new(found);
    command.arg("-n").arg(pes.to_string());
    command
}

/// Replaces this process by a job of `pes` PEs of its program, with the same arguments, unless it is a PE of a job.
pub fn start(pes: usize) {
    if launch::is_launched() {
        return;
    }
    let mut command = oshrun(pes);
    let program = env::current_exe().expect("a program that runs has a file");
    let error = command.arg(program).args(env::args_os().skip(1)).exec();
    eprintln!("oshrun cannot be started: {error}");
    process::exit(1);
}

/// The world of a program or a test that is for `pes` PEs, or for any number.
///
/// # Panics
/// If the job has another number.
pub fn world(pes: Option<usize>) -> World {
    let world = World::init().unwrap_or_else(|error| panic!("{error}"));
    let n = world.n_pes();
    if let Some(pes) = pes.filter(|pes| *pes != n) {
        panic!(
            "this is for {pes} PEs and runs in a job of {n}: start it without a launcher, such as the runner in \
             .cargo/config.toml, and it starts its PEs itself"
        );
    }
    world
}

/// Runs the test of that path: `body` if this process is a PE of a job, else a job of `pes` PEs that each run the
/// test by this program.
///
/// # Panics
/// If the test fails.
pub fn test<R: Termination>(path: &str, pes: Option<usize>, timeout: u32, body: impl FnOnce() -> R) {
    if launch::is_launched() {
        let code = body().report();
        assert!(code == ExitCode::SUCCESS, "the test has returned an error");
        return;
    }
    let pes = pes.unwrap_or(1);
    // The harness names tests without the crate.
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let program = env::current_exe().expect("a program that runs has a file");
    // By --label lines come whole: a PE writes a backtrace in many pieces.
    let output = oshrun(pes)
        .args(["--label", "--timeout", &timeout.to_string()])
        .arg(program)
        .args(["--exact", name, "--nocapture", "--include-ignored", "--test-threads=1"])
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("oshrun cannot be started: {error}"));
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "the job of {pes} PEs has failed, with {}\n{out}{err}", output.status);
    // A harness that did not find the test has run none.
    assert!(out.contains("1 passed"), "the PEs have not run {name}:\n{out}{err}");
    print!("{out}");
    eprint!("{err}");
}
