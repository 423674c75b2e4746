//! What must be installed for the machines.

use anyhow::{Result, bail};
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Something the machines need: a program in `PATH` or a file, and Debian's package with it.
const NEEDS: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    // Statically linked: it is the first program of the machines, before they have files.
    ("/bin/busybox", "busybox-static"),
    ("ip", "iproute2"),
    ("rdma", "iproute2"),
    ("/etc/libibverbs.d/rxe.driver", "ibverbs-providers"),
    ("/usr/lib/x86_64-linux-gnu/libfabric.so.1", "libfabric1"),
    // To get the kernel, which is not installed.
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
];

/// Checks that everything needed is there.
///
/// # Errors
/// Names the packages to install.
pub(super) fn check() -> Result<()> {
    let mut missing: Vec<&str> =
        NEEDS.iter().filter(|(what, _)| !is_there(what)).map(|(_, package)| *package).collect();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "virtual machines need programs that are not installed: apt-get install --no-install-recommends {}",
        missing.join(" ")
    );
}

fn is_there(what: &str) -> bool {
    if what.starts_with('/') {
        return Path::new(what).exists();
    }
    // Debian's ip is in /sbin, which is not in everybody's PATH.
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).chain(["/sbin".into(), "/usr/sbin".into()]);
    folders.any(|folder| {
        let file = folder.join(what).metadata();
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_and_files() {
        assert!(is_there("sh"));
        assert!(is_there("/bin/sh"));
        assert!(!is_there("no-such-program"));
        assert!(!is_there("/no/such/file"));
    }
}
