//! The profile as one page that needs nothing else, and as lines for a terminal.

use ferroshmem_layout::profile::sizes;
use serde::Serialize;

use super::analysis::{Analysis, PeTimes, SiteSum};
use super::findings::{Finding, count, time};
use super::record::Kind;
use crate::page::assemble;

const TEMPLATE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

#[derive(Serialize)]
struct BalanceData<'a> {
    name: &'a str,
    line: &'a str,
    path: &'a str,
    ratio: f64,
    most: usize,
    waiting: u64,
    last_pe: usize,
    last_share: f64,
}

#[derive(Serialize)]
struct SizesData<'a> {
    name: &'static str,
    is_partial: bool,
    buckets: &'a [[u64; 2]],
}

#[derive(Serialize)]
struct PageData<'a> {
    title: &'a str,
    about: &'a str,
    n_pes: usize,
    is_partial: bool,
    is_sample: bool,
    findings: &'a [Finding],
    pes: &'a [PeTimes],
    traffic: Vec<Vec<u64>>,
    waits: Vec<[u64; 3]>,
    sites: &'a [SiteSum],
    balance: Vec<BalanceData<'a>>,
    sizes: Vec<SizesData<'a>>,
    memory: Vec<String>,
    notes: Vec<String>,
}

fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

fn balance(site: &SiteSum) -> Option<BalanceData<'_>> {
    let (most, ns) = site.computed.iter().max_by_key(|(_, ns)| **ns)?;
    let (last, times) = site.last.iter().max_by_key(|(_, times)| **times)?;
    let mean = site.computed.values().sum::<u64>() as f64 / site.computed.len() as f64;
    Some(BalanceData {
        name: &site.name,
        line: &site.position.line,
        path: &site.position.path,
        ratio: *ns as f64 / mean.max(1.0),
        most: *most,
        waiting: site.waiting,
        last_pe: *last,
        last_share: *times as f64 / site.aligned.max(1) as f64,
    })
}

impl Analysis {
    /// What the job was, in a line.
    fn about(&self) -> String {
        let nodes = self.hosts.len();
        let hosts: Vec<_> = self.hosts.values().take(4).cloned().collect();
        let more = if nodes > 4 { ", …" } else { "" };
        let untimed: u64 = self.sites.iter().map(|s| s.untimed).sum();
        let partial = match (self.inlined, untimed) {
            (true, _) => {
                "; numbers with ≥ are less than what the PEs made: operations were inlined (see the end)".to_owned()
            }
            (false, 0) => String::new(),
            (false, _) => format!(
                "; times with ≥ or ≤ are of a sample: {} short operations were counted without their time",
                count(untimed)
            ),
        };
        format!(
            "{} PEs on {nodes} {} ({}{more}), {} from shmem_init to shmem_finalize{partial}",
            self.n_pes,
            if nodes == 1 { "node" } else { "nodes" },
            hosts.join(", "),
            time(self.wall)
        )
    }

    fn memory(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(most) = self.pes.iter().max_by_key(|p| p.heap).filter(|p| p.heap > 0) {
            lines.push(format!(
                "At most {} of {} of the symmetric heap were in use at a time (PE {}).",
                size(most.heap),
                size(self.heap_size),
                most.pe
            ));
        }
        let mut allocations: Vec<_> = self.sites.iter().filter(|s| s.kind == Kind::Allocate).collect();
        allocations.sort_by_key(|s| std::cmp::Reverse(s.bytes));
        for site in allocations.iter().take(10) {
            let pes = site.pes.len().max(1) as u64;
            lines.push(format!(
                "{} by {} at {}: {} calls on each PE, the largest {}",
                size(site.bytes / pes),
                site.name,
                site.position.line,
                count(site.calls / pes),
                size(site.largest)
            ));
        }
        if lines.is_empty() {
            lines.push("Nothing was allocated.".to_owned());
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Computing is the time outside of routines. Waiting is the time in a collective until the last member (for \
                a broadcast, the root) has come, and all of the time in waits for variables, messages and locks; which \
                PE those wait for is shared out by the number of updates or messages that each PE sends. Waiting for a \
                core is the \
                time in which a thread was ready to run and the kernel ran others, where a call or the time between \
                two was longer than 100 µs. Transfer is the rest of the time in routines.".to_owned(),
        ];
        notes.push(if self.counted_inline {
            "The program was compiled with -DSHMEM_COUNT: operations that are inlined into it were counted there. \
                Their time counts as computing, and their lines and sizes are not known."
                .to_owned()
        } else if self.inlined {
            "The program was compiled with -DSHMEM_NATIVE_ONLY: operations that are inlined into it are missing here, \
                and count as computing."
                .to_owned()
        } else {
            "Operations that are otherwise inlined into the program went through the library, so that they could be \
                recorded: they took longer than without a profile."
                .to_owned()
        });
        if let Some((pes, after)) = self.counted_alone {
            notes.push(format!(
                "{pes} PEs made so many operations of at most 1 KiB within the node that recording cost more than 2% \
                    of the time. After {} and more, these were counted with their lines and bytes alone; their time \
                    counts as computing.",
                time(after)
            ));
        }
        if self.step > 1 {
            notes.push(format!("Waiting in collectives was taken from one in {} of them.", self.step));
        }
        if self.hosts.len() > 1 {
            notes.push(format!(
                "The hosts' clocks were aligned by the collectives of all PEs, to within {}.",
                time(self.clock_error)
            ));
        }
        if self.pes.iter().any(|p| p.others > 0) {
            notes.push(
                "Routines were called by several threads of a PE: the bars show the thread that called \
                shmem_init, the table all."
                    .to_owned(),
            );
        }
        let ended: Vec<_> = self.pes.iter().filter(|p| p.died).map(|p| p.pe.to_string()).collect();
        if !ended.is_empty() {
            notes.push(format!("The records of these PEs end before shmem_finalize: {}.", ended.join(", ")));
        }
        if self.pes.len() < self.n_pes {
            notes.push(format!("Of {} PEs there is no record.", self.n_pes - self.pes.len()));
        }
        notes
    }

