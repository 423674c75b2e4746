//! The generated files: those of the repository, and those that tests make.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::emit::{
    checker, compat, constants, extensions, fuzz, generic, header, inline, misuse, overloads, pages, rust, test_program,
};
use crate::reference::Reference;
use crate::{fortran, root, table};

/// A generated file: path from the repository's root, and text.
pub type Generated = (PathBuf, String);

/// Those of the repository.
pub fn generated() -> Vec<Generated> {
    let chapters = table::chapters();
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    let mut files = vec![
        ("include/shmem/constants.h".to_owned(), constants::c()),
        ("include/shmem/api.h".to_owned(), header::api(&chapters, &reference)),
        ("include/shmem/inline.h".to_owned(), inline::inline(&chapters, &reference)),
        ("include/shmem/generic.h".to_owned(), generic::generic(&chapters, &reference)),
        ("include/shmem/overloads.h".to_owned(), overloads::overloads(&chapters)),
        ("include/pshmem.h".to_owned(), header::profiling(&chapters)),
    ];
    files.push((checker::RUST_PATH.to_owned(), checker::operations()));
    files.push(("include/shmemx.h".to_owned(), extensions::header(&chapters, &reference)));
    files.into_iter().map(|(path, text)| (path.into(), text)).collect()
}

/// The manual pages, which an installation has. Paths are the files' names.
pub fn manual_pages() -> Vec<Generated> {
    let reference = Reference::read().unwrap_or_else(|why| panic!("{why}"));
    let pages = pages::manual(&table::chapters(), &reference).unwrap_or_else(|why| panic!("{why}"));
    pages.into_iter().map(|(name, text)| (name.into(), text)).collect()
}

/// What an installation makes libraries of, for programs of other OpenSHMEMs. Paths are the files' names.
pub fn compat() -> Vec<Generated> {
    compat::files(&table::chapters()).into_iter().map(|(name, text)| (name.into(), text)).collect()
}

/// What an installation has for Fortran. Paths are the files' names.
pub fn fortran() -> Vec<Generated> {
    fortran::files().into_iter().map(|(name, text)| (name.into(), text)).collect()
}

/// The exported functions, which the crate `ferroshmem-sys` makes where it compiles them. Paths are the files' names.
pub fn functions() -> Vec<Generated> {
    let files = rust::files(&table::chapters()).into_iter();
    files.map(|(name, text)| (name.into(), text)).collect()
}

/// Sources of tests, which the crate `ferroshmem-conformance` makes where it compiles them. Paths are relative to its
/// `c/`.
pub fn tests() -> Vec<Generated> {
    let chapters = table::chapters();
    let mut files: Vec<Generated> = test_program::files(&chapters)
        .into_iter()
        .map(|(name, text)| (Path::new("generated").join(name), text))
        .collect();
    files.push((fuzz::PATH.into(), fuzz::routines(&chapters)));
    files.extend(compat::tests().into_iter().map(|(name, text)| (name.into(), text)));
    files.push(("faults/every_misuse.c".into(), misuse::program(&chapters)));
    files.extend(fortran::tests().into_iter().map(|(name, text)| (Path::new("fortran").join(name), text)));
    files
}

/// Generated files that are not as committed.
pub fn outdated() -> Vec<Generated> {
    let differs = |(path, text): &Generated| fs::read_to_string(root().join(path)).ok().as_ref() != Some(text);
    generated().into_iter().filter(differs).collect()
}

/// Writes files below `folder`, and returns their paths.
///
/// # Errors
/// If one cannot be written.
pub fn write(folder: &Path, files: Vec<Generated>) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (path, text) in files {
        let target = folder.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(target, text)?;
        written.push(path);
    }
    Ok(written)
}
