//! The types of the C API and the groups that its tables make of them.

/// One type of a type table, or one element size of the untyped routines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    /// TYPENAME of the standard: `longdouble`; the digits of a size (`64`), or `mem`.
    pub name: &'static str,
    /// The type in C: `long double`; `void` for sizes.
    pub c: &'static str,
    /// The type in the Rust functions.
    pub rust: &'static str,
    /// Bytes of one element.
    pub size: usize,
}

impl Type {
    /// Bytes of which an element's address is a multiple: those of the C type. Untyped routines move
    /// elements at any address.
    pub fn align(&self) -> usize {
        match self.c {
            "void" | "" => 1,
            complex if complex.ends_with("_Complex") => self.size / 2,
            _ => self.size,
        }
    }
}

impl Type {
    /// The type of which this one is another name, as `int64_t` is of `long`; else itself.
    pub fn basic(self) -> Self {
        match self.c {
            "int8_t" => SCHAR,
            "int16_t" => SHORT,
            "int32_t" => INT,
            "int64_t" | "ptrdiff_t" => LONG,
            "uint8_t" => UCHAR,
            "uint16_t" => USHORT,
            "uint32_t" => UINT,
            "uint64_t" | "size_t" => ULONG,
            _ => self,
        }
    }
}

const fn t(name: &'static str, c: &'static str, rust: &'static str, size: usize) -> Type {
    Type { name, c, rust, size }
}

// The library is built for LP64 systems only (shmem-sys asserts it).
const FLOAT: Type = t("float", "float", "f32", 4);
const DOUBLE: Type = t("double", "double", "f64", 8);
const LONGDOUBLE: Type = t("longdouble", "long double", "LongDouble", 16);
const CHAR: Type = t("char", "char", "c_char", 1);
const SCHAR: Type = t("schar", "signed char", "i8", 1);
const SHORT: Type = t("short", "short", "i16", 2);
const INT: Type = t("int", "int", "i32", 4);
const LONG: Type = t("long", "long", "i64", 8);
const LONGLONG: Type = t("longlong", "long long", "i64", 8);
const UCHAR: Type = t("uchar", "unsigned char", "u8", 1);
const USHORT: Type = t("ushort", "unsigned short", "u16", 2);
const UINT: Type = t("uint", "unsigned int", "u32", 4);
const ULONG: Type = t("ulong", "unsigned long", "u64", 8);
const ULONGLONG: Type = t("ulonglong", "unsigned long long", "u64", 8);
const INT8: Type = t("int8", "int8_t", "i8", 1);
const INT16: Type = t("int16", "int16_t", "i16", 2);
const INT32: Type = t("int32", "int32_t", "i32", 4);
const INT64: Type = t("int64", "int64_t", "i64", 8);
const UINT8: Type = t("uint8", "uint8_t", "u8", 1);
const UINT16: Type = t("uint16", "uint16_t", "u16", 2);
const UINT32: Type = t("uint32", "uint32_t", "u32", 4);
const UINT64: Type = t("uint64", "uint64_t", "u64", 8);
const SIZE: Type = t("size", "size_t", "u64", 8);
const PTRDIFF: Type = t("ptrdiff", "ptrdiff_t", "i64", 8);
const COMPLEXF: Type = t("complexf", "float _Complex", "Complex<f32>", 8);
const COMPLEXD: Type = t("complexd", "double _Complex", "Complex<f64>", 16);

/// Groups of types over which families of routines run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// No type: a single routine.
    Single,
    /// Standard RMA types.
    Rma,
    /// Element sizes in bits: 8 to 128.
    Sizes,
    /// Element sizes in bits of the active-set collectives: 32 and 64.
    OldSizes,
    /// Bytes.
    Mem,
    /// Standard AMO types; those of point-to-point synchronisation as well.
    Amo,
    /// Extended AMO types.
    ExtAmo,
    /// Bitwise AMO types.
    BitAmo,
    /// Types of team-based AND, OR and XOR reductions.
    ReduceBits,
    /// The signed types that other implementations have in bitwise reductions as well.
    ReduceBitsSigned,
    /// Types of team-based MAX and MIN reductions.
    ReduceOrder,
    /// Types of team-based SUM and PROD reductions and scans.
    ReduceArith,
    /// Types of active-set AND, OR and XOR reductions.
    OldBits,
    /// Types of active-set MAX and MIN reductions.
    OldOrder,
    /// Types of active-set SUM and PROD reductions.
    OldArith,
    /// `short` and `unsigned short`: once point-to-point types.
    Shorts,
}

