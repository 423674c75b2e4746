//! Contexts, non-blocking operations, and handles of threads.

use std::thread;

use ferroshmem::{
    AsMember, Atomics, Compare, Context, ContextOptions, Error, SignalUpdate, Signals, Team, TeamError, TeamKind,
    Window, World,
};

use crate::data::{elements, same};

programs!(
    "contexts": every_operation, of_teams, refused, nonblocking, threads, fetches, put_signals,
    queued with QUEUED,
);

/// Calls are counted, so that puts to other PEs of the node are the library's, and a worker makes the long ones.
const QUEUED: &[(&str, &str)] = &[("SHMEM_COUNTERS", "1"), ("SHMEM_WORKERS", "1"), ("SHMEM_OFFLOAD_THRESHOLD", "64k")];

/// All operations of a context on a target that no other PE has, with results that depend on the PE.
fn use_all(
    context: &Context<'_>,
    to: impl AsMember,
    me: usize,
    (window, words, signals): (&Window<'_, u32>, &Atomics<'_, u64>, &Signals<'_>),
) -> Result<(), Error> {
    let _session = context.session();
    context.put(window, to, 0, &elements::<u32>(me, 0, 20))?;
    context.p(window, to, 20, me as u32)?;
    context.fence();
    let column = elements::<u32>(me, 1, 4);
    context.put_blocks(window, to, (24, 3), &column, 2, 2)?;
    context.quiet();
    let mut got = vec![0; 20];
    context.get(window, to, 0, &mut got)?;
    assert!(same(&got, &elements::<u32>(me, 0, 20)));
    assert_eq!(context.g(window, to, 20)?, me as u32);
    let mut back = [0; 4];
    context.get_blocks(window, to, (24, 3), &mut back, 2, 2)?;
    assert_eq!(back[..], column);
    assert_eq!(context.g(window, to, 27)?, column[2]);

    context.set(words, to, 1, 40)?;
    context.quiet();
    assert_eq!(context.swap(words, to, 1, 41)?, 40);
    assert_eq!(context.compare_swap(words, to, 1, 41, 42)?, 41);
    assert_eq!(context.fetch_add(words, to, 1, 2)?, 42);
    assert_eq!(context.fetch_and(words, to, 1, 0xc)?, 44);
    assert_eq!(context.fetch_or(words, to, 1, 3)?, 0xc);
    assert_eq!(context.fetch_xor(words, to, 1, 1)?, 0xf);
    context.add(words, to, 1, 1)?;
    context.and(words, to, 1, 7)?;
    context.or(words, to, 1, 8)?;
    context.xor(words, to, 1, 1)?;
    context.quiet_members(&[to])?;
    assert_eq!(context.fetch(words, to, 1)?, 14);

    let (signal, update) = ((signals, 1), SignalUpdate::Add(5));
    context.put_signal(window, to, 40, &[9, me as u32], signal, update)?;
    context.update(signals, to, 0, SignalUpdate::Set(me as u64 + 1))
}

fn every_operation(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let window = world.alloc::<u32>(50)?.open();
    let (words, signals) = (world.atomics::<u64>(2)?, world.signals(2)?);
    for options in [ContextOptions::new(), ContextOptions::new().no_store()] {
        let context = world.context_with(options)?;
        use_all(&context, me.next(), me.number(), (&window, &words, &signals))?;
        let before = me.previous().number();
        signals.wait_until(0, Compare::Eq(before as u64 + 1))?;
        signals.wait_until(1, Compare::Eq(5))?;
        assert_eq!(window.get_vec(me, 40..42)?, [9, before as u32]);
        world.barrier();
        signals.reset(0, 0)?;
        signals.reset(1, 0)?;
        // Members are targets as well.
        let next = world.member((me.number() + 1) % n)?;
        assert_eq!(context.g(&window, next, 20)?, me.number() as u32);
        world.barrier();
    }
    Ok(())
}

fn of_teams(world: &World) -> Result<(), Error> {
    fn in_team(world: &World, team: &Team<'_>) -> Result<(), Error> {
        let window = world.alloc::<u32>(50)?.open();
        let (words, signals) = (world.atomics::<u64>(2)?, world.signals(2)?);
        let (context, number) = (team.context()?, team.my_member().number());
        let next = team.member((number + 1) % team.n_members())?;
        use_all(&context, next, number, (&window, &words, &signals))?;
        world.barrier();
        use_all(&context, team.pe_of(next)?, number, (&window, &words, &signals))?;
        world.barrier();
        Ok(())
    }
    let team = world.split(Some(world.my_pe().number() % 2), 0)?;
    in_team(world, &team.expect("every PE has a color"))
}

fn refused(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let window = world.alloc::<u32>(4)?.open();
    let team = world.split_strided(0, 1, 1)?;
    if let Some(team) = &team {
        let context = team.context()?;
        let last = world.pe(n - 1)?;
        let expected = if n == 1 { Ok(()) } else { Err(TeamError::NotMember.into()) };
        assert_eq!(context.p(&window, last, 0, 1), expected);
        assert_eq!(context.quiet_members(&[last]).is_ok(), n == 1);
        let other = Err(TeamError::OtherTeam.into());
        assert_eq!(context.p(&window, world.my_member(), 0, 1), other);
        assert!(context.p(&window, world.my_pe(), 4, 1).is_err());
        assert!(context.nonblocking(|pending| pending.put(&window, last, 3, &[1, 2])).is_err());
        assert_eq!(team.broadcast_value(last, 1).is_ok(), n == 1);
        assert!(TeamError::NotMember.to_string().contains("member_of"));
    }
    drop(window);
    Ok(())
}

fn nonblocking(world: &World) -> Result<(), Error> {
    let me = world.my_pe();
    let (next, n) = (me.next(), world.n_pes() as u64);
    let window = world.alloc::<u64>(3000)?.open();
    let words = world.atomics::<u64>(1)?;
    let signals = world.signals(1)?;
    let context = world.context()?;
    let data = elements::<u64>(me.number(), 0, 1000);
    let (mut seen, mut tickets) = (vec![0; 1000], vec![0; world.n_pes()]);
    context.nonblocking(|pending| {
        pending.put(&window, next, 0, &data)?;
        let signal = (&signals, 0);
        pending.put_signal(&window, next, 1000, &data, signal, SignalUpdate::Set(1))?;
        for (pe, ticket) in world.pes().zip(&mut tickets) {
            pending.fetch_add(&words, pe, 0, 1, ticket)?;
        }
        signals.wait_until(0, Compare::Eq(1))?;
        pending.get(&window, me, 1000, &mut seen)
    })?;
    assert!(same(&seen, &elements::<u64>(me.previous().number(), 0, 1000)));
    assert!(tickets.iter().all(|ticket| *ticket < n));
    let array = window.close();
    assert!(same(&array[..1000], &elements::<u64>(me.previous().number(), 0, 1000)));
    assert_eq!(words.into_inner()[0], n);
    Ok(())
}

/// Threads with contexts of their own, and with a handle of the job.
fn threads(world: &World) -> Result<(), Error> {
    const THREADS: usize = 4;
    const ROUNDS: usize = 200;

    let (job, window) = (world.handle(), world.alloc::<u64>(THREADS * ROUNDS)?.open());
    let counter = world.atomics::<f64>(1)?;
    thread::scope(|scope| {
        for t in 0..THREADS {
            let (window, counter) = (&window, &counter);
            let context = world.context().expect("there are not so many");
            scope.spawn(move || {
                assert_eq!(job.n_pes(), job.pes().count());
                assert_eq!(job.others().count() + 1, job.n_pes());
                assert!(job.pe(job.n_pes()).is_err() && job.is_here(job.my_pe()));
                let next = job.my_pe().next();
                for round in 0..ROUNDS {
                    let place = t * ROUNDS + round;
                    context.p(window, next, place, place as u64).expect("it exists");
                    for pe in job.pes() {
                        counter.add(pe, 0, 0.5).expect("it exists");
                    }
                }
                context.quiet();
                job.fence();
                job.quiet_pes(&[next]);
                job.quiet();
                // Other contexts' operations are not needed for this.
                assert_eq!(context.g(window, next, t * ROUNDS).expect("it exists"), (t * ROUNDS) as u64);
            });
        }
    });
    assert!(format!("{job:?}").contains("n_pes"));
    assert!(window.close().iter().copied().eq(0..(THREADS * ROUNDS) as u64));
    let expected = 0.5 * (THREADS * ROUNDS * world.n_pes()) as f64;
    assert_eq!(counter.into_inner()[0], expected);
    Ok(())
}

fn fetches(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe(), world.n_pes() as u64);
    let words = world.atomics::<u64>(7)?;
    let next = me.next();
    words.set(me, 0, 10 + me.number() as u64)?;
    world.barrier();
    let mut got = [0; 7];
    words.nonblocking(|pending| {
        let [a, b, c, d, e, f, g] = &mut got;
        pending.fetch(next, 0, a)?;
        pending.swap(next, 1, 5, b)?;
        pending.compare_swap(next, 2, 0, 6, c)?;
        pending.fetch_add(next, 3, 7, d)?;
        pending.fetch_and(next, 4, 0, e)?;
        pending.fetch_or(next, 5, 8, f)?;
        pending.fetch_xor(next, 6, 9, g)?;
        assert!(pending.fetch_add(next, 3, 0, Box::leak(Box::new(0))).is_ok());
        Ok::<(), Error>(())
    })?;
    assert_eq!(got, [10 + next.number() as u64, 0, 0, 0, 0, 0, 0]);
    assert!(words.nonblocking(|p| p.fetch(next, 7, Box::leak(Box::new(0)))).is_err());
    let array = words.into_inner();
    assert_eq!(array[1..], [5, 6, 7, 0, 8, 9]);
    drop(array);
    let floats = world.atomics::<f32>(2)?;
    let first = world.pe(0)?;
    for _ in 0..100 {
        floats.add(first, 1, 0.25)?;
    }
    assert!(floats.fetch_add(first, 2, 1.0).is_err());
    world.barrier();
    assert_eq!(floats.fetch(first, 1)?, 25.0 * n as f32);
    // NaN equals no number, and is exchanged all the same.
    let nan = world.atomics::<f64>(1)?;
    nan.set(me, 0, f64::NAN)?;
    assert!(nan.fetch_add(me, 0, 1.0)?.is_nan());
    assert!(nan.into_inner()[0].is_nan());
    Ok(())
}

