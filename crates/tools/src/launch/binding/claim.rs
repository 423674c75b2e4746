//! Which CPUs jobs on this host have bound their PEs to.
//!
//! A job holds a socket with an abstract name for each CPU. Only one process can have a name, the
//! kernel frees it when the process ends, however that may be, and nothing is left in a file system.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The CPUs that this job has.
#[derive(Debug, Default)]
pub(super) struct Claims(BTreeMap<usize, UnixDatagram>);

impl Claims {
    /// Claims the CPUs `wanted`, and no longer any other; returns those that another job has.
    pub(super) fn claim(&mut self, wanted: &BTreeSet<usize>) -> BTreeSet<usize> {
        self.0.retain(|cpu, _| wanted.contains(cpu));
        let mut refused = BTreeSet::new();
        for cpu in wanted {
            if self.0.contains_key(cpu) {
                continue;
            }
            let name = format!("ferroshmem-cpu-{cpu}");
            let address = SocketAddr::from_abstract_name(name);
            match address.and_then(|address| UnixDatagram::bind_addr(&address)) {
                Ok(socket) => {
                    self.0.insert(*cpu, socket);
                }
                Err(e) if e.kind() == ErrorKind::AddrInUse => {
                    refused.insert(*cpu);
                }
                // Without sockets to be had, this job's CPUs are not seen by others.
                Err(_) => {}
            }
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Whether a job gets CPUs that another has given up: a process that a test beside starts has the sockets, too,
    /// until its program begins.
    fn gets(job: &mut Claims, cpus: &BTreeSet<usize>) -> bool {
        (0..1000).any(|_| {
            let is_free = job.claim(cpus).is_empty();
            if !is_free {
                thread::sleep(Duration::from_millis(10));
            }
            is_free
        })
    }

    #[test]
    fn one_job_has_a_cpu_until_it_ends() {
        // No machine has these.
        let cpus = |range: std::ops::Range<usize>| (range.start + 70_000..range.end + 70_000).collect();
        let (mut first, mut second) = (Claims::default(), Claims::default());
        assert!(first.claim(&cpus(0..3)).is_empty());
        assert_eq!(second.claim(&cpus(2..5)), cpus(2..3));
        assert!(first.claim(&cpus(0..2)).is_empty());
        assert!(gets(&mut second, &cpus(2..5)));
        assert_eq!(first.claim(&cpus(4..5)), cpus(4..5));
        drop(second);
        assert!(gets(&mut first, &cpus(0..5)));
    }
}
