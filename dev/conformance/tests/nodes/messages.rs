//! Messages between PEs of several hosts: the programs that test them on one, and one about what differs.

use anyhow::Result;
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

use crate::settings;

/// Programs, what they are asked for, and whether a short run has them by Hydra.
const PROGRAMS: [(&str, &str, bool); 14] = [
    ("exchange", "all", true),
    ("exchange", "late", true),
    ("exchange", "64m", false),
    ("flood", "all", true),
    ("flood", "one", true),
    ("flood", "left", true),
    ("threads", "", true),
    ("random", "1", true),
    ("random", "2", false),
    ("nodes", "ways", true),
    ("nodes", "credit", true),
    ("nodes", "busy", true),
    ("nodes", "teams", true),
    ("nodes", "many", true),
];

/// Settings under which records travel or are matched in another way.
const VARIABLES: [(&str, &str); 4] = [
    ("SHMEM_CHECK", "1"),
    ("SHMEM_AGGREGATE", "0"),
    ("SHMEM_FAST_PATH", "0"),
    // Where messages carry nothing but records.
    ("SHMEM_FABRIC", "sockets"),
];

/// Where the PEs are: two on each of two hosts, whose numbers alternate; three hosts, one of which has two.
const PLACES: [Placement; 2] = [
    Placement { pes: 4, hosts: 2, distribution: Distribution::RoundRobin },
    Placement { pes: 4, hosts: 3, distribution: Distribution::Block },
];

pub(crate) fn add(suite: &mut Suite) {
    for (number, (name, way, short)) in PROGRAMS.into_iter().enumerate() {
        for (p, place) in PLACES.into_iter().enumerate() {
            for launcher in Launcher::ALL {
                let short = short && launcher == Launcher::Hydra && number % 2 == p;
                let launch = Launch { launcher, place };
                suite.add_launch(&format!("messages::{name}::{way}"), launch, short, move |s, l| {
                    succeeds(s, l, &job(s, name, way, short)?)
                });
            }
        }
    }
    for (variable, value) in VARIABLES {
        let launch = Launch { launcher: Launcher::Hydra, place: PLACES[0] };
        let trial = format!("messages::random::{}", variable.to_lowercase());
        suite.add_launch(&trial, launch, true, move |s, l| {
            succeeds(s, l, &job(s, "random", "3", true)?.env(variable, value))
        });
    }
}

/// Trials of a short run repeat less: each host's PEs and threads share two processors with all others.
fn job(s: &Setting, name: &str, way: &str, short: bool) -> Result<Job> {
    let build = Build::new(&format!("messages/{name}.c"), Compiler::Gcc);
    let flags: &[&str] = match short {
        true => &["-pthread", "-DBRIEF"],
        false => &["-pthread"],
    };
    let program = build.flags(flags).run(&s.prefix, &s.cache)?;
    Ok(Job::new(PLACES[0].pes, &program).args(&[way]))
}

fn succeeds(s: &Setting, launch: Launch, job: &Job) -> Result<()> {
    settings::succeeds(&settings::run(s, launch, job)?)
}
