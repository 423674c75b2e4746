//! The kernel's list of this process's mappings, `/proc/self/maps`.

use std::ops::Range;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Its addresses.
    pub range: Range<usize>,
    permissions: &'a [u8],
    /// The file, or a name such as `[stack]`; empty for anonymous memory. At most about 180 bytes of it.
    pub name: &'a [u8],
}

impl<'a> Mapping<'a> {
    fn of_line(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|b| *b == b' ').filter(|f| !f.is_empty());
        let range = std::str::from_utf8(fields.next()?).ok()?;
        let (from, to) = range.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        Some(Self { range: from..to, permissions: fields.next()?, name: fields.nth(3).unwrap_or(b"") })
    }

    /// Whether its pages can be read. What the C library reserves for later cannot.
    pub fn is_readable(&self) -> bool {
        self.permissions.starts_with(b"r")
    }

    /// Whether it is memory of this process alone that can be read and written.
    pub fn is_private_data(&self) -> bool {
        self.permissions.starts_with(b"rw") && self.permissions.ends_with(b"p")
    }

    /// Passes all mappings, in the order of their addresses. It does not allocate, and may be called in a signal
    /// handler.
    pub fn each(mut found: impl FnMut(Mapping<'_>)) {
        // SAFETY: open is async-signal-safe; the path is a C string.
        let fd = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd < 0 {
            return;
        }
        let mut buffer = [0_u8; 4096];
        let mut line = [0_u8; 256];
        let mut len = 0;
        loop {
            // SAFETY: read is async-signal-safe, and the buffer has so many bytes.
            let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
            let Ok(n) = usize::try_from(n) else { break };
            if n == 0 {
                break;
            }
            for &b in &buffer[..n] {
                if b == b'\n' {
                    if let Some(mapping) = Mapping::of_line(&line[..len]) {
                        found(mapping);
                    }
                    len = 0;
                } else if len < line.len() {
                    line[len] = b;
                    len += 1;
                }
            }
        }
        // SAFETY: close is async-signal-safe, and the descriptor was opened above.
        unsafe { libc::close(fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_addresses_permissions_and_a_name() {
        let line = b"7ffd1000-7ffd3000 rw-p 00000000 00:00 0                  [stack]";
        let stack = Mapping::of_line(line).unwrap();
        assert_eq!(stack.range, 0x7ffd_1000..0x7ffd_3000);
        assert_eq!(stack.name, b"[stack]");
        assert!(stack.is_readable() && stack.is_private_data());
        let shared = Mapping::of_line(b"1000-2000 rw-s 00000000 00:01 7 /memfd:x").unwrap();
        assert!(shared.is_readable() && !shared.is_private_data());
        let reserved = Mapping::of_line(b"1000-2000 ---p 00000000 00:00 0 ").unwrap();
        assert!(!reserved.is_readable() && !reserved.is_private_data());
        assert_eq!(reserved.name, b"");
        assert_eq!(Mapping::of_line(b"no line of it"), None);
    }

    #[test]
    fn the_stack_is_listed_as_private() {
        let local = 0_u8;
        let at = (&raw const local).addr();
        let mut is_private = false;
        Mapping::each(|mapping| {
            is_private |= mapping.range.contains(&at) && mapping.is_private_data();
        });
        assert!(is_private);
    }
}
