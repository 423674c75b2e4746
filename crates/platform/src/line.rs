//! Messages as one line, whatever the values, names and replies in them hold.

use std::fmt::{self, Write};

/// Characters of the longest message; what is cut out is in its middle, since a message begins with who says
/// it and ends in the remedy.
const LONGEST: usize = 2000;
/// Characters that remain of a message that is longer: at its beginning and at its end.
const KEPT: (usize, usize) = (1200, 700);

/// `text` as one line for a terminal: control characters and those that reorder text are written as their
/// escapes (`\n`, `\u{1b}`), and a long text is cut.
pub fn one_line(text: &str) -> String {
    let length = text.chars().count();
    let mut line = String::with_capacity(text.len().min(4 * LONGEST));
    if length <= LONGEST {
        escape(text.chars(), &mut line);
        return line;
    }
    let (first, last) = KEPT;
    escape(text.chars().take(first), &mut line);
    let _ = write!(line, "[... {} characters ...]", length - first - last);
    escape(text.chars().skip(length - last), &mut line);
    line
}

fn escape(characters: impl Iterator<Item = char>, line: &mut String) {
    for c in characters {
        // Line and paragraph separators, and the marks of text from right to left.
        let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || reorders {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
}

/// Text without allocation, as a signal handler needs it; what does not fit is left out.
#[derive(Debug)]
pub struct FixedText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> FixedText<N> {
    /// No text.
    pub const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// What has been written.
    pub fn as_str(&self) -> &str {
        // Whole characters alone are written.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Write for FixedText<N> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let mut end = s.len().min(N - self.len);
        while !s.is_char_boundary(end) {
            end -= 1;
        }
        let s = &s[..end];
        self.bytes[self.len..self.len + s.len()].copy_from_slice(s.as_bytes());
        self.len += s.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_line_is_escaped() {
        assert_eq!(one_line("a \"b\"\\ ä"), "a \"b\"\\ ä");
        assert_eq!(one_line("a\nb\r\x1b[31m\tc\0"), "a\\nb\\r\\u{1b}[31m\\tc\\u{0}");
        assert_eq!(one_line("\u{9b}1m\u{202e}x\u{2028}"), "\\u{9b}1m\\u{202e}x\\u{2028}");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut text = FixedText::<5>::new();
        text.write_str("abä").unwrap();
        text.write_str("ö").unwrap();
        assert_eq!(text.as_str(), "abä");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let text = format!("who: {}: the remedy", "\n".repeat(3 << 20));
        let line = one_line(&text);
        assert!(line.starts_with("who: \\n") && line.ends_with(": the remedy"));
        assert!(line.contains("[... ") && line.len() < 8 * LONGEST);
        let exact = "x".repeat(LONGEST);
        assert_eq!(one_line(&exact), exact);
    }
}
