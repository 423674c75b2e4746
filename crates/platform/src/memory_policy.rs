//! Memory policies: from which NUMA nodes the kernel takes the memory of a mapping.
//!
//! The policy of shared memory belongs to the file, so it holds whichever process touches a page first.

use std::io;

/// Words of a set of nodes: 1024 of them, as the kernel's largest configuration has.
const WORDS: usize = 16;

/// From which NUMA nodes memory is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// That of the process which touches a page first, or the next one that has memory.
    FirstTouch,
    /// This one, or the next one that has memory.
    Preferred(usize),
    /// These alone.
    Bound(Vec<usize>),
    /// These in turn, page by page.
    Interleaved(Vec<usize>),
}

impl MemoryPolicy {
    /// The mode and the nodes, as the kernel takes them.
    fn parts(&self) -> (i32, &[usize]) {
        match self {
            Self::FirstTouch => (libc::MPOL_DEFAULT, &[]),
            Self::Preferred(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
            Self::Bound(nodes) => (libc::MPOL_BIND, nodes),
            Self::Interleaved(nodes) => (libc::MPOL_INTERLEAVE, nodes),
        }
    }

    /// Has the kernel follow this policy for pages of a mapping that have no memory yet.
    ///
    /// # Errors
    /// The kernel or a container does not permit it (`EPERM`, `ENOSYS`), or there is no such node.
    pub fn apply(&self, at: usize, len: usize) -> io::Result<()> {
        let (mode, nodes) = self.parts();
        let mut mask = [0_u64; WORDS];
        for node in nodes {
            let word = mask.get_mut(node / 64).ok_or(io::ErrorKind::InvalidInput)?;
            *word |= 1 << (node % 64);
        }
        // The kernel reads one bit less than it is told.
        let bits = WORDS * 64 + 1;
        // SAFETY: a policy changes no contents; the mask is readable.
        let result = unsafe { libc::syscall(libc::SYS_mbind, at, len, mode, mask.as_ptr(), bits, 0) };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The NUMA nodes from which this process may take memory.
///
/// # Errors
/// The kernel has no policies, or a container does not permit them: then [`MemoryPolicy::apply`] fails, too.
pub fn allowed_nodes() -> io::Result<Vec<usize>> {
    let mut mask = [0_u64; WORDS];
    let bits = WORDS * 64 + 1;
    let no_mode: *mut i32 = std::ptr::null_mut();
    // MPOL_F_MEMS_ALLOWED, which the crate libc lacks.
    let flags = 1 << 2;
    // SAFETY: the kernel writes the mask, of which it is told the size.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, no_mode, mask.as_mut_ptr(), bits, 0_usize, flags) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut nodes = Vec::new();
    for (first, mut word) in (0..).step_by(64).zip(mask) {
        while word != 0 {
            nodes.push(first + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::super::mapping::{self, MapAddress};
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn policies_are_followed_where_they_are_permitted() {
        const LEN: usize = 1 << 20;
        let Ok(nodes) = allowed_nodes() else {
            return;
        };
        assert!(!nodes.is_empty());
        let file = mapping::memory_file(LEN as u64).unwrap();
        // SAFETY: placed where there is room.
        let at = unsafe { mapping::map_shared(file.as_fd(), 0, LEN, MapAddress::Anywhere) };
        let at = at.unwrap() as usize;
        for policy in [
            MemoryPolicy::Bound(nodes.clone()),
            MemoryPolicy::Interleaved(nodes.clone()),
            MemoryPolicy::Preferred(nodes[0]),
            MemoryPolicy::FirstTouch,
        ] {
            policy.apply(at, LEN).unwrap();
        }
        assert!(MemoryPolicy::Bound(vec![1000]).apply(at, LEN).is_err());
        assert!(MemoryPolicy::Bound(vec![5000]).apply(at, LEN).is_err());
        // SAFETY: mapped above, and used no more.
        unsafe { mapping::unmap(at, LEN) };
    }
}
