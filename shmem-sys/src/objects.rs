//! Whether what is loaded into this process fits this library: code that was compiled with its headers or older ones,
//! and no other OpenSHMEM library.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use ferroshmem_core::info;
use ferroshmem_core::memory::globals::OTHER_LIBRARIES;
use ferroshmem_platform::loaded::find_loaded;

use crate::generated::constants::NEEDS;

/// Whose note it is, in a file's notes.
const OWNER: &[u8] = b"FerroSHMEM\0";

/// Why this process cannot use this library, if it cannot: one line.
pub(crate) fn mismatch() -> Option<String> {
    find_loaded(|loaded| {
        let file = Path::new(OsStr::from_bytes(loaded.path.to_bytes()));
        let mut line = None;
        // Libraries that translate calls of others for this one have their names, and its note.
        let mut is_ours = loaded.is_this_library();
        for header in loaded.segments(libc::PT_NOTE) {
            let start = loaded.address(header) as *const u8;
            // SAFETY: the segment is loaded there.
            let bytes = unsafe { slice::from_raw_parts(start, header.p_memsz as usize) };
            let mut needs = needs_of(bytes, header.p_align as usize).inspect(|_| is_ours = true);
            line = line.or_else(|| needs.find_map(|n| newer(n, file)));
        }
        let line = line.or_else(|| if is_ours { None } else { other_library(file) });
        line.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    })
}

/// The line for another OpenSHMEM library.
fn other_library(file: &Path) -> Option<String> {
    let name = file.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next()?;
    let is_other = OTHER_LIBRARIES.iter().any(|other| name.starts_with(other));
    is_other.then(|| {
        format!("the program has two OpenSHMEM libraries, FerroSHMEM and {}: link one of them alone", file.display())
    })
}

/// The line for an object that needs another library than this.
fn newer(needs: [u32; 4], file: &Path) -> Option<String> {
    let [soname, major, minor, patch] = needs;
    let what = match file.as_os_str().is_empty() {
        true => "the program".to_owned(),
        false => file.display().to_string(),
    };
    let remedy = "compile it again by this installation's oshcc, or run it with the library that it was compiled for";
    if soname != NEEDS[0] {
        return Some(format!(
            "{what} was compiled for libshmem.so.{soname}, and this is libshmem.so.{}: {remedy}",
            NEEDS[0]
        ));
    }
    (needs > NEEDS).then(|| {
        format!(
            "{what} was compiled with the headers of FerroSHMEM {major}.{minor}.{patch}, and this library is {}: \
                {remedy}",
            info::VERSION
        )
    })
}

/// What the headers have noted, among the notes in `bytes`, which are aligned to `align` bytes.
fn needs_of(bytes: &[u8], align: usize) -> impl Iterator<Item = [u32; 4]> {
    /// Length of the name, length of the contents, kind.
    const HEAD: usize = 12;

    let align = if align == 8 { 8 } else { 4 };
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let (name, contents) = (word(at)? as usize, word(at + 4)? as usize);
            let name_at = at + HEAD;
            let contents_at = (name_at + name).next_multiple_of(align);
            at = (contents_at + contents).next_multiple_of(align);
            let is_ours = bytes.get(name_at..name_at + name)? == OWNER;
            if is_ours && contents == size_of::<[u32; 4]>() {
                let mut needs = [0; 4];
                for (i, need) in needs.iter_mut().enumerate() {
                    *need = word(contents_at + 4 * i)?;
                }
                return Some(needs);
            }
        }
    })
}
