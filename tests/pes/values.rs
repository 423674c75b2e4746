//! Collectives of values and slices in private memory, some longer than one call transfers.

use ferroshmem::{Error, Max, Sum, World};

use crate::data::{Particle, elements, same};

programs!("values": gather, broadcast, slices, in_turn);

fn gather(world: &World) -> Result<(), Error> {
    let me = world.my_pe().number();
    macro_rules! types {
        ($($t:ty),*) => {$({
            let all = world.gather_value(elements::<$t>(me, 0, 1)[0]);
            assert_eq!(all.len(), world.n_pes());
            for (pe, value) in all.iter().enumerate() {
                assert!(same(&[*value], &elements::<$t>(pe, 0, 1)));
            }
        })*};
    }
    types!(u8, [u8; 3], u16, f32, u64, u128, Particle, [u8; 1001], [u32; 1024], [u16; 5001]);
    assert_eq!(world.gather_value(()).len(), world.n_pes());
    Ok(())
}

fn broadcast(world: &World) -> Result<(), Error> {
    let me = world.my_pe().number();
    for root in world.members() {
        let pe = root.number();
        let value = world.broadcast_value(root, elements::<Particle>(me, pe, 1)[0])?;
        assert!(same(&[value], &elements(pe, pe, 1)));
        for len in [0, 1, 1000, 1365, 1366, 10_000] {
            let mut values = elements::<[u8; 3]>(me, len, len);
            world.broadcast_slice(root, &mut values)?;
            assert!(same(&values, &elements(pe, len, len)), "{len} of {root}");
        }
    }
    world.broadcast_slice(world.my_member(), &mut [(); 3])?;
    Ok(())
}

fn slices(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number() as u64, world.n_pes() as u64);
    for len in [0, 1, 511, 512, 513, 5000] {
        let mut values = Vec::from_iter((0..len).map(|i| me * i));
        world.reduce_slice(&mut values, Sum);
        assert!(values.iter().zip(0..).all(|(sum, i)| *sum == n * (n - 1) / 2 * i));
    }
    Ok(())
}

/// Calls of the world and of teams in turn, which share one scratch memory.
fn in_turn(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let (row, column) = world.split_2d(2)?;
    for round in 0..100 {
        assert_eq!(world.reduce_value(me + round, Max), n - 1 + round);
        let first = row.member(0)?;
        assert_eq!(row.broadcast_value(first, me * round)?, me / 2 * 2 * round);
        let mut values = [me; 600];
        column.reduce_slice(&mut values, Max);
        let last = (0..n).rev().find(|pe| pe % 2 == me % 2);
        assert!(values.iter().all(|value| Some(*value) == last));
        assert_eq!(row.gather_value(me).first(), Some(&(me / 2 * 2)));
        assert_eq!(column.inclusive_scan_value(1), me / 2 + 1);
    }
    Ok(())
}
