//! Programs whose PEs are on several hosts: those of `c/`, the examples in C, and what
//! happens when hosts and links fail.

mod checks;
mod faults;
mod hang;
mod local_members;
mod meet;
mod messages;
mod names;
mod settings;
mod spawn;
mod status;

use anyhow::Result;
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::choices::Choices;
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::programs::{programs, stem};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// Programs that stay on one host, and why.
const ON_ONE_HOST: &[(&str, &str)] = &[];

/// Arguments of programs that would take long: making a team is a message to each member.
const ARGUMENTS: &[(&str, &[&str])] = &[("teams_many", &["64"])];

/// Programs whose threads have contexts of their own: they run with endpoints of these, too.
const THREADED: &[&str] = &["contexts", "thread_contexts", "threads"];

/// Examples in C with arguments that make them small.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("hello", &[]),
    ("heat", &[]),
    ("histogram", &["5000"]),
    ("intsort", &["16", "2"]),
    ("ring", &["50"]),
    ("stencil", &["40", "98"]),
    ("stream_histogram", &["20000"]),
    ("index_gather", &["2000"]),
    ("permutation", &["1000"]),
    ("topological_sort", &["200"]),
    ("triangles", &["200"]),
    ("sparse_transpose", &["300"]),
];

/// A way of compiling and running that differs in what goes to other hosts.
struct Variant {
    name: &'static str,
    flags: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

impl Variant {
    /// Whether a short run has a program. `usually` is whether its turn has come: the generated programs,
    /// whose jobs take minutes between hosts and whose builds half a minute, give theirs to programs that
    /// make the same kinds of calls.
    fn is_short(&self, program: &str, usually: bool) -> bool {
        match (self.name, program) {
            (_, "every_prototype" | "every_generic") => false,
            // Each of their calls is checked by messages to all PEs: uneven_groups has some.
            ("checked", "active_set" | "collectives") => false,
            ("checked", "amo" | "signal") => true,
            _ => usually,
        }
    }
}

/// A type of each size does between hosts what the other types of the size do.
const BRIEF: &[&str] = &["-DBRIEF", "-DFEW_TYPES"];

/// All but the aggregated ones, which look for races there, repeat less.
const VARIANTS: &[Variant] = &[
    Variant { name: "no-inline", flags: &["-DSHMEM_NO_INLINE", "-O1", "-DFEW_TYPES", "-DBRIEF"], env: &[] },
    Variant { name: "checked", flags: BRIEF, env: &[("SHMEM_CHECK", "1")] },
    Variant { name: "slow-path", flags: BRIEF, env: &[("SHMEM_FAST_PATH", "0")] },
    Variant {
        name: "aggregated",
        flags: &[],
        // All that a message has room for.
        env: &[("SHMEM_AGGREGATE", "5000")],
    },
    Variant { name: "rxm", flags: BRIEF, env: &[("SHMEM_FABRIC", "tcp;ofi_rxm")] },
    Variant { name: "small-heap", flags: BRIEF, env: &[("SHMEM_SYMMETRIC_SIZE", "256m")] },
];

fn job(s: &Setting, pes: usize, source: &str, flags: &[&str]) -> Result<Job> {
    let job = Job::new(pes, &s.compile(source, flags)?);
    let arguments = ARGUMENTS.iter().find(|(name, _)| *name == stem(source));
    Ok(job.args(arguments.map_or(&[], |(_, arguments)| arguments)))
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let stays = |source: &str| ON_ONE_HOST.iter().any(|(name, _)| *name == stem(source));
    let sources = || programs().into_iter().filter(|source| !stays(source));
    for (number, source) in sources().enumerate() {
        let name = stem(&source).to_owned();
        // Their jobs take a minute, and between hosts their functions do what those of programs for each kind do.
        let long = matches!(name.as_str(), "every_prototype" | "every_generic");
        suite.add_on_cluster(&name, number, long, move |s, pes| job(s, pes, &source, BRIEF));
    }
    for (number, (name, arguments)) in EXAMPLES.iter().enumerate() {
        suite.add_on_cluster(&format!("example::{name}"), number, false, move |s, pes| {
            Ok(job(s, pes, &format!("../../../examples/{name}.c"), &["-lm"])?.args(arguments))
        });
    }
    for (v, variant) in VARIANTS.iter().enumerate() {
        for (number, source) in sources().enumerate() {
            let trial = format!("{}::{}", stem(&source), variant.name);
            let short = variant.is_short(stem(&source), number % (4 * VARIANTS.len()) == v);
            suite.add_one_on_cluster(&trial, number + v, short, move |s, pes| {
                let job = job(s, pes, &source, variant.flags)?;
                Ok(variant.env.iter().fold(job, |job, (name, value)| job.env(name, value)))
            });
        }
    }
    for (number, program) in THREADED.iter().enumerate() {
        let trial = format!("{program}::own-endpoints");
        // Endpoints take long to open.
        let short = *program == "thread_contexts";
        suite.add_one_on_cluster(&trial, number, short, move |s, pes| {
            let job = job(s, pes, &format!("{program}.c"), &["-DBRIEF"])?;
            Ok(job.env("SHMEM_ENDPOINTS", "4"))
        });
    }
    suite.add_one_on_cluster("team_lists::shared-tables", 3, true, move |s, pes| {
        Ok(job(s, pes, "team_lists.c", BRIEF)?.env("SHMEM_TEAM_TABLE", "0"))
    });
    for (number, choices) in Choices::all().enumerate() {
        for (p, program) in ["every", "at_once", "exact"].into_iter().enumerate() {
            let trial = format!("{program}::{}", choices.name(0));
            let short = number % 6 == p;
            suite.add_one_on_cluster(&trial, number + p, short, move |s, pes| {
                let job = job(s, pes, &format!("algorithms/{program}.c"), &[])?;
                let exact = if program == "exact" { "1" } else { "0" };
                let choices = choices.environment(pes);
                let job = job.env("SHMEM_REPRODUCIBLE", exact);
                Ok(choices.fold(job, |job, (name, value)| job.env(name, &value)))
            });
        }
    }
    for (algorithm, check) in [("auto", "0"), ("flat", "1"), ("rd", "0"), ("bruck", "0"), ("rsag", "0")] {
        let place = Placement { pes: 6, hosts: 3, distribution: Distribution::RoundRobin };
        let launch = Launch { launcher: Launcher::Hydra, place };
        let trial = format!("uneven_groups::{algorithm}");
        suite.add_launch(&trial, launch, true, move |s, launch| {
            let job = job(s, place.pes, "nodes/uneven_groups.c", &[])?;
            let job = job.env("SHMEM_REDUCE_ALGORITHM", algorithm);
            let job = job.env("SHMEM_CHECK", check);
            settings::succeeds(&settings::run(s, launch, &job)?)
        });
    }
    checks::add(&mut suite);
    faults::add(&mut suite);
    hang::add(&mut suite);
    local_members::add(&mut suite);
    status::add(&mut suite);
    meet::add(&mut suite);
    messages::add(&mut suite);
    names::add(&mut suite);
    settings::add(&mut suite);
    spawn::add(&mut suite);
    suite.run();
}
