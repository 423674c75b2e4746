//! Operators of reductions whose element types are arguments.

use ferroshmem_api::{Bf16, F16, Located, Operator, Reduce};

use crate::entry::*;

/// All operators of an integer.
fn of_bits<T>(op: c_int) -> Option<&'static Operator>
where
    T: Reduce<ops::Sum> + Reduce<ops::Prod> + Reduce<ops::Min> + Reduce<ops::Max>,
    T: Reduce<ops::And> + Reduce<ops::Or> + Reduce<ops::Xor>,
{
    Some(match op {
        SHMEMX_AND => Operator::of::<T, ops::And>(),
        SHMEMX_OR => Operator::of::<T, ops::Or>(),
        SHMEMX_XOR => Operator::of::<T, ops::Xor>(),
        _ => return of_order::<T>(op),
    })
}

/// Those of a real number.
fn of_order<T>(op: c_int) -> Option<&'static Operator>
where
    T: Reduce<ops::Sum> + Reduce<ops::Prod> + Reduce<ops::Min> + Reduce<ops::Max>,
{
    Some(match op {
        SHMEMX_MIN => Operator::of::<T, ops::Min>(),
        SHMEMX_MAX => Operator::of::<T, ops::Max>(),
        _ => return arithmetic::<T>(op),
    })
}

fn arithmetic<T: Reduce<ops::Sum> + Reduce<ops::Prod>>(op: c_int) -> Option<&'static Operator> {
    match op {
        SHMEMX_SUM => Some(Operator::of::<T, ops::Sum>()),
        SHMEMX_PROD => Some(Operator::of::<T, ops::Prod>()),
        _ => None,
    }
}

/// Bytes of an element; 0 for no datatype.
fn size_of(datatype: c_int) -> usize {
    let bytes = match datatype {
        SHMEMX_OPAQUE.. => datatype - SHMEMX_OPAQUE,
        // A value and an int, and padding behind them.
        _ if datatype & SHMEMX_PAIR != 0 => 2 * (datatype & 0xff).max(4),
        _ => datatype & 0xff,
    };
    usize::try_from(bytes).unwrap_or(0)
}

/// The operator `op` for elements of a kind and number of bytes; None if they do not have it.
pub(crate) fn operator(datatype: c_int, op: c_int) -> Option<&'static Operator> {
    if op >= operators::FIRST {
        return operators::of_program(op, size_of(datatype));
    }
    if datatype & SHMEMX_PAIR != 0 {
        let greatest = op == SHMEMX_MAXLOC;
        return match ((datatype ^ SHMEMX_PAIR) & !0xff, datatype & 0xff) {
            _ if !greatest && op != SHMEMX_MINLOC => None,
            (SHMEMX_SIGNED, 4) => Some(Located::<i32>::operator(greatest)),
            (SHMEMX_SIGNED, 8) => Some(Located::<i64>::operator(greatest)),
            (SHMEMX_FLOATING, 4) => Some(Located::<f32>::operator(greatest)),
            (SHMEMX_FLOATING, 8) => Some(Located::<f64>::operator(greatest)),
            _ => None,
        };
    }
    match (datatype & !0xff, datatype & 0xff) {
        (SHMEMX_SIGNED, 1) => of_bits::<i8>(op),
        (SHMEMX_SIGNED, 2) => of_bits::<i16>(op),
        (SHMEMX_SIGNED, 4) => of_bits::<i32>(op),
        (SHMEMX_SIGNED, 8) => of_bits::<i64>(op),
        (SHMEMX_UNSIGNED, 1) => of_bits::<u8>(op),
        (SHMEMX_UNSIGNED, 2) => of_bits::<u16>(op),
        (SHMEMX_UNSIGNED, 4) => of_bits::<u32>(op),
        (SHMEMX_UNSIGNED, 8) => of_bits::<u64>(op),
        (SHMEMX_BFLOAT, 2) => of_order::<Bf16>(op),
        (SHMEMX_FLOATING, 2) => of_order::<F16>(op),
        (SHMEMX_FLOATING, 4) => of_order::<f32>(op),
        (SHMEMX_FLOATING, 8) => of_order::<f64>(op),
        (SHMEMX_FLOATING, 16) => of_order::<LongDouble>(op),
        (SHMEMX_COMPLEX, 8) => arithmetic::<Complex<f32>>(op),
        (SHMEMX_COMPLEX, 16) => arithmetic::<Complex<f64>>(op),
        _ => None,
    }
}

/// What an atomic operation on an integer of a kind and number of bytes is: its bytes, and the operator.
pub(crate) fn atomic(datatype: c_int, op: c_int) -> Option<(usize, amo::Op)> {
    let bytes = match (datatype & !0xff, datatype & 0xff) {
        (SHMEMX_SIGNED | SHMEMX_UNSIGNED, bytes @ (4 | 8)) => bytes as usize,
        _ => return None,
    };
    Some((
        bytes,
        match op {
            SHMEMX_SUM => amo::Op::Add,
            SHMEMX_AND => amo::Op::And,
            SHMEMX_OR => amo::Op::Or,
            SHMEMX_XOR => amo::Op::Xor,
            SHMEMX_FETCH => amo::Op::Read,
            SHMEMX_SWAP => amo::Op::Swap,
            SHMEMX_COMPARE_SWAP => amo::Op::CompareSwap,
            _ => return None,
        },
    ))
}
