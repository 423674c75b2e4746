//! Loops of operations of the Rust API, of the same shape as those in C of `ferroshmem-interop`.
//!
//! Not inlined, as those in C are not: each is compiled without knowing what it is called with.

use ferroshmem::{Atomics, Error, Pe, Window};

type Done = Result<(), Error>;

#[inline(never)]
pub(crate) fn p(dest: &Window<'_, i64>, source: &[i64], pe: Pe) -> Done {
    for (i, value) in source.iter().enumerate() {
        dest.p(pe, i, *value)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn g(dest: &mut [i64], source: &Window<'_, i64>, pe: Pe) -> Done {
    for (i, value) in dest.iter_mut().enumerate() {
        *value = source.g(pe, i)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn put(dest: &Window<'_, i64>, source: &[i64], pe: Pe) -> Done {
    for i in 0..source.len() {
        dest.put(pe, i, &source[i..=i])?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn get(dest: &mut [i64], source: &Window<'_, i64>, pe: Pe) -> Done {
    for i in 0..dest.len() {
        source.get(pe, i, &mut dest[i..=i])?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn put_many(dest: &Window<'_, i64>, source: &[i64], n: usize, pe: Pe) -> Done {
    for _ in 0..n {
        dest.put(pe, 0, source)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn get_many(dest: &mut [i64], source: &Window<'_, i64>, n: usize, pe: Pe) -> Done {
    for _ in 0..n {
        source.get(pe, 0, dest)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn fetch_add(dest: &Atomics<'_, i64>, old: &mut [i64], pe: Pe) -> Done {
    for (i, old) in old.iter_mut().enumerate() {
        *old = dest.fetch_add(pe, i, 3)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn swap(dest: &Atomics<'_, i64>, old: &mut [i64], pe: Pe) -> Done {
    for (i, old) in old.iter_mut().enumerate() {
        *old = dest.swap(pe, i, *old)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn fetch(dest: &mut [i64], source: &Atomics<'_, i64>, pe: Pe) -> Done {
    for (i, value) in dest.iter_mut().enumerate() {
        *value = source.fetch(pe, i)?;
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn set(dest: &Atomics<'_, i64>, source: &[i64], pe: Pe) -> Done {
    for (i, value) in source.iter().enumerate() {
        dest.set(pe, i, *value)?;
    }
    Ok(())
}
