//! Source files as tokens.

use std::fs;
use std::path::{Path, PathBuf};

/// A word or a sign of a source, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub text: String,
    pub line: usize,
}

impl Token {
    /// Whether it is a name or keyword.
    pub(crate) fn is_word(&self) -> bool {
        let first = self.text.chars().next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_')
    }
}

/// A source file of the repository.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its path from the root of the repository.
    pub path: String,
    /// Its code without comments, literals and unit tests.
    pub tokens: Vec<Token>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), tokens: without_tests(tokens(text)) }
    }
}

/// All Rust files below a folder of the repository, sorted, without files of unit tests.
pub(crate) fn sources(root: &Path, folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(root, &root.join(folder), &mut found);
    found.sort_by(|a: &Source, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no sources in {folder}: was it moved?");
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for path in rust_files(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let below = path.strip_prefix(root).expect("it is below the root");
        let is_test = name == "tests.rs" || below.iter().any(|part| part == "tests");
        if !is_test {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            found.push(Source::new(&below.display().to_string(), &text));
        }
    }
}

/// All Rust files below a folder, those of tests included.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() && path.file_name() != Some("target".as_ref()) {
            found.extend(rust_files(&path));
        } else if path.extension() == Some("rs".as_ref()) {
            found.push(path);
        }
    }
    found
}

/// The words and signs of a text. `::` is one sign; literals and comments are left out.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while at < chars.len() {
        let begin = at;
        let rest = &chars[at..];
        match rest {
            ['/', '/', ..] => at += rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => at += comment(rest),
            ['"', ..] => at += string(rest, 0),
            ['r' | 'b' | 'c', '"', ..] => at += 1 + string(&rest[1..], 0),
            ['b', 'r', '"' | '#', ..] if raw_hashes(&rest[2..]).is_some() => {
                at += 2 + raw(&rest[2..]);
            }
            ['r', '#', ..] if raw_hashes(&rest[1..]).is_some() => at += 1 + raw(&rest[1..]),
            ['\'', '\\', ..] => {
                at += 2 + rest[3..].iter().position(|c| *c == '\'').map_or(0, |n| n + 2);
            }
            ['\'', _, '\'', ..] => at += 3,
            [first, ..] if is_word(*first) => {
                at += rest.iter().position(|c| !is_word(*c)).unwrap_or(rest.len());
                let text = chars[begin..at].iter().collect();
                found.push(Token { text, line });
            }
            [':', ':', ..] => {
                at += 2;
                found.push(Token { text: "::".into(), line });
            }
            [sign, ..] => {
                at += 1;
                if !sign.is_whitespace() {
                    found.push(Token { text: sign.to_string(), line });
                }
            }
            [] => unreachable!("the loop ends there"),
        }
        line += chars[begin..at.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    found
}

/// Length of a comment with its nested ones.
fn comment(text: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match text[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length of a string that begins at `from`.
fn string(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Number of `#` before the quotation mark of a raw string, if it is one.
fn raw_hashes(text: &[char]) -> Option<usize> {
    let hashes = text.iter().take_while(|c| **c == '#').count();
    (text.get(hashes) == Some(&'"')).then_some(hashes)
}

/// Length of a raw string from its first `#` or quotation mark.
fn raw(text: &[char]) -> usize {
    let hashes = raw_hashes(text).unwrap_or(0);
    let end: Vec<char> = std::iter::once('"').chain(vec!['#'; hashes]).collect();
    let inner = &text[hashes + 1..];
    let length = inner.windows(end.len()).position(|w| w == end).unwrap_or(inner.len());
    hashes + 1 + length + end.len()
}

/// The tokens without items that have the attribute `#[cfg(test)]`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = tokens[at..].iter().map(|t| t.text.as_str()).take(7).eq(TEST);
        if !begins {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        // To the end of the item: a semicolon, or the brace that closes its first one.
        at += TEST.len();
        let mut depth = 0;
        while at < tokens.len() {
            let text = tokens[at].text.as_str();
            at += 1;
            match text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 && (text == ";" || text == "}") {
                break;
            }
        }
    }
    kept
}
