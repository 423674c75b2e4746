//! Which accesses take a cache line from another PE's cache, if each PE has a core with a cache of its own that
//! keeps all lines (the protocol MESI: a line is in one cache to be written, or in several to be read).

use std::collections::HashMap;

use super::trace::Access;

/// Bytes of a line.
const LINE: usize = 64;

/// Lines that a PE takes from others' caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// To read what another PE has written.
    pub(crate) read: usize,
    /// To write where another PE has read or written.
    pub(crate) written: usize,
}

/// What is known of a line.
#[derive(Debug)]
struct Line {
    /// Who wrote it last, and how often it was written.
    writer: Option<u32>,
    version: u32,
    /// Whether another PE has it, too.
    is_shared: bool,
}

/// The lines that each of `pes` PEs takes in each of `calls` calls.
pub(crate) fn taken(accesses: &[Access], pes: usize, calls: usize) -> Vec<Vec<Lines>> {
    let mut lines: HashMap<usize, Line> = HashMap::new();
    let mut seen: HashMap<(usize, u32), u32> = HashMap::new();
    let mut taken = vec![vec![Lines::default(); calls + 1]; pes];
    for access in accesses {
        let (at, pe) = (access.address / LINE, access.pe);
        let line = lines.entry(at).or_insert(Line {
            writer: None,
            version: 0,
            // Of an earlier call.
            is_shared: true,
        });
        let has = seen.get(&(at, pe)) == Some(&line.version);
        let by = &mut taken[pe as usize][access.call as usize];
        if access.is_write {
            if !has || line.is_shared {
                by.written += 1;
            }
            line.version += 1;
            line.writer = Some(pe);
            line.is_shared = false;
        } else if !has {
            let others = line.writer.is_some_and(|writer| writer != pe);
            by.read += usize::from(others);
            line.is_shared |= others;
        }
        seen.insert((at, pe), line.version);
    }
    for calls in &mut taken {
        calls.remove(0);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line is taken once, until another PE writes it.
    #[test]
    fn lines_move_with_writes() {
        let access = |pe, address, is_write| Access { address, pe, is_write, call: 1 };
        let trace = [
            access(0, 8, true),
            access(0, 0, true),
            access(1, 0, false),
            access(1, 63, false),
            access(2, 64, false),
            access(0, 0, true),
            access(1, 0, true),
            access(1, 0, false),
        ];
        let lines = |read, written| Lines { read, written };
        let expected = [[lines(0, 2)], [lines(1, 1)], [lines(0, 0)]];
        assert_eq!(taken(&trace, 3, 1), expected);
    }
}
