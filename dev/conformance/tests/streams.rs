//! Streams of items on one node; `c/streams.c` runs with all programs, between hosts, too.

use anyhow::{Result, ensure};
use ferroshmem_conformance::guide;
use ferroshmem_conformance::suite::{Fault, Setting};
use ferroshmem_conformance::{Job, Suite};

/// What programs are asked for, and numbers of PEs.
const PROGRAMS: [(&str, &str, &[usize]); 9] = [
    ("streams/crowd", "one", &[1, 2, 16]),
    ("streams/crowd", "circle", &[1, 2, 5]),
    ("streams/crowd", "answers", &[1, 2, 5, 16]),
    ("streams/crowd", "threads", &[1, 2, 5]),
    ("streams/crowd", "unused", &[1, 3]),
    ("streams", "2", &[1, 2, 7]),
    ("streams", "3", &[4]),
    ("streams", "4", &[16]),
    ("streams", "5", &[64]),
];

/// Algorithms of `examples/`, which verify their results, with arguments that make them small.
const EXAMPLES: [(&str, &[&str]); 6] = [
    ("stream_histogram", &["20000"]),
    ("index_gather", &["5000"]),
    ("permutation", &["3000"]),
    ("topological_sort", &["600"]),
    ("triangles", &["300"]),
    ("sparse_transpose", &["500"]),
];

/// What goes wrong, the status that the job ends with, and words of its one line.
const FAULTS: &[Fault] = &[
    ("size", 1, &["shmemx_stream_create: item_size = 0", "1 to 32768 bytes"]),
    ("long", 1, &["shmemx_stream_create: item_size = 32769"]),
    ("options", 1, &["options = 0x8 are unknown"]),
    ("differs", 1, &["shmemx_stream_create", "stream with items of", "the same arguments"]),
    ("invalid", 1, &["shmemx_stream_push: 0x0 is not a live stream"]),
    ("end-twice", 1, &["shmemx_stream_end: this PE has ended the stream"]),
    ("push-after-end", 1, &["shmemx_stream_push: this PE has ended the stream"]),
    ("pe", 1, &["shmemx_stream_push: PE 3 is out of range", "PEs 0 to 2"]),
    ("destroyed", 1, &["shmemx_stream_pull", "is not a live stream"]),
    ("team", 1, &["shmemx_stream_destroy: the stream's team is destroyed"]),
    ("killed", 137, &["PE 1", "SIGKILL"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, way, counts) in PROGRAMS {
        for &pes in counts {
            suite.add_job(format!("{name}::{way}::{pes}pe"), move |s| job(s, pes, &format!("{name}.c"), &[way]));
        }
    }
    for (name, arguments) in EXAMPLES {
        for pes in [1, 2, 5] {
            suite.add_job(format!("example::{name}::{pes}pe"), move |s| {
                job(s, pes, &format!("../../../examples/{name}.c"), arguments)
            });
        }
    }
    suite.add("guide::words".into(), |s| guide::prints(s, "streams.md", 1, 4));
    suite.add_faults(FAULTS, |s, way| job(s, 3, "streams/faults.c", &[way]));
    suite.add("fault::waits".into(), waits);
    suite.run();
}

fn job(s: &Setting, pes: usize, source: &str, arguments: &[&str]) -> Result<Job> {
    let program = s.compile(source, &["-pthread"])?;
    Ok(Job::new(pes, &program).args(arguments))
}

/// The wait report says which PEs wait for a stream.
fn waits(s: &Setting) -> Result<()> {
    let job = job(s, 2, "streams/faults.c", &["waits"])?.options(&["-n", "2", "--timeout", "2"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
    let words = "PEs 0-1 wait in shmemx_stream_wait for items of a stream";
    ensure!(outcome.stderr.contains(words), "{outcome}");
    Ok(())
}
