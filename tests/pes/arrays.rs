//! Arrays: allocation, and the types that they change to and back.

use std::mem::align_of;
use std::{ptr, thread};

use ferroshmem::{AllocError, Error, OutOfBounds, Plain, World};

use crate::data::{Page, Particle, elements, same};

programs!(
    "arrays": every_type, transitions, of_nothing, keep, churn, untouched,
    no_room with &[("SHMEM_SYMMETRIC_SIZE", "1M")],
);

fn every_type(world: &World) -> Result<(), Error> {
    of_type::<u8>(world)?;
    of_type::<[u8; 3]>(world)?;
    of_type::<u16>(world)?;
    of_type::<f64>(world)?;
    of_type::<u128>(world)?;
    of_type::<Particle>(world)?;
    of_type::<[u64; 125]>(world)?;
    of_type::<Page>(world)
}

fn of_type<T: Plain>(world: &World) -> Result<(), Error> {
    let me = world.my_pe();
    for len in [1, 2, 3, 100] {
        let mut array = world.alloc::<T>(len)?;
        assert_eq!(array.len(), len);
        assert!(same(&array, &vec![T::zeroed(); len]));
        array.copy_from_slice(&elements(me.number(), len, len));
        let shared = array.share();
        for pe in world.pes() {
            // Copies of remote parts have the type's alignment.
            let align = align_of::<T>().max(if world.is_here(pe) { 64 } else { 1 });
            assert_eq!(shared.on(pe).as_ptr().addr() % align, 0);
            assert!(same(shared.on(pe), &elements(pe.number(), len, len)));
        }
    }
    Ok(())
}

fn transitions(world: &World) -> Result<(), Error> {
    let (me, next, previous) = (world.my_pe(), world.my_pe().next(), world.my_pe().previous());
    let of = |pe: ferroshmem::Pe| pe.number() as u64;
    let mut array = world.alloc::<u64>(5)?;
    array[0] = of(me);
    assert!(format!("{array:?}").starts_with("Symmetric(["));

    let shared = array.share();
    assert_eq!((shared.len(), shared.is_empty()), (5, false));
    assert!(world.pes().all(|pe| shared.on(pe)[0] == of(pe)));
    let mut array = shared.reclaim();
    array[0] += 1;

    // Sharing again shows the new contents, to any thread.
    let (shared, pes) = (array.share(), world.pes());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(pes.clone().all(|pe| shared.on(pe)[0] == of(pe) + 1)));
        }
    });
    assert!(ptr::eq(shared.on(next), shared.on(next)));
    let array = shared.reclaim();

    let window = array.open();
    assert_eq!((window.len(), window.is_empty()), (5, false));
    window.p(next, 1, window.g(next, 0)?)?;
    let mut array = window.close();
    assert_eq!(array[..2], [of(me) + 1; 2]);
    array[2] = 10;

    let atomics = array.into_atomics();
    assert_eq!((atomics.len(), atomics.is_empty()), (5, false));
    atomics.add(previous, 2, of(me))?;
    let array = atomics.into_inner();
    assert_eq!(array[2], 10 + of(next));

    let raw = array.into_raw();
    assert_eq!((raw.len(), raw.is_empty()), (5, false));
    assert_eq!(raw.remote(me), Some(raw.local()));
    let remote = raw.remote(next);
    assert_eq!(remote.is_some(), world.is_here(next));
    if let Some(remote) = remote {
        // SAFETY: within the part; only this PE writes it, and no PE reads it before the barrier.
        unsafe { remote.add(3).write(33) };
    }
    // SAFETY: the pointer is not used again.
    let array = unsafe { raw.into_inner() };
    let written = if world.is_here(previous) { 33 } else { 0 };
    let want = [of(me) + 1, of(me) + 1, 10 + of(next), written, 0];
    assert_eq!(array[..], want);
    Ok(())
}

fn of_nothing(world: &World) -> Result<(), Error> {
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let array = world.alloc::<Page>(0)?;
    assert!(array.is_empty());
    let shared = array.share();
    assert!(world.pes().all(|pe| shared.on(pe).is_empty()));
    let window = shared.reclaim().open();
    window.put(next, 0, &[])?;
    window.get(next, 0, &mut [])?;
    let out_of_bounds = |start, len| OutOfBounds { start, len, array: 0 };
    assert_eq!(window.put(next, 1, &[]), Err(out_of_bounds(1, 0)));
    assert_eq!(window.g(me, 0).err(), Some(out_of_bounds(0, 1)));
    drop(window);

    let atomics = world.atomics::<i32>(0)?;
    assert!(atomics.mine().is_empty());
    assert_eq!(atomics.add(next, 0, 1), Err(out_of_bounds(0, 1)));
    let raw = atomics.into_inner().into_raw();
    assert!(raw.is_empty());
    // SAFETY: no pointers to the array exist.
    let mut none = unsafe { raw.into_inner() };
    let mut dest = world.alloc::<i32>(0)?;
    world.reduce(&mut dest, &none, ferroshmem::Sum)?;
    world.reduce_in_place(&mut none, ferroshmem::Max);
    world.fcollect(&mut dest, &none)?;
    world.alltoall(&mut dest, &none)?;
    world.broadcast(world.member(0)?, &mut dest, &none)?;
    assert_eq!(world.collect(&mut dest, &none, 0)?, 0);
    assert!(world.signals(0)?.is_empty());
    assert!(dest.keep().is_empty());
    Ok(())
}

