//! `oshtune`.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use ferroshmem_config as config;
use ferroshmem_layout::MAX_PES;
use ferroshmem_tuning::{Collective, Parameter, Parameters, Tuning};

use super::analysis;
use super::campaign::{Campaign, Measured};
use super::comparison::Comparison;
use super::copy_sizes;
use super::distance::DistanceTimes;
use super::file::TuningFile;
use super::identity::Identity;
use super::loaded::Loaded;
use super::measure;
use super::options::TuneOptions;
use super::prediction::Prediction;
use super::quantity::time_shown;
use super::report::Page;
use super::schedule::Depth;
use crate::terminal::{print, print_line};

/// Runs `oshtune` with the arguments of this process.
pub fn main() -> ExitCode {
    match run(&TuneOptions::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line("oshtune: ", &format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &TuneOptions) -> Result<()> {
    let depth = if options.quick { Depth::Quick } else { Depth::Full };
    if let Some(task) = options.measure {
        measure::run(task, depth, options.time.unwrap_or_default());
        return Ok(());
    }
    if options.predict {
        return Ok(print(&predict(options))?);
    }
    tune(options, depth)
}

fn predict(options: &TuneOptions) -> String {
    let machine = Identity::here();
    let loaded = Loaded::find(config::tuning_file(), machine.cores as usize);
    if let Some(line) = loaded.complaint() {
        print_line("oshtune: ", &line);
    }
    let or = |given: &[usize], usual: &[usize]| if given.is_empty() { usual } else { given }.to_vec();
    let asked = &options.prediction;
    let collectives = match asked.collective {
        Some(collective) => vec![collective],
        None => Collective::ALL.to_vec(),
    };
    Prediction {
        parameters: asked.change(loaded.tuning.parameters),
        scaled_from: asked.streams.is_none().then_some(machine.cores as usize),
        cores: asked.cores,
        counts: or(&options.pes, &Prediction::COUNTS),
        sizes: or(&asked.sizes, &Prediction::SIZES),
        collectives,
    }
    .text()
}

fn tune(options: &TuneOptions, depth: Depth) -> Result<()> {
    let machine = Identity::here();
    let cores = machine.cores as usize;
    let counts = counts(&options.pes, depth, cores)?;
    let output = match (&options.output, &options.report, options.dry_run) {
        (_, _, true) => None,
        (Some(path), _, _) => Some(path.clone()),
        (None, Some(directory), _) => Some(directory.join("tuning.toml")),
        (None, None, _) => match config::tuning_file() {
            Some(location) => Some(location.path),
            None => bail!("no place for the tuning file: give --output FILE"),
        },
    };
    if let Some(path) = &output {
        TuningFile::check_place(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let time = options.time.unwrap_or(match depth {
        Depth::Quick => Duration::from_secs(5),
        Depth::Full => Duration::from_secs(90),
    });
    print(&format!("Measuring {machine} with {} PEs, about {} s\n", listed(&counts), time.as_secs_f64().ceil()))?;
    let campaign = Campaign { depth, counts, time, cores };
    let start = Instant::now();
    let measured = campaign.run()?;
    let file = TuningFile {
        machine,
        parameters: measured.parameters,
        copies: copy_sizes::sizes(&measured.copies),
        rules: (measured.times.iter()).map(|times| analysis::rules(times.shape.size, &times.points)).collect(),
    };
    print(&report(&measured, &file, options.all))?;
    if let Some(directory) = &options.report {
        let page = directory.join("report.html");
        fs::write(&page, Page::text(&measured, &file)).with_context(|| format!("cannot write {}", page.display()))?;
        print(&format!("\nWrote the page {}\n", page.display()))?;
    }
    let took = start.elapsed().as_secs_f64();
    let complaint = measured.quietness.complaint();
    match (&output, &complaint) {
        (Some(path), Some(complaint)) if !options.force => {
            bail!("{complaint}: wrote no {}; measure while the machine is quiet, or give --force", path.display())
        }
        (_, Some(complaint)) => print(&format!("\nDo not rely on this: {complaint}\n"))?,
        (_, None) => {}
    }
    match output {
        None => print(&format!("\nMeasured in {took:.0} s; wrote no file\n"))?,
        Some(path) => {
            file.write(&path, &measured.quietness.lines())
                .with_context(|| format!("cannot write {}", path.display()))?;
            let path = path.display();
            let use_of_it = match options.report {
                Some(_) => format!("SHMEM_TUNING_FILE={path} makes oshrun use it"),
                None => "oshrun uses it from now on".to_owned(),
            };
            print(&format!("\nMeasured in {took:.0} s; wrote {path}: {use_of_it}\n"))?;
        }
    }
    Ok(())
}

/// The numbers of PEs to measure.
fn counts(asked: &[usize], depth: Depth, cores: usize) -> Result<Vec<usize>> {
    if asked.is_empty() {
        return Ok(depth.counts(cores));
    }
    let mut counts = asked.to_vec();
    counts.sort_unstable();
    counts.dedup();
    let room = Tuning::default_for(cores).rules.len();
    ensure!(counts.len() <= room, "--pes: give {room} numbers at most, as many as a tuning file holds");
    if let Some(n) = counts.iter().find(|n| **n > MAX_PES) {
        bail!("--pes {n}: a job has {MAX_PES} PEs at most");
    }
    Ok(counts)
}

fn listed(counts: &[usize]) -> String {
    let texts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn report(measured: &Measured, file: &TuningFile, all: bool) -> String {
    let mut out = String::new();
    let cores = file.machine.cores as usize;
    let mut summaries = String::from("\nModel against measurement\n");
    for times in &measured.times {
        let comparison = Comparison::new(&measured.parameters, cores, times);
        out += &comparison.table(all);
        summaries += &format!("  {}\n", comparison.summary());
    }
    out += "\nFastest, up to how many bytes\n";
    for rules in &file.rules {
        for collective in Collective::ALL {
            let steps = &rules.steps[collective as usize];
            out += &format!("  {:>5} PEs  {:<10} {steps}\n", rules.pes, collective.name());
        }
    }
    out += "\nLarge copies, by a PE alone on the node\n";
    out += &copy_sizes::table(&measured.copies, file.copies);
    out += "\nBetween cores: a flag, and a line that the other one has just written\n";
    for times in DistanceTimes::of(&measured.pairs) {
        let DistanceTimes { distance, pairs, flag: [least, median, greatest], line } = times;
        let [least, median, greatest, line] = [least, median, greatest, line].map(time_shown);
        let plural = if pairs == 1 { "" } else { "s" };
        out += &format!("  {distance} ({pairs} pair{plural}): {median} ({least} to {greatest}), {line}\n");
    }
    out += "\nParameters\n";
    let mut parameters = measured.parameters;
    for Parameter { name, unit, meaning, of } in Parameters::TABLE {
        let value = of(&mut parameters);
        out += &format!("  {name:<12} {value:>12.4} {unit:<5} {meaning}\n");
    }
    out += &summaries;
    out += "\nHow quiet the machine was\n";
    for line in measured.quietness.lines() {
        out += &format!("  {line}\n");
    }
    out
}
