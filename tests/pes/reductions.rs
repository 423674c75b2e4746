//! Reductions of arrays: every operator and type, of world and team, in place and not.

use std::fmt::Debug;

use ferroshmem::{And, Error, Max, Min, Operator, Or, Prod, Reducible, Sum, Team, TeamError, World, Xor};

use crate::data::scramble;

programs!("reductions": integers, floats, long, parts, too_short);

/// Reduced values, from random bits.
type Make<T> = fn(u64) -> T;
/// An operator, on two numbers.
type Apply<T> = fn(T, T) -> T;

/// Reduces arrays of `len` elements by every form of the call, on a team of these PEs.
fn reduce<T, Op>(
    world: &World,
    (team, pes): (&Team<'_>, &[usize]),
    len: usize,
    operator: Op,
    (make, apply): (Make<T>, Apply<T>),
) -> Result<(), Error>
where
    T: Reducible<Op> + PartialEq + Debug,
    Op: Operator + Debug,
{
    let element = |pe, place| make(scramble(pe, len, place));
    let reduced = |place| {
        let all = pes.iter().map(|pe| element(*pe, place));
        all.reduce(apply).expect("a team has members")
    };
    let expected = Vec::from_iter((0..len).map(reduced));
    let me = world.my_pe().number();
    // All PEs allocate, members and others.
    let (mut source, mut dest) = (world.alloc::<T>(len)?, world.alloc::<T>(len + 1)?);
    for (place, value) in source.iter_mut().enumerate() {
        *value = element(me, place);
    }
    if !pes.contains(&me) {
        return Ok(());
    }
    team.reduce(&mut dest, &source, operator)?;
    assert_eq!(dest[..len], expected, "{operator:?}");
    assert_eq!(dest[len], T::zeroed());
    let mut slice = source.to_vec();
    team.reduce_slice(&mut slice, operator);
    assert_eq!(slice, expected, "{operator:?} of a slice");
    team.reduce_in_place(&mut source, operator);
    assert_eq!(source[..], expected, "{operator:?} in place");
    if len > 0 {
        let first = team.reduce_value(element(me, 0), operator);
        assert_eq!(first, expected[0]);
    }
    Ok(())
}

/// Runs `$body` with the world, and with a team of every other PE.
macro_rules! on_teams {
    ($world:ident, $on:ident => $body:block) => {
        let n = $world.n_pes();
        let some = $world.split_strided(0, 2, n.div_ceil(2))?;
        let (all, every_other) = (Vec::from_iter(0..n), Vec::from_iter((0..n).step_by(2)));
        for $on in [(&**$world, &all[..]), (some.as_ref().unwrap_or($world), &every_other[..])] $body
    };
}

fn integers(world: &World) -> Result<(), Error> {
    on_teams!(world, on => {
        // Each type and each operator has each length; a type with an operator has one with each team, not the same.
        let mut turn = if on.1.len() == world.n_pes() { 0 } else { 2 };
        let mut len = || {
            turn += 1;
            [0, 1, 3, 1000][turn % 4]
        };
        macro_rules! types {
            ($($t:ty),*) => {$({
                let make: Make<$t> = |bits| bits as $t;
                reduce(world, on, len(), Sum, (make, <$t>::wrapping_add))?;
                reduce(world, on, len(), Prod, (make, <$t>::wrapping_mul))?;
                reduce(world, on, len(), Min, (make, Ord::min))?;
                reduce(world, on, len(), Max, (make, Ord::max))?;
                reduce(world, on, len(), And, (|bits| !(bits & bits >> 7 & bits >> 9) as $t, |a, b| a & b))?;
                reduce(world, on, len(), Or, (|bits| (bits & bits >> 7 & bits >> 9) as $t, |a, b| a | b))?;
                reduce(world, on, len(), Xor, (make, |a, b| a ^ b))?;
            })*};
        }
        types!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);
    });
    Ok(())
}

fn floats(world: &World) -> Result<(), Error> {
    on_teams!(world, on => {
        macro_rules! types {
            ($($t:ty),*) => {$(for len in [0, 1, 3, 1000] {
                // Sums and products are exact, in any order.
                let make: Make<$t> = |bits| (bits % 2001) as $t - 1000.0;
                reduce(world, on, len, Sum, (make, |a, b| a + b))?;
                reduce(world, on, len, Prod, (|bits| [0.5, 1.0, -2.0][bits as usize % 3], |a, b| a * b))?;
                reduce(world, on, len, Min, (make, <$t>::min))?;
                reduce(world, on, len, Max, (make, <$t>::max))?;
            })*};
        }
        types!(f32, f64);
    });
    Ok(())
}

fn long(world: &World) -> Result<(), Error> {
    let all = Vec::from_iter(0..world.n_pes());
    let on = (&**world, &all[..]);
    reduce(world, on, 40_000, Sum, (|bits| bits as u8, u8::wrapping_add))?;
    reduce(world, on, 40_000, Max, (|bits| bits as i64, Ord::max))?;
    reduce(world, on, 40_000, Sum, (|bits| (bits % 1000) as f64, |a, b| a + b))
}

/// Parts of arrays at odd offsets; the elements around them stay unchanged.
fn parts(world: &World) -> Result<(), Error> {
    let n = world.n_pes() as u32;
    let (mut source, mut dest) = (world.alloc::<u32>(100)?, world.alloc::<u32>(100)?);
    source.fill(1);
    for (from, to) in [(0..1, 99..100), (3..50, 7..90), (100..100, 0..0), (1..100, 0..99)] {
        dest.fill(0);
        let len = from.len();
        world.reduce(dest.part_mut(to.clone())?, source.part(from)?, Sum)?;
        let place = |i: usize| to.start <= i && i < to.start + len;
        assert!((0..100).all(|i| dest[i] == if place(i) { n } else { 0 }));
    }
    world.reduce_in_place(source.part_mut(..=9)?, Sum);
    assert_eq!(source.iter().sum::<u32>(), 10 * n + 90);
    let part = source.part(10..)?;
    assert_eq!((part.len(), part.is_empty()), (90, false));
    assert_eq!(source.part_mut(..)?.len(), 100);
    use std::ops::Bound::{Excluded, Included};
    assert_eq!(source.part((Excluded(0), Included(5)))?.len(), 5);
    for (start, end) in [(0, 101), (101, 101), (usize::MAX, usize::MAX)] {
        assert!(source.part(start..end).is_err());
        assert!(source.part_mut(start..end).is_err());
    }
    assert!(source.part(0..=usize::MAX).is_err());
    assert!(source.part((Excluded(usize::MAX), Included(0))).is_err());
    #[expect(clippy::reversed_empty_ranges, reason = "must be refused")]
    let reversed = source.part(6..5);
    assert!(reversed.is_err());
    Ok(())
}

fn too_short(world: &World) -> Result<(), Error> {
    let (mut dest, source) = (world.alloc::<i32>(9)?, world.alloc::<i32>(10)?);
    let error = TeamError::TooShort { needed: 10, array: 9 };
    assert_eq!(world.reduce(&mut dest, &source, Sum), Err(error));
    assert_eq!(world.inclusive_scan(&mut dest, &source), Err(error));
    assert_eq!(world.exclusive_scan(&mut dest, &source), Err(error));
    assert_eq!(world.broadcast(world.member(0)?, &mut dest, &source), Err(error));
    assert!(error.to_string().contains("9 elements"));
    world.barrier();
    Ok(())
}
