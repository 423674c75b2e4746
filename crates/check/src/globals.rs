//! The variables of the program.

use std::ops::Range;

use ferroshmem_platform::object::{Object, program};
use object::{Object as _, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};

/// The variables.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    /// Where the program's writable memory is.
    pub range: Range<usize>,
    /// What an address of the file is below that in this process.
    pub bias: usize,
    /// The program's path.
    pub path: String,
    /// First address in the file and bytes of each variable.
    variables: Vec<(u64, u64)>,
}

impl Globals {
    /// Reads the symbols of the program. A stripped one has none, and one that cannot be read no memory, either.
    pub(crate) fn read() -> Self {
        let path = std::env::current_exe().unwrap_or_default();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let bias = program().and_then(Object::around).map_or(0, |object| object.load_address());
        let mut this = Self::parse(&bytes, bias).unwrap_or_default();
        this.path = path.display().to_string();
        this
    }

    fn parse(bytes: &[u8], bias: usize) -> Option<Self> {
        const WRITABLE: u32 = object::elf::PF_W;
        let file = object::File::parse(bytes).ok()?;
        let writable = file
            .segments()
            .filter(|segment| matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & WRITABLE != 0));
        let ranges = writable.map(|s| (s.address(), s.address() + s.size()));
        let (start, end) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let variables =
            symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Data && symbol.size() > 0);
        let mut variables: Vec<_> = variables.map(|s| (s.address(), s.size())).collect();
        variables.sort_unstable();
        variables.dedup();
        Some(Self {
            range: bias.wrapping_add(start as usize)..bias.wrapping_add(end as usize),
            bias,
            path: String::new(),
            variables,
        })
    }

    /// The address of one of them, 0 if none is known.
    pub(crate) fn any(&self) -> usize {
        self.variables.last().map_or(0, |(start, _)| self.bias.wrapping_add(*start as usize))
    }

    /// The variable that an address of this process is in: its first address and its bytes.
    pub(crate) fn around(&self, at: usize) -> Option<(usize, usize)> {
        let address = at.wrapping_sub(self.bias) as u64;
        let after = self.variables.partition_point(|(start, _)| *start <= address);
        // Symbols may lie in others: the largest counts.
        let holds = |(start, size): &&(u64, u64)| address - start < *size;
        let found = self.variables[..after].iter().rev().take(8).filter(holds);
        let (start, size) = found.max_by_key(|(_, size)| *size)?;
        Some((self.bias.wrapping_add(*start as usize), *size as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    static WRITTEN: [AtomicU64; 4] = [const { AtomicU64::new(1) }; 4];

    #[test]
    fn a_variable_has_its_bounds() {
        let globals = Globals::read();
        let start = (&raw const WRITTEN).addr();
        assert!(globals.range.contains(&start));
        assert_eq!(globals.around(start + 16), Some((start, 32)));
        assert_ne!(globals.around(start + 32).map(|(start, _)| start), Some(start));
        assert!(Globals::parse(b"\x7fELF", 0).is_none());
    }
}
