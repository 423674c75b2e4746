//! Faults in the middle of collectives, by every algorithm of reductions and barriers and by
//! some of each other.

use anyhow::{Result, ensure};
use ferroshmem_config as config;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use ferroshmem_tuning::Collective;

use crate::ending::{Status, ended_rightly, expect};

/// The routine that the program calls for a collective.
const fn routine(collective: Collective) -> &'static str {
    match collective {
        Collective::Barrier => "shmem_barrier_all",
        Collective::Reduce => "shmem_double_sum_reduce",
        Collective::Broadcast => "shmem_double_broadcast",
        Collective::Collect => "shmem_double_collect",
        Collective::Fcollect => "shmem_double_fcollect",
        Collective::Alltoall => "shmem_double_alltoall",
        Collective::Alltoalls => "shmem_double_alltoalls",
        Collective::Scan => "shmem_double_sum_inscan",
    }
}

/// A job of `pes` PEs in which something happens to PE 1, with `choice` forced.
fn job(s: &Setting, collective: Collective, choice: &str, pes: usize, way: &str) -> Result<Job> {
    let job = Job::new(pes, &s.compile("faults/collective.c", &[])?);
    let job = job.args(&[collective.name(), way]);
    Ok(job.env(config::algorithm(collective).name, choice))
}

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    for (way, words) in [
        ("teams", ["PE 0 in shmem_team_sync", "for PE 0"]),
        ("forgotten", ["PE 2 in shmem_finalize", "for PE 0"]),
        ("list", ["PE 2 in shmem_finalize", "(PEs 0, 1, 2) for PE 2"]),
        ("order", ["PE 0 in shmem_team_sync", "PE 2 in shmem_team_sync"]),
    ] {
        suite.add(format!("circle::{way}"), move |s| {
            let program = s.compile("faults/circle.c", &[])?;
            let outcome = Job::new(3, &program).args(&[way]).run(&s.prefix, &s.scratch)?;
            ended_rightly(&outcome, Status::Is(1), &words)
        });
    }
    for collective in Collective::ALL {
        let name = collective.name();
        suite.add(format!("algorithm::{name}"), move |s| unknown_algorithm(s, collective));
        suite.add(format!("collective::{name}::exit0"), move |s| {
            let words = ["PE 1", "shmem_finalize", routine(collective)];
            let job = job(s, collective, "auto", 4, "exit0")?;
            expect(s, &job, Status::Is(1), &words)
        });
        for (i, &choice) in collective.choices().iter().enumerate() {
            for way in ["killed", "absent"] {
                suite.add(format!("collective::{name}::{choice}::{way}"), move |s| {
                    // With and without members that are no corner of a hypercube.
                    let pes = 3 + i % 3;
                    let job = job(s, collective, &choice.to_string(), pes, way)?;
                    expect(s, &job, Status::Is(137), &["PE 1", "SIGKILL"])
                });
            }
            // Each takes a second.
            if i % 3 == 0 {
                suite.add(format!("collective::{name}::{choice}::stopped"), move |s| {
                    let job = job(s, collective, &choice.to_string(), 3, "stopped")?;
                    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                    ensure!(outcome.stdout.contains("FAULT_AT"), "not stopped\n{outcome}");
                    Ok(())
                });
            }
        }
    }
}

/// One line that lists what there is; the status is 1.
fn unknown_algorithm(s: &Setting, collective: Collective) -> Result<()> {
    for value in ["nonsense", "eager:ptr", "rd:", "slices,eager"] {
        let job = job(s, collective, value, 3, "stopped")?;
        let outcome = job.run(&s.prefix, &s.scratch)?;
        let names: Vec<String> = collective.choices().iter().map(ToString::to_string).collect();
        let mut words = vec![config::algorithm(collective).name, value, "auto"];
        words.extend(names.iter().map(String::as_str));
        ended_rightly(&outcome, Status::Is(1), &words)?;
    }
    Ok(())
}
