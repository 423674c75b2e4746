//! The program that makes a cluster, run by the cluster under other names: a multi-call binary, whose
//! applets are the processes of the cluster and the command that launchers take for `ssh`.

use super::wire::{AGENT, FAULT, HOST, INIT, START, SUPERVISOR};
use super::{agent, init, supervisor};
use anyhow::Result;
use std::env;
use std::path::Path;
use std::process::exit;

/// Runs the applet after which this process is named and does not return; returns if the name is no
/// applet's. `main` must call it first, while the process has one thread.
pub fn dispatch() {
    let mut words = env::args_os();
    let name = words.next().unwrap_or_default();
    let Some(applet) = Path::new(&name).file_name().and_then(|n| n.to_str()) else {
        return;
    };
    let words = words.map(|w| w.to_string_lossy().into_owned()).collect();
    match applet {
        START => conclude(applet, supervisor::start(words)),
        SUPERVISOR => conclude(applet, supervisor::supervise(&words)),
        HOST => conclude(applet, init::host(words)),
        INIT => conclude(applet, init::run(&words)),
        AGENT => conclude(applet, agent::remote_shell(words)),
        FAULT => conclude(applet, agent::fault(&words)),
        _ => (),
    }
}

fn conclude(applet: &str, result: Result<i32>) -> ! {
    match result {
        Ok(status) => exit(status),
        Err(error) => {
            eprintln!("{applet}: {error:#}");
            exit(255);
        }
    }
}
