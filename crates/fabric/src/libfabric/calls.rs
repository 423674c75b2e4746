//! The inline functions of libfabric's headers that are used here.
//!
//! Every function stands for the C function of its name: objects must be open and pointers as
//! its manual page says. Operations that a provider leaves out return `-FI_ENOSYS`.

#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

use std::ffi::{c_int, c_void};
use std::ptr;

use super::*;

pub const ENOSYS: c_int = -(FI_ENOSYS as c_int);

macro_rules! through {
    ($ops:expr, $name:ident ( $($argument:expr),* )) => {
        // SAFETY: the caller promises that the object is open, so its table is there.
        match unsafe { (*$ops).$name } {
            // SAFETY: the caller promises what the function's manual page says of its arguments.
            Some(function) => unsafe { function($($argument),*) },
            None => ENOSYS as _,
        }
    };
}

pub unsafe fn fi_close(fid: *mut fid) -> c_int {
    through!((*fid).ops, close(fid))
}

pub unsafe fn fi_bind(fid: *mut fid, to: *mut fid, flags: u64) -> c_int {
    through!((*fid).ops, bind(fid, to, flags))
}

pub unsafe fn fi_control(fid: *mut fid, command: u32, argument: *mut c_void) -> c_int {
    through!((*fid).ops, control(fid, command as c_int, argument))
}

pub unsafe fn fi_domain(fabric: *mut fid_fabric, info: *mut fi_info, domain: *mut *mut fid_domain) -> c_int {
    through!((*fabric).ops, domain(fabric, info, domain, ptr::null_mut()))
}

pub unsafe fn fi_trywait(fabric: *mut fid_fabric, fids: *mut *mut fid, n: c_int) -> c_int {
    through!((*fabric).ops, trywait(fabric, fids, n))
}

pub unsafe fn fi_av_open(domain: *mut fid_domain, attr: *mut fi_av_attr, av: *mut *mut fid_av) -> c_int {
    through!((*domain).ops, av_open(domain, attr, av, ptr::null_mut()))
}

pub unsafe fn fi_cq_open(domain: *mut fid_domain, attr: *mut fi_cq_attr, cq: *mut *mut fid_cq) -> c_int {
    through!((*domain).ops, cq_open(domain, attr, cq, ptr::null_mut()))
}

pub unsafe fn fi_endpoint(domain: *mut fid_domain, info: *mut fi_info, ep: *mut *mut fid_ep) -> c_int {
    through!((*domain).ops, endpoint(domain, info, ep, ptr::null_mut()))
}

pub unsafe fn fi_mr_reg(
    domain: *mut fid_domain,
    base: *const c_void,
    len: usize,
    access: u64,
    key: u64,
    mr: *mut *mut fid_mr,
) -> c_int {
    through!((*domain).mr, reg(ptr::addr_of_mut!((*domain).fid), base, len, access, 0, key, 0, mr, ptr::null_mut()))
}

pub unsafe fn fi_getname(ep: *mut fid_ep, address: *mut c_void, len: *mut usize) -> c_int {
    through!((*ep).cm, getname(ptr::addr_of_mut!((*ep).fid), address, len))
}

pub unsafe fn fi_av_insert(av: *mut fid_av, address: *const c_void, n: usize, addresses: *mut fi_addr_t) -> c_int {
    through!((*av).ops, insert(av, address, n, addresses, 0, ptr::null_mut()))
}

pub unsafe fn fi_av_lookup(av: *mut fid_av, address: fi_addr_t, name: *mut c_void, len: *mut usize) -> c_int {
    through!((*av).ops, lookup(av, address, name, len))
}

pub unsafe fn fi_cq_read(cq: *mut fid_cq, entries: *mut c_void, n: usize) -> isize {
    through!((*cq).ops, read(cq, entries, n))
}

pub unsafe fn fi_cq_readerr(cq: *mut fid_cq, entry: *mut fi_cq_err_entry) -> isize {
    through!((*cq).ops, readerr(cq, entry, 0))
}

pub unsafe fn fi_read(
    ep: *mut fid_ep,
    to: *mut c_void,
    len: usize,
    desc: *mut c_void,
    peer: fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    through!((*ep).rma, read(ep, to, len, desc, peer, address, key, context))
}

/// A write of few bytes, which may be changed on return, without a completion.
pub unsafe fn fi_inject_write(
    ep: *mut fid_ep,
    from: *const c_void,
    len: usize,
    peer: fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    through!((*ep).rma, inject(ep, from, len, peer, address, key))
}

pub unsafe fn fi_writemsg(ep: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize {
    through!((*ep).rma, writemsg(ep, message, flags))
}

pub unsafe fn fi_readmsg(ep: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize {
    through!((*ep).rma, readmsg(ep, message, flags))
}

pub unsafe fn fi_recv(
    ep: *mut fid_ep,
    to: *mut c_void,
    len: usize,
    desc: *mut c_void,
    peer: fi_addr_t,
    context: *mut c_void,
) -> isize {
    through!((*ep).msg, recv(ep, to, len, desc, peer, context))
}

pub unsafe fn fi_sendmsg(ep: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize {
    through!((*ep).msg, sendmsg(ep, message, flags))
}

pub unsafe fn fi_atomic(
    ep: *mut fid_ep,
    operand: *const c_void,
    desc: *mut c_void,
    peer: fi_addr_t,
    address: u64,
    key: u64,
    datatype: fi_datatype,
    op: fi_op,
    context: *mut c_void,
) -> isize {
    through!((*ep).atomic, write(ep, operand, 1, desc, peer, address, key, datatype, op, context))
}

pub unsafe fn fi_fetch_atomic(
    ep: *mut fid_ep,
    operand: *const c_void,
    result: *mut c_void,
    desc: *mut c_void,
    peer: fi_addr_t,
    address: u64,
    key: u64,
    datatype: fi_datatype,
    op: fi_op,
    context: *mut c_void,
) -> isize {
    through!((*ep).atomic, readwrite(ep, operand, 1, desc, result, desc, peer, address, key, datatype, op, context))
}

pub unsafe fn fi_compare_atomic(
    ep: *mut fid_ep,
    operand: *const c_void,
    compare: *const c_void,
    result: *mut c_void,
    desc: *mut c_void,
    peer: fi_addr_t,
    address: u64,
    key: u64,
    datatype: fi_datatype,
    op: fi_op,
    context: *mut c_void,
) -> isize {
    through!(
        (*ep).atomic,
        compwrite(ep, operand, 1, desc, compare, desc, result, desc, peer, address, key, datatype, op, context)
    )
}
