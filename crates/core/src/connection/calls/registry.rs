//! The kernels of this program, and those that the programs of other members say they have.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use ferroshmem_platform::mapping;

/// Bytes for the kernels of a member in the connection's file, of which those that are written have memory.
pub const TABLE: u64 = 1 << 20;

/// What a parameter of a kernel is, or an argument of a call. Sizes and kinds of the two must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer, a character, an enumeration or a truth value.
    Integer,
    /// A floating-point number.
    Real,
    /// Elements behind a pointer: as a parameter a pointer.
    Array,
    /// What is copied as bytes.
    Object,
}

/// Integers, characters, enumerations and truth values, as `__builtin_classify_type` has them.
const INTEGERS: std::ops::RangeInclusive<c_int> = 1..=4;
/// An [`Argument`](super::caller::Argument) is meant that is at the address.
pub(super) const NESTED: c_int = 100;

/// `__builtin_classify_type`, and what `shmem/kernels.h` adds to it.
pub mod kinds {
    use std::ffi::c_int;

    /// An integer.
    pub const INTEGER: c_int = 1;
    /// A pointer: of a parameter, to an array.
    pub const POINTER: c_int = 5;
    /// A floating-point number.
    pub const REAL: c_int = 8;
    /// Anything else.
    pub const OBJECT: c_int = 12;
    /// An array as an argument.
    pub const ARRAY: c_int = 101;
}
use kinds::{ARRAY, POINTER, REAL};

impl Kind {
    /// Of a parameter, where a pointer is an array.
    pub(super) fn of(word: c_int) -> Self {
        match word {
            POINTER | ARRAY => Self::Array,
            REAL => Self::Real,
            _ if INTEGERS.contains(&word) => Self::Integer,
            _ => Self::Object,
        }
    }
}

/// `shmemx_kernel_param_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Parameter {
    /// As `__builtin_classify_type` says.
    pub kind: c_int,
    /// Bytes, of an array those of an element.
    pub size: usize,
}

/// `shmemx_kernel_t`: a kernel of this program.
#[derive(Debug)]
#[repr(C)]
pub struct Kernel {
    next: AtomicPtr<Kernel>,
    name: *const c_char,
    types: *const c_char,
    params: *const Parameter,
    n_params: usize,
    run: Run,
}

/// Runs a kernel with the arguments at these addresses. 1: it has thrown, and this is what is known of it.
pub type Run = unsafe extern "C" fn(*const *const c_void, *mut c_char, usize) -> c_int;

// SAFETY: what it points to is constant.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// A kernel that [`register`] can be given.
    ///
    /// # Safety
    /// `run` takes arguments as `params` say.
    pub const unsafe fn new(name: &'static CStr, types: &'static CStr, params: &'static [Parameter], run: Run) -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            name: name.as_ptr(),
            types: types.as_ptr(),
            params: params.as_ptr(),
            n_params: params.len(),
            run,
        }
    }

    fn name(&self) -> &'static CStr {
        // SAFETY: `register` was promised a string.
        unsafe { CStr::from_ptr(self.name) }
    }

    pub(super) fn run(&self) -> Run {
        self.run
    }

    pub(super) fn signature(&self) -> Signature {
        let params = match self.n_params {
            0 => &[],
            // SAFETY: `register` was promised so many.
            n => unsafe { slice::from_raw_parts(self.params, n) },
        };
        // SAFETY: `register` was promised a string.
        let types = unsafe { CStr::from_ptr(self.types) };
        Signature {
            name: self.name().to_bytes().into(),
            types: types.to_bytes().into(),
            params: params.iter().map(|p| (Kind::of(p.kind), p.size)).collect(),
        }
    }
}

/// Name and parameters of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    pub name: Box<[u8]>,
    /// As the program writes them.
    types: Box<[u8]>,
    pub params: Box<[(Kind, usize)]>,
}

impl Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, types] = [&self.name, &self.types].map(|text| String::from_utf8_lossy(text));
        write!(f, "{name}({types})")
    }
}

/// The kernel that was registered last.
static LAST: AtomicPtr<Kernel> = AtomicPtr::new(ptr::null_mut());

/// Adds a kernel to those of this program: `shmemx_kernel_register`, which is called before `main`; in C++, where
/// several files include a header with a kernel, by each of them.
///
/// # Safety
/// The kernel is valid for ever.
pub unsafe fn register(kernel: *mut Kernel) {
    // SAFETY: the caller promises that it is valid.
    let Some(added) = (unsafe { kernel.as_ref() }) else {
        return;
    };
    if registered().any(|one| ptr::eq(one, added)) {
        return;
    }
    let link = |last| {
        added.next.store(last, Ordering::Relaxed);
        Some(kernel)
    };
    // It always succeeds: the closure gives a value.
    let _ = LAST.fetch_update(Ordering::Release, Ordering::Acquire, link);
}

fn registered() -> impl Iterator<Item = &'static Kernel> {
    // SAFETY: `register` was promised that kernels are valid for ever.
    let next = |at: &AtomicPtr<Kernel>| unsafe { at.load(Ordering::Acquire).as_ref() };
    std::iter::successors(next(&LAST), move |kernel| next(&kernel.next))
}

/// The kernel of this program that has a name.
pub(super) fn find(name: &[u8]) -> Option<&'static Kernel> {
    registered().find(|kernel| kernel.name().to_bytes() == name)
}

