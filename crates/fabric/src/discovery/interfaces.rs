//! The network interfaces of this machine.

use std::collections::HashSet;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::libfabric;

/// An address of an interface.
pub(crate) struct Interface {
    pub name: String,
    pub address: IpAddr,
    pub up: bool,
    pub loopback: bool,
    /// The default route, to wherever is not nearer, goes over it.
    pub routes: bool,
}

/// All interfaces that have an Internet address, one entry for each address.
pub(crate) fn interfaces() -> Vec<Interface> {
    let routed = routed();
    let mut list = std::ptr::null_mut();
    // SAFETY: writes the beginning of the list.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: an entry of the list, which is not yet freed.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        // SAFETY: getifaddrs gives null or a socket address as long as its family says.
        let Some(address) = (unsafe { ip(entry.ifa_addr) }) else {
            continue;
        };
        // SAFETY: a NUL-terminated name.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let has = |flag: libc::c_int| entry.ifa_flags & flag as u32 != 0;
        found.push(Interface {
            up: has(libc::IFF_UP) && has(libc::IFF_RUNNING),
            loopback: has(libc::IFF_LOOPBACK),
            routes: routed.contains(&name),
            name,
            address,
        });
    }
    // SAFETY: the list that getifaddrs made, of which no entry is used any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The address in a socket address of IPv4 or IPv6.
///
/// # Safety
/// Null, or a socket address as long as its family says.
pub(crate) unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the family is the first member of every socket address.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: an address of this family. It may be unaligned.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family. It may be unaligned.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// The socket address that libfabric calls an endpoint's name, if it is one.
pub(crate) fn address_in(format: u32, name: &[u8]) -> Option<IpAddr> {
    let needed = match format {
        libfabric::FI_SOCKADDR_IN => size_of::<libc::sockaddr_in>(),
        libfabric::FI_SOCKADDR_IN6 => size_of::<libc::sockaddr_in6>(),
        libfabric::FI_SOCKADDR => {
            let family = u16::from_ne_bytes(name.get(..2)?.try_into().ok()?);
            match i32::from(family) {
                libc::AF_INET => size_of::<libc::sockaddr_in>(),
                libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
                _ => return None,
            }
        }
        _ => return None,
    };
    if name.len() < needed {
        return None;
    }
    // SAFETY: the name is as long as its family needs, which was checked.
    unsafe { ip(name.as_ptr().cast()) }
}

fn routed() -> HashSet<String> {
    let table = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let name = fields.next()?;
            (fields.next()? == "00000000").then(|| name.to_owned())
        })
        .collect()
}
