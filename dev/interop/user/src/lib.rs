use ferroshmem::{Error, World};
use ferroshmem_sys as _; // has the C API linked

unsafe extern "C" {
    fn shift(dest: *mut f64, source: *const f64, n: usize);
}

/// What C's `shift` makes of each PE's number: the number of the one before.
pub fn neighbour(world: &World) -> Result<f64, Error> {
    let mut source = world.alloc::<f64>(100)?;
    source.fill(world.my_pe().number() as f64);
    let dest = world.alloc::<f64>(100)?.into_raw();
    // SAFETY: both slices have as many elements as C is given, and no other PE uses `dest` before the barrier.
    let dest = unsafe {
        shift(dest.local().as_ptr(), source.as_ptr(), source.len());
        dest.into_inner()
    };
    Ok(dest[99])
}
