//! The few types of PMIx's interface that are needed, with the layout of `pmix_common.h`, which
//! is the same in versions 3 to 5 (a test compares with the installed header).

use std::ffi::{CStr, c_char, c_int, c_void};

/// `pmix_status_t`: 0 or an error below.
pub(super) type Status = c_int;
pub(super) const SUCCESS: Status = 0;
/// `PMIX_OPERATION_SUCCEEDED`: done at once, the callback will not be called.
pub(super) const DONE: Status = -157;

const NAMESPACE_LEN: usize = 256;
const KEY_LEN: usize = 512;

/// `PMIX_RANK_WILDCARD`: the job as a whole.
pub(super) const ALL_RANKS: u32 = u32::MAX - 1;
/// `PMIX_GLOBAL`: a value for processes of all nodes.
pub(super) const GLOBAL: u8 = 3;

const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;
const BYTE_OBJECT: u16 = 27;

/// `PMIX_JOB_SIZE`, a `u32`.
pub(super) const JOB_SIZE: &CStr = c"pmix.job.size";
/// `PMIX_COLLECT_DATA`: a fence that also collects what was put.
pub(super) const COLLECT_DATA: &CStr = c"pmix.collect";

/// `PMIX_HOSTNAME`, a string: the host of a process, by the launcher's name of it.
pub(super) const HOST_OF: &CStr = c"pmix.hname";
/// `PMIX_OPTIONAL`: look for a value in what this process has.
pub(super) const OPTIONAL: &CStr = c"pmix.optional";
/// `PMIX_HOST`, a string: the hosts to start processes on.
pub(super) const HOST: &CStr = c"pmix.host";
/// `PMIX_MAPBY`, a string: how processes come to be on hosts.
pub(super) const MAP_BY: &CStr = c"pmix.mapby";

/// `PMIX_BINDTO`, a string: what processes are bound to.
pub(super) const BIND_TO: &CStr = c"pmix.bindto";

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub namespace: [c_char; NAMESPACE_LEN],
    pub rank: u32,
}

impl Process {
    pub(super) const fn unknown() -> Self {
        Self { namespace: [0; NAMESPACE_LEN], rank: 0 }
    }

    /// All of the job of this name. None: no job has so long a name.
    pub(super) fn all_of(name: &str) -> Option<Self> {
        let mut all = Self::unknown().with_rank(ALL_RANKS);
        // A zero ends it.
        let room = NAMESPACE_LEN - 1;
        for (to, from) in all.namespace[..room].iter_mut().zip(name.bytes()) {
            *to = from as c_char;
        }
        (name.len() <= room).then_some(all)
    }

    /// Another of the same job.
    pub(super) fn with_rank(self, rank: u32) -> Self {
        Self { rank, ..self }
    }
}

/// `pmix_byte_object_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    start: *const c_void,
    len: usize,
}

/// The union in `pmix_value_t`: the members needed, and its size.
#[repr(C)]
pub(super) union Data {
    flag: bool,
    text: *const c_char,
    uint32: u32,
    bytes: Bytes,
    /// `pmix_envar_t`, the longest one.
    _room: [*const c_void; 3],
}

/// `pmix_value_t`.
#[repr(C)]
pub(super) struct Value {
    kind: u16,
    data: Data,
}

impl Value {
    const fn of(kind: u16) -> Self {
        let data = Data { _room: [std::ptr::null(); 3] };
        Self { kind, data }
    }

    /// For as long as the slice lives.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut value = Self::of(BYTE_OBJECT);
        value.data.bytes = Bytes { start: bytes.as_ptr().cast(), len: bytes.len() };
        value
    }

    /// A copy of the number or the bytes, if it is one of these.
    ///
    /// # Safety
    /// The value was made by PMIx's library, and is alive.
    pub(super) unsafe fn to_content(&self) -> Option<Content> {
        match self.kind {
            // SAFETY: PMIx sets `kind` to the member of the union that it has written.
            UINT32 => Some(Content::Number(unsafe { self.data.uint32 })),
            STRING => {
                // SAFETY: PMIx sets `kind` to the member of the union that it has written.
                let text = unsafe { self.data.text };
                if text.is_null() {
                    return None;
                }
                // SAFETY: the caller promises that PMIx's library made the value, which is a C string.
                let text = unsafe { CStr::from_ptr(text) };
                Some(Content::Text(text.to_string_lossy().into_owned()))
            }
            BYTE_OBJECT => {
                // SAFETY: PMIx sets `kind` to the member of the union that it has written.
                let Bytes { start, len } = unsafe { self.data.bytes };
                if start.is_null() || len == 0 {
                    return Some(Content::Bytes(Vec::new()));
                }
                // SAFETY: the caller promises that PMIx's library made the value, whose object has
                // `len` bytes at `start`.
                let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) };
                Some(Content::Bytes(bytes.to_vec()))
            }
            _ => None,
        }
    }
}

/// What was in a [`Value`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Number(u32),
    Text(String),
    Bytes(Vec<u8>),
}

/// `pmix_info_t`: an option of a call.
#[repr(C)]
pub(super) struct Info {
    key: [c_char; KEY_LEN],
    flags: u32,
    value: Value,
}

