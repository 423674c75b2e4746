//! A call of the C API, as the functions of the preloaded library hand it on.

use std::ffi::{CStr, c_char};
use std::ptr;

use ferroshmem_layout::{CheckedCall, Operation};

use crate::span::Span;

/// What a parameter stands for: `ROLE_*` of `libshmem-check/c/check.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Role {
    End,
    Value,
    Pe,
    TeamPe,
    Dest,
    Source,
    Signal,
    Lock,
    Work,
    Variable,
    Read,
    Write,
    Team,
    Root,
    Start,
    LogStride,
    Size,
    Context,
}

/// How many bytes there are at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Extent {
    None,
    One,
    Elements,
    PerMember,
    Strided,
    Blocks,
    StridedPerMember,
    Bytes,
    ElementsOf,
    WorkArray,
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Parameter {
    /// Its role.
    pub role: Role,
    extent: Extent,
    a: u8,
    b: u8,
    c: u8,
}

/// A routine.
#[derive(Debug)]
#[repr(C)]
pub struct Routine {
    name: *const c_char,
    parameters: *const Parameter,
    operation: Operation,
    element: u8,
}

/// A call under way.
#[derive(Debug)]
#[repr(C)]
pub struct Call {
    routine: *const Routine,
    values: *mut usize,
    /// The context as it was given, 0 for the default one.
    pub context: usize,
    /// Where the program goes on.
    pub return_address: usize,
    /// What the checks keep from the start of a call to its end.
    pub scratch: Scratch,
    /// Not 0: the library's function is not called.
    pub skip: usize,
    /// Of a call of the Rust API, the call itself; else null.
    of_rust: *const CheckedCall,
}

/// What the checks keep from the start of a call to its end: four words of the functions of the preloaded library,
/// which are zero at the start.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Scratch {
    /// Bytes that the program has asked for, of a call that allocates.
    pub requested: usize,
    /// Not 0: the library was asked for more.
    pub is_enlarged: usize,
    /// The number of a collective of its team, from 1 on; 0 if the call is none.
    pub collective: usize,
    unused: usize,
}

/// Looks by `look` at a call of a program that contains the runtime, as at one of the C API that does `operation`.
pub(crate) fn of_rust<R>(given: &mut CheckedCall, operation: Operation, look: impl FnOnce(&mut Call) -> R) -> R {
    let role = match operation {
        Operation::Put | Operation::AtomicUpdate | Operation::AtomicFetchUpdate => Role::Dest,
        Operation::Get | Operation::AtomicFetch => Role::Source,
        Operation::Signal => Role::Signal,
        Operation::SetLock | Operation::TestLock | Operation::ClearLock => Role::Lock,
        Operation::Wait => Role::Variable,
        _ => Role::Value,
    };
    let parameter = |role| Parameter { role, extent: Extent::None, a: 0, b: 0, c: 0 };
    let [value, pe, team, end] = [Role::Value, Role::Pe, Role::Team, Role::End].map(parameter);
    let memory = Parameter { extent: Extent::Blocks, a: 1, b: 2, c: 3, ..parameter(role) };
    let parameters = [memory, value, value, value, pe, team, end];
    // A wait is for variables, all others for bytes.
    let (element, stride, len) = match operation {
        Operation::Wait => (given.len as u8, 1, 1),
        _ => (1, given.stride, given.len),
    };
    let file = given.file.get();
    let return_address = if file.is_empty() { given.line } else { file.as_ptr().addr() ^ given.line << 48 };
    let routine = Routine { name: ptr::null(), parameters: parameters.as_ptr(), operation, element };
    let mut values = [given.at, stride, len, given.count, given.pe, given.team, 0];
    let [requested, is_enlarged, collective, unused] = given.scratch;
    let mut call = Call {
        routine: &raw const routine,
        values: values.as_mut_ptr(),
        context: given.context,
        return_address,
        scratch: Scratch { requested, is_enlarged, collective, unused },
        skip: 0,
        of_rust: &raw const *given,
    };
    let result = look(&mut call);
    let Scratch { requested, is_enlarged, collective, unused } = call.scratch;
    given.scratch = [requested, is_enlarged, collective, unused];
    result
}

