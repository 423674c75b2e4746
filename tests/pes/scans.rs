//! Prefix sums of arrays and values.

use std::fmt::Debug;

use ferroshmem::{Error, Reducible, Sum, Team, World};

use crate::data::scramble;

programs!("scans": every_type, of_a_team, long);

fn scan<T: Reducible<Sum> + PartialEq + Debug>(
    world: &World,
    team: &Team<'_>,
    len: usize,
    make: fn(u64) -> T,
    add: fn(T, T) -> T,
) -> Result<(), Error> {
    let element = |pe, place| make(scramble(pe, len, place));
    let me = world.my_pe();
    let up_to = |last: usize, place| {
        let members = team.members().take(last);
        let before = members.map(|member| team.pe_of(member).expect("its own"));
        before.fold(T::zeroed(), |sum, pe| add(sum, element(pe.number(), place)))
    };
    let number = team.my_member().number();
    let inclusive = Vec::from_iter((0..len).map(|place| up_to(number + 1, place)));
    let exclusive = Vec::from_iter((0..len).map(|place| up_to(number, place)));
    let (mut source, mut dest) = (world.alloc::<T>(len)?, world.alloc::<T>(len + 1)?);
    for (place, value) in source.iter_mut().enumerate() {
        *value = element(me.number(), place);
    }
    team.inclusive_scan(&mut dest, &source)?;
    assert_eq!(dest[..len], inclusive);
    team.exclusive_scan(&mut dest, &source)?;
    assert_eq!(dest[..len], exclusive);
    assert_eq!(dest[len], T::zeroed());
    if len > 0 {
        let mine = element(me.number(), 0);
        assert_eq!(team.inclusive_scan_value(mine), inclusive[0]);
        assert_eq!(team.exclusive_scan_value(mine), exclusive[0]);
    }
    Ok(())
}

fn every_type(world: &World) -> Result<(), Error> {
    for len in [0, 1, 7, 1000] {
        macro_rules! integers {
            ($($t:ty),*) => {$(scan(world, world, len, |bits| bits as $t, <$t>::wrapping_add)?;)*};
        }
        integers!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);
        scan(world, world, len, |bits| (bits % 1000) as f32, |a, b| a + b)?;
        scan(world, world, len, |bits| (bits % 1000) as f64, |a, b| a + b)?;
    }
    Ok(())
}

/// Both halves at the same time, each with its own numbering.
fn of_a_team(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let low = world.split_strided(0, 1, n.div_ceil(2))?;
    let high = match n {
        1 => None,
        _ => world.split_strided(n.div_ceil(2), 1, n / 2)?,
    };
    let mine = low.or(high).expect("in one of them");
    assert_eq!(mine.member_of(world.my_pe()), Some(mine.my_member()));
    assert_eq!(mine.exclusive_scan_value(1), me % n.div_ceil(2));
    scan(world, &mine, 100, |bits| bits as u32, u32::wrapping_add)
}

fn long(world: &World) -> Result<(), Error> {
    scan(world, world, 100_000, |bits| bits as u16, u16::wrapping_add)
}
