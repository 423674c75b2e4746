//! A call of the C API, as the functions of the preloaded library hand it on.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};

use crate::operation::Operation;

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
    pub scratch: [usize; 4],
    /// Not 0: the library's function is not called.
    pub skip: usize,
}

/// Bytes at an address: blocks of `len`, each `stride` after the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Address of the first.
    pub at: usize,
    /// Bytes of each.
    pub len: usize,
    /// Distance in bytes.
    pub stride: isize,
    /// How many.
    pub count: usize,
}

impl Span {
    /// Bytes in a row.
    pub fn row(at: usize, len: usize) -> Self {
        Self {
            at,
            len,
            stride: 0,
            count: usize::from(len > 0),
        }
    }

    /// The blocks: address and bytes. Blocks that lie side by side are one.
    pub fn blocks(self) -> impl Iterator<Item = (usize, usize)> {
        let is_row = self.stride == self.len as isize && self.len > 0;
        let (len, count) = match is_row {
            true => (self.len.saturating_mul(self.count), self.count.min(1)),
            false => (self.len, if self.len > 0 { self.count } else { 0 }),
        };
        (0..count).map(move |i| {
            let distance = self.stride.wrapping_mul(i as isize);
            (self.at.wrapping_add_signed(distance), len)
        })
    }

    /// All of it: first address, and the bytes up to the last one's end.
    pub fn bounds(self) -> (usize, usize) {
        if self.count == 0 || self.len == 0 {
            return (self.at, 0);
        }
        let last = self.stride.wrapping_mul(self.count as isize - 1);
        let end = self.at.wrapping_add_signed(last);
        let (low, high) = (self.at.min(end), self.at.max(end));
        (low, (high - low).saturating_add(self.len))
    }
}

impl Call {
    fn routine(&self) -> &'static Routine {
        // SAFETY: the functions of the preloaded library point to a constant.
        unsafe { &*self.routine }
    }

    /// The routine's name.
    pub fn name(&self) -> &'static str {
        // SAFETY: the functions of the preloaded library point to a string literal.
        let name = unsafe { CStr::from_ptr(self.routine().name) };
        name.to_str().unwrap_or_default()
    }

    /// What tells routines apart.
    pub fn key(&self) -> usize {
        self.routine.addr()
    }

    /// What it does.
    pub fn operation(&self) -> Operation {
        self.routine().operation
    }

    /// Bytes of an element.
    pub fn element(&self) -> usize {
        self.routine().element.into()
    }

    /// The argument of this number.
    pub fn value(&self, number: usize) -> usize {
        // SAFETY: the array has a word for each parameter, and one more.
        unsafe { *self.values.add(number) }
    }

    /// Changes it.
    pub fn set_value(&mut self, number: usize, value: usize) {
        // SAFETY: the array has a word for each parameter, and one more.
        unsafe { *self.values.add(number) = value };
    }

    /// The parameters, with their numbers.
    pub fn parameters(&self) -> impl Iterator<Item = (usize, &'static Parameter)> {
        let first = self.routine().parameters;
        // SAFETY: the array ends with role `End`.
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
            Extent::Strided => Span {
                at,
                len: element,
                stride: step(parameter.a),
                count: count(parameter.b),
            },
            Extent::StridedPerMember => Span {
                at,
                len: element,
                stride: step(parameter.a),
                count: count(parameter.b).saturating_mul(members),
            },
            Extent::Blocks => Span {
                at,
                len: count(parameter.b).saturating_mul(element),
                stride: step(parameter.a),
                count: count(parameter.c),
            },
            Extent::Bytes => Span::row(at, parameter.a.into()),
            Extent::ElementsOf => {
                Span::row(at, count(parameter.a).saturating_mul(parameter.b.into()))
            }
            Extent::WorkArray => row(count(parameter.a) / 2 + 1),
        }
    }
}

/// What the checks call of the library: `struct shmemi_library` of `libshmem-check/c/check.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "their names are those of the routines")]
pub struct Library {
    pub my_pe: Option<unsafe extern "C" fn() -> c_int>,
    pub n_pes: Option<unsafe extern "C" fn() -> c_int>,
    ptr: Option<unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void>,
    addr_accessible: Option<unsafe extern "C" fn(*const c_void, c_int) -> c_int>,
    team_n_pes: Option<unsafe extern "C" fn(usize) -> c_int>,
    team_my_pe: Option<unsafe extern "C" fn(usize) -> c_int>,
    team_translate_pe: Option<unsafe extern "C" fn(usize, c_int, usize) -> c_int>,
    ctx_get_team: Option<unsafe extern "C" fn(usize, *mut usize) -> c_int>,
    barrier_all: Option<unsafe extern "C" fn()>,
    malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    align: Option<unsafe extern "C" fn(usize, usize) -> *mut c_void>,
    malloc_with_hints: Option<unsafe extern "C" fn(usize, c_long) -> *mut c_void>,
    realloc: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub world: usize,
    pub default_context: usize,
}

