//! Messages: sends and receives that are matched by team, source and tag.

use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_conformance::guide;
use ferroshmem_conformance::job::Running;
use ferroshmem_conformance::suite::{Fault, Setting};
use ferroshmem_conformance::{Job, Suite};

/// Programs, what they are asked for, and numbers of PEs.
const PROGRAMS: [(&str, &str, &[usize]); 15] = [
    ("exchange", "all", &[1, 2, 3, 16]),
    ("exchange", "late", &[2, 5]),
    ("exchange", "64m", &[2]),
    ("flood", "all", &[1, 2, 7, 16]),
    ("flood", "one", &[2, 16]),
    ("flood", "left", &[1, 3]),
    ("threads", "", &[1, 2, 5]),
    ("random", "1", &[1, 2, 3, 7, 20]),
    ("random", "2", &[2, 4]),
    ("random", "refused", &[3]),
    ("random", "later", &[3]),
    ("nodes", "ways", &[1, 3]),
    ("nodes", "credit", &[2]),
    ("nodes", "busy", &[3]),
    ("nodes", "teams", &[2]),
];

/// What goes wrong, the status that the job ends with, and words of its one line.
const FAULTS: &[Fault] = &[
    ("exits", 1, &["PE 1 exited with status 0", "waits in shmemx_msg_recv"]),
    ("exits-any", 1, &["PE 1 exited with status 0", "waits in shmemx_msg_recv"]),
    ("killed", 137, &["PE 1", "SIGKILL"]),
    ("killed-receiver", 137, &["PE 1", "SIGKILL"]),
    ("tag", 1, &["shmemx_msg_send: tag = -1", "0 to 2147483647"]),
    ("any-tag", 1, &["shmemx_msg_recv: tag = -2"]),
    ("to", 1, &["shmemx_msg_send: PE 3 is out of range", "PEs 0 to 2"]),
    ("from", 1, &["shmemx_msg_recv: PE -2 is out of range"]),
    ("request", 1, &["shmemx_msg_wait: the request is not live"]),
    ("team", 1, &["shmem_team_destroy", "sends or receives of messages"]),
    ("destroyed", 1, &["shmemx_msg_send", "is not a live team"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, way, counts) in PROGRAMS {
        for &pes in counts {
            suite.add_job(format!("{name}::{way}::{pes}pe"), move |s| job(s, pes, name, way));
        }
    }
    for variable in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        for (name, way) in [("exchange", "all"), ("random", "3")] {
            let (key, value) = variable;
            suite
                .add_job(format!("{name}::{}", key.to_lowercase()), move |s| Ok(job(s, 3, name, way)?.env(key, value)));
        }
    }
    suite.add("two-jobs-at-once".into(), two_jobs);
    suite.add("guide::ring".into(), |s| guide::prints(s, "messages.md", 1, 4));
    suite.add_faults(FAULTS, |s, way| job(s, 3, "faults", way));
    suite.add("fault::waits-in-a-circle".into(), circle);
    suite.run();
}

fn job(s: &Setting, pes: usize, name: &str, way: &str) -> Result<Job> {
    let program = s.compile(&format!("messages/{name}.c"), &["-pthread"])?;
    Ok(Job::new(pes, &program).args(&[way]))
}

/// Two jobs have inboxes of their own.
fn two_jobs(s: &Setting) -> Result<()> {
    let jobs = [("exchange", "all"), ("flood", "all")].map(|(name, way)| {
        let job = job(s, 3, name, way)?;
        Running::start(&job, &s.prefix, &s.scratch)
    });
    for job in jobs {
        job?.finish(Duration::from_secs(60))?.ended(0)?;
    }
    Ok(())
}

/// The wait report says for which messages PEs wait.
fn circle(s: &Setting) -> Result<()> {
    let job = job(s, 2, "faults", "waits")?.options(&["-n", "2", "--timeout", "2"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
    for (pe, other) in [(0, 1), (1, 0)] {
        let words = format!("PE {pe} waits in shmemx_msg_recv for a message from PE {other} with tag 6");
        ensure!(outcome.stderr.contains(&words), "{outcome}");
    }
    Ok(())
}
