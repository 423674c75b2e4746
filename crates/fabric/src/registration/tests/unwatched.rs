//! Memory whose unmapping the monitor does not notice.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::fake::Fake;
use super::{Mapping, PAGE, PLENTY, monitor};
use crate::registration::{Cache, Limits, Monitor};

#[test]
fn nothing_is_kept_without_a_monitor() {
    let fake = Fake::default();
    let cache = Cache::new(fake.clone(), PLENTY, Monitor::off("switched off"));
    assert_eq!(cache.kind().to_string(), "none (switched off)");
    let memory = Mapping::new(2);
    for number in 1..=3 {
        let region_ref = cache.acquire(memory.address(), PAGE).unwrap();
        assert_eq!(region_ref.number, number);
        assert_eq!(fake.live().len(), 1);
    }
    assert!(fake.live().is_empty());
    let counts = cache.counts();
    assert_eq!((counts.hits, counts.misses, counts.uncached), (0, 0, 3));
    assert_eq!((counts.bytes, counts.regions), (0, 0));
}

#[test]
fn limits_hold_without_a_monitor() {
    let limits = Limits { bytes: 4 * PAGE, regions: 2 };
    let cache = Cache::new(Fake::default(), limits, Monitor::off("switched off"));
    let memory = Mapping::new(8);
    let held = cache.acquire(memory.address(), 3 * PAGE).unwrap();
    let error = cache.acquire(memory.address(), 2 * PAGE).map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    let more = cache.acquire(memory.address(), PAGE).unwrap();
    drop(held);
    let more = (more, cache.acquire(memory.address(), PAGE).unwrap());
    assert!(cache.acquire(memory.address(), PAGE).is_err());
    drop(more);
}

#[test]
fn files_are_not_kept() {
    let Some((monitor, _alone)) = monitor() else {
        return;
    };
    let fake = Fake::default();
    let cache = Cache::new(fake.clone(), PLENTY, monitor);
    let program = File::open("/proc/self/exe").unwrap();
    let memory = Mapping::of_file(program.as_raw_fd());
    for _ in 0..2 {
        cache.acquire(memory.address(), PAGE).unwrap();
    }
    assert_eq!(cache.counts().uncached, 2);
    assert!(fake.live().is_empty());
}

#[test]
fn the_machine_has_limits() {
    let [one, many] = [1, 8].map(Limits::of_machine);
    assert!(one.bytes >= many.bytes && many.bytes > 0);
}
