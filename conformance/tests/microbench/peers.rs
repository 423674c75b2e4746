//! Other libraries, where they are installed.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use ferroshmem_conformance::compile::on_path;
use ferroshmem_conformance::suite::Setting;

use crate::points::{QUICK, holds, series};
use crate::{job, programs};

/// Another library: how its programs are built and run.
#[derive(Clone)]
pub struct Peer {
    pub name: &'static str,
    target: &'static str,
    compiler: (&'static str, String),
    /// Launcher and its options.
    run: Vec<String>,
}

pub fn peers() -> Vec<(&'static str, Option<Peer>)> {
    let strings = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    // Its wrappers have the names of ours; its own tool stands beside them.
    let path = env::var_os("PATH").unwrap_or_default();
    let is_open_mpi = |dir: &PathBuf| {
        let tools = ["oshcc", "oshrun", "ompi_info"];
        tools.iter().all(|tool| dir.join(tool).is_file())
    };
    let open_mpi = env::split_paths(&path).find(is_open_mpi).map(|dir| Peer {
        name: "openmpi-shmem",
        target: "all",
        compiler: ("OSHCC", dir.join("oshcc").display().to_string()),
        run: [dir.join("oshrun").display().to_string()]
            .into_iter()
            // Its one-sided component of this name breaks the end of programs in version 4.1.
            .chain(strings(&[
                "--oversubscribe",
                "--mca",
                "osc",
                "^rdma",
                "-n",
                "2",
            ]))
            .collect(),
    });
    let mpi = |name, compiler: &str, run: &[&str]| {
        (on_path(compiler) && on_path(run[0])).then(|| Peer {
            name,
            target: "mpi",
            compiler: ("MPICC", compiler.to_owned()),
            run: strings(run),
        })
    };
    let mpirun = &["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    vec![
        ("Open MPI's OpenSHMEM", open_mpi),
        ("Open MPI", mpi("openmpi", "mpicc.openmpi", mpirun)),
        (
            "MPICH",
            mpi("mpich", "mpicc.mpich", &["mpiexec.hydra", "-n", "2"]),
        ),
    ]
}

/// A program prints all its points under the other library.
pub fn runs_under(s: &Setting, peer: &Peer, name: &str) -> Result<()> {
    // One job at a time: what waits without giving up its core would wait for minutes.
    static ALONE: Mutex<()> = Mutex::new(());
    let prefix = if peer.target == "mpi" { "mpi-" } else { "" };
    let name = format!("{prefix}{name}");
    let (variable, compiler) = &peer.compiler;
    let variables = [(*variable, compiler.as_str()), ("CFLAGS", programs::CFLAGS)];
    let program = programs::make(s, peer.name, peer.target, &variables)?.join(&name);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The launcher is the program that our own launcher does not start.
    let mut job = job(0, Path::new(&peer.run[0]))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    job.command.extend_from_slice(&peer.run[1..]);
    job.command.push(program.display().to_string());
    let job = job.args(QUICK);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    holds(&outcome, &series(&name, peer.target == "mpi"), 2)
}
