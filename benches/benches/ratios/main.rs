//! The cost of the library compared with the bare hardware: ratios of rounds of the programs in `c/`, which a table at
//! the end compares with the limits.
//!
//! `cargo bench -p ferroshmem-benches -- barrier` measures items with "barrier" in their names.

mod programs;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use ferroshmem_benches::{Bar, Builder, Round, Sampler, Start};
use pgas_microbench::job::Session;
use programs::{Program, Variables};

/// Seconds after which the launcher ends a job, with a report of the routines that PEs wait in.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A running program, and the one that it is compared with, if that is not the bare hardware.
struct Sessions {
    ours: Session,
    beside: Option<Session>,
}

impl Sessions {
    fn start(builder: &Builder, program: &Program) -> Result<Self> {
        let beside = program.beside;
        Ok(Self {
            ours: start_session(builder, program, program.variables)?,
            beside: beside.map(|variables| start_session(builder, program, variables)).transpose()?,
        })
    }

    /// Measures `rounds` rounds of a series.
    fn measure(&mut self, name: &str, rounds: usize) -> Result<Vec<Round>> {
        /// Rounds of one program in turn.
        const TURN: usize = 8;

        let Some(beside) = &mut self.beside else {
            return Round::measure(&mut self.ours, name, rounds);
        };
        let mut all = Vec::new();
        while all.len() < rounds {
            let some = TURN.min(rounds - all.len());
            let others = Round::measure(beside, name, some)?;
            let ours = Round::measure(&mut self.ours, name, some)?;
            let pair = |(other, ours): (&Round, &Round)| Round { bare: other.ours, ours: ours.ours };
            all.extend(others.iter().zip(&ours).map(pair));
        }
        Ok(all)
    }
}

/// Starts a program, which measures on demand.
fn start_session(builder: &Builder, program: &Program, variables: Variables) -> Result<Session> {
    let mut launch = Command::new(builder.prefix.bin("oshrun"));
    launch
        .args(["--timeout", &TIMEOUT.as_secs().to_string()])
        .args(["-n", &program.pes.to_string()])
        .args(program.options)
        .arg(builder.program(&program.build)?)
        .envs(variables.iter().copied());
    // The launcher's report comes first.
    Session::start(launch, TIMEOUT + Duration::from_secs(10))
}

/// Measures all series of a program; starts it with the first that the command line asks for.
fn run(sampler: &mut Sampler, builder: &Builder, program: &Program) -> Result<()> {
    let Program { build, pes, series, .. } = program;
    // Rounds of many PEs take long and differ much.
    let time = Duration::from_secs(if *pes > 2 { 4 } else { 1 });
    let mut sessions = None;
    for (name, bar) in series {
        sampler.sample(&format!("{}/{name}", build.name), *bar, time, |rounds| {
            let sessions = match &mut sessions {
                Some(sessions) => sessions,
                None => sessions.insert(Sessions::start(builder, program)?),
            };
            sessions.measure(name, rounds)
        })?;
    }
    Ok(())
}

/// Measures starting 64 PEs.
fn start(sampler: &mut Sampler, builder: &Builder) -> Result<()> {
    let mut start = None;
    sampler.sample("64-PEs/start-up", Some(Bar::Time(2.0)), Duration::from_secs(8), |rounds| {
        let start = match &mut start {
            Some(start) => start,
            None => start.insert(Start::new(builder, 64)?),
        };
        (0..rounds).map(|round| start.measure(round % 2 == 0)).collect()
    })
}

fn run_all(sampler: &mut Sampler) -> Result<()> {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    for program in programs::all() {
        run(sampler, &builder, &program)?;
    }
    start(sampler, &builder)
}

fn main() -> ExitCode {
    let Some(mut sampler) = Sampler::of_arguments("ratios") else {
        return ExitCode::SUCCESS;
    };
    let result = run_all(&mut sampler);
    if !sampler.table.is_empty() {
        println!("{}", sampler.table);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratios: {error:#}");
            ExitCode::FAILURE
        }
    }
}
