//! `World`, `Pe`: the PEs of a job, and one world after another.

use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use ferroshmem::{Error, InitError, Pe, PeOutOfRange, Sum, World};

use crate::Program;

pub(crate) const PROGRAMS: &[Program] = &[
    Program::new("worlds/numbers", numbers),
    Program::new("worlds/one_after_another", one_after_another),
    Program::new("worlds/on_any_thread", on_any_thread),
    Program::new("worlds/what_is_forgotten", what_is_forgotten),
    Program::new("worlds/beside_other_threads", beside_other_threads),
];

fn numbers() -> Result<(), Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    assert_eq!(world.n_members(), n);
    assert_eq!(world.my_member().number(), me.number());
    assert_eq!(world.gather_value(me.number()), Vec::from_iter(0..n));

    assert_eq!(world.pes().len(), n);
    assert!(world.pes().map(Pe::number).eq(0..n));
    assert!(world.pes().rev().map(Pe::number).eq((0..n).rev()));
    assert_eq!(world.pe(me.number())?, me);
    assert!(world.is_here(me));
    for number in [n, n + 1, usize::MAX] {
        let error = PeOutOfRange { number, n_pes: n };
        assert_eq!(world.pe(number), Err(error));
        let others = match n {
            1 => "PE 0 alone".to_owned(),
            _ => format!("PEs 0 to {}", n - 1),
        };
        assert!(error.to_string().contains(&others), "{error}");
    }

    assert_eq!(world.others().len(), n - 1);
    let others = Vec::from_iter(world.others());
    assert!((1..n).all(|i| others[i - 1] == me.shifted(i as isize)));
    assert!(!others.contains(&me));

    assert_eq!(me.next(), me.shifted(1));
    assert_eq!(me.previous().next(), me);
    for by in [0, 1, -1, 7, -100, n as isize, isize::MAX, isize::MIN] {
        let number = (me.number() as i128 + by as i128).rem_euclid(n as i128);
        assert_eq!(me.shifted(by).number() as i128, number, "by {by}");
    }
    assert_eq!(me.to_string(), format!("PE {}", me.number()));
    assert!(format!("{world:?}").contains("my_pe"));
    Ok(())
}

fn one_after_another() -> Result<(), Error> {
    for round in 1..=4u64 {
        let world = World::init()?;
        assert_eq!(World::init().unwrap_err(), InitError::Twice);
        thread::scope(|scope| {
            let second = scope.spawn(|| World::init().err());
            assert_eq!(second.join().unwrap(), Some(InitError::Twice));
        });
        let mut array = world.alloc::<u64>(1000)?;
        assert!(array.iter().all(|value| *value == 0), "round {round}");
        array.fill(round);
        let array = array.share();
        assert!(world.pes().all(|pe| array.on(pe)[999] == round));
        assert_eq!(world.reduce_value(1, Sum), world.n_pes());
        drop(array);
    }
    Ok(())
}

fn on_any_thread() -> Result<(), Error> {
    let other_thread = thread::spawn(|| {
        let world = World::init()?;
        Ok::<_, Error>(world.reduce_value(1, Sum) == world.n_pes())
    });
    assert!(other_thread.join().unwrap()?);
    let world = World::init()?;
    world.barrier();
    Ok(())
}

/// Arrays that all PEs forget are freed with the world, and the next world has their memory, zeroed.
fn what_is_forgotten() -> Result<(), Error> {
    for _ in 0..3 {
        let world = World::init()?;
        let n = world.n_pes();
        let mut array = world.alloc::<u8>(100_000)?;
        assert!(array.iter().all(|byte| *byte == 0));
        array.fill(0xff);
        mem::forget(array);
        let locked = world.locked(7u32)?;
        assert_eq!(*locked.lock(), 7);
        world.barrier();
        if world.my_pe().number() == 0 {
            mem::forget(locked.lock());
        }
        world.barrier();
        assert!(locked.try_lock().is_none());
        mem::forget(locked);
        let team = world.split_strided(0, 1, n)?.expect("of all PEs");
        mem::forget(team.context()?);
        mem::forget(team);
        let mut kept = world.alloc::<u16>(10)?.keep();
        kept[9] = 1;
        mem::take(&mut kept);
    }
    Ok(())
}

/// Other threads use the program's statics while a world is initialised.
fn beside_other_threads() -> Result<(), Error> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static LIST: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut counted = 0;
            while !over.load(Relaxed) {
                COUNT.fetch_add(1, Relaxed);
                counted += 1;
                if counted % 64 == 0 {
                    LIST.lock().unwrap().push(counted);
                }
            }
            counted
        });
        while COUNT.load(Relaxed) == 0 {
            thread::yield_now();
        }
        let world = World::init();
        over.store(true, Relaxed);
        let counted = counting.join().unwrap();
        assert_eq!(COUNT.load(Relaxed), counted);
        assert_eq!(LIST.lock().unwrap().len() as u64, counted / 64);
        world?.barrier();
        Ok(())
    })
}