fn keep(world: &World) -> Result<(), Error> {
    let me = world.my_pe().number();
    let kept = world.alloc::<u32>(1000)?.keep();
    kept.copy_from_slice(&elements(me, 0, 1000));
    for round in 1..5 {
        let mut other = world.alloc::<u32>(1000)?;
        other.copy_from_slice(&elements(me, round, 1000));
        world.reduce_in_place(&mut other, ferroshmem::Xor);
    }
    assert!(same(kept, &elements(me, 0, 1000)));
    Ok(())
}

/// Arrays allocated and freed in random order are zero, and do not overlap.
fn churn(world: &World) -> Result<(), Error> {
    let mut live = Vec::new();
    for round in 0..60usize {
        let mut array = world.alloc::<u16>(round * 37 % 500)?;
        assert!(array.iter().all(|value| *value == 0), "round {round}");
        array.fill(round as u16);
        live.push((round as u16, array));
        if round % 3 == 2 {
            drop(live.swap_remove(round * 7 % live.len()));
        }
        assert!(live.iter().all(|(value, a)| a.iter().all(|v| v == value)));
    }
    Ok(())
}

/// Zeros that are not touched cost nothing, and memory that is handed out again is zero.
fn untouched(world: &World) -> Result<(), Error> {
    const LEN: usize = 1 << 27;
    const MIB: usize = 1 << 20;
    let resident = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let line = status.lines().find(|line| line.starts_with("RssShmem:"));
        let words = line.into_iter().flat_map(str::split_whitespace);
        let kib = words.filter_map(|word| word.parse::<usize>().ok()).sum::<usize>();
        kib << 10
    };
    for _ in 0..3 {
        let before = resident();
        let mut array = world.alloc::<u64>(LEN)?;
        let used = resident().saturating_sub(before);
        assert!(used < 8 * MIB, "{used} bytes for {LEN} untouched elements");
        let part = &mut array[LEN / 2..LEN / 2 + 1000];
        assert!(part.iter().all(|element| *element == 0));
        part.fill(7);
    }
    Ok(())
}

fn no_room(world: &World) -> Result<(), Error> {
    let all_have = |error: AllocError| {
        let code = match error {
            AllocError::NoRoom { bytes, free, heap } => [bytes as u64, free, heap],
            AllocError::TooLarge { len, size } => [len as u64, size as u64, u64::MAX],
            _ => unreachable!("no other errors"),
        };
        let of_all = world.gather_value(code);
        assert!(of_all.iter().all(|other| *other == code), "{of_all:?}");
    };
    let too_many = world.alloc::<u8>(1 << 21).unwrap_err();
    assert!(too_many.to_string().contains("SHMEM_SYMMETRIC_SIZE"));
    let AllocError::NoRoom { bytes, free, heap } = too_many else {
        panic!("{too_many}");
    };
    assert_eq!(bytes, 1 << 21);
    assert!(free < heap && (1 << 20..1 << 21).contains(&heap));
    all_have(too_many);
    let (len, size) = (usize::MAX, 8);
    let too_large = AllocError::TooLarge { len, size };
    assert_eq!(world.alloc::<u64>(usize::MAX).err(), Some(too_large));
    for len in [usize::MAX / 8, usize::MAX / 16, usize::MAX / 32] {
        all_have(world.alloc::<u64>(len).unwrap_err());
    }
    all_have(world.atomics::<i64>(1 << 18).unwrap_err());
    all_have(world.signals(1 << 18).unwrap_err());
    // The heap has room for the lock but not for its value.
    all_have(world.locked([0u8; 1 << 20]).unwrap_err());

    for _ in 0..2 {
        let mut arrays = Vec::new();
        let last = loop {
            match world.alloc::<Page>(10) {
                Ok(array) => arrays.push(array),
                Err(error) => break error,
            }
        };
        all_have(last);
        assert!(!arrays.is_empty());
    }
    // All of the heap is free again.
    assert_eq!(world.alloc::<u8>(1 << 21).err(), Some(too_many));
    Ok(())
}