/// The members of a team or active set, by their numbers in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Members {
    /// The first one.
    pub start: i32,
    /// From one to the next.
    pub stride: i32,
    /// How many.
    pub size: usize,
}

impl Members {
    /// Member number `index`.
    pub fn pe(&self, index: usize) -> usize {
        (self.start + self.stride * index as i32) as usize
    }

    /// All of them.
    pub fn pes(self) -> impl Iterator<Item = usize> {
        (0..self.size).map(move |i| self.pe(i))
    }
}

/// Calls a function of the library: with the library initialised, all are there.
macro_rules! call {
    ($function:expr, $($argument:expr),*) => {
        // SAFETY: the library is initialised, and checks what it is given.
        $function.map(|function| unsafe { function($($argument),*) })
    };
}

impl Library {
    /// This PE and the number of PEs.
    pub fn numbers(&self) -> (usize, usize) {
        let number = |n: Option<c_int>| usize::try_from(n.unwrap_or(0)).unwrap_or(0);
        (number(call!(self.my_pe,)), number(call!(self.n_pes,)))
    }

    /// Where this PE can read what another has at a symmetric address.
    pub fn ptr(&self, at: usize, pe: usize) -> Option<usize> {
        let found = call!(self.ptr, at as *const c_void, pe as c_int)?;
        (!found.is_null()).then_some(found.addr())
    }

    /// Whether an address is symmetric.
    pub fn is_symmetric(&self, at: usize, pe: usize) -> bool {
        call!(self.addr_accessible, at as *const c_void, pe as c_int) == Some(1)
    }

    /// The members of a team.
    pub fn members(&self, team: usize) -> Option<Members> {
        let size = call!(self.team_n_pes, team).filter(|n| *n > 0)?;
        let world = |pe| call!(self.team_translate_pe, team, pe, self.world);
        let start = world(0).filter(|pe| *pe >= 0)?;
        let second = if size > 1 { world(1)? } else { start };
        Some(Members {
            start,
            stride: second - start,
            size: size as usize,
        })
    }

    /// The PE of the world that a context's number means.
    pub fn pe(&self, context: usize, pe: usize) -> Option<usize> {
        if context == 0 || context == self.default_context {
            return Some(pe);
        }
        let mut team = 0;
        let found = call!(self.ctx_get_team, context, &raw mut team)?;
        if found != 0 {
            return None;
        }
        let pe = c_int::try_from(pe).ok()?;
        let world = call!(self.team_translate_pe, team, pe, self.world)?;
        usize::try_from(world).ok()
    }

    /// Synchronises all PEs.
    pub fn barrier_all(&self) {
        call!(self.barrier_all,);
    }

    /// Allocates.
    pub fn malloc(&self, size: usize) -> usize {
        call!(self.malloc, size).map_or(0, |at| at.addr())
    }

    /// Allocates.
    pub fn align(&self, alignment: usize, size: usize) -> usize {
        call!(self.align, alignment, size).map_or(0, |at| at.addr())
    }

    /// Allocates.
    pub fn malloc_with_hints(&self, size: usize, hints: usize) -> usize {
        call!(self.malloc_with_hints, size, hints as c_long).map_or(0, |at| at.addr())
    }

    /// Changes the size of a block.
    pub fn realloc(&self, at: usize, size: usize) -> usize {
        call!(self.realloc, at as *mut c_void, size).map_or(0, |at| at.addr())
    }

    /// Gives a block back.
    pub fn free(&self, at: usize) {
        call!(self.free, at as *mut c_void);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_blocks_and_bounds() {
        let span = Span {
            at: 1000,
            len: 8,
            stride: -24,
            count: 3,
        };
        assert_eq!(
            span.blocks().collect::<Vec<_>>(),
            [(1000, 8), (976, 8), (952, 8)]
        );
        assert_eq!(span.bounds(), (952, 56));
        let row = Span {
            at: 64,
            len: 8,
            stride: 8,
            count: 4,
        };
        assert_eq!(row.blocks().collect::<Vec<_>>(), [(64, 32)]);
        assert_eq!(Span::row(64, 0).blocks().count(), 0);
        assert_eq!(Span::row(64, 5).blocks().collect::<Vec<_>>(), [(64, 5)]);
        assert_eq!(Span { count: 0, ..row }.bounds(), (64, 0));
    }

    #[test]
    fn members_are_a_sequence() {
        let members = Members {
            start: 5,
            stride: -2,
            size: 3,
        };
        assert_eq!(members.pes().collect::<Vec<_>>(), [5, 3, 1]);
    }
}
