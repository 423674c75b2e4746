//! Reductions by functions of the program.

use ferroshmem::{Error, World};

use crate::data::{Particle, elements, same};

programs!("functions": values, slices_and_arrays, places, too_short, gather);

/// Composes x -> ax + b: associative, and not commutative.
fn after(f: [u64; 2], g: [u64; 2]) -> [u64; 2] {
    let times = |a: u64, b: u64| a.wrapping_mul(b);
    [times(f[0], g[0]), times(f[1], g[0]).wrapping_add(g[1])]
}

fn of(pe: usize, i: usize) -> [u64; 2] {
    [2 * pe as u64 + 3, (pe * i) as u64 + 1]
}

fn values(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let up_to = |end: usize| (0..end).map(|pe| of(pe, 1)).reduce(after);
    assert_eq!(Some(world.reduce_value_by(of(me, 1), after)), up_to(n));
    assert_eq!(Some(world.inclusive_scan_value_by(of(me, 1), after)), up_to(me + 1));
    assert_eq!(world.exclusive_scan_value_by(of(me, 1), after), up_to(me));
    world.reduce_slice_by(&mut [(); 3], |(), ()| ()); // elements without bytes
    // A function with state of its own, and a type of the program.
    let weight = 2.0;
    let mine = Particle { position: [me as f64; 3], charge: 1.0, kind: 0, serial: 1 << me };
    let all = world.reduce_value_by(mine, |a, b| Particle {
        position: [0, 1, 2].map(|i| a.position[i].max(weight * b.position[i])),
        charge: a.charge + b.charge,
        kind: 0,
        serial: a.serial | b.serial,
    });
    assert_eq!((all.charge, all.serial), (n as f32, (1 << n) - 1));
    Ok(())
}

fn slices_and_arrays(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for len in [0, 1, n - 1, n, n + 1, 300, 7 * n + 3, 5000] {
        let expected = Vec::from_iter((0..len).map(|i| (0..n).map(|pe| of(pe, i)).reduce(after)));
        let right = |values: &[[u64; 2]]| values.iter().map(|v| Some(*v)).eq(expected.iter().copied());
        let mut slice = Vec::from_iter((0..len).map(|i| of(me, i)));
        world.reduce_slice_by(&mut slice, after);
        assert!(right(&slice), "{len}");
        let mut source = world.alloc::<[u64; 2]>(len)?;
        for (i, element) in source.iter_mut().enumerate() {
            *element = of(me, i);
        }
        let mut dest = world.alloc::<[u64; 2]>(len + 2)?;
        dest.fill([77; 2]);
        world.reduce_by(&mut dest, &source, after)?;
        assert!(right(&dest[..len]), "{len}");
        assert_eq!(dest[len..], [[77; 2]; 2]);
        if let Some(last) = source.last() {
            assert_eq!(*last, of(me, len - 1));
        }
    }
    Ok(())
}

fn places(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let (least, member) = world.min_loc((me as i32 - 1).abs());
    assert_eq!((least, member.number()), (i32::from(n == 1), usize::from(n > 1)));
    let (greatest, member) = world.max_loc(if me % 2 == 0 { 1.5 } else { -1.0 });
    assert_eq!((greatest, member.number()), (1.5, 0)); // the first of several
    let nan = if me == 0 { f64::NAN } else { me as f64 };
    let (value, member) = world.max_loc(nan);
    assert_eq!(member.number(), n - 1);
    assert_eq!(value.is_nan(), n == 1);
    assert!(world.min_loc(f32::NAN).0.is_nan());
    Ok(())
}

fn too_short(world: &World) -> Result<(), Error> {
    let source = world.alloc::<u8>(world.n_pes() + 1)?;
    let mut dest = world.alloc::<u8>(world.n_pes())?;
    assert!(world.reduce_by(&mut dest, &source, u8::max).is_err());
    world.reduce_by(&mut dest, source.part(1..)?, u8::max)?;
    Ok(())
}

fn gather(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    for len in [0, 1, 3, 1000, 9999] {
        let of_all = world.gather_slice(&elements::<u16>(me, len, len));
        assert_eq!(of_all.len(), n * len);
        for pe in 0..n {
            assert!(same(&of_all[pe * len..][..len], &elements::<u16>(pe, len, len)));
        }
    }
    Ok(())
}
