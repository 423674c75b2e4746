//! `pgas-microbench`: measures, and writes a report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

use pgas_microbench::build::Builder;
use pgas_microbench::campaign::{Campaign, Results};
use pgas_microbench::folder::{Folder, RESULTS};
use pgas_microbench::implementation::{Family, Implementation, Search, find};
use pgas_microbench::options::Options;
use pgas_microbench::plan::{Mode, Request, Run, plan};
use pgas_microbench::progress::{self, Progress, minutes};
use pgas_microbench::report::Context;
use pgas_microbench::{machine, measurement, report};

/// The file of a report that describes how it was measured.
const CONTEXT: &str = "context.json";

/// The exit status that shells give a program ended by an interrupt.
const INTERRUPTED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            eprintln!("pgas-microbench: {}", line.trim_start_matches("error: "));
            return ExitCode::FAILURE;
        }
        Err(help) => help.exit(),
    };
    match perform(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("pgas-microbench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(options: &Options) -> Result<ExitCode> {
    if let Some(folder) = &options.again {
        return again(folder);
    }
    let folder = Folder::new(&options.output)?;
    let implementations = implementations(options)?;
    let request = Request {
        mode: options.mode(),
        classes: &options.classes,
        implementations: &implementations,
        cores: machine::cores(),
    };
    let mut runs = plan(&request);
    runs.retain(|run| options.wants(&run.name()));
    ensure!(!runs.is_empty(), "nothing has one of {:?} in its name: see --list", options.only);
    let expected = runs.iter().map(|run| run.expected).sum();
    if options.list {
        list(&runs, &implementations, expected);
        return Ok(ExitCode::SUCCESS);
    }
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))?;
    let mut campaign = Campaign { implementations: &implementations, builder: Builder::new(&build_folder()?) };
    let mut progress = Progress::new(runs.len(), expected);
    let stop = || STOP.load(Ordering::Relaxed);
    let results = campaign.run(&runs, &mut progress, &stop)?;
    progress::clear();
    if results.measurements.is_empty() {
        bail!("nothing could be measured");
    }
    let context = context(options, &request, &results);
    folder.fill(|fresh| {
        measurement::write(&fresh.join(RESULTS), &results.measurements)?;
        fs::write(fresh.join(CONTEXT), serde_json::to_string_pretty(&context)?)?;
        report::write(fresh, &context, &results.measurements)
    })?;
    println!("{}", folder.path().join("index.html").display());
    Ok(match results.interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// Makes the page and the plots of an existing report again.
fn again(path: &Path) -> Result<ExitCode> {
    let measurements = measurement::read(&path.join(RESULTS))?;
    let file = path.join(CONTEXT);
    let name = || file.display().to_string();
    let context = fs::read_to_string(&file).with_context(name)?;
    let context: Context = serde_json::from_str(&context).with_context(name)?;
    let folder = Folder::new(path)?;
    folder.fill(|fresh| {
        for kept in [RESULTS, CONTEXT] {
            fs::copy(path.join(kept), fresh.join(kept))?;
        }
        report::write(fresh, &context, &measurements)
    })?;
    println!("{}", folder.path().join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// The libraries to measure, and threads without one.
fn implementations(options: &Options) -> Result<Vec<Implementation>> {
    let mut found = find(&Search::from_environment())?;
    if options.alone {
        found.retain(|one| one.family == Family::FerroShmem);
    }
    found.push(Implementation::without_library(Family::OpenMp, "threads", "cc"));
    Ok(found)
}

fn list(runs: &[Run], implementations: &[Implementation], expected: f64) {
    let mut before = String::new();
    for run in runs {
        let line = format!("{}, {}", run.name(), implementations[run.implementation].name);
        // All rounds of a benchmark have the same name.
        if line != before {
            println!("{line}");
        }
        before = line;
    }
    println!("{} runs, about {}", runs.len(), minutes(expected));
}

fn context(options: &Options, request: &Request<'_>, results: &Results) -> Context {
    let mode = match options.mode() {
        Mode::Quick => "quick",
        Mode::Full => "full",
    };
    let mut notes = notes(request.cores, results);
    if results.interrupted {
        notes.insert(0, "Interrupted: not all was measured.".to_owned());
    }
    if !options.only.is_empty() {
        notes.insert(0, format!("Only a part was run: {}.", options.only.join(", ")));
    }
    Context {
        title: "FerroSHMEM beside its peers".to_owned(),
        machine: machine::facts(),
        implementations: request
            .implementations
            .iter()
            .filter(|one| one.family != Family::OpenMp)
            .map(|one| (one.name.clone(), one.version.clone()))
            .collect(),
        runs: results.runs.clone(),
        mode: mode.to_owned(),
        when: machine::now(),
        notes,
    }
}

/// What the number of cores of this machine means for the results.
fn notes(cores: u32, results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    let most = results.measurements.iter().map(|one| one.pes).max();
    if most.is_some_and(|pes| pes > cores) {
        notes.push(format!(
            "More than {cores} PEs share {cores} cores: latencies then include the scheduler's \
             switches between processes, bandwidth is that of {cores} cores for any number of pairs, \
             and more than {cores} PEs cannot make a benchmark faster. Such rows show the cost of \
             waiting."
        ));
    }
    if cores < 8 {
        notes.push(format!(
            "The paper measured on about 60 cores of one chip. {cores} cores cannot show how \
             algorithms scale with the number of PEs, nor how many pairs saturate the memory."
        ));
    }
    notes
}

/// The folder of the programs, below the target directory: later runs need not build them again.
fn build_folder() -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let workspace = workspace.context("the crate lies in a workspace")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
    Ok(std::path::absolute(target)?.join("pgas-microbench"))
}
