//! Orderings of the words over which algorithms are written: the library's own, and those that loom's models bring.

use std::collections::BTreeSet;

use super::source::{Source, Token};

/// A method of a trait's implementation, and the orderings that it names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method {
    trait_name: String,
    name: String,
    orderings: BTreeSet<String>,
}

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

/// What the kernel does, or a model in its place.
const KERNELS: [&str; 3] = ["sleep", "wake", "watch"];

/// The methods of a file's implementations of traits.
pub(crate) fn methods(source: &Source) -> Vec<Method> {
    let mut found: Vec<Method> = Vec::new();
    let (mut depth, mut block, mut trait_name) = (0, None, None);
    let texts: Vec<&str> = source.tokens.iter().map(|token| token.text.as_str()).collect();
    for (at, text) in texts.iter().enumerate() {
        match *text {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if block == Some(depth) {
                    (block, trait_name) = (None, None);
                }
            }
            "impl" if block.is_none() && begins_item(&texts[..at]) => {
                let head = source.tokens[at..].iter().take_while(|token| token.text != "{");
                let before: Vec<&Token> = head.clone().take_while(|token| token.text != "for").collect();
                let is_of_trait = head.count() > before.len();
                trait_name = before.into_iter().rfind(|token| token.is_word()).filter(|_| is_of_trait);
                block = Some(depth);
            }
            "fn" if block == Some(depth - 1) => {
                if let Some(of) = trait_name {
                    let (trait_name, name) = (of.text.clone(), texts[at + 1].to_owned());
                    found.push(Method { trait_name, name, orderings: BTreeSet::new() });
                }
            }
            ordering if ORDERINGS.contains(&ordering) && trait_name.is_some() => {
                if let Some(method) = found.last_mut() {
                    method.orderings.insert(ordering.to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether an item of a file may begin behind these words and signs.
fn begins_item(before: &[&str]) -> bool {
    before.last().is_none_or(|last| ["}", ";", "]", "unsafe"].contains(last))
}

/// How many methods of a model name orderings that the library's have, too; and those whose orderings differ.
pub(crate) fn compare(model: &Source, library: &[Method]) -> (usize, Vec<String>) {
    let methods = methods(model).into_iter().filter(|m| !m.orderings.is_empty() && !KERNELS.contains(&&*m.name));
    let (mut same, mut findings) = (0, Vec::new());
    for method in methods {
        let is_it = |own: &&Method| own.trait_name == method.trait_name && own.name == method.name;
        match library.iter().find(is_it) {
            Some(own) if *own == method => same += 1,
            own => findings.push(format!("{}: {method:?}, but {own:?}", model.path)),
        }
    }
    (same, findings)
}
