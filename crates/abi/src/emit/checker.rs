//! The library that `oshrun --check` preloads: a function for each of the C API, which hands its arguments to the
//! checks before and after it calls the library's own; and the operations that the checks know.

use std::fmt::Write;

use super::{C_NOTE, RUST_NOTE, wrapped};
use crate::family::{Family, Symbol};
use crate::roles::{self, Extent, Role};
use crate::table::Chapter;
use crate::types::Group;

/// Where the operations go.
pub const RUST_PATH: &str = "crates/layout/src/operation.rs";

/// What routines do, as the checks see it.
const OPERATIONS: &[(&str, &str)] = &[
    ("Other", "Nothing that the checks look at."),
    ("Init", "Initialises the library."),
    ("Finalize", "Ends its use."),
    ("GlobalExit", "Ends the job."),
    ("Malloc", "Allocates."),
    ("Calloc", "Allocates memory that is zero."),
    ("Align", "Allocates with an alignment."),
    ("MallocWithHints", "Allocates with hints."),
    ("Realloc", "Changes the size of a block."),
    ("Free", "Gives a block back."),
    ("SpaceMalloc", "Allocates in a symmetric space."),
    ("SpaceFree", "Gives a block of a symmetric space back."),
    ("SpaceDestroy", "Ends a symmetric space."),
    ("Put", "Writes memory of a PE."),
    ("PutNbi", "The same, complete after a quiet."),
    ("PutRequest", "The same, complete with a request."),
    ("Get", "Reads memory of a PE."),
    ("GetNbi", "The same, complete after a quiet."),
    ("AtomicFetch", "Reads atomically."),
    ("AtomicUpdate", "Updates atomically."),
    ("AtomicFetchUpdate", "Updates atomically, and returns the old value."),
    ("PutSignal", "Writes memory of a PE, then a signal."),
    ("Signal", "Updates a signal."),
    ("SignalFetch", "Reads an own signal."),
    ("Wait", "Waits for own variables."),
    ("Test", "Looks at own variables."),
    ("Quiet", "Completes operations."),
    ("Fence", "Orders operations."),
    ("SetLock", "Takes a lock."),
    ("TestLock", "Takes a lock if it is free."),
    ("ClearLock", "Lets go of a lock."),
    ("Barrier", "Synchronises PEs, and completes operations."),
    ("Sync", "Synchronises PEs."),
    ("Broadcast", "Copies from one PE to others."),
    ("Gather", "Copies from all PEs to one."),
    ("Exchange", "Copies from all PEs to all."),
    ("Reduce", "Combines arrays of all PEs."),
    ("Scan", "Combines arrays of the PEs before."),
    ("Split", "Makes a team."),
    ("DestroyContext", "Ends a context."),
    ("Send", "Sends something to another PE."),
    ("Receive", "May have received something of any PE."),
];

/// What ends a request of a non-blocking collective.
const ENDING: &[&str] = &[
    "nonblocking::test", "nonblocking::testany", "nonblocking::testall", "nonblocking::wait", "nonblocking::waitany",
    "nonblocking::waitall", "nonblocking::free",
];

