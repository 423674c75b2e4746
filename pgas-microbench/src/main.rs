//! `pgas-microbench`: measures, and writes a report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

use pgas_microbench::campaign::{Campaign, Harvest};
use pgas_microbench::folder::{Folder, RESULTS};
use pgas_microbench::implementation::{Family, Implementation, Search, find};
use pgas_microbench::options::Options;
use pgas_microbench::plan::{Mode, Request, Run, plan};
use pgas_microbench::progress::{Progress, minutes};
use pgas_microbench::report::Context;
use pgas_microbench::workshop::Workshop;
use pgas_microbench::{machine, measurement, report};

/// Facts of a report beside its measurements.
const CONTEXT: &str = "context.json";

/// What a shell says of a program that was ended by an interrupt.
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
    ensure!(
        !runs.is_empty(),
        "nothing has one of {:?} in its name: see --list",
        options.only
    );
    let expected = runs.iter().map(|run| run.expected).sum();
    if options.list {
        list(&runs, &implementations, expected);
        return Ok(ExitCode::SUCCESS);
    }
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))?;
    let scratch = tempfile::tempdir()?;
    let mut campaign = Campaign {
        implementations: &implementations,
        cores: request.cores,
        workshop: Workshop::new(&build_folder()?),
        scratch: scratch.path(),
    };
    let mut progress = Progress::new(runs.len(), expected);
    let stop = || STOP.load(Ordering::Relaxed);
    let harvest = campaign.run(&runs, &mut progress, &stop)?;
    progress.finish();
    if harvest.measurements.is_empty() {
        bail!("nothing could be measured");
    }
    let context = context(options, &request, &harvest);
    let written = folder.fill(|fresh| {
        measurement::write(&fresh.join(RESULTS), &harvest.measurements)?;
        fs::write(fresh.join(CONTEXT), serde_json::to_string_pretty(&context)?)?;
        report::write(fresh, &context, &harvest.measurements)
    })?;
    conclude(folder.path(), &written);
    Ok(match harvest.interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// Makes page and plots of an earlier report again.
fn again(path: &Path) -> Result<ExitCode> {
    let measurements = measurement::read(&path.join(RESULTS))?;
    let file = path.join(CONTEXT);
    let name = || file.display().to_string();
    let context = fs::read_to_string(&file).with_context(name)?;
    let context: Context = serde_json::from_str(&context).with_context(name)?;
    let folder = Folder::new(path)?;
    let written = folder.fill(|fresh| {
        for kept in [RESULTS, CONTEXT] {
            fs::copy(path.join(kept), fresh.join(kept))?;
        }
        report::write(fresh, &context, &measurements)
    })?;
    conclude(folder.path(), &written);
    Ok(ExitCode::SUCCESS)
}

fn conclude(path: &Path, written: &report::Written) {
    if let Some(reason) = &written.without_png {
        eprintln!("pgas-microbench: the plots are there as SVG only: {reason}");
    }
    println!("{}", path.join("index.html").display());
}

/// The libraries to measure, and threads without one.
fn implementations(options: &Options) -> Result<Vec<Implementation>> {
    let mut found = find(&Search::here())?;
    if options.alone {
        found.retain(|one| one.family == Family::FerroShmem);
    }
    found.push(Implementation {
        family: Family::OpenMp,
        version: "threads".to_owned(),
        name: Family::OpenMp.name().to_owned(),
        compiler: PathBuf::from("cc"),
        launcher: PathBuf::new(),
    });
    Ok(found)
}

fn list(runs: &[Run], implementations: &[Implementation], expected: f64) {
    let mut before = String::new();
    for run in runs {
        let line = format!(
            "{}, {}",
            run.name(),
            implementations[run.implementation].name
        );
        // Rounds of a benchmark have one name.
        if line != before {
            println!("{line}");
        }
        before = line;
    }
    println!("{} runs, about {}", runs.len(), minutes(expected));
}

fn context(options: &Options, request: &Request<'_>, harvest: &Harvest) -> Context {
    let mode = match options.mode() {
        Mode::Quick => "quick",
        Mode::Full => "full",
    };
    let mut notes = notes(request.cores, harvest);
    if harvest.interrupted {
        notes.insert(0, "Interrupted: not all was measured.".to_owned());
    }
    if !options.only.is_empty() {
        notes.insert(
            0,
            format!("Only a part was run: {}.", options.only.join(", ")),
        );
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
        runs: harvest.runs.clone(),
        mode: mode.to_owned(),
        when: jiff::Timestamp::now()
            .strftime("%Y-%m-%d %H:%M UTC")
            .to_string(),
        notes,
    }
}

/// What this machine cannot show.
fn notes(cores: u32, harvest: &Harvest) -> Vec<String> {
    let mut notes = Vec::new();
    let most = harvest.measurements.iter().map(|one| one.pes).max();
    if most.is_some_and(|pes| pes > cores) {
        notes.push(format!(
            "Where there are more than {cores} PEs they share {cores} cores: latencies then count the \
             scheduler's switches between processes, bandwidth is that of {cores} cores however many \
             pairs there are, and no number of PEs above {cores} can make a benchmark faster. What such \
             rows do show is what waiting costs."
        ));
    }
    if cores < 8 {
        notes.push(format!(
            "The paper's figures come from some 60 cores of one chip. {cores} cores cannot show how \
             algorithms scale with the number of PEs, nor how many pairs saturate the memory."
        ));
    }
    notes
}

/// Programs are built below the target directory, so that they need not be built each time.
fn build_folder() -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let workspace = workspace.context("the crate lies in a workspace")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
    Ok(std::path::absolute(target)?.join("pgas-microbench"))
}
