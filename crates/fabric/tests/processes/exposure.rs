//! Which sockets the fabric opens to others.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new("listens_on_the_chosen_interface_only", 2, listens)]
}

fn listens(job: &Job) {
    if !job.fabric.name().starts_with("tcp") {
        return;
    }
    // Connected by now, and every socket there.
    let value = [0u8; 8];
    // SAFETY: within the heap.
    unsafe {
        job.fabric.put(&job.context, job.at(job.next(), 0), value.as_ptr(), 8);
    };
    job.fabric.quiet(&job.context);
    let own: HashSet<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            let name = link.to_str()?;
            Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let mut listening = 0;
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in std::fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (address, state, inode) = (fields[1], fields[3], fields[9]);
            if state != "0A" || !own.contains(inode) {
                continue;
            }
            listening += 1;
            let digits = address.split(':').next().unwrap();
            assert_eq!(digits.len(), 8, "{address}: not of IPv4");
            let host = u32::from_str_radix(digits, 16).unwrap();
            assert_eq!(Ipv4Addr::from(host.to_be()), Ipv4Addr::LOCALHOST, "{address}");
        }
    }
    assert!(listening > 0, "nothing was found to listen");
}
