//! The pages that commands make, opened in a browser at two widths, on light and on dark paper: axe-core finds nothing,
//! no words are cut off, and tables and pictures work by keyboard.

mod browser;
#[path = "../../../pgas-microbench/tests/report/sample.rs"]
mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use browser::Browser;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};
use pgas_microbench::report;

const BEFORE: &str = include_str!("before.js");
const LOOK: &str = include_str!("look.js");

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    suite.add("pages::all".to_owned(), all);
    suite.run()
}

/// One browser for all pages: to start it takes longer than to look at them.
fn all(s: &Setting) -> Result<()> {
    let axe = fs::read_to_string(browser::axe()?)?;
    fs::create_dir_all(&s.scratch)?;
    let mut browser = Browser::start(&s.scratch.join("browser"))?;
    browser.add_script(BEFORE)?;
    let [profile, trace] = of_job(s, "late")?;
    let [many_pes, many_arrows] = of_job(s, "barrier")?;
    for page in [&profile, &trace, &many_pes, &many_arrows, &of_report(s)?, &of_oshtune(s)?] {
        for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
            browser.open(page, width, scheme)?;
            browser.evaluate(&axe)?;
            let found = browser.evaluate(LOOK)?;
            let is_clean = found.as_array().is_some_and(Vec::is_empty);
            ensure!(is_clean, "{} at {width} pixels, {scheme}: {found:#}", page.display());
        }
    }
    by_keyboard(&mut browser, &profile)?;
    few_arrows(&mut browser, [&trace, &many_arrows])
}

/// Profile and trace of a small job.
fn of_job(s: &Setting, mode: &str) -> Result<[PathBuf; 2]> {
    let build = Build::new("diagnosis/profile.c", Compiler::Gcc).flags(&["-g", "-O1"]);
    let pages = ["profile", "trace"].map(|kind| s.scratch.join(format!("{kind}-{mode}.html")));
    let [profile, trace] =
        [("profile", &pages[0]), ("trace", &pages[1])].map(|(o, p)| format!("--{o}={}", p.display()));
    let job =
        Job::new(4, &build.run(&s.prefix, &s.cache)?).options(&["-n", "4", "--bind-to", "none", &profile, &trace]);
    job.args(&[mode]).expect_success(&s.prefix, &s.scratch)?;
    Ok(pages)
}

/// The report of some measurements: on the page of all, axe takes as long as all tests.
fn of_report(s: &Setting) -> Result<PathBuf> {
    let mut rows = sample::full();
    rows.retain(|row| ["latency", "stream", "sp"].contains(&row.program.as_str()));
    let page = s.scratch.join("report.html");
    fs::write(&page, report::page(&sample::context(), &rows)?)?;
    Ok(page)
}

/// What oshtune measures in a moment.
fn of_oshtune(s: &Setting) -> Result<PathBuf> {
    let folder = s.scratch.join("oshtune");
    let mut command = Command::new(s.prefix.bin("oshtune"));
    command.args(["--quick", "--force", "--time", "0", "--pes", "2,3", "--report"]).arg(&folder);
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(folder.join("report.html"))
}

/// A column is sorted by Enter on its head, and arrow keys go over the matrix.
fn by_keyboard(browser: &mut Browser, page: &Path) -> Result<()> {
    browser.open(page, 1280, "light")?;
    let sorted = "document.querySelector('#sites th[aria-sort$=ending]').textContent";
    ensure!(browser.evaluate(sorted)? == "time", "not sorted by time");
    browser.evaluate("document.querySelector('#sites th button').focus()")?;
    browser.press("Enter", 13)?;
    ensure!(browser.evaluate(sorted)? == "routine", "not sorted by Enter");
    browser.evaluate("document.getElementById('matrix').focus()")?;
    browser.press("ArrowRight", 39)?;
    browser.press("ArrowRight", 39)?;
    let cell = browser.evaluate("document.getElementById('cell').textContent")?;
    let cell = cell.as_str().context("no text")?;
    ensure!(cell.starts_with("PE 0 → 1: "), "{cell}");
    Ok(())
}

/// Thousands of arrows are not drawn, and the page says so.
fn few_arrows(browser: &mut Browser, [few, many]: [&Path; 2]) -> Result<()> {
    for (page, are_hidden) in [(few, false), (many, true)] {
        browser.open(page, 1280, "light")?;
        let said = browser.evaluate("document.getElementById('flows').textContent.includes('zoom in')")?;
        ensure!(said == are_hidden, "{}", page.display());
    }
    Ok(())
}
