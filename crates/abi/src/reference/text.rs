//! The little Markdown of the reference: paragraphs, lists, programs, and code within lines.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph, on one line.
    Paragraph(String),
    /// A list.
    List(Vec<String>),
    /// Lines of a program.
    Code(String),
}

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Span<'a> {
    /// Words.
    Words(&'a str),
    /// What is between backquotes.
    Code(&'a str),
}

/// The paragraphs, lists and programs of a text.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (i, part) in text.split("```").enumerate() {
        match i % 2 {
            0 => blocks.extend(paragraphs(part)),
            // After the line with the language.
            _ => blocks.push(Block::Code(part.split_once('\n').map_or(part, |(_, code)| code).to_owned())),
        }
    }
    blocks
}

fn paragraphs(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in text.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        let mut lines: Vec<String> = Vec::new();
        let mut items: Vec<String> = Vec::new();
        for line in part.lines() {
            match (line.strip_prefix("- "), items.last_mut()) {
                (Some(item), _) => items.push(item.trim().to_owned()),
                (None, Some(item)) => {
                    item.push(' ');
                    item.push_str(line.trim());
                }
                (None, None) => lines.push(line.trim().to_owned()),
            }
        }
        if !lines.is_empty() {
            blocks.push(Block::Paragraph(lines.join(" ")));
        }
        if !items.is_empty() {
            blocks.push(Block::List(items));
        }
    }
    blocks
}

/// The words and code of a line.
pub fn spans(line: &str) -> Vec<Span<'_>> {
    let parts = line.split('`').enumerate();
    parts
        .filter(|(_, part)| !part.is_empty())
        .map(|(i, part)| match i % 2 {
            0 => Span::Words(part),
            _ => Span::Code(part),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_paragraphs_and_lists() {
        let found = blocks("One\nline.\n\nItems:\n- a\n- b\n  c\n\n```c\nint d;\n\nint e;\n```\n");
        let paragraph = |text: &str| Block::Paragraph(text.to_owned());
        let list = Block::List(vec!["a".to_owned(), "b c".to_owned()]);
        let code = Block::Code("int d;\n\nint e;\n".to_owned());
        assert_eq!(found, [paragraph("One line."), paragraph("Items:"), list, code]);
    }

    #[test]
    fn lines_have_code() {
        let found = spans("`a` is b.");
        assert_eq!(found, [Span::Code("a"), Span::Words(" is b.")]);
    }
}
