//! What a program that makes rigs is when it is started by a rig.

use super::{agent, init, keeper};
use anyhow::Result;
use std::env;
use std::path::Path;
use std::process::exit;

/// Names under which the program has a part in a rig.
pub(super) const START: &str = "rig-start";
pub(super) const KEEPER: &str = "rig-keeper";
pub(super) const HOST: &str = "rig-host";
pub(super) const INIT: &str = "rig-init";
pub(super) const AGENT: &str = "rig-agent";
pub(super) const FAULT: &str = "rig-fault";

/// If a rig started this program, plays its part and does not return. To be called first thing
/// in `main`, while there is one thread.
pub fn play() {
    let mut words = env::args_os();
    let name = words.next().unwrap_or_default();
    let Some(role) = Path::new(&name).file_name().and_then(|n| n.to_str()) else {
        return;
    };
    let words = words.map(|w| w.to_string_lossy().into_owned()).collect();
    match role {
        START => conclude(role, keeper::start(words)),
        KEEPER => conclude(role, keeper::keep(&words)),
        HOST => conclude(role, init::host(words)),
        INIT => conclude(role, init::run(&words)),
        AGENT => conclude(role, agent::remote_shell(words)),
        FAULT => conclude(role, agent::fault(&words)),
        _ => (),
    }
}

fn conclude(role: &str, result: Result<i32>) -> ! {
    match result {
        Ok(status) => exit(status),
        Err(error) => {
            eprintln!("{role}: {error:#}");
            exit(255);
        }
    }
}