fn operation(family: &Family) -> &'static str {
    let function = roles::function(family);
    match function {
        "{ startup::prepare(); setup::init"
        | "{ startup::prepare(); setup::init_thread"
        | "{ startup::prepare(); setup::start_pes" => "Init",
        "setup::finalize" => "Finalize",
        "setup::global_exit" => "GlobalExit",
        "memory::malloc" => "Malloc",
        "memory::calloc" => "Calloc",
        "memory::align" => "Align",
        "memory::malloc_with_hints" => "MallocWithHints",
        "memory::realloc" => "Realloc",
        "memory::free" => "Free",
        "space::malloc" | "space::calloc" | "space::align" => "SpaceMalloc",
        "space::free" => "SpaceFree",
        "space::destroy" => "SpaceDestroy",
        "rma::put_nb" => "PutRequest",
        "rma::put" | "rma::p" | "rma::iput" | "rma::ibput" => "Put",
        "rma::put_nbi" => "PutNbi",
        "rma::get" | "rma::get_nb" | "rma::g" | "rma::iget" | "rma::ibget" => "Get",
        "rma::get_nbi" => "GetNbi",
        "amo::fetch" | "amo::fetch_nbi" => "AtomicFetch",
        "amo::set" | "amo::inc" | "amo::add" | "amo::and" | "amo::or" | "amo::xor" => "AtomicUpdate",
        _ if function.starts_with("amo::") => "AtomicFetchUpdate",
        "signal::put_signal" | "signal::put_signal_nbi" => "PutSignal",
        // Who sees the signal may write to what was read.
        "signal::get_signal" | "signal::get_signal_nb" | "signal::signal_set" | "signal::signal_add" => "Signal",
        "signal::signal_fetch" => "SignalFetch",
        "signal::signal_wait_until" => "Wait",
        _ if function.starts_with("p2p::wait") => "Wait",
        _ if function.starts_with("p2p::test") => "Test",
        // When the request ends is not known here.
        "context::quiet" | "context::pe_quiet" | "context::quiet_nb" => "Quiet",
        "context::fence" => "Fence",
        "context::destroy" => "DestroyContext",
        "lock::set" => "SetLock",
        "lock::test" => "TestLock",
        "lock::clear" => "ClearLock",
        "collective::barrier_all" | "active::barrier" => "Barrier",
        "collective::sync_all" | "collective::sync" | "active::sync" => "Sync",
        "collective::broadcast" | "active::broadcast" => "Broadcast",
        "collective::scatter" => "Broadcast",
        _ if family.pattern == "shmemx_scatterv{T}" => "Broadcast",
        "collective::gather" | "collective::gatherv" | "collective::reduce_root" => "Gather",
        "collective::reduce" | "collective::reduce_op" | "active::reduce" => "Reduce",
        "collective::scan" | "collective::scan_op" => "Scan",
        _ if function.starts_with("collective::") || function.starts_with("active::") => "Exchange",
        "resilience::resilient" | "resilience::team_agree" | "replacement::replace" => "Sync",
        "resilience::team_shrink" => "Split",
        _ if function.starts_with("team::split_") => "Split",
        "message::send" | "message::isend" => "Send",
        _ if function.starts_with("stream::push") => "Send",
        // What it has written, others may know once they have waited for their requests.
        _ if function.starts_with("nonblocking::") && !ENDING.contains(&function) => "Send",
        "stream::create" | "stream::destroy" | "stream::reset" | "space::create" => "Receive",
        _ if ["nonblocking::", "neighbor::", "message::", "stream::", "group::", "spawn::", "port::", "kernels::"]
            .iter()
            .any(|module| function.starts_with(module)) =>
        {
            "Receive"
        }
        _ => "Other",
    }
}

/// `crates/layout/src/operation.rs`.
pub fn operations() -> String {
    let mut out = format!(
        "{RUST_NOTE}\n//! What routines do.\n\n/// An operation, as the functions of the preloaded library name \
            it.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\n#[repr(u8)]\npub enum Operation {{\n"
    );
    for (name, text) in OPERATIONS {
        writeln!(out, "    /// {text}\n    {name},").unwrap();
    }
    out.push_str("}\n");
    out
}

/// `functions.c`, which the build script of `libshmem-check` writes.
pub fn functions(chapters: &[Chapter]) -> String {
    let mut out = format!(
        "{C_NOTE}/* Every function of the C API, as a tool of the profiling interface. \
            */\n#include \"check.h\"\n\nenum {{\n"
    );
    for (name, _) in OPERATIONS {
        writeln!(out, "    {},", constant(name)).unwrap();
    }
    out.push_str("};\n");
    let families = chapters.iter().flat_map(|c| &c.families);
    // Variadic: it controls tools, and does nothing.
    for (number, family) in families.filter(|f| !f.params.contains("...")).enumerate() {
        parameters(&mut out, number, family);
        for symbol in family.symbols() {
            function(&mut out, number, &symbol);
        }
    }
    out
}