impl Group {
    /// The group's types, in the standard's order.
    pub fn types(self) -> &'static [Type] {
        match self {
            Self::Single => &const { [t("", "", "", 0)] },
            Self::Rma => &[
                FLOAT, DOUBLE, LONGDOUBLE, CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, UCHAR, USHORT, UINT, ULONG,
                ULONGLONG, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, PTRDIFF,
            ],
            Self::Sizes => {
                &const {
                    [
                        t("8", "void", "c_void", 1),
                        t("16", "void", "c_void", 2),
                        t("32", "void", "c_void", 4),
                        t("64", "void", "c_void", 8),
                        t("128", "void", "c_void", 16),
                    ]
                }
            }
            Self::OldSizes => &const { [t("32", "void", "c_void", 4), t("64", "void", "c_void", 8)] },
            Self::Mem => &const { [t("mem", "void", "c_void", 1)] },
            Self::Amo => &[INT, LONG, LONGLONG, UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF],
            Self::ExtAmo => &[
                FLOAT, DOUBLE, INT, LONG, LONGLONG, UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF,
            ],
            Self::BitAmo => &[UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64],
            Self::ReduceBits => {
                &[UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE]
            }
            Self::ReduceBitsSigned => &[CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, PTRDIFF],
            Self::ReduceOrder => &[
                CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, PTRDIFF, UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16,
                INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, FLOAT, DOUBLE, LONGDOUBLE,
            ],
            Self::ReduceArith => &[
                CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, PTRDIFF, UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16,
                INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, FLOAT, DOUBLE, LONGDOUBLE, COMPLEXD, COMPLEXF,
            ],
            Self::OldBits => &[SHORT, INT, LONG, LONGLONG],
            Self::OldOrder => &[SHORT, INT, LONG, LONGLONG, FLOAT, DOUBLE, LONGDOUBLE],
            Self::OldArith => &[SHORT, INT, LONG, LONGLONG, FLOAT, DOUBLE, LONGDOUBLE, COMPLEXD, COMPLEXF],
            Self::Shorts => &[SHORT, USHORT],
        }
    }

    /// Name of the standard's type table, as type-generic synopses cite it.
    pub fn table(self) -> &'static str {
        match self {
            Self::Rma => "stdrmatypes",
            Self::Amo => "stdamotypes",
            Self::ExtAmo => "extamotypes",
            Self::BitAmo => "bitamotypes",
            Self::ReduceBits | Self::ReduceOrder | Self::ReduceArith => "teamreducetypes",
            _ => "",
        }
    }

    /// The group's distinct C types: `int32_t` and its like are left out, being other
    /// names of these. A type-generic selection may name each type once only.
    pub fn basic_types(self) -> Vec<Type> {
        let alias = |t: &Type| t.c.ends_with("_t");
        let mut types: Vec<Type> = self.types().iter().copied().filter(|t| !alias(t)).collect();
        // int32_t and int64_t are bitwise AMO types, int and long themselves are not.
        if self == Self::BitAmo {
            types.extend([Type { c: "int", ..INT32 }, Type { c: "long", ..INT64 }]);
        }
        types
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_types_are_distinct() {
        for group in [Group::Rma, Group::Amo, Group::ExtAmo, Group::BitAmo, Group::ReduceArith] {
            let mut names: Vec<_> = group.basic_types().iter().map(|t| t.c).collect();
            let n = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), n, "{group:?}");
        }
    }
}