impl Info {
    /// The option of this name, switched on.
    pub(super) fn on(name: &CStr) -> Self {
        let mut info = Self::of(name, BOOL);
        info.value.data.flag = true;
        info
    }

    /// The option of this name with a text, for as long as the text lives.
    pub(super) fn text(name: &CStr, text: &CStr) -> Self {
        let mut info = Self::of(name, STRING);
        info.value.data.text = text.as_ptr();
        info
    }

    fn of(name: &CStr, kind: u16) -> Self {
        let mut info = Self { key: [0; KEY_LEN], flags: 0, value: Value::of(kind) };
        for (to, from) in info.key.iter_mut().zip(name.to_bytes_with_nul()) {
            *to = *from as c_char;
        }
        info
    }
}

/// `pmix_app_t`: processes to start.
#[repr(C)]
pub(super) struct App {
    pub command: *const c_char,
    pub arguments: *const *const c_char,
    pub variables: *const *const c_char,
    pub directory: *const c_char,
    pub processes: c_int,
    pub options: *const Info,
    pub n_options: usize,
}

/// `pmix_op_cbfunc_t`.
pub(super) type OnDone = extern "C" fn(Status, *mut c_void);
/// `pmix_spawn_cbfunc_t`: with the name of the job that has been started.
pub(super) type OnSpawned = extern "C" fn(Status, *const c_char, *mut c_void);
/// `pmix_value_cbfunc_t`.
pub(super) type OnValue = extern "C" fn(Status, *mut Value, *mut c_void);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::mem::{offset_of, size_of};
    use std::process::{Command, Stdio};

    /// Compiles, but does not run, a program that asserts our layout and numbers.
    #[test]
    fn layout_is_that_of_the_header() {
        let mut includes: Vec<String> = Vec::new();
        for dir in ["/usr/lib/x86_64-linux-gnu/pmix2/include", "/usr/include/pmix"] {
            includes.push(format!("-I{dir}"));
        }
        let compiler = |program: &str| {
            let mut child = Command::new("cc")
                .args(&includes)
                .args(["-xc", "-std=c11", "-fsyntax-only", "-"])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .ok()?;
            child.stdin.take()?.write_all(program.as_bytes()).ok()?;
            child.wait_with_output().ok()
        };
        let found = compiler("#include <pmix.h>\n").is_some_and(|o| o.status.success());
        if !found {
            println!("skipped: no C compiler or no pmix.h (package libpmix-dev)");
            return;
        }
        let mut program = String::from("#include <stddef.h>\n#include <string.h>\n#include <pmix.h>\n");
        let mut same = |c: &str, ours: usize| {
            program += &format!("_Static_assert({c} == {ours}, \"{c}\");\n");
        };
        same("sizeof(pmix_proc_t)", size_of::<Process>());
        same("offsetof(pmix_proc_t, rank)", offset_of!(Process, rank));
        same("sizeof(pmix_byte_object_t)", size_of::<Bytes>());
        same("offsetof(pmix_byte_object_t, size)", offset_of!(Bytes, len));
        same("sizeof(pmix_value_t)", size_of::<Value>());
        same("offsetof(pmix_value_t, data)", offset_of!(Value, data));
        same("sizeof(pmix_info_t)", size_of::<Info>());
        same("offsetof(pmix_info_t, flags)", offset_of!(Info, flags));
        same("offsetof(pmix_info_t, value)", offset_of!(Info, value));
        same("sizeof(pmix_app_t)", size_of::<App>());
        same("offsetof(pmix_app_t, argv)", offset_of!(App, arguments));
        same("offsetof(pmix_app_t, env)", offset_of!(App, variables));
        same("offsetof(pmix_app_t, cwd)", offset_of!(App, directory));
        same("offsetof(pmix_app_t, maxprocs)", offset_of!(App, processes));
        same("offsetof(pmix_app_t, info)", offset_of!(App, options));
        same("offsetof(pmix_app_t, ninfo)", offset_of!(App, n_options));
        same("sizeof(pmix_status_t)", size_of::<Status>());
        same("sizeof(pmix_scope_t)", size_of::<u8>());
        same("(size_t)(PMIX_RANK_WILDCARD)", ALL_RANKS as usize);
        same("PMIX_GLOBAL", GLOBAL.into());
        same("PMIX_BOOL", BOOL.into());
        same("PMIX_STRING", STRING.into());
        same("PMIX_UINT32", UINT32.into());
        same("PMIX_BYTE_OBJECT", BYTE_OBJECT.into());
        same("-PMIX_OPERATION_SUCCEEDED", (-DONE) as usize);
        same("PMIX_SUCCESS", SUCCESS as usize);
        for (name, ours) in [
            ("JOB_SIZE", JOB_SIZE),
            ("COLLECT_DATA", COLLECT_DATA),
            ("HOSTNAME", HOST_OF),
            ("OPTIONAL", OPTIONAL),
            ("HOST", HOST),
            ("MAPBY", MAP_BY),
            ("BINDTO", BIND_TO),
        ] {
            let ours = ours.to_str().unwrap();
            program += &format!("char {name}[__builtin_strcmp(PMIX_{name}, \"{ours}\") ? -1 : 1];\n");
        }
        let output = compiler(&program).unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
    }
}
