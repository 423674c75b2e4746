//! Which line of the source an address belongs to, by the debugging information of its object.

use std::collections::HashMap;

use addr2line::Loader;
use serde::Serialize;

use super::record::Object;

/// Objects that have been opened.
#[derive(Default)]
pub struct Symbols {
    loaders: HashMap<String, Option<Loader>>,
}

/// A place in the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Position {
    /// Function, if its name is known.
    pub function: Option<String>,
    /// File name without folders, with the line; or the object's with the address.
    pub line: String,
    /// The whole path with the line.
    pub path: String,
}

/// Headers whose inline functions stand for calls of the library.
pub(crate) fn is_own_header(file: &str) -> bool {
    const NAMES: [&str; 3] = ["/shmem.h", "/shmemx.h", "/pshmem.h"];
    // A program may be in a folder of that name, too.
    file.contains("/include/shmem/") || NAMES.iter().any(|name| file.ends_with(name))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Symbols {
    /// The place of a call.
    pub fn position(&mut self, object: Option<&Object>, place: u64) -> Position {
        let Some(object) = object else {
            return Position { line: "an unknown place".to_owned(), ..Position::default() };
        };
        let name = base_name(&object.path);
        if object.is_source {
            return Position {
                function: None,
                line: format!("{name}:{place}"),
                path: format!("{}:{place}", object.path),
            };
        }
        let loader = self.loaders.entry(object.path.clone()).or_insert_with(|| Loader::new(&object.path).ok());
        loader.as_ref().and_then(|loader| lookup(loader, place)).unwrap_or_else(|| Position {
            function: loader
                .as_ref()
                .and_then(|l| l.find_symbol(place))
                .map(|s| addr2line::demangle_auto(s.into(), None).into_owned()),
            line: format!("{name}+{place:#x}"),
            path: format!("{}+{place:#x}", object.path),
        })
    }
}

/// The innermost frame of the address that is the program's own.
fn lookup(loader: &Loader, address: u64) -> Option<Position> {
    let mut frames = loader.find_frames(address).ok()?;
    let mut found = None;
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else {
            continue;
        };
        let (Some(file), Some(line)) = (location.file, location.line) else {
            continue;
        };
        let function = frame.function.and_then(|f| f.demangle().ok().map(|n| n.into_owned()));
        let is_ours = is_own_header(file);
        found =
            Some(Position { function, line: format!("{}:{line}", base_name(file)), path: format!("{file}:{line}") });
        if !is_ours {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_program_are_not_headers_of_the_library() {
        for file in ["/usr/include/shmem.h", "/opt/x/include/shmem/native.h", "/opt/x/bin/../include/mpp/shmemx.h"] {
            assert!(is_own_header(file), "{file}");
        }
        for file in ["/home/me/shmem/solve.c", "/home/me/shmem/halo.h", "/home/me/shmem.hot.c", "/home/me/myshmem.h"] {
            assert!(!is_own_header(file), "{file}");
        }
    }
}