/// The signatures of this program's kernels, in the order of their names.
pub(super) fn own() -> Vec<Signature> {
    let mut all: Vec<_> = registered().map(Kernel::signature).collect();
    all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Says which kernels there are, for a message.
pub(super) fn list(all: &[Signature]) -> String {
    if all.is_empty() {
        return "it has none: declare some by SHMEMX_KERNEL, in a program that is spawned".to_owned();
    }
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    format!("it has {}", all.join(", "))
}

/// Why the kernels cannot be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Two have one name.
    #[error("the program has two kernels \"{0}\": give one of them another name")]
    Twice(String),
    /// They take too much room.
    #[error("the program's kernels take more than {TABLE} bytes to describe: give them shorter names")]
    TooMany,
    /// The file cannot be written.
    #[error("the kernels cannot be made known: {0}")]
    File(#[from] io::Error),
}

/// Writes the kernels of this program where the members of the other group look for them, at `offset` of the
/// connection's file.
///
/// # Errors
/// If two have one name, or they cannot be written.
pub fn publish(file: &File, offset: u64) -> Result<(), PublishError> {
    Ok(write(file, &described()?, offset)?)
}

/// Writes what a member says of its kernels.
///
/// # Errors
/// If the file cannot be written.
pub fn write(file: &File, described: &[u8], offset: u64) -> io::Result<()> {
    if described.is_empty() {
        return Ok(());
    }
    mapping::write_at(file, described, offset)
}

/// The kernels of this program, for members of the other group; no bytes if there are none.
///
/// # Errors
/// If two have one name, or they are too many.
pub fn described() -> Result<Vec<u8>, PublishError> {
    let all = own();
    if let Some(pair) = all.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let name = String::from_utf8_lossy(&pair[0].name);
        return Err(PublishError::Twice(name.into_owned()));
    }
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u64).to_ne_bytes());
    for signature in &all {
        for text in [&signature.name, &signature.types] {
            number(&mut bytes, text.len());
            bytes.extend(text);
        }
        number(&mut bytes, signature.params.len());
        for (kind, size) in &signature.params {
            bytes.push(*kind as u8);
            number(&mut bytes, *size);
        }
    }
    let len = bytes.len() as u64;
    if len + 8 > TABLE {
        return Err(PublishError::TooMany);
    }
    if len == 0 {
        return Ok(bytes);
    }
    Ok([&len.to_ne_bytes()[..], &bytes].concat())
}

/// The kernels that a member has published at `offset`.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn published(file: &File, offset: u64) -> io::Result<Vec<Signature>> {
    let mut len = [0; 8];
    if file.read_at(&mut len, offset)? < len.len() {
        // Nothing is written there or behind it.
        return Ok(Vec::new());
    }
    let len = u64::from_ne_bytes(len).min(TABLE);
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, offset + 8)?;
    let mut rest = &bytes[..];
    let mut all = Vec::new();
    while !rest.is_empty() {
        let read = read_signature(&mut rest);
        all.push(read.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?);
    }
    Ok(all)
}

fn read_signature(rest: &mut &[u8]) -> Option<Signature> {
    let number = |rest: &mut &[u8]| {
        let (number, after) = rest.split_first_chunk()?;
        *rest = after;
        usize::try_from(u64::from_ne_bytes(*number)).ok()
    };
    let text = |rest: &mut &[u8]| {
        let len = number(rest)?;
        let (text, after) = rest.split_at_checked(len)?;
        *rest = after;
        Some(text.into())
    };
    let (name, types) = (text(rest)?, text(rest)?);
    let n = number(rest)?;
    let mut params = Vec::new();
    for _ in 0..n {
        let (kind, after) = rest.split_first()?;
        *rest = after;
        let kinds = [Kind::Integer, Kind::Real, Kind::Array, Kind::Object];
        let kind = kinds.into_iter().find(|k| *k as u8 == *kind)?;
        params.push((kind, number(rest)?));
    }
    Some(Signature { name, types, params: params.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_platform::mapping::memory_file;

    unsafe extern "C" fn nothing(_: *const *const c_void, _: *mut c_char, _: usize) -> c_int {
        0
    }

    const fn param(kind: c_int, size: usize) -> Parameter {
        Parameter { kind, size }
    }

    #[test]
    fn kernels_are_published_and_found() {
        let kernel = |name, types, params| {
            // SAFETY: it takes any arguments.
            let kernel = unsafe { Kernel::new(name, types, params, nothing) };
            let kernel: *mut Kernel = Box::leak(Box::new(kernel));
            for _ in 0..2 {
                // SAFETY: it lives for ever.
                unsafe { register(kernel) };
            }
        };
        kernel(c"scale", c"double *, int", const { &[param(POINTER, 8), param(1, 4)] });
        kernel(c"draw", c"", &[]);
        let all = own();
        let expected = "it has draw(), scale(double *, int)";
        assert_eq!(list(&all), expected);
        assert!(find(b"scale").is_some() && find(b"scal").is_none());
        let file = memory_file(100).unwrap();
        assert_eq!(published(&file, 4096).unwrap(), []);
        publish(&file, 4096).unwrap();
        assert_eq!(published(&file, 4096).unwrap(), all);
        kernel(c"draw", c"int", const { &[param(1, 4)] });
        let twice = publish(&file, 0).unwrap_err().to_string();
        assert!(twice.contains("two kernels \"draw\""), "{twice}");
    }
}