fn constant(operation: &str) -> String {
    let mut out = String::new();
    for c in operation.chars() {
        if c.is_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    format!("OPERATION{out}")
}

/// The roles of a family's parameters.
fn parameters(out: &mut String, number: usize, family: &Family) {
    let roles = roles::of(family);
    let index = |name: &str| {
        let at = roles.iter().position(|(of, _)| *of == name);
        at.unwrap_or_else(|| panic!("{}: no parameter {name}", family.pattern))
    };
    write!(out, "\nstatic const struct shmemi_parameter parameters{number}[] = {{").unwrap();
    for (name, role) in &roles {
        let (role, extent) = match role {
            Role::Pe => ("PE", None),
            Role::TeamPe => ("TEAM_PE", None),
            Role::Symmetric(extent) | Role::Array(extent) => (
                match *name {
                    "dest" => "DEST",
                    "source" => "SOURCE",
                    "sig_addr" => "SIGNAL",
                    "lock" => "LOCK",
                    "pSync" | "pWrk" => "WORK",
                    "ivar" | "ivars" => "VARIABLE",
                    // Others read it.
                    "displs" | "dest_displs" => "SOURCE",
                    other => panic!("{}: what is {other} for?", family.pattern),
                },
                Some(*extent),
            ),
            Role::Read(extent) if *name == "source" => ("READ", Some(*extent)),
            _ if is_put_value(family, name) => ("READ", Some(Extent::One)),
            Role::Write(extent) if *name == "dest" => ("WRITE", Some(*extent)),
            Role::Result(extent) if *name == "fetch" => ("WRITE", Some(*extent)),
            Role::Team | Role::TeamOrInvalid => ("TEAM", None),
            Role::Root => ("ROOT", None),
            Role::Start => ("START", None),
            Role::LogStride => ("LOG_STRIDE", None),
            Role::Size => ("SIZE", None),
            Role::OwnContext => ("CONTEXT", None),
            _ => ("VALUE", None),
        };
        let extent = match extent {
            None => "NO_EXTENT, 0, 0, 0".to_owned(),
            Some(Extent::One) => "ONE, 0, 0, 0".to_owned(),
            Some(Extent::Elements(n)) => format!("ELEMENTS, {}, 0, 0", index(n)),
            Some(Extent::PerMember(n)) => format!("PER_MEMBER, {}, 0, 0", index(n)),
            Some(Extent::Strided(s, n)) => format!("STRIDED, {}, {}, 0", index(s), index(n)),
            Some(Extent::Blocks(s, b, n)) => {
                format!("BLOCKS, {}, {}, {}", index(s), index(b), index(n))
            }
            Some(Extent::StridedPerMember(s, n)) => {
                format!("STRIDED_PER_MEMBER, {}, {}, 0", index(s), index(n))
            }
            Some(Extent::Bytes(bytes)) => format!("BYTES, {}, 0, 0", bytes.min(255)),
            Some(Extent::ElementsOf(size, n)) => format!("ELEMENTS_OF, {}, {size}, 0", index(n)),
            Some(Extent::Work(n)) => format!("WORK_ARRAY, {}, 0, 0", index(n)),
        };
        write!(out, "\n    {{ROLE_{role}, {extent}}},").unwrap();
    }
    out.push_str("\n    {ROLE_END, NO_EXTENT, 0, 0, 0},\n};\n");
}

/// Whether a parameter is what `shmem_p` puts: the checks get its address.
fn is_put_value(family: &Family, name: &str) -> bool {
    roles::function(family) == "rma::p" && name == "value"
}

/// Whether a value of this C type can be handed on as a word.
fn is_word(ty: &str) -> bool {
    ty.ends_with('*')
        || ["int", "long", "size_t", "ptrdiff_t", "uint64_t", "char"].contains(&ty)
        || (ty.starts_with("shmem") && ty.ends_with("_t") && !ty.ends_with("kernel_t"))
}

fn function(out: &mut String, number: usize, symbol: &Symbol<'_>) {
    let family = symbol.family;
    let name = symbol.name();
    let params = symbol.params();
    let mut values: Vec<String> = Vec::new();
    let mut arguments = Vec::new();
    let roles = roles::of(family);
    for (ty, param) in &params {
        let is_context = roles.iter().all(|(of, _)| of != param);
        if is_context {
            arguments.push(param.clone());
            continue;
        }
        let value = match ty.as_str() {
            _ if is_put_value(family, param) => format!("(uintptr_t)&{param}"),
            "int" | "long" => format!("(uintptr_t)(intptr_t){param}"),
            ty if is_word(ty) => format!("(uintptr_t){param}"),
            _ => "0".to_owned(),
        };
        // What is allocated may have to be larger.
        let is_changed = roles::function(family).starts_with("memory::");
        arguments.push(if is_changed && ty == "size_t" {
            format!("(size_t)values[{}]", values.len())
        } else {
            param.clone()
        });
        values.push(value);
    }
    let element = match family.group {
        Group::Single => 8,
        _ => symbol.ty.size,
    };
    values.push("0".to_owned());
    let is_memory = roles::function(family).starts_with("memory::");
    let form = match family.ret {
        _ if operation(family) == "GlobalExit" => "LAST",
        "void" if is_memory => "FREE",
        "void" => "VOID",
        _ if is_memory => "ALLOCATE",
        ret if is_word(ret) => "WORD",
        _ => "VALUE",
    };
    let ret = family.ret.replace("TYPE", symbol.ty.c);
    let prototype = symbol.prototype_as("");
    let declared = &prototype[prototype.find('(').expect("a prototype")..];
    let line = format!(
        "SHMEMI_{form}({ret}, {name}, {number}, {}, {element}, {}, {declared}, ({}), {})",
        constant(operation(family)),
        if symbol.ctx { "(uintptr_t)ctx" } else { "0" },
        arguments.join(", "),
        values.join(", "),
    );
    writeln!(out, "{}", wrapped(&line)).unwrap();
}
