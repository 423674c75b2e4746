//! Links, addresses and names, by `ip` of iproute2.

use super::NAMES;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// The hosts' network.
pub const SUBNET: &str = "10.75.0.0/24";

/// The bridge, in the cluster's own network namespace.
const BRIDGE: &str = "cluster";

/// What a link does to what it carries, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impairment {
    /// Later arrival of each packet.
    pub delay: Duration,
    /// Share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// Bytes per second; 0 for no limit.
    pub rate: u64,
}

/// As commands of the cluster have it: `delay_us,loss,rate`.
impl FromStr for Impairment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || format!("{text}: expected DELAY_MICROSECONDS,LOSS,BYTES_PER_SECOND");
        let mut fields = text.split(',');
        let mut field = || fields.next().with_context(wrong);
        Ok(Self {
            delay: Duration::from_micros(field()?.parse().with_context(wrong)?),
            loss: field()?.parse().with_context(wrong)?,
            rate: field()?.parse().with_context(wrong)?,
        })
    }
}

impl std::fmt::Display for Impairment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{}", self.delay.as_micros(), self.loss, self.rate)
    }
}

/// Address of a host.
pub(super) fn address(host: usize) -> String {
    format!("10.75.0.{}", host + 1)
}

/// Content of the hosts' `/etc/hosts`.
pub(super) fn hosts_file(hosts: usize) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (host, name) in NAMES[..hosts].iter().enumerate() {
        let _ = writeln!(text, "{} {name}", address(host));
    }
    text
}

/// The supervisor's end of a host's link.
pub(super) fn port(host: &str) -> String {
    format!("to-{host}")
}

/// Makes the bridge in this network namespace.
pub(super) fn make_bridge() -> Result<()> {
    without_ipv6();
    ip(&format!("link set lo up\nlink add {BRIDGE} type bridge\nlink set {BRIDGE} up\n"))
}

/// Makes the link of a host, whose network namespace is that of a process.
pub(super) fn make_link(host: &str, process: u32) -> Result<()> {
    let port = port(host);
    ip(&format!("link add {port} type veth peer name eth0 netns {process}\nlink set {port} master {BRIDGE} up\n"))
}

/// Gives this network namespace, which has a link, its address.
pub(super) fn configure(host: usize) -> Result<()> {
    without_ipv6();
    let address = address(host);
    ip(&format!("link set lo up\naddress add {address}/24 brd + dev eth0\nlink set eth0 up\n"))
}

/// Cuts a host's link or mends it.
pub(super) fn set_link(host: &str, up: bool) -> Result<()> {
    let state = if up { "up" } else { "down" };
    ip(&format!("link set {} {state}\n", port(host)))
}

/// Takes a host's link off the bridge and makes another port in its place, for what goes
/// between the two; returns the name of that port's other end.
pub(super) fn detach(host: &str) -> Result<String> {
    let (port, bridged, free) = (port(host), format!("via-{host}"), format!("by-{host}"));
    ip(&format!(
        "link set {port} nomaster\nlink add {bridged} type veth peer name {free}\n\
         link set {free} up\nlink set {bridged} master {BRIDGE} up\n"
    ))?;
    Ok(free)
}

/// Undoes [`detach`].
pub(super) fn attach(host: &str) -> Result<()> {
    ip(&format!("link delete via-{host}\nlink set {} master {BRIDGE}\n", port(host)))
}

/// Leaves a namespace with one address family, so that launchers do not have to choose.
fn without_ipv6() {
    for which in ["all", "default"] {
        // Kernels without IPv6 have nothing to be turned off.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

fn ip(batch: &str) -> Result<()> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run ip: install iproute2")?;
    let mut input = child.stdin.take().context("ip has an input")?;
    input.write_all(batch.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("ip: {}", text.lines().next().unwrap_or("failed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impairments_travel_as_text() {
        let slow = Impairment { delay: Duration::from_millis(5), loss: 0.01, rate: 1_000_000 };
        assert_eq!(slow.to_string().parse::<Impairment>().unwrap(), slow);
        assert!("5ms".parse::<Impairment>().is_err());
    }
}
