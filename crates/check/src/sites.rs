//! The sites of the shared file: a routine and the place that calls it; and the files of code that they are in.

use std::path::PathBuf;

use ferroshmem_platform::object::{Object, program};

use crate::layout::{OBJECTS, SITES, WORD, object, site};
use crate::shared::{Shared, mixed};

/// The number of a site that there was no room for.
pub const UNKNOWN: u32 = 0;

/// The file of code that an address of this process is in, and the address in the file; else the address itself.
pub(crate) fn located(address: usize) -> (Option<String>, u64) {
    let Some(object) = Object::around(address.wrapping_sub(1)) else {
        return (None, address as u64);
    };
    // The dynamic linker names files as they were asked for: `./solve`, or of LD_LIBRARY_PATH=. a library.
    let path = match object.path.starts_with('/') {
        true => None,
        false if program() == Some(object.base) => std::env::current_exe().ok(),
        false => std::fs::canonicalize(&object.path).ok(),
    };
    let path = path.unwrap_or_else(|| PathBuf::from(&object.path)).display().to_string();
    (Some(path), address.wrapping_sub(object.load_address()) as u64)
}

impl Shared {
    /// The number of a file of code; None if there is no room.
    pub fn object(&self, path: &str) -> Option<u32> {
        const ROOM: usize = (object::WORDS - object::PATH) * WORD;
        let mut starts = path.char_indices().map(|(at, _)| at);
        let start = starts.find(|at| path.len() - at <= ROOM);
        let path = &path[start.unwrap_or(path.len())..];
        (0..object::MOST).find_map(|number| {
            let at = OBJECTS.start + number * object::WORDS;
            if self.take(at + object::STATE) {
                self.set(at + object::PATH_LEN, path.len() as u64);
                self.set_text(at + object::PATH, object::WORDS - object::PATH, path);
                self.publish(at + object::STATE);
                return Some(number as u32);
            }
            let len = self.get(at + object::PATH_LEN) as usize;
            (self.text(at + object::PATH, len.min(ROOM)) == path).then_some(number as u32)
        })
    }

    /// The path of an object.
    pub fn object_path(&self, number: u32) -> String {
        let at = OBJECTS.start + number as usize % object::MOST * object::WORDS;
        let room = (object::WORDS - object::PATH) * WORD;
        let len = self.get(at + object::PATH_LEN) as usize;
        self.text(at + object::PATH, len.min(room))
    }

    /// The number of a call of `routine` that returns to `place` of a file of code; [`UNKNOWN`] if there is no room.
    pub(crate) fn site_in(&self, routine: &str, object: Option<&str>, place: u64) -> u32 {
        let number = object.and_then(|path| self.object(path)).map_or(0, |n| u64::from(n) + 1);
        let room = site::NAME_WORDS * WORD;
        // Names of routines are ASCII.
        let routine = routine.get(..room).unwrap_or(routine);
        let name = routine.bytes().fold(number, |sum, byte| mixed(sum, u64::from(byte)));
        let first = mixed(name, place) as usize;
        for i in 0..site::MOST - 1 {
            let index = 1 + first.wrapping_add(i) % (site::MOST - 1);
            let at = SITES.start + index * site::WORDS;
            if self.take(at + site::STATE) {
                self.set(at + site::OBJECT, number);
                self.set(at + site::ADDRESS, place);
                self.set_text(at + site::NAME, site::NAME_WORDS, routine);
                self.publish(at + site::STATE);
                return index as u32;
            }
            if self.get(at + site::OBJECT) == number
                && self.get(at + site::ADDRESS) == place
                && self.text(at + site::NAME, room) == routine
            {
                return index as u32;
            }
        }
        UNKNOWN
    }

    /// A site: the routine, and the object and the address that the call returns to. None of [`UNKNOWN`].
    pub fn site_of(&self, number: u32) -> Option<(String, Option<u32>, u64)> {
        if number == UNKNOWN {
            return None;
        }
        let at = SITES.start + number as usize % site::MOST * site::WORDS;
        let object = self.get(at + site::OBJECT).checked_sub(1);
        Some((
            self.text(at + site::NAME, site::NAME_WORDS * WORD),
            object.map(|number| number as u32),
            self.get(at + site::ADDRESS),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::mode;
    use ferroshmem_platform::mapping::memory_file;
    use std::ffi::{CString, c_void};

    fn site(shared: &Shared, routine: &str, address: usize) -> u32 {
        let (object, place) = located(address);
        shared.site_in(routine, object.as_deref(), place)
    }

    fn shared() -> Shared {
        Shared::create(&memory_file(0).unwrap(), mode::MEMORY, 4).unwrap()
    }

    #[test]
    fn a_site_is_a_routine_and_a_place() {
        let shared = shared();
        let here = a_site_is_a_routine_and_a_place as fn() as usize + 1;
        let first = site(&shared, "shmem_putmem", here);
        assert_eq!(site(&shared, "shmem_putmem", here), first);
        assert_ne!(site(&shared, "shmem_getmem", here), first);
        let (name, object, address) = shared.site_of(first).unwrap();
        let program = std::env::current_exe().unwrap();
        assert_eq!(name, "shmem_putmem");
        assert_eq!(shared.object_path(object.unwrap()), program.display().to_string());
        assert!(address < here as u64);
    }

    #[test]
    fn a_library_by_a_relative_path_is_not_the_program() {
        unsafe extern "C" {
            fn _Unwind_GetIP(context: *mut c_void) -> usize;
        }
        let library = Object::around(_Unwind_GetIP as *const () as usize).unwrap();
        let copy = std::env::temp_dir().join(format!("libcopy-{}.so", std::process::id()));
        std::fs::copy(library.path, &copy).unwrap();
        let here = std::env::current_dir().unwrap();
        let relative = "../".repeat(here.components().count()) + &copy.display().to_string()[1..];
        let relative = CString::new(relative).unwrap();
        // SAFETY: C strings; the library does nothing as it is loaded, and stays.
        let loaded = unsafe {
            let handle = libc::dlopen(relative.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            libc::dlsym(handle, c"_Unwind_GetIP".as_ptr()).addr()
        };
        let (path, _) = located(loaded + 1);
        std::fs::remove_file(&copy).unwrap();
        assert_eq!(path.as_deref(), copy.to_str());
    }

    #[test]
    fn the_longest_names_are_kept_whole() {
        let shared = shared();
        let name = "shmem_ctx_ulonglong_atomic_compare_swap_nbi";
        let (kept, ..) = shared.site_of(site(&shared, name, 4096)).unwrap();
        assert_eq!(kept, name);
    }

    #[test]
    fn sites_that_do_not_fit_are_unknown() {
        let shared = shared();
        let mut numbers: Vec<_> = (1..site::MOST).map(|i| site(&shared, "f", i)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), site::MOST - 1);
        assert!(!numbers.contains(&UNKNOWN));
        assert_eq!(site(&shared, "f", site::MOST), UNKNOWN);
        assert_eq!(shared.site_of(UNKNOWN), None);
    }
}
