//! Operations of the Rust API on PEs of the node allocate nothing.

use ferroshmem::{Error, SignalUpdate, World};
use ferroshmem_benches::counting::{Counting, allocations};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Fails if `work` allocates.
fn allocates_nothing(name: &str, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let before = allocations();
    work()?;
    assert_eq!(allocations() - before, 0, "{name} allocates");
    Ok(())
}

#[test]
fn operations_allocate_nothing() -> Result<(), Error> {
    let before = allocations();
    let mut own = vec![1u64; 1 << 17];
    assert!(allocations() > before, "the counter counts");

    let world = World::init()?;
    let (pe, n) = (world.my_pe(), own.len());
    let window = world.alloc(n)?.open();
    let atomics = world.atomics::<u64>(1)?;
    let signals = world.signals(1)?;
    for len in [1, 8, 512, n] {
        let own = &mut own[..len];
        allocates_nothing("put", || Ok(window.put(pe, 0, own)?))?;
        allocates_nothing("get", || Ok(window.get(pe, 0, own)?))?;
        allocates_nothing("put_strided", || Ok(window.put_strided(pe, 0, 1, own, 2)?))?;
        allocates_nothing("nonblocking", || window.nonblocking(|pending| Ok(pending.put(pe, 0, own)?)))?;
        allocates_nothing("put_signal", || Ok(window.put_signal(pe, 0, own, &signals, 0, SignalUpdate::Add(1))?))?;
    }
    allocates_nothing("p", || Ok(window.p(pe, 0, 1)?))?;
    allocates_nothing("g", || Ok(window.g(pe, 0).map(drop)?))?;
    allocates_nothing("fetch", || Ok(atomics.fetch(pe, 0).map(drop)?))?;
    allocates_nothing("set", || Ok(atomics.set(pe, 0, 1)?))?;
    allocates_nothing("swap", || Ok(atomics.swap(pe, 0, 1).map(drop)?))?;
    allocates_nothing("compare_swap", || Ok(atomics.compare_swap(pe, 0, 1, 2).map(drop)?))?;
    allocates_nothing("fetch_add", || Ok(atomics.fetch_add(pe, 0, 1).map(drop)?))?;
    allocates_nothing("an error", || {
        window.p(pe, n, 1).expect_err("beyond the end");
        Ok(())
    })?;
    Ok(())
}
