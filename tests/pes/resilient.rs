//! Jobs that go on without PEs that fail.

use ferroshmem::{Error, Sum, Team, TeamKind, World};

use crate::Program;

pub(crate) const PROGRAMS: &[Program] =
    &[Program::new("resilient/panic", panic), Program::new("resilient/abort", abort)];

/// The last PE panics while the others wait for it.
fn panic() -> Result<(), Error> {
    without_last(|| panic!("as the test demands"))
}

/// The last PE ends without a word.
fn abort() -> Result<(), Error> {
    without_last(|| std::process::abort())
}

fn without_last(fail: fn() -> !) -> Result<(), Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let values = world.alloc::<u64>(1)?.open();
    let count = world.locked(0_usize)?;
    // Launchers of several hosts end the job here.
    let is_one_node = world.split_by_kind(TeamKind::Node)?.n_members() == n;
    if !is_one_node || !world.go_on_without_failed() || n == 1 {
        assert_eq!((world.failures(), world.failed().len()), (0, 0));
        return Ok(());
    }
    values.p(me, 0, me.number() as u64)?;
    // The last one may fail as soon as it has left this, in which others still are.
    let _ = world.try_barrier();
    let last = world.pe(n - 1)?;
    if me == last {
        let _held = count.lock();
        fail();
    }
    while world.try_barrier().is_ok() {}
    assert_eq!((world.failures(), world.has_failed(last), world.has_failed(me)), (1, true, false));
    let agreement = world.agree(!(1 << (me.number() % 32)));
    assert_eq!(agreement.failed, 1);
    assert!((0..n - 1).all(|pe| agreement.value >> (pe % 32) & 1 == 0));
    assert_eq!(world.failed(), [world.member(n - 1)?]);
    // Its lock, and what it has written, are there for the others.
    *count.lock() += 1;
    assert_eq!(values.g(last, 0)?, n as u64 - 1);
    let left = world.survivors()?;
    assert_eq!(left.n_members(), n - 1);
    works(&left);
    assert_eq!(*count.lock(), n - 1);
    left.barrier();
    Ok(())
}

fn works(team: &Team<'_>) {
    let n = team.n_members();
    assert_eq!(team.reduce_value(team.my_member().number(), Sum), n * (n - 1) / 2);
    assert_eq!(team.gather_value(team.my_member().number()), Vec::from_iter(0..n));
    assert!(team.failed().is_empty() && team.agree(3).value == 3);
}
