//! What the functions of the preloaded library call.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ferroshmem_config as config;
use ferroshmem_layout::{CheckedCall, Operation};

use crate::call::{self, Call};
use crate::job::ThisPe;
use crate::layout::{header, mode};
use crate::library::Library;
use crate::memory::Memory;
use crate::race::Race;
use crate::records::Records;

/// The checks of this process.
struct Checks {
    job: ThisPe,
    memory: Option<Memory>,
    race: Option<Race>,
}

impl Checks {
    /// The checks of memory, if they look at a call.
    fn memory_of(&self, call: &Call) -> Option<&Memory> {
        self.memory.as_ref().filter(|_| !call.is_of_rust())
    }
}

static CHECKS: OnceLock<Option<Checks>> = OnceLock::new();
/// Set between `shmem_init` and `shmem_finalize`.
static ON: AtomicBool = AtomicBool::new(false);
/// Set if the program contains the runtime.
static CONTAINS_RUNTIME: AtomicBool = AtomicBool::new(false);
/// Set once code has run whose loads and stores are looked at.
static LOADS_AND_STORES: AtomicBool = AtomicBool::new(false);

type Describe = unsafe extern "C" fn(*mut Library);

fn start(library: Library) -> Option<Checks> {
    let word = config::inherited(config::CHECK_FILE.name.as_ref())?;
    let (me, n_pes) = library.numbers();
    let records = match Records::open(word.to_str()?, me, n_pes) {
        Ok(records) => records?,
        Err(e) => {
            eprintln!("ferroshmem: PE {me}: it is not checked, since it cannot reach oshrun: {e}");
            return None;
        }
    };
    let what = records.mode();
    let job = ThisPe::new(records, library);
    Some(Checks {
        memory: (what & mode::MEMORY != 0).then(Memory::default),
        race: (what & mode::RACE != 0).then(|| Race::new(&job)),
        job,
    })
}

/// Set while this thread is in the checks: a signal handler of the program, or its `malloc`, may come here again, and
/// would wait for a lock that its own thread has.
struct Inside;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Inside {
    /// None if this thread is in the checks already.
    fn enter() -> Option<Self> {
        let is_first = IS_INSIDE.try_with(|inside| !inside.replace(true));
        is_first.unwrap_or(false).then(|| Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = IS_INSIDE.try_with(|inside| inside.set(false));
    }
}

/// The checks, while they are on and this thread is not in them.
fn checks() -> Option<(&'static Checks, Inside)> {
    if !ON.load(Ordering::Acquire) {
        return None;
    }
    Some((CHECKS.get()?.as_ref()?, Inside::enter()?))
}

/// Before the library's function.
///
/// # Safety
/// `call` is a call under way.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_check_enter(call: *mut Call) {
    // SAFETY: the caller promises that it is a call under way.
    enter(unsafe { &mut *call });
}

fn enter(call: &mut Call) {
    let Some((checks, _inside)) = checks() else {
        return;
    };
    if call.allocates() {
        call.scratch.requested = call.requested();
    }
    // Before the checks of memory, which change arguments.
    if let Some(race) = &checks.race {
        race.enter(&checks.job, call);
    }
    if let Some(memory) = checks.memory_of(call) {
        memory.enter(&checks.job, call);
    }
    if call.operation() == Operation::GlobalExit {
        ON.store(false, Ordering::Release);
    }
}

/// After it; the result that the program gets.
///
/// # Safety
/// `call` is the call that was entered.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_check_leave(call: *mut Call, result: usize) -> usize {
    // SAFETY: the caller promises that it is a call under way.
    leave(unsafe { &*call }, result)
}

fn leave(call: &Call, result: usize) -> usize {
    let Some((checks, _inside)) = checks() else {
        return result;
    };
    let result = match checks.memory_of(call) {
        Some(memory) => memory.leave(&checks.job, call, result),
        None => result,
    };
    if let Some(race) = &checks.race {
        race.leave(&checks.job, call, result);
    }
    if call.operation() == Operation::Finalize {
        ON.store(false, Ordering::Release);
    }
    result
}

/// The library has been initialised.
///
/// # Safety
/// `describe` writes the library's functions.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_check_start(describe: Describe) {
    let mut library = MaybeUninit::uninit();
    // SAFETY: the caller promises that it writes the library's functions.
    let library = unsafe {
        describe(library.as_mut_ptr());
        library.assume_init()
    };
    if CHECKS.get_or_init(|| start(library)).is_some() {
        ON.store(true, Ordering::Release);
    }
}

/// A program that contains the runtime has initialised it. Whether it is to hand its calls of the Rust API on.
///
/// # Safety
/// `describe` writes the library's functions.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_check_start_rust(describe: Describe) -> c_int {
    // SAFETY: the caller promises that `describe` writes the library's functions.
    unsafe { shmemi_check_start(describe) };
    let Some((checks, _inside)) = checks() else {
        return 0;
    };
    CONTAINS_RUNTIME.store(true, Ordering::Relaxed);
    checks.job.records.raise(header::RUST);
    checks.race.is_some().into()
}

/// Before a call of the Rust API, and after it.
///
/// # Safety
/// `call` is a call under way.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_check_rust(call: *mut CheckedCall, leaves: c_int) {
    // SAFETY: the caller promises that it is a call under way.
    let given = unsafe { &mut *call };
    let (operation, result) = (given.operation, given.result);
    // A group's members are not PEs of this job alone.
    let is_barrier = operation == Operation::Barrier;
    let is_of_job = || checks().is_none_or(|(c, _)| c.job.library.members(given.team, c.job.n_pes).is_some());
    let operation = if is_barrier && !is_of_job() { Operation::Receive } else { operation };
    call::of_rust(given, operation, |call| match leaves {
        0 => enter(call),
        _ => drop(leave(call, result)),
    });
}

/// A load or a store of code that is compiled with callbacks for them.
#[unsafe(no_mangle)]
extern "C" fn shmemi_check_load_or_store(at: usize, bytes: usize, writes: c_int, site: usize) {
    /// In `writes`: by a function of the C library, which the runtime calls as well where the program contains it.
    const BY_FUNCTION: c_int = 2;
    if let Some((checks, _inside)) = checks()
        && let Some(race) = &checks.race
        && (writes & BY_FUNCTION == 0 || !CONTAINS_RUNTIME.load(Ordering::Relaxed))
    {
        if !LOADS_AND_STORES.swap(true, Ordering::Relaxed) {
            checks.job.records.raise(header::LOADS_AND_STORES);
        }
        race.load_or_store(&checks.job, (at, bytes), writes & 1 != 0, site);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_in_the_checks_once() {
        let inside = Inside::enter();
        assert!(inside.is_some());
        assert!(Inside::enter().is_none());
        assert!(Inside::enter().is_none());
        let other = std::thread::spawn(|| Inside::enter().is_some());
        assert!(other.join().unwrap());
        drop(inside);
        assert!(Inside::enter().is_some());
    }
}