    /// The page.
    pub fn page(&self, findings: &[Finding]) -> String {
        const CLASSES: [(&str, usize); sizes::CLASSES] = [
            ("puts", sizes::PUT),
            ("gets", sizes::GET),
            ("atomics and signals", sizes::ATOMIC),
            ("collectives", sizes::COLLECTIVE),
            ("messages", sizes::MESSAGE),
        ];
        let title = format!("Profile of {}", self.command);
        let about = self.about();
        let traffic = self.traffic.iter().map(|((from, to), words)| {
            let mut row = vec![*from as u64, *to as u64];
            row.extend(words);
            row
        });
        let data = PageData {
            title: &title,
            about: &about,
            n_pes: self.n_pes,
            is_partial: self.inlined,
            is_sample: self.is_sample(),
            findings,
            pes: &self.pes,
            traffic: traffic.collect(),
            waits: self.waits.iter().map(|((a, b), ns)| [*a as u64, *b as u64, *ns]).collect(),
            sites: &self.sites,
            balance: self.sites.iter().filter_map(balance).collect(),
            sizes: CLASSES
                .iter()
                .map(|(name, class)| SizesData {
                    name,
                    is_partial: (self.inlined || self.counted_inline)
                        && [sizes::PUT, sizes::GET, sizes::ATOMIC].contains(class),
                    buckets: &self.sizes[*class],
                })
                .collect(),
            memory: self.memory(),
            notes: self.notes(),
        };
        // Maps of numbers and strings are always written.
        let data = serde_json::to_string(&data).unwrap_or_default();
        assemble(TEMPLATE, &title, &data, SCRIPT)
    }

    /// At most ten lines.
    pub fn summary(&self, findings: &[Finding]) -> Vec<String> {
        let all = self.pe_time() as f64;
        let share =
            |f: fn(&PeTimes) -> u64| format!("{:.0}%", self.pes.iter().map(f).sum::<u64>() as f64 * 100.0 / all);
        let mut lines = vec![
            self.about(),
            format!(
                "computing {}{}, transfer {}{}, waiting for other PEs {}, for a core {}",
                if self.is_sample() { "≤ " } else { "" },
                share(|p| p.computing),
                if self.is_sample() { "≥ " } else { "" },
                share(|p| p.transfer),
                share(|p| p.waiting),
                share(|p| p.without_core)
            ),
        ];
        lines.extend(findings.iter().map(|f| format!("- {}", f.what)));
        if findings.is_empty() {
            lines.push("nothing stands out".to_owned());
        }
        let most = self.sites.iter().filter(|s| s.kind != Kind::Region);
        for site in most.take(9_usize.saturating_sub(lines.len()).min(3)) {
            lines.push(format!(
                "{}{:.1}% of the run: {} at {}, {} calls",
                if site.untimed > 0 { "≥ " } else { "" },
                site.ns as f64 * 100.0 / all,
                site.name,
                site.position.line,
                site.calls()
            ));
        }
        lines
    }
}
