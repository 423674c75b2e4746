//! Symmetric spaces.

use ferroshmem::{AllocError, Error, Memory, SpaceConfig, Sum, World};

programs!("spaces": arrays, kinds);

fn arrays(world: &World) -> Result<(), Error> {
    let me = world.my_pe();
    for _ in 0..3 {
        let space = world.space(SpaceConfig::new(1 << 16))?;
        let mut array = space.alloc::<u64>(100)?;
        assert!(array.iter().all(|element| *element == 0));
        array[1] = me.number() as u64;
        let window = array.open();
        window.put(me.next(), 0, &[me.number() as u64])?;
        let array = window.close();
        let sum = world.reduce_value(array[0], Sum);
        let n = world.n_pes() as u64;
        assert_eq!((array[1], sum), (me.number() as u64, n * (n - 1) / 2));
        let counters = space.alloc::<u64>(1)?.into_atomics();
        counters.add(world.pe(0)?, 0, 1)?;
        assert_eq!(counters.into_inner()[0], if me.number() == 0 { n } else { 0 });
        let kept: &mut [u32] = space.alloc(10)?.keep();
        kept[9] = 1;
        // Neither too much nor more than is left.
        let none = space.alloc::<u8>(1 << 16).map(drop);
        let Err(AllocError::NoRoomInSpace { bytes, space: all, .. }) = none else {
            panic!("{none:?}");
        };
        assert_eq!((bytes, all), (1 << 16, 1 << 16));
        std::mem::forget(space.alloc::<u8>(100)?);
        assert!(format!("{space:?}").starts_with("Space"));
    }
    // The heap has it all back.
    drop(world.alloc::<u8>(1 << 20)?);
    Ok(())
}

fn kinds(world: &World) -> Result<(), Error> {
    let none = world.space(SpaceConfig::new(100).memory(Memory::Numa(900)));
    let message = none.unwrap_err().to_string();
    let expected = match world.my_pe().number() {
        0 => "NUMA node 900 has no memory for this PE, which has NUMA node",
        _ => "PE 0 has no such memory",
    };
    assert!(message.contains(expected), "{message}");
    assert!(world.space(SpaceConfig::new(0)).is_err());
    for memory in [
        Memory::Default,
        Memory::Local,
        Memory::Numa(0),
        Memory::Interleaved,
        Memory::HighBandwidth,
        Memory::LowLatency,
        Memory::LargeCapacity,
    ] {
        let config = SpaceConfig::new(3 << 20).memory(memory).or_default();
        for config in [config, config.huge_pages()] {
            let space = world.space(config)?;
            let mut array = space.alloc::<u64>(1000)?;
            array[999] = 1;
        }
    }
    Ok(())
}