fn put_signals(world: &World) -> Result<(), Error> {
    let me = world.my_pe();
    let (window, signals) = (world.alloc::<u16>(5000)?.open(), world.signals(2)?);
    for round in 1..50 {
        let data = elements::<u16>(me.number(), round, 2500);
        let (next, previous) = (me.next(), me.previous().number());
        window.nonblocking(|pending| {
            let (low, high) = data.split_at(1250);
            let update = SignalUpdate::Set(round as u64);
            pending.put_signal(next, 0, low, &signals, 0, update)?;
            pending.put_signal(next, 1250, high, &signals, 1, update)?;
            assert!(pending.put_signal(next, 0, low, &signals, 2, update).is_err());
            signals.wait_until_all(&[0, 1], Compare::Ge(round as u64))
        })?;
        assert!(same(&window.get_vec(me, ..2500)?, &elements::<u16>(previous, round, 2500)));
        world.barrier();
    }
    Ok(())
}

/// A source may change after the closure of `nonblocking`, and a signal comes after what was put.
fn queued(world: &World) -> Result<(), Error> {
    const LEN: usize = 1 << 18;
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let node = world.split_by_kind(TeamKind::Node)?;
    assert!(world.pes().all(|pe| world.is_here(pe) == node.member_of(pe).is_some()));
    let (context, signals) = (world.context()?, world.signals(2)?);
    let mut window = world.alloc::<u64>(LEN)?.open();
    let mut source = vec![0; LEN];
    for round in 1..5 {
        source.fill(round);
        context.nonblocking(|pending| pending.put(&window, next, 0, &source))?;
        source.fill(u64::MAX);
        let array = window.close();
        assert!(array.iter().all(|value| *value == round), "round {round}");
        window = array.open();
        source.fill(10 * round);
        let update = SignalUpdate::Set(round);
        window.nonblocking(|pending| {
            pending.put_signal(next, 0, &source, &signals, 0, update)?;
            signals.wait_until(0, Compare::Eq(round))?;
            assert_eq!(window.g(me, LEN - 1)?, 10 * round);
            // No PE puts again before all have looked.
            world.barrier();
            Ok::<(), Error>(())
        })?;
        source.fill(20 * round);
        context.nonblocking(|pending| {
            pending.put_signal(&window, next, 0, &source, (&signals, 1), update)?;
            signals.wait_until(1, Compare::Eq(round))?;
            assert_eq!(window.g(me, LEN - 1)?, 20 * round);
            world.barrier();
            Ok::<(), Error>(())
        })?;
    }
    Ok(())
}
