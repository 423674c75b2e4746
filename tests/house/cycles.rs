//! The graph of a crate's modules by what they import, and its cycles.

use super::source::{Source, Token};
use std::collections::{BTreeMap, BTreeSet};

/// A path as `use` has it: names from the root of the crate.
type Names = Vec<String>;

/// The cycles of a crate's files, each sorted; the paths of `sources` have `src/` before the
/// names of modules.
pub(crate) fn cycles(sources: &[Source]) -> Vec<Vec<&str>> {
    let mut cycles: Vec<Vec<&str>> = components(&imports(sources))
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| component.iter().map(|f| sources[*f].path.as_str()).collect())
        .collect();
    for cycle in &mut cycles {
        cycle.sort_unstable();
    }
    cycles.sort_unstable();
    cycles
}

/// The folders (and files beside them) just below a crate's `src` that are in its largest cycle; one if there is none.
pub(crate) fn largest_cycle_of_folders(sources: &[Source]) -> Vec<&str> {
    let folder = |file: usize| {
        let (_, below) = sources[file].path.rsplit_once("src/")?;
        let first = below.split('/').next()?;
        let first = first.strip_suffix(".rs").unwrap_or(first);
        (!matches!(first, "lib" | "main" | "bin")).then_some(first)
    };
    let names: BTreeSet<&str> = (0..sources.len()).filter_map(folder).collect();
    let names = Vec::from_iter(names);
    let mut edges = vec![BTreeSet::new(); names.len()];
    let number = |file| folder(file).and_then(|name| names.binary_search(&name).ok());
    for (from, imported) in imports(sources).iter().enumerate() {
        for to in imported {
            if let (Some(from), Some(to)) = (number(from), number(*to))
                && from != to
            {
                edges[from].insert(to);
            }
        }
    }
    let largest = components(&edges).into_iter().max_by_key(Vec::len);
    largest.unwrap_or_default().into_iter().map(|folder| names[folder]).collect()
}

/// The files that each file imports from.
fn imports(sources: &[Source]) -> Vec<BTreeSet<usize>> {
    let modules: BTreeMap<Names, usize> =
        sources.iter().enumerate().filter_map(|(file, source)| Some((module(&source.path)?, file))).collect();
    let mut exports = BTreeMap::new();
    for (name, file) in &modules {
        let found = paths(&sources[*file].tokens, name, &modules);
        for path in found.iter().filter(|path| path.exported) {
            exports.insert([name.clone(), vec![path.alias.clone()]].concat(), path.names.clone());
        }
    }
    let mut edges = vec![BTreeSet::new(); sources.len()];
    for (name, file) in &modules {
        // What a module passes on is imported by those who name it.
        for path in paths(&sources[*file].tokens, name, &modules) {
            if !path.exported
                && let Some(to) = resolve(&path.names, &modules, &exports, 0)
                && to != *file
            {
                edges[*file].insert(to);
            }
        }
    }
    edges
}

/// The module of a file: `src/a/b.rs` and `src/a/b/mod.rs` are `a::b`; programs have none.
fn module(path: &str) -> Option<Names> {
    let (_, below) = path.rsplit_once("src/")?;
    let below = below.strip_suffix(".rs")?;
    if below == "lib" || below == "main" {
        return Some(Vec::new());
    }
    let below = below.strip_suffix("/mod").unwrap_or(below);
    let names: Names = below.split('/').map(str::to_owned).collect();
    (names[0] != "bin").then_some(names)
}

/// The file that defines what a path names.
fn resolve(
    names: &[String],
    modules: &BTreeMap<Names, usize>,
    exports: &BTreeMap<Names, Names>,
    depth: usize,
) -> Option<usize> {
    // Two modules that pass each other's names on would never end.
    if depth > 8 {
        return None;
    }
    for length in (1..=names.len()).rev() {
        let prefix = &names[..length];
        if let Some(file) = modules.get(prefix) {
            return Some(*file);
        }
        if let Some(target) = exports.get(prefix) {
            return resolve(target, modules, exports, depth + 1);
        }
    }
    // A name of the crate's root.
    modules.get(&Vec::new()).copied()
}

