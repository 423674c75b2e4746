//! Messages as one line, whatever the values, names and replies in them hold.

use std::fmt::Write;

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
    fn long_texts_keep_both_ends() {
        let text = format!("who: {}: the remedy", "\n".repeat(3 << 20));
        let line = one_line(&text);
        assert!(line.starts_with("who: \\n") && line.ends_with(": the remedy"));
        assert!(line.contains("[... ") && line.len() < 8 * LONGEST);
        let exact = "x".repeat(LONGEST);
        assert_eq!(one_line(&exact), exact);
    }
}
