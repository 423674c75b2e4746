//! Graph500's search: valid trees on all numbers of PEs, wrong ones noticed, one line for options that make no sense.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::make::{make, make_for_peer};
use ferroshmem_conformance::preload::{preloaded, tool};
use ferroshmem_conformance::refusal::{heap_refusal, refusal};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi, Outcome, Suite};

/// How PEs claim vertices, and whether large frontiers are searched bottom-up.
const SEARCHES: [(&str, &[&str]); 4] = [
    ("set", &["--claim", "set"]),
    ("swap", &["--claim", "swap"]),
    ("set-top-down", &["--claim", "set", "--top-down"]),
    ("swap-top-down", &["--claim", "swap", "--top-down"]),
];

/// Every 300th proposal of a parent names another vertex.
const DAMAGING_TOOL: &str = "void pshmem_int_atomic_set(int *, int, int);
static int sets_seen;
void shmem_int_atomic_set(int *dest, int value, int pe)
{
    pshmem_int_atomic_set(dest, ++sets_seen % 300 == 0 ? value ^ 64 : value, pe);
}
";

/// Options that are refused, and what the refusal says.
const REFUSALS: &[(&[&str], &[&str])] = &[
    (&["-s", "0"], &["-s 0", "1 to 30"]),
    (&["-s", "31"], &["-s 31", "1 to 30"]),
    (&["-e", "few"], &["-e few"]),
    (&["--searches", "0"], &["--searches 0"]),
    (&["--claim", "put"], &["--claim put", "set or swap"]),
    (&["--fast"], &["usage", "--top-down"]),
    (&["-s", "10", "more"], &["usage"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, options) in SEARCHES {
        for pes in [1, 2, 3, 16] {
            suite.add(format!("{name}::{pes}pe"), move |s| searched(s, "graph500", pes, options));
        }
        suite.add(format!("{name}::threads"), move |s| searched(s, "graph500-threads", 2, options));
    }
    // Fewer vertices and edges than PEs.
    suite.add("few-vertices".into(), |s| {
        for scale in ["1", "3"] {
            let job = job(s, "graph500", 5, &["-s", scale])?;
            valid(&job.expect_success(&s.prefix, &s.scratch)?)?;
        }
        Ok(())
    });
    suite.add("same-graph-on-all-pes".into(), same_graph);
    suite.add("a-wrong-parent-is-noticed".into(), damaged);
    suite.add("open-mpi".into(), under_open_mpi);
    suite.add("refused::heap-too-small".into(), |s| {
        heap_refusal(s, job(s, "graph500", 2, &["-s", "14"])?, "graph500", "1m")
    });
    for (options, words) in REFUSALS {
        suite.add(format!("refused::{}", options.join("")), move |s| {
            let outcome = job(s, "graph500", 2, options)?.run(&s.prefix, &s.scratch)?;
            refusal(&outcome, "graph500", words).map(drop)
        });
    }
    suite.run();
}

fn job(s: &Setting, program: &str, pes: usize, options: &[&str]) -> Result<Job> {
    let build = make("pgas-microbench/graph500", &[], &s.prefix.bin("oshcc"), &s.cache)?;
    let program: PathBuf = build.join(program);
    Ok(Job::new(pes, &program).args(options).env("OMP_NUM_THREADS", "3"))
}

fn searched(s: &Setting, program: &str, pes: usize, options: &[&str]) -> Result<()> {
    let options = [&["-s", "11", "--searches", "16"], options].concat();
    let outcome = job(s, program, pes, &options)?.expect_success(&s.prefix, &s.scratch)?;
    valid(&outcome)?;
    ensure!(fact(&outcome, "NBFS")? == "16", "{outcome}");
    ensure!(fact(&outcome, "validated")? == "16", "{outcome}");
    ensure!(fact(&outcome, "num_pes")? == pes.to_string(), "{outcome}");
    let rate: f64 = fact(&outcome, "harmonic_mean_TEPS")?.parse()?;
    ensure!(rate > 0.0, "{outcome}");
    Ok(())
}

fn fact<'a>(outcome: &'a Outcome, name: &str) -> Result<&'a str> {
    let mut facts = outcome.stdout.lines().filter_map(|line| line.split_once(": "));
    let fact = facts.find(|(label, _)| *label == name);
    Ok(fact.with_context(|| format!("no {name}\n{outcome}"))?.1)
}

fn valid(outcome: &Outcome) -> Result<()> {
    ensure!(fact(outcome, "validation")? == "SUCCESSFUL", "{outcome}");
    Ok(())
}

/// The components of the same roots have as many edges, whatever the number of PEs and the kind of search.
fn same_graph(s: &Setting) -> Result<()> {
    let mut known = None;
    for (pes, options) in [(1, SEARCHES[0].1), (2, SEARCHES[3].1), (7, SEARCHES[0].1)] {
        let options = [&["-s", "10", "-e", "2"], options].concat();
        let outcome = job(s, "graph500", pes, &options)?.expect_success(&s.prefix, &s.scratch)?;
        let edges = ["min_nedge", "mean_nedge", "stddev_nedge"];
        let edges = edges.map(|name| fact(&outcome, name).map(str::to_owned));
        let edges = edges.into_iter().collect::<Result<Vec<_>>>()?;
        let first = known.get_or_insert_with(|| edges.clone());
        ensure!(*first == edges, "{first:?} with another number of PEs\n{outcome}");
    }
    Ok(())
}

fn damaged(s: &Setting) -> Result<()> {
    let tool = tool(&s.cache, "damaging-graph500", DAMAGING_TOOL)?;
    let job = job(s, "graph500", 2, &["-s", "11", "--searches", "4", "--top-down"])?;
    let outcome = preloaded(job, &tool).run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && !outcome.status.success(), "not noticed\n{outcome}");
    ensure!(fact(&outcome, "validation")? == "UNSUCCESSFUL", "{outcome}");
    ensure!(outcome.stdout.contains("search from"), "{outcome}");
    Ok(())
}

fn under_open_mpi(s: &Setting) -> Result<()> {
    let peer = OpenMpi::find()?;
    let build = make_for_peer("pgas-microbench/graph500", &[], ("OSHCC", &peer.oshcc()), &s.cache)?;
    let program = build.join("graph500").display().to_string();
    // Not by compare-and-swap: Open MPI 4.1.4's of an int writes 8 bytes to where its result goes.
    let job = peer.job(4, "256M", &program, &["-s", "10", "--searches", "4"]);
    valid(&job.expect_success(&s.prefix, &s.scratch)?)
}
