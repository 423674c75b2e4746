//! A program counts its own calls and bytes; profile, trace and counters say the same, to the last call and byte.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::Job;
use ferroshmem_conformance::suite::Setting;
use serde_json::Value;

const PES: usize = 4;

/// Calls and bytes by routine.
type Counts = BTreeMap<String, [u64; 2]>;

/// How the program is compiled and what is recorded of it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub name: &'static str,
    pub flags: &'static [&'static str],
    /// Single-word puts of a PE.
    pub singles: u64,
    pub has_trace: bool,
}

/// Adds a call to the counts.
fn add(counts: &mut Counts, name: &str, [calls, bytes]: [u64; 2]) {
    let sum = counts.entry(name.to_owned()).or_default();
    *sum = [sum[0] + calls, sum[1] + bytes];
}

fn number(value: &Value) -> Result<u64> {
    value.as_u64().with_context(|| format!("no number: {value}"))
}

fn array(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().with_context(|| format!("no array: {value}"))
}

/// Calls and bytes of the routines with these words in their names.
fn sum(counts: &Counts, words: &[&str]) -> [u64; 2] {
    let of = counts.iter().filter(|(name, _)| words.iter().any(|word| name.contains(word)));
    of.fold([0; 2], |sum, (_, of)| [sum[0] + of[0], sum[1] + of[1]])
}

const PUTS: &[&str] = &["put", "_p"];
const GETS: &[&str] = &["get", "_g"];
const ATOMICS: &[&str] = &["atomic"];

pub(crate) fn agree(s: &Setting, case: Case) -> Result<()> {
    let program = s.compile("diagnosis/counts.c", case.flags)?;
    let singles = case.singles.to_string();
    let [page, events] = ["html", "json"].map(|end| s.scratch.join(format!("{}.{end}", case.name)));
    let (page_option, trace) = (format!("--profile={}", page.display()), format!("--trace={}", events.display()));
    let mut options = vec!["-n", "4", "--bind-to", "none", &page_option];
    if case.has_trace {
        options.push(&trace);
    }
    let job = Job::new(PES, &program).options(&options).args(&[&singles]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let own = own(&outcome.stdout)?;
    let page = fs::read_to_string(page)?;
    let data = page.split("<script id=\"data\" type=\"application/json\">").nth(1).context("no data")?;
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap_or_default())?;
    in_page(&data, &own, case)?;
    if case.has_trace {
        ensure!(in_trace(&fs::read_to_string(events)?)? == own, "other counts in the trace: {own:?}");
    }
    // Counters, and what --status shows, are the same memory.
    let job = Job::new(PES, &program).options(&["-n", "4", "--status=0.05"]).args(&[&singles]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let [puts, gets, atomics] = [PUTS, GETS, ATOMICS].map(|words| sum(&own, words).map(|n| n / PES as u64));
    let counter = format!("counter put {} {} get {} {} atomic {}", puts[0], puts[1], gets[0], gets[1], atomics[0]);
    ensure!(outcome.stdout.matches(&counter).count() == PES, "no {counter}\n{outcome}");
    Ok(())
}

/// What the program has printed.
fn own(text: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("count ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, name, calls, bytes] = words[..] else {
            continue;
        };
        add(&mut counts, name, [calls.parse()?, bytes.parse()?]);
    }
    ensure!(counts.len() > 15, "few routines: {text}");
    Ok(counts)
}

fn in_page(data: &Value, own: &Counts, case: Case) -> Result<()> {
    let mut sites = Counts::new();
    for site in array(&data["sites"])? {
        add(&mut sites, site["name"].as_str().unwrap_or_default(), [number(&site["calls"])?, number(&site["bytes"])?]);
    }
    let is_counted_inline = case.flags.contains(&"-DSHMEM_COUNT") && !case.has_trace;
    if is_counted_inline {
        for words in [PUTS, GETS, ATOMICS] {
            ensure!(sum(&sites, words)[0] == sum(own, words)[0], "other calls at lines: {own:?}, {sites:?}");
        }
    } else {
        ensure!(sites == *own, "other counts at lines: {own:?}, {sites:?}");
    }
    let mut traffic = [0; 5];
    for row in array(&data["traffic"])? {
        for (sum, word) in traffic.iter_mut().zip(array(row)?.iter().skip(2)) {
            *sum += number(word)?;
        }
    }
    let [puts, gets, atomics] = [PUTS, GETS, ATOMICS].map(|words| sum(own, words));
    ensure!(traffic == [puts[0], puts[1], gets[0], gets[1], atomics[0]], "another matrix: {own:?}, {traffic:?}");
    for pe in array(&data["pes"])? {
        let parts = ["computing", "transfer", "core", "waiting"].map(|part| number(&pe[part]));
        let all: u64 = parts.into_iter().sum::<Result<u64>>()?;
        ensure!(all == number(&pe["total"])?, "parts are not the whole: {pe}");
    }
    // What is a sample is marked, and nothing else.
    let untimed = array(&data["sites"])?.iter().filter(|site| site["untimed"] != 0);
    let names: Vec<_> = untimed.map(|site| site["name"].as_str().unwrap_or_default()).collect();
    let is_sample = case.singles > 10_000 || is_counted_inline;
    ensure!(data["is_sample"] == is_sample && names.is_empty() != is_sample, "other marks: {names:?}");
    ensure!(is_counted_inline || !is_sample || names.contains(&"shmem_long_p"), "not marked: {names:?}");
    ensure!(data["is_partial"] == false, "totals are marked");
    // Operations that the program counts have no sizes.
    for class in array(&data["sizes"])?.iter().take(3) {
        ensure!(class["is_partial"] == is_counted_inline, "another mark of sizes: {class}");
    }
    Ok(())
}

fn in_trace(text: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    let events: Value = serde_json::from_str(text)?;
    for event in array(&events["traceEvents"])?.iter().filter(|event| event["ph"] == "X") {
        add(&mut counts, event["name"].as_str().unwrap_or_default(), [1, event["args"]["bytes"].as_u64().unwrap_or(0)]);
    }
    Ok(counts)
}
