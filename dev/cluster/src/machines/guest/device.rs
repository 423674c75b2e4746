//! Name, address and RDMA device of a machine.

use anyhow::{Context, Result, bail};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{address, name};

/// The file with the device's addresses (GIDs); the second is that of IPv4.
const GID: &str = "/sys/class/infiniband/rxe0/ports/1/gids/1";

/// Gives this machine its name, address and RDMA device.
pub(super) fn bring_up(machine: usize, machines: usize) -> Result<()> {
    fs::write("/proc/sys/kernel/hostname", name(machine)).context("cannot set the host name")?;
    let hosts: String = (0..machines).map(|machine| format!("{} {}\n", address(machine), name(machine))).collect();
    fs::write("/etc/hosts", format!("127.0.0.1 localhost\n{hosts}")).context("cannot write /etc/hosts")?;
    // RDMA pins memory; clusters with RDMA lift this limit.
    unlimited_pinning()?;
    ip(&["link", "set", "lo", "up"])?;
    let own = format!("{}/24", address(machine));
    ip(&["address", "add", &own, "dev", "eth0"])?;
    ip(&["link", "set", "eth0", "up"])?;
    run("rdma", &["link", "add", "rxe0", "type", "rxe", "netdev", "eth0"])?;
    wait_for_gid()
}

/// Waits until the device has taken over the address of its card, shortly after it is up.
fn wait_for_gid() -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let gid = fs::read_to_string(GID).unwrap_or_default();
        if gid.contains("ffff:0a4d") {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("the device rxe0 did not get the address of eth0 ({GID}: {gid:?})");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn unlimited_pinning() -> Result<()> {
    setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY).context("cannot lift the limit of pinned memory")
}

fn ip(arguments: &[&str]) -> Result<()> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", super::pes::PATH)
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", arguments.join(" "), why.trim());
    }
    Ok(())
}
