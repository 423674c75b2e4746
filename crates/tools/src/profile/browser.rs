//! Pages in a browser without a window: they open, and every control does its work.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ferroshmem_core::config::inherited;
use ferroshmem_core::profiling::layout::event;

use super::tests::Job;
use super::{Analysis, Clock, Kind, Symbols};
use crate::trace::{Format, Trace};

/// What browsers are called.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
    "chrome-headless-shell",
];

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
    let said = text[at + 5..].split("END").next().unwrap_or_default();
    let bytes = fs::metadata(&picture).map_or(0, |file| file.len());
    println!(
        "{name}: {} bytes, {took:.1?} with the browser's start, a picture of {bytes} bytes; {said}",
        page.len()
    );
    Some(said.to_owned())
}

#[test]
fn every_control_of_a_page_of_a_million_calls_works() {
    const PES: usize = 64;
    const CALLS: usize = 4 * event::CHUNK;
    let folder = tempfile::tempdir().expect("a folder");
    let mut job = Job::with_trace(&[0; PES], (CALLS * event::WORDS * 8) as u64);
    for pe in 0..PES {
        job.site(pe, *b"shm_put\0", Kind::Put, CALLS as u64, 1000);
        for call in 0..CALLS as u64 {
            let begin = job.begin(pe) + call * 50_000;
            // Each as long as another: of those that are as long, not all are on the page.
            job.event(
                pe,
                begin,
                begin + 500 + call % 512,
                (pe as u64 + 1) % 64 + 1,
            );
        }
    }
    let records = job.records();
    let clock = Clock::new(&records);
    let trace = Trace::new(&records, &clock, &mut Symbols::default());
    let mut page = Vec::new();
    trace.write(Format::Page, &mut page).expect("a page");
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains(&format!("{} calls of 64 PEs", PES * CALLS)));
    if let Some(said) = probe(folder.path(), "trace.html", &page) {
        assert!(said.contains("hits: 524,288 calls"), "{said}");
        for control in ["in ", "out ", "all ", "find ", "prev ", "next ", "arrows "] {
            assert!(said.contains(control), "no {control}: {said}");
        }
    }
    let analysis = Analysis::new(&records, &clock, &mut Symbols::default());
    let page = analysis.page(&analysis.findings());
    if let Some(said) = probe(folder.path(), "profile.html", &page) {
        for control in ["order ", "what ", "by ", "find ", "class "] {
            assert!(said.contains(control), "no {control}: {said}");
        }
    }
}
