//! Feeds a parser of others' bytes with the inputs of its corpus and with random mutations of them, as a plain
//! test. libFuzzer takes the same functions and the same corpora (`libfuzzer/`, docs/fuzzing.md).

mod random;

pub use random::Random;
use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};

/// Mutations of a target: seconds of processor time at most.
const MUTATIONS: usize = 2000;

/// Inputs do not grow beyond this.
const LONGEST: usize = 4096;

/// Numbers at the limits of types, which are put into inputs.
const NUMBERS: &[u64] = &[0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX];

/// Texts at the limits of what parsers of text take.
const TEXTS: &[&str] =
    &["-1", "0", "99999999999999999999", "1e999", "nan", "=", ":", ",", ";", "\n", "\0", "\u{1b}[2J", "\u{fffd}", "%s"];

/// The folder of a target's corpus.
fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The inputs of a target's corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = folder(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|f| f.expect("readable").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("readable")).collect()
}

/// Changes an input at one place, or splices another one into it.
fn mutate(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(9)).min(input.len());
    match random.below(8) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 if at < input.len() => input[at] ^= 1 << random.below(8),
        3 if at < input.len() => input[at] = random.next_u64() as u8,
        4 => {
            let number = random.pick(NUMBERS).to_le_bytes();
            let bytes = &number[..1 << random.below(4)];
            let end = (at + bytes.len()).min(input.len());
            input.splice(at..end, bytes.iter().copied());
        }
        5 => drop(input.splice(at..end, random.pick(TEXTS).bytes())),
        6 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        _ => {
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend(&other[from..]);
        }
    }
    input.truncate(LONGEST);
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

/// Feeds `parse` with the corpus of `target` and with mutations of it: the same ones in every run.
///
/// # Panics
/// If `parse` does: the message has the input. If there is no corpus.
pub fn feed(target: &str, parse: fn(&[u8])) {
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "{target} has no corpus");
    let feed_one = |input: &[u8]| {
        if let Err(panic) = std::panic::catch_unwind(|| parse(input)) {
            let text = text_of(&*panic);
            panic!("{target}: {text}: with the input \"{}\"", input.escape_ascii());
        }
    };
    for input in &corpus {
        feed_one(input);
    }
    let mut random = Random::new(target.len() as u64);
    for _ in 0..MUTATIONS {
        let mut input = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(4) {
            let other = corpus[random.below(corpus.len())].clone();
            mutate(&mut random, &mut input, &other);
        }
        feed_one(&input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each target of libFuzzer has a corpus, a manifest entry, and a plain test in its crate.
    #[test]
    fn targets_have_corpora_and_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read_to_string(root.join("libfuzzer/Cargo.toml")).unwrap();
        let mut targets = 0;
        for file in fs::read_dir(root.join("libfuzzer/fuzz_targets")).unwrap() {
            let path = file.unwrap().path();
            let target = path.file_stem().unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let (_, rest) = text.split_once("ferroshmem_").expect("it calls a crate");
            let (name, rest) = rest.split_once("::").expect("a function of it");
            let function = rest.strip_prefix("fuzz::").and_then(|r| r.split('(').next());
            assert_eq!(function, Some(target), "{}", path.display());
            let tests = root.join(format!("../../crates/{name}/src/fuzz.rs"));
            let tests = fs::read_to_string(tests).unwrap();
            assert!(tests.contains(&format!("feed(\"{target}\", {target})")), "{target}");
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(!corpus(target).is_empty(), "{target}");
            targets += 1;
        }
        assert_eq!(targets, fs::read_dir(root.join("corpus")).unwrap().count());
    }

    #[test]
    #[should_panic(expected = "with the input")]
    fn a_parser_that_panics_is_noticed() {
        feed("identity", |input| {
            let first = input.first().copied().unwrap_or(0);
            assert!(first != 0x7f || input.len() < 40, "never");
            assert!(input.len() > 3, "too short");
        });
    }

    #[test]
    fn mutations_are_the_same_in_every_run() {
        let run = || {
            let (mut random, mut input) = (Random::new(1), b"PMI".to_vec());
            for _ in 0..100 {
                mutate(&mut random, &mut input, b"other");
            }
            input
        };
        assert_eq!(run(), run());
        assert_ne!(run(), b"PMI");
    }
}
