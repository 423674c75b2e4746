//! Memory that is in no segment, and that other PEs read while it is exposed.

use std::collections::HashSet;

use ferroshmem_fabric::Exposed;

use crate::failures::{SOON, die};
use crate::job::{Case, Job, PEER_FAILED};

/// Exposures at a time.
const MOST: usize = 1024;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("exposed_memory_is_read", 3, read),
        Case::new("exposures_are_bounded", 1, bounded),
        Case::new("pinned_exposed_memory_is_read", 3, read).pinned(),
        Case::new("pinned_exposures_are_bounded", 1, |job| drop(keys(job))).pinned(),
        Case {
            ends: |pe| (pe == 0).then_some(PEER_FAILED),
            ..Case::new("killed_while_exposed_memory_is_read", 2, killed)
        },
    ]
}

/// What the other PEs expose, by PE.
fn exchange(job: &Job, Exposed { address, key }: Exposed) -> Vec<Exposed> {
    let lines = job.exchange(&format!("{address} {key}"));
    let exposed = |line: &String| {
        let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
        Exposed { address: words.next().expect("an address"), key: words.next().expect("a key") }
    };
    lines.iter().map(exposed).collect()
}

fn byte(pe: usize, i: usize) -> u8 {
    (pe * 31 + i + i / 251) as u8
}

fn read(job: &Job) {
    for len in [1, 4097, 1 << 20, 2_000_001] {
        let own: Vec<u8> = (0..len).map(|i| byte(job.pe, i)).collect();
        // SAFETY: withdrawn before it is dropped.
        let exposed = unsafe { job.fabric.expose(own.as_ptr(), len) };
        let (exposure, exposed) = exposed.expect("it is registered");
        let all = exchange(job, exposed);
        let pe = job.next();
        let (mut whole, mut part) = (vec![0; len], vec![0; len / 3]);
        // SAFETY: the vectors have room, and stay until quiet.
        unsafe {
            let from = (pe, all[pe]);
            let context = &job.context;
            job.fabric.get_exposed(context, whole.as_mut_ptr(), from, len);
            job.fabric.get_exposed(context, part.as_mut_ptr(), from, len / 3);
        }
        job.fabric.quiet(&job.context);
        assert!(whole.iter().enumerate().all(|(i, b)| *b == byte(pe, i)));
        assert_eq!(part, whole[..len / 3]);
        job.barrier();
        job.fabric.withdraw(exposure);
    }
}

fn bounded(job: &Job) {
    assert_eq!(keys(job).len(), MOST, "each has a key of its own");
}

/// The keys of as much memory as may be exposed at a time.
fn keys(job: &Job) -> HashSet<u64> {
    let own = [0u8; 64];
    // SAFETY: no other thread reads it.
    let expose = || unsafe { job.fabric.expose(own.as_ptr(), own.len()) };
    let mut all = Vec::new();
    while let Some(one) = expose() {
        all.push(one);
    }
    assert_eq!(all.len(), MOST);
    let keys = all.iter().map(|(_, e)| e.key).collect();
    for (exposure, _) in all.drain(1..) {
        job.fabric.withdraw(exposure);
    }
    for _ in 0..3 * MOST {
        let (exposure, _) = expose().expect("others were withdrawn");
        job.fabric.withdraw(exposure);
    }
    // The first is still exposed when the fabric is closed.
    keys
}

/// PE 1 dies while PE 0 reads what it exposes.
fn killed(job: &Job) {
    let mut own = vec![1u8; 64 << 20];
    // SAFETY: never dropped while others read it.
    let exposed = unsafe { job.fabric.expose(own.as_ptr(), own.len()) };
    let (_, exposed) = exposed.expect("it is registered");
    let all = exchange(job, exposed);
    die(job, SOON);
    loop {
        let to = own.as_mut_ptr();
        // SAFETY: the vector has room, and stays until quiet.
        unsafe {
            job.fabric.get_exposed(&job.context, to, (1, all[1]), own.len());
        };
        job.fabric.quiet(&job.context);
    }
}
