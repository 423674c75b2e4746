//! The programs of `c/` that need no way of running of their own.

use std::fs;

use crate::prefix::crate_folder;

/// Programs that need a way of running of their own; other tests have them.
const ELSEWHERE: &[&str] = &["global_exit"];

/// Their sources, relative to `c/`.
pub fn programs() -> Vec<String> {
    let folder = crate_folder().join("c");
    let mut names: Vec<String> = ["", "generated/"]
        .iter()
        .flat_map(|sub| {
            let files = fs::read_dir(folder.join(sub))
                .into_iter()
                .flatten()
                .flatten();
            files.map(move |f| format!("{sub}{}", f.file_name().to_string_lossy()))
        })
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
