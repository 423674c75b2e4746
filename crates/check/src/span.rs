//! The bytes that an argument leads to.

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
        Self { at, len, stride: 0, count: usize::from(len > 0) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_blocks_and_bounds() {
        let span = Span { at: 1000, len: 8, stride: -24, count: 3 };
        assert_eq!(span.blocks().collect::<Vec<_>>(), [(1000, 8), (976, 8), (952, 8)]);
        assert_eq!(span.bounds(), (952, 56));
        let row = Span { at: 64, len: 8, stride: 8, count: 4 };
        assert_eq!(row.blocks().collect::<Vec<_>>(), [(64, 32)]);
        assert_eq!(Span::row(64, 0).blocks().count(), 0);
        assert_eq!(Span::row(64, 5).blocks().collect::<Vec<_>>(), [(64, 5)]);
        assert_eq!(Span { count: 0, ..row }.bounds(), (64, 0));
    }
}