/// A path that a module names.
struct Path {
    names: Names,
    /// The name under which it is known here.
    alias: String,
    /// Whether the module passes it on by `pub use`.
    exported: bool,
}

/// The paths in a module that begin with `crate`, `super`, `self`, or with one of its modules in
/// a `use`.
fn paths(tokens: &[Token], module: &[String], modules: &BTreeMap<Names, usize>) -> Vec<Path> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if text(at) == "use" {
            let before = at.checked_sub(1).map_or("", text);
            // `pub use`, `pub(crate) use`.
            let exported = before == "pub" || before == ")";
            let mut paths = Vec::new();
            at = tree(tokens, at + 1, &[], &mut paths);
            for (names, alias) in paths {
                let names = absolute(&names, module, modules, true);
                found.extend(names.map(|names| Path { names, alias, exported }));
            }
            continue;
        }
        let begins = ["crate", "super", "self"].contains(&text(at)) && text(at + 1) == "::";
        if begins && at.checked_sub(1).is_none_or(|before| text(before) != "::") {
            let mut names = vec![text(at).to_owned()];
            while text(at + 1) == "::" && tokens.get(at + 2).is_some_and(Token::is_word) {
                names.push(text(at + 2).to_owned());
                at += 2;
            }
            let names = absolute(&names, module, modules, false);
            found.extend(names.map(|names| Path { names, alias: String::new(), exported: false }));
        }
        at += 1;
    }
    found
}

/// Reads a tree of `use` from `at`; returns where it ends.
fn tree(tokens: &[Token], mut at: usize, before: &[String], found: &mut Vec<(Names, String)>) -> usize {
    let text = |at: usize| tokens.get(at).map_or(";", |token| token.text.as_str());
    let mut names = before.to_vec();
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while text(at) != "}" && text(at) != ";" {
                    at = tree(tokens, at, &names, found);
                    at += usize::from(text(at) == ",");
                }
                return at + usize::from(text(at) == "}");
            }
            "::" => at += 1,
            "as" => {
                found.push((names, text(at + 1).to_owned()));
                return at + 2;
            }
            "," | "}" | ";" => {
                if names.last().is_some_and(|last| last == "self") && names.len() > 1 {
                    names.pop();
                }
                let alias = names.last().cloned().unwrap_or_default();
                found.push((names, alias));
                return at;
            }
            name => {
                names.push(name.to_owned());
                at += 1;
            }
        }
    }
}

/// A path from the root of the crate; none if it is of another crate.
fn absolute(names: &[String], module: &[String], modules: &BTreeMap<Names, usize>, in_use: bool) -> Option<Names> {
    let mut base: Names = match names.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        first if in_use => {
            // In a module, the name of one of its own modules comes first.
            let own = [module, &[first.to_owned()]].concat();
            return modules.contains_key(&own).then(|| [module, names].concat());
        }
        _ => return None,
    };
    for name in &names[1..] {
        match name.as_str() {
            "super" => drop(base.pop()?),
            "*" => {}
            name => base.push(name.to_owned()),
        }
    }
    Some(base)
}

/// The strongly connected components of a graph (Tarjan).
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    struct Search<'a> {
        edges: &'a [BTreeSet<usize>],
        index: Vec<Option<usize>>,
        low: Vec<usize>,
        stack: Vec<usize>,
        next: usize,
        found: Vec<Vec<usize>>,
    }
    impl Search<'_> {
        fn visit(&mut self, node: usize) {
            self.index[node] = Some(self.next);
            self.low[node] = self.next;
            self.next += 1;
            self.stack.push(node);
            for &to in &self.edges[node] {
                match self.index[to] {
                    None => {
                        self.visit(to);
                        self.low[node] = self.low[node].min(self.low[to]);
                    }
                    Some(index) if self.stack.contains(&to) => {
                        self.low[node] = self.low[node].min(index);
                    }
                    Some(_) => {}
                }
            }
            if Some(self.low[node]) == self.index[node] {
                let start = self.stack.iter().position(|n| *n == node).unwrap_or(0);
                self.found.push(self.stack.split_off(start));
            }
        }
    }
    let mut search = Search {
        edges,
        index: vec![None; edges.len()],
        low: vec![0; edges.len()],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for node in 0..edges.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}
