//! Arrays with global indices.

use std::thread;

use ferroshmem::{Error, OutOfBounds, World};

use crate::data::{Particle, elements, same, scramble};

programs!("distributed": own_blocks, shared, ranges, structs, atomics, bounds);

/// Lengths that divide evenly and not, with PEs that have few elements or none.
fn lengths(n: usize) -> [usize; 8] {
    [0, 1, n - 1, n, n + 1, 2 * n - 1, 100, 1001]
}

fn own_blocks(world: &World) -> Result<(), Error> {
    for len in lengths(world.n_pes()) {
        let mut array = world.distributed::<u64>(len)?;
        assert_eq!((array.global_len(), array.blocks().len()), (len, len));
        assert_eq!(array.blocks().is_empty(), len == 0);
        let mine = array.my_range();
        assert_eq!(array.len(), mine.len());
        assert!(array.iter().all(|value| *value == 0));
        for (i, value) in array.iter_mut_with_index() {
            *value = scramble(0, 0, i);
        }
        assert!(array.iter_with_index().map(|(i, _)| i).eq(mine.clone()));
        assert!(array.iter_with_index().all(|(i, value)| *value == scramble(0, 0, i)));
        assert_eq!(world.gather_value(mine.start).first(), Some(&0));
        assert_eq!(world.reduce_value(mine.len(), ferroshmem::Sum), len);
        assert!(format!("{array:?}").contains("blocks"));
    }
    Ok(())
}

fn shared(world: &World) -> Result<(), Error> {
    for len in lengths(world.n_pes()) {
        let mut array = world.distributed::<u64>(len)?;
        for (i, value) in array.iter_mut_with_index() {
            *value = scramble(1, 0, i);
        }
        let array = array.share();
        assert!(array.iter().copied().eq((0..len).map(|i| scramble(1, 0, i))));
        for i in 0..len {
            assert_eq!(array[i], scramble(1, 0, i));
        }
        assert!(array.get(len).is_none());
        for range in [0..len, len / 3..len, len / 2..len / 2, len..len] {
            let slices = array.slices(range.clone())?;
            let expected = range.map(|i| scramble(1, 0, i));
            assert!(slices.flatten().copied().eq(expected));
        }
        assert!(array.slices(..=len).is_err());
        let blocks = array.blocks();
        for pe in world.pes() {
            assert_eq!(array.on(pe).len(), blocks.range_of(pe).len());
        }
        thread::scope(|scope| {
            for t in 0..2 {
                let array = &array;
                scope.spawn(move || assert!((t..len).all(|i| array[i] == scramble(1, 0, i))));
            }
        });
        assert_eq!(array.reclaim().len(), blocks.range_of(world.my_pe()).len());
    }
    Ok(())
}

/// Every PE puts a range that covers parts of several blocks, and none that another puts.
fn ranges(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for len in lengths(n) {
        let window = world.distributed::<u16>(len)?.open();
        // Not the blocks: those of twice as many PEs, in turn.
        let of = |pe: usize, half: usize| {
            let part = |i: usize| len * i / (2 * n);
            part(2 * ((pe + 1 + half) % n) + half)..part(2 * ((pe + 1 + half) % n) + half + 1)
        };
        for half in 0..2 {
            let range = of(me, half);
            window.put(range.start, &elements::<u16>(me, half, range.len()))?;
        }
        world.barrier();
        for pe in 0..n {
            for half in 0..2 {
                let expected = elements::<u16>(pe, half, of(pe, half).len());
                assert!(same(&window.get_vec(of(pe, half))?, &expected));
            }
        }
        let all = window.get_vec(..)?;
        world.barrier();
        for (i, value) in all.iter().enumerate() {
            assert_eq!(window.g(i)?, *value);
        }
        world.barrier();
        if me == 0 && len > 0 {
            window.p(len - 1, 1234)?;
        }
        let blocks = window.blocks();
        let array = window.close();
        let (mine, last) = (blocks.range_of(world.my_pe()), len.wrapping_sub(1));
        for (i, value) in array.iter_with_index() {
            assert_eq!(*value, if i == last { 1234 } else { all[i] });
        }
        assert_eq!(array.my_range(), mine);
    }
    Ok(())
}

fn structs(world: &World) -> Result<(), Error> {
    let mut array = world.distributed::<Particle>(50)?;
    for (i, particle) in array.iter_mut_with_index() {
        particle.serial = i as u64;
    }
    let window = array.open();
    let got = window.get_vec(7..44)?;
    assert!(got.iter().map(|particle| particle.serial).eq(7..44));
    assert_eq!(window.by_pe().g(world.pe(0)?, 0)?.serial, 0);
    Ok(())
}

fn atomics(world: &World) -> Result<(), Error> {
    let n = world.n_pes() as u64;
    let (counts, means) = (world.distributed::<u64>(37)?, world.distributed::<f64>(5)?);
    let (counts, means) = (counts.into_atomics(), means.into_atomics());
    for i in 0..37 {
        assert!(counts.fetch_add(i, 2)? < (2 + i as u64) * n);
        counts.add(i, i as u64)?;
    }
    for i in 0..5 {
        means.add(i, 0.5)?;
    }
    world.barrier();
    for i in 0..37 {
        assert_eq!(counts.fetch(i)?, (2 + i as u64) * n);
    }
    world.barrier();
    if world.my_pe().number() == 0 {
        assert_eq!(counts.swap(36, 3)?, 38 * n);
        assert_eq!(counts.compare_swap(36, 3, 4)?, 3);
        counts.set(35, 9)?;
        counts.or(35, 16)?;
        counts.and(35, 24)?;
        counts.xor(35, 1)?;
    }
    assert!(counts.fetch(37).is_err() && means.add(5, 1.0).is_err());
    assert_eq!(counts.by_pe().len(), 37_usize.div_ceil(world.n_pes()));
    let shared = counts.into_inner().share();
    assert_eq!((shared[35], shared[36]), (25, 4));
    assert!(means.into_inner().iter().all(|mean| *mean == 0.5 * n as f64));
    Ok(())
}

fn bounds(world: &World) -> Result<(), Error> {
    let window = world.distributed::<u8>(10)?.open();
    let error = |start, len| {
        let array = 10;
        Err(OutOfBounds { start, len, array })
    };
    assert_eq!(window.p(10, 1), error(10, 1));
    assert_eq!(window.put(8, &[1; 3]), error(8, 3));
    assert_eq!(window.put(11, &[]), error(11, 0));
    assert_eq!(window.put(10, &[]), Ok(()));
    assert_eq!(window.get(usize::MAX, &mut [0; 2]), error(usize::MAX, 2));
    assert_eq!(window.get_vec(9..11).err(), error(9, 2).err());
    assert!(world.distributed::<u64>(usize::MAX).is_err());
    // Nothing of a refused put has arrived.
    assert_eq!(window.get_vec(..)?, [0; 10]);
    Ok(())
}
