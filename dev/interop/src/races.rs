//! Programs with one planted fault, which `oshrun --check=race` finds, and without it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem;

use ferroshmem::{Compare, Error, SignalUpdate, World};

use crate::part;

type Program = fn(&World, bool) -> Result<(), Error>;

/// All. The accesses of Rust that race have comments: the program, and the PE.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("window", window),
    ("fence", fence),
    ("strided", strided),
    ("barrier", barrier),
    ("context", context),
    ("calls-of-c", calls_of_c),
    ("stores-of-c", stores_of_c),
    ("locked", locked),
    ("message", message),
];

/// The receiver does not wait for the signal.
fn window(world: &World, fault: bool) -> Result<(), Error> {
    let (window, signals) = (world.alloc::<u64>(8)?.open(), world.signals(1)?);
    if world.my_pe().number() == 0 {
        window.put_signal(world.pe(1)?, 2, &[1, 2, 3], &signals, 0, SignalUpdate::Set(1))?; // window 0
    } else {
        if !fault {
            signals.wait_until(0, Compare::Eq(1))?;
        }
        window.get_vec(world.my_pe(), 4..)?; // window 1
    }
    Ok(())
}

/// No fence is between the data and the flag.
fn fence(world: &World, fault: bool) -> Result<(), Error> {
    let (window, flag) = (world.alloc::<u64>(1)?.open(), world.atomics::<u32>(1)?);
    if world.my_pe().number() == 0 {
        window.p(world.pe(1)?, 0, 7)?; // fence 0
        if !fault {
            world.fence();
        }
        flag.set(world.pe(1)?, 0, 1)?;
    } else {
        flag.wait_until(0, Compare::Eq(1))?;
        window.g(world.my_pe(), 0)?; // fence 1
    }
    Ok(())
}

/// Two PEs put to columns of a third one: the same, or others.
fn strided(world: &World, fault: bool) -> Result<(), Error> {
    let window = world.alloc::<u32>(16)?.open();
    let column = if fault { 0 } else { world.my_pe().number() };
    window.put_strided(world.pe(0)?, column, 4, &[1, 2, 3, 4], 1)?; // strided 0, strided 1
    Ok(())
}

/// PEs write their part before others have read it.
fn barrier(world: &World, fault: bool) -> Result<(), Error> {
    let window = world.alloc::<u32>(4)?.open();
    if world.my_pe().number() == 1 {
        window.g(world.pe(0)?, 3)?; // barrier 1
    }
    if !fault {
        world.barrier();
    }
    if world.my_pe().number() == 0 {
        window.put(world.pe(0)?, 0, &[1; 4])?; // barrier 0
    }
    Ok(())
}

/// The quiet is another context's.
fn context(world: &World, fault: bool) -> Result<(), Error> {
    let (window, flag) = (world.alloc::<u64>(1)?.open(), world.atomics::<u32>(1)?);
    let [context, other] = [world.context()?, world.context()?];
    if world.my_pe().number() == 0 {
        context.p(&window, world.pe(1)?, 0, 7)?; // context 0
        let quiet = if fault { &other } else { &context };
        quiet.quiet();
        flag.set(world.pe(1)?, 0, 1)?;
    } else {
        flag.wait_until(0, Compare::Eq(1))?;
        window.g(world.my_pe(), 0)?; // context 1
    }
    world.barrier();
    Ok(())
}

/// By calls of C, PE 0 reads its part of what Rust has given up, and another puts to it.
fn calls_of_c(world: &World, fault: bool) -> Result<(), Error> {
    let (source, dest) = (world.alloc::<i64>(4)?.into_raw(), world.alloc::<i64>(4)?.into_raw());
    // SAFETY: both have 4 elements, which no reference leads to.
    unsafe {
        if world.my_pe().number() == 0 {
            part::part_get(dest.local().as_ptr(), 0);
        }
        if !fault {
            part::part_barrier();
        }
        part::part_shift(dest.local().as_ptr(), source.local().as_ptr(), 4);
    }
    Ok(())
}

/// C stores to a part, by a library of its own that calls a function for each store, and another PE gets it by Rust.
fn stores_of_c(world: &World, fault: bool) -> Result<(), Error> {
    unsafe extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const RTLD_NOW: c_int = 2;
    let path = std::env::var_os("STORES").expect("the library's path");
    let path = CString::new(path.into_encoded_bytes()).expect("a path has no zeros");
    let array = world.alloc::<i64>(4)?.into_raw();
    if world.my_pe().number() == 0 {
        // SAFETY: the library has that function, of this type, which stores to the array's 4 elements.
        unsafe {
            let fill = dlsym(dlopen(path.as_ptr(), RTLD_NOW), c"fill".as_ptr());
            mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut i64)>(fill)(array.local().as_ptr());
        }
    }
    if !fault {
        world.barrier();
    }
    // SAFETY: it has 4 elements, which no reference leads to.
    unsafe { part::part_get(array.local().as_ptr(), 0) };
    Ok(())
}

/// The value of a lock is read and written by all who hold it.
fn locked(world: &World, _: bool) -> Result<(), Error> {
    let value = world.locked(0)?;
    for _ in 0..10 {
        *value.lock() += 1;
    }
    world.barrier();
    assert_eq!(*value.lock(), 10 * world.n_pes());
    Ok(())
}

/// What a PE has put before it sends, the receiver may get.
fn message(world: &World, _: bool) -> Result<(), Error> {
    let window = world.alloc::<u64>(1)?.open();
    if world.my_pe().number() == 0 {
        window.p(world.pe(1)?, 0, 7)?;
        world.quiet();
        world.send(world.pe(1)?, 0, &[1])?;
    } else {
        world.receive(None, None, &mut [0])?;
        window.g(world.my_pe(), 0)?;
    }
    Ok(())
}
