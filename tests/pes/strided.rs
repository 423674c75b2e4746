//! Strided and block copies compared with a model, for arguments in and out of bounds.

use ferroshmem::{Error, Plain, World};

use crate::Program;
use crate::data::{Particle, elements, same, scramble};

pub(crate) const PROGRAMS: &[Program] = &[
    Program::new("strided/against_a_model", against_a_model),
    Program::new("strided/far_out", far_out),
    Program::new("strided/far_out_counted", far_out).env(&[("SHMEM_COUNTERS", "1")]),
    Program::new("strided/columns", columns),
];

/// Elements of a part.
const LEN: usize = 40;

/// Arguments of a copy between a part and a buffer.
#[derive(Debug, Clone, Copy)]
struct Copy {
    start: usize,
    stride: usize,
    len: usize,
    local_stride: usize,
    block: usize,
}

impl Copy {
    /// Pairs of indices in the part and in the buffer; `None` for an error.
    fn pairs(self) -> Option<Vec<(usize, usize)>> {
        let Self { start, stride, len, local_stride, block } = self;
        if block == 0 || len < block {
            return Some(Vec::new());
        }
        if stride < block || local_stride < block {
            return None;
        }
        let blocks = (0..).take_while(|i| i * local_stride + block <= len);
        let of_block = |i| (0..block).map(move |j| (start + i * stride + j, i * local_stride + j));
        let pairs = Vec::from_iter(blocks.flat_map(of_block));
        pairs.iter().all(|(remote, _)| *remote < LEN).then_some(pairs)
    }
}

fn against_a_model() -> Result<(), Error> {
    let world = World::init()?;
    of_type::<u8>(&world)?;
    of_type::<f32>(&world)?;
    of_type::<[u16; 3]>(&world)?;
    of_type::<Particle>(&world)
}

fn of_type<T: Plain>(world: &World) -> Result<(), Error> {
    let (me, next) = (world.my_pe(), world.my_pe().next());
    let mut window = world.alloc::<T>(LEN)?.open();
    let mut refused = 0;
    for round in 0..120 {
        // The same arguments on all PEs: each verifies what the previous PE has put.
        let pick = |what, below| scramble(0, round, what) as usize % below;
        let copy = Copy {
            start: pick(0, 12),
            stride: pick(1, 7),
            len: pick(2, 30),
            local_stride: pick(3, 6),
            block: [1, 1, 2, 3, 5, 0][pick(4, 6)],
        };
        let Copy { start, stride, len, local_stride, block } = copy;
        let source = |pe: ferroshmem::Pe| elements::<T>(pe.number(), round, len);
        let put = match block {
            1 => window.put_strided(next, start, stride, &source(me), local_stride),
            _ => window.put_blocks(next, start, stride, &source(me), local_stride, block),
        };
        let mut got = elements::<T>(99, round, len);
        let untouched = got.clone();
        let get = match block {
            1 => window.get_strided(next, start, stride, &mut got, local_stride),
            _ => window.get_blocks(next, start, stride, &mut got, local_stride, block),
        };
        let array = window.close();
        let mut expected = vec![T::zeroed(); LEN];
        match copy.pairs() {
            Some(pairs) => {
                assert_eq!((put, get), (Ok(()), Ok(())), "{copy:?}");
                let mut expected_got = untouched;
                for (remote, local) in pairs {
                    expected[remote] = source(me.previous())[local];
                    expected_got[local] = source(me)[local];
                }
                assert!(same(&got, &expected_got), "{copy:?}");
            }
            None => {
                assert!(put.is_err() && get.is_err(), "{copy:?}");
                assert!(same(&got, &untouched));
                refused += 1;
            }
        }
        assert!(same(&array, &expected), "{copy:?}");
        let mut array = array;
        array.fill(T::zeroed());
        window = array.open();
    }
    assert!((10..110).contains(&refused), "{refused}");
    Ok(())
}

/// Strides and starts whose products and sums exceed `usize`.
fn far_out() -> Result<(), Error> {
    const HUGE: usize = usize::MAX;
    let world = World::init()?;
    let pe = world.my_pe().next();
    let window = world.alloc::<u64>(LEN)?.open();
    for (start, stride, local_stride, block) in [
        (HUGE, 1, 1, 1),
        (0, HUGE, 1, 1),
        (0, HUGE / 2 + 1, 1, 1),
        (1, HUGE, 1, 2),
        (HUGE - 3, 1, 1, 1),
        (0, 0, 1, 1),
        (0, 1, 0, 1),
        (0, HUGE, HUGE, 5),
    ] {
        let mut buffer = [3u64; 4];
        let put = window.put_blocks(pe, start, stride, &buffer, local_stride, block);
        let get = window.get_blocks(pe, start, stride, &mut buffer, local_stride, block);
        if block <= buffer.len() {
            assert!(put.is_err() && get.is_err(), "{start} {stride} {local_stride}");
        } else {
            assert_eq!((put, get), (Ok(()), Ok(())), "no whole block");
        }
    }
    // The stride of one block does not matter.
    for huge in [HUGE, HUGE / 2] {
        let mut got = [3; 4];
        window.put_blocks(pe, LEN - 4, huge, &[4; 4], huge, 4)?;
        window.get_blocks(pe, LEN - 4, huge, &mut got, huge, 4)?;
        assert_eq!(got, [4; 4]);
    }
    let array = window.close();
    assert_eq!(array[LEN - 4..], [4; 4]);
    assert!(array[..LEN - 4].iter().all(|value| *value == 0));
    Ok(())
}

/// A matrix of which each PE fills one column on all PEs.
fn columns() -> Result<(), Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let matrix = world.alloc::<f64>(8 * n)?.open();
    for pe in world.pes() {
        matrix.put_strided(pe, me, n, &[me as f64; 8], 1)?;
    }
    world.barrier();
    let mut row = vec![0.0; n];
    for i in 0..8 {
        matrix.get(world.my_pe().next(), i * n, &mut row)?;
        assert!(row.iter().zip(0..).all(|(value, pe)| *value == f64::from(pe)));
    }
    Ok(())
}
