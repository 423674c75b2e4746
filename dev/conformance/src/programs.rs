//! The programs of `c/` that need no way of running of their own.

use std::fs;

use crate::generated;
use crate::prefix::crate_folder;

/// Programs that need a way of running of their own; other tests have them.
const ELSEWHERE: &[&str] = &["global_exit"];

/// Their sources, relative to `c/`.
pub fn programs() -> Vec<String> {
    let folder = crate_folder().join("c");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .chain(generated::programs())
        .filter(|name| name.ends_with(".c") || name.ends_with(".cpp"))
        .filter(|name| !ELSEWHERE.contains(&stem(name)))
        .collect();
    names.sort();
    names
}

/// The name of a program, by its source.
pub fn stem(source: &str) -> &str {
    let file = source.rsplit('/').next().unwrap_or(source);
    file.split('.').next().unwrap_or(file)
}
