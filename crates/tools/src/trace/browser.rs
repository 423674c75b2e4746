//! Pages in a browser without a window: they open, and every control does its work.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ferroshmem_config::inherited;
use ferroshmem_layout::profile::event;
use nix::sys::resource::{UsageWho, getrusage};

use super::{Format, Part, Trace, grouped};
use crate::profile::{Analysis, Clock, Symbols, large, read_all};

/// What browsers are called.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell"];

/// After that a browser counts as one that does not run here.
const TIME_LIMIT: Duration = Duration::from_secs(100);

/// Uses every control, and leaves what happened in the page.
const PROBE: &str = r#"<script>
{
    const redraw = () => { if (typeof draw === "function") draw(); };
    const controls = [], opened = performance.now();
    redraw();
    const painted = performance.now();
    for (const e of document.querySelectorAll("button,input,select,th")) {
        const begin = performance.now(), change = name => e.dispatchEvent(new Event(name, { bubbles: true }));
        if (e.tagName === "SELECT") for (const option of e.options) { e.value = option.value; change("change"); }
        else if (e.tagName === "INPUT" && e.type !== "checkbox") { e.value = "put"; change("input"); }
        else e.click();
        redraw();
        controls.push((e.id || e.textContent) + " " + (performance.now() - begin).toFixed(0));
    }
    const canvas = document.querySelector("canvas");
    canvas?.dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
    redraw();
    const p = document.createElement("pre"), hits = document.getElementById("hits")?.textContent;
    p.textContent = `PROBE ${opened.toFixed(0)} ${painted.toFixed(0)} ms; hits: ${hits}; ${controls.join(", ")} END`;
    document.body.append(p);
}
</script>"#;

/// The page's text after its scripts have run; None where no browser does.
fn dump(page: &Path, picture: &Path) -> Option<String> {
    let path = inherited("PATH".as_ref())?;
    let found = |name: &str| {
        let mut files = env::split_paths(&path).map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    let browser: PathBuf = NAMES.iter().find_map(|name| found(name))?;
    let text = page.with_extension("dom");
    let profile = page.with_extension("browser");
    let child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--window-size=1280,800")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&text).ok()?)
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.ok()?;
    let begin = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begin.elapsed() > TIME_LIMIT {
            // It is gone, or goes now.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    fs::read_to_string(text).ok()
}

/// What the probe has left in the page; None, and a line that says so, where there is no browser.
fn probe(folder: &Path, name: &str, page: &str) -> Option<String> {
    let file = folder.join(name);
    fs::write(&file, format!("<p id=\"it-runs\"></p>{PROBE}")).expect("a file");
    let picture = folder.join(name).with_extension("png");
    if !dump(&file, &picture).is_some_and(|text| text.contains("PROBE ") && text.contains("END")) {
        println!("skipped: there is no Chromium that runs without a window");
        return None;
    }
    fs::write(&file, format!("{page}{PROBE}")).expect("a file");
    let begin = Instant::now();
    let text = dump(&file, &picture)?;
    let took = begin.elapsed();
    let at = text.find("<pre>PROBE").expect("the scripts have run");
    let title = text[at + 5..].split("END").next().unwrap_or_default();
    let bytes = fs::metadata(&picture).map_or(0, |file| file.len());
    println!("{name}: {} bytes, {took:.1?} with the browser's start, a picture of {bytes} bytes; {title}", page.len());
    Some(title.to_owned())
}

/// Peak of this process's memory in bytes.
fn peak() -> i64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() * 1024)
}

/// Writes the page of a large job's trace, opens it, and uses every control.
fn opens(calls: usize, room: usize) {
    const PES: usize = 64;
    let folder = tempfile::tempdir().expect("a folder");
    large::write(folder.path(), PES, calls, room);
    let before = peak();
    let begin = Instant::now();
    let (records, others) = read_all(folder.path()).expect("records");
    assert!(records.len() == PES && others.is_empty(), "{others:?}");
    let clock = Clock::new(&records);
    let trace = Trace::new(&records, &clock, &mut Symbols::default(), Part::default());
    let found = begin.elapsed();
    let mut page = Vec::new();
    let hidden = trace.write(Format::Page, &mut page).expect("a page");
    println!(
        "{PES} PEs, {calls} calls each: {found:.1?} to join them, {:.1?} in all, memory {} MiB before and {} MiB after",
        begin.elapsed(),
        before >> 20,
        peak() >> 20
    );
    // As much as the records' heads, the longest calls and arrows, and the page take, whatever the number of calls.
    assert!(peak() < before.max(64 << 20) + (512 << 20));
    let kept = calls.min(room - room % event::CHUNK);
    let number = PES * kept;
    let page = String::from_utf8(page).expect("text");
    assert!(page.len() < 20 << 20, "{} bytes", page.len());
    let singles = number as u64 - hidden;
    assert!((1 << 17..=1 << 18).contains(&singles), "{singles} calls");
    assert!(page.contains(&format!("{} calls of 64 PEs", grouped(number as u64))));
    if let Some(title) = probe(folder.path(), "trace.html", &page) {
        let puts = (calls - kept..calls).filter(|n| large::is_put(*n)).count();
        let hits = format!(" of {} calls", grouped((PES * puts) as u64));
        assert!(title.contains(&hits) && !title.contains("hits: 0"), "{title}");
        for control in ["in ", "out ", "all ", "find ", "prev ", "next ", "arrows "] {
            assert!(title.contains(control), "no {control}: {title}");
        }
    }
    let analysis = Analysis::new(&records, &clock, &mut Symbols::default());
    let page = analysis.page(&analysis.findings());
    if let Some(title) = probe(folder.path(), "profile.html", &page) {
        for control in ["order ", "what ", "by ", "find ", "class "] {
            assert!(title.contains(control), "no {control}: {title}");
        }
    }
}

/// Runs a test in a process that runs no other: it measures the memory of its process.
fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "FERROSHMEM_TEST_ALONE";
    if inherited(ALONE.as_ref()).is_some() {
        return test();
    }
    let mut process = Command::new(env::current_exe().expect("the tests' program"));
    process.args(["--exact", name, "--nocapture"]).env(ALONE, "1");
    let output = process.output().expect("a process");
    let [printed, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    println!("{printed}");
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}\n{errors}");
}

#[test]
fn every_control_of_a_page_of_a_million_calls_works() {
    let name = "trace::browser::every_control_of_a_page_of_a_million_calls_works";
    alone(name, || opens(20_000, 4 * event::CHUNK));
}

#[test]
#[ignore = "writes 4 GB, and takes a minute"]
fn every_control_of_a_page_of_64_million_calls_works() {
    opens(1_000_000, 1_050_000);
}