impl Call {
    fn routine(&self) -> &'static Routine {
        // SAFETY: the functions of the preloaded library point to a constant.
        unsafe { &*self.routine }
    }

    fn of_rust(&self) -> Option<&CheckedCall> {
        // SAFETY: null or the call under way.
        unsafe { self.of_rust.as_ref() }
    }

    /// Whether it is one of the Rust API.
    pub fn is_of_rust(&self) -> bool {
        !self.of_rust.is_null()
    }

    /// The file and line of the source where such a call is.
    pub fn line(&self) -> Option<(Option<String>, u64)> {
        let call = self.of_rust().filter(|call| !call.file.get().is_empty())?;
        Some((Some(call.file.get().to_owned()), call.line as u64))
    }

    /// The routine's name.
    pub fn name(&self) -> &'static str {
        if let Some(call) = self.of_rust() {
            return call.routine.get();
        }
        // SAFETY: the functions of the preloaded library point to a string literal.
        let name = unsafe { CStr::from_ptr(self.routine().name) };
        name.to_str().unwrap_or_default()
    }

    /// What tells routines apart.
    pub fn key(&self) -> usize {
        self.of_rust().map_or(self.routine.addr(), |call| call.routine.get().as_ptr().addr())
    }

    /// What it does.
    pub fn operation(&self) -> Operation {
        self.routine().operation
    }

    /// Bytes of an element.
    pub fn element(&self) -> usize {
        self.routine().element.into()
    }

    /// Whether it allocates memory of the symmetric heap, or changes the size of a block.
    pub fn allocates(&self) -> bool {
        matches!(
            self.operation(),
            Operation::Malloc | Operation::Calloc | Operation::Align | Operation::MallocWithHints | Operation::Realloc
        )
    }

    /// Bytes that a call asks for which allocates, before it is changed.
    pub fn requested(&self) -> usize {
        match self.operation() {
            Operation::Malloc | Operation::MallocWithHints => self.value(0),
            Operation::Calloc => self.value(0).saturating_mul(self.value(1)),
            Operation::Align | Operation::Realloc => self.value(1),
            _ => 0,
        }
    }

    /// Whether a call that allocates or frees has a barrier: it has none where nothing is to be done.
    pub fn synchronizes(&self) -> bool {
        let has_block = matches!(self.operation(), Operation::Realloc | Operation::Free);
        self.scratch.requested > 0 || (has_block && self.value(0) != 0)
    }

    /// The argument of this number.
    pub fn value(&self, number: usize) -> usize {
        // SAFETY: the functions of the preloaded library pass a word for each parameter, and one more.
        unsafe { *self.values.add(number) }
    }

    /// Changes it.
    pub fn set_value(&mut self, number: usize, value: usize) {
        // SAFETY: the functions of the preloaded library pass a word for each parameter, and one more.
        unsafe { *self.values.add(number) = value };
    }

    /// The places of the variables that a wait or test with this result has found to be as asked for; None: all.
    pub fn found(&self, result: usize) -> Option<Vec<usize>> {
        /// The parameter of the forms for some variables that gets their places.
        const INDICES: usize = 2;
        match self.name() {
            name if name.contains("_any") => Some(vec![result]),
            name if name.contains("_some") => {
                let indices = self.value(INDICES) as *const usize;
                // SAFETY: the routine has written so many there.
                Some((0..result).map(|i| unsafe { indices.add(i).read() }).collect())
            }
            _ => None,
        }
    }

    /// The parameters, with their numbers.
    pub fn parameters(&self) -> impl Iterator<Item = (usize, &'static Parameter)> {
        let first = self.routine().parameters;
        // SAFETY: the array of a routine ends with role `End`.
        (0..)
            .map(move |number| (number, unsafe { &*first.add(number) }))
            .take_while(|(_, parameter)| parameter.role != Role::End)
    }

    /// The argument of a role.
    pub fn argument(&self, role: Role) -> Option<usize> {
        let (number, _) = self.parameters().find(|(_, p)| p.role == role)?;
        Some(self.value(number))
    }

    /// The memory that an argument leads to.
    pub fn span(&self, number: usize, parameter: &Parameter, members: usize) -> Span {
        let value = |of: u8| self.value(of.into());
        // Numbers of elements are `size_t` or `int`; negative ones the library refuses.
        let count = |of: u8| match value(of) {
            n if n > isize::MAX as usize => 0,
            n => n,
        };
        let at = self.value(number);
        let element = self.element();
        let row = |n: usize| Span::row(at, n.saturating_mul(element));
        let step = |of: u8| (value(of) as isize).wrapping_mul(element as isize);
        match parameter.extent {
            Extent::None => Span::row(at, 0),
            Extent::One => row(1),
            Extent::Elements => row(count(parameter.a)),
            Extent::PerMember => row(count(parameter.a).saturating_mul(members)),
            Extent::Strided => Span { at, len: element, stride: step(parameter.a), count: count(parameter.b) },
            Extent::StridedPerMember => {
                Span { at, len: element, stride: step(parameter.a), count: count(parameter.b).saturating_mul(members) }
            }
            Extent::Blocks => Span {
                at,
                len: count(parameter.b).saturating_mul(element),
                stride: step(parameter.a),
                count: count(parameter.c),
            },
            Extent::Bytes => Span::row(at, parameter.a.into()),
            Extent::ElementsOf => Span::row(at, count(parameter.a).saturating_mul(parameter.b.into())),
            Extent::WorkArray => row(count(parameter.a) / 2 + 1),
        }
    }
}
