//! The C program that passes every argument of every routine wrongly (`templates/misuse.c`).

use std::fmt::Write;

use super::{C_NOTE, checks};
use crate::family::Family;
use crate::roles::{self, Extent, Role};
use crate::table::Chapter;

const HEAD: &str = include_str!("../templates/misuse.c");

/// One wrong value of an argument.
struct Trial {
    /// The argument; empty for a right call.
    argument: &'static str,
    /// What it is, for the test's own messages.
    what: &'static str,
    /// What the library's line says of it.
    word: &'static str,
    /// The statement that makes it wrong.
    statement: String,
}

/// `faults/every_misuse.c` of [`tests`](crate::files::tests).
pub fn program(chapters: &[Chapter]) -> String {
    let (head, main) = HEAD.split_once("/* Part I of K").expect("the template has a main function");
    let mut out = format!("{C_NOTE}{head}");
    let families = chapters.iter().flat_map(|c| &c.families);
    for (i, family) in families.enumerate() {
        let trials = trials(family);
        if trials.is_empty() {
            continue;
        }
        table(&mut out, i, family, &trials);
        let on_ctx_alone = trials.iter().all(|w| w.argument == "ctx");
        for symbol in family.symbols().iter().filter(|s| s.ctx || !on_ctx_alone) {
            let ctx = if symbol.ctx { "CTX" } else { "NO_CTX" };
            let ty = match symbol.ty.c {
                "" => "void",
                c => c,
            };
            let (size, align) = checks::element(symbol);
            let without = if symbol.ctx { 0 } else { context_trials(family).len() };
            writeln!(out, "MISUSE_{i}({}, {ty}, {size}, {align}, {ctx}, {without})", symbol.name()).unwrap();
        }
    }
    write!(out, "\n/* Part I of K{main}").unwrap();
    out
}

/// The trials of a family and the macro that defines the calls of one routine.
fn table(out: &mut String, i: usize, family: &Family, trials: &[Trial]) {
    writeln!(out, "\nstatic const struct trial trials_{i}[] = {{").unwrap();
    for trial in trials {
        let argument = match trial.argument {
            "" => "NULL".to_owned(),
            name => format!("\"{name}\""),
        };
        writeln!(out, "    {{{argument}, \"{}\", \"{}\"}},", trial.what, trial.word).unwrap();
    }
    writeln!(out, "}};").unwrap();
    let mut lines = vec![
        format!("#define MISUSE_{i}(NAME, T, SIZE, ALIGN, C, LESS)"),
        "    static void call_##NAME(int trial) {".to_owned(),
    ];
    if family.has_ctx() {
        lines.push("        shmem_ctx_t ctx = live_ctx;".to_owned());
        lines.push("        (void)ctx;".to_owned());
    }
    let symbol = &family.symbols()[0];
    let mut names = Vec::new();
    for (ty, name) in symbol.params() {
        let value = right(family, &name);
        let space = if ty.ends_with('*') { "" } else { " " };
        lines.push(format!("        {}{space}{name} = {value};", ty.replace("TYPE", "T")));
        names.push(name);
    }
    lines.push("        switch (trial) {".to_owned());
    for (k, trial) in trials.iter().enumerate() {
        lines.push(format!("        case {k}: {} break;", trial.statement));
    }
    lines.push("        }".to_owned());
    // In parentheses, the name is not that of a type-generic routine.
    let call = match (family.has_ctx(), names.is_empty()) {
        // Only the form with a context is called.
        (true, true) => "(NAME)(ctx)".to_owned(),
        (true, false) => format!("(NAME)(C {})", names.join(", ")),
        (false, _) => format!("(NAME)({})", names.join(", ")),
    };
    lines.push(format!("        {call};"));
    lines.push("    }".to_owned());
    lines.push("    __attribute__((constructor)) static void add_##NAME(void) {".to_owned());
    lines.push(format!("        add(#NAME, call_##NAME, trials_{i}, COUNT(trials_{i}) - LESS);"));
    lines.push("    }".to_owned());
    writeln!(out, "{}", lines.join(" \\\n")).unwrap();
}

/// A right value for an argument.
fn right(family: &Family, name: &str) -> String {
    let function = roles::function(family);
    let roles = roles::of(family);
    let role = roles.iter().find(|(n, _)| *n == name).expect("a role").1;
    match role {
        Role::Symmetric(Extent::Work(_)) => "(void *)work_block".to_owned(),
        Role::Symmetric(Extent::Bytes(256)) => "work_array".to_owned(),
        Role::Array(_) if name == "source" => "(void *)block2".to_owned(),
        Role::Symmetric(Extent::Bytes(8)) => "(void *)block2".to_owned(),
        Role::Symmetric(_) | Role::Array(_) => "(void *)block".to_owned(),
        Role::Result(_) if function == "nonblocking::start" => "&live_request".to_owned(),
        Role::Result(_) if function == "operators::free" => "&live_op".to_owned(),
        Role::Write(_) | Role::Result(_) => "(void *)private1".to_owned(),
        Role::Read(_) | Role::OptionalRead(_) => "(void *)private2".to_owned(),
        Role::AnyTimeResult => "(void *)private1".to_owned(),
        Role::Count | Role::IntCount => "N".to_owned(),
        Role::Stride | Role::SymmetricStride if roles.iter().any(|(n, _)| *n == "bsize") => "2 * N".to_owned(),
        Role::Stride | Role::SymmetricStride | Role::PositiveStride => "2".to_owned(),
        Role::Size => "1".to_owned(),
        // Where no launcher can start PEs, a call with a team says so; and a receive would wait for ever.
        Role::TeamOrInvalid
            if ["spawn::", "port::", "message::", "stream::"].iter().any(|m| function.starts_with(m)) =>
        {
            "SHMEM_TEAM_INVALID".to_owned()
        }
        Role::Team | Role::TeamOrInvalid => "SHMEM_TEAM_WORLD".to_owned(),
        Role::OwnTeam => "live_team".to_owned(),
        Role::Context | Role::ContextOrInvalid | Role::OwnContext => "live_ctx".to_owned(),
        Role::Comparison => "SHMEM_CMP_EQ".to_owned(),
        Role::SignalOperation => "SHMEM_SIGNAL_SET".to_owned(),
        Role::Configuration(_) => "NULL".to_owned(),
        Role::Block => "work_block".to_owned(),
        Role::Space => "live_space".to_owned(),
        Role::SpaceOrInvalid => "SHMEMX_SPACE_INVALID".to_owned(),
        Role::SpaceBlock => "NULL".to_owned(),
        Role::GroupOrInvalid => "SHMEMX_GROUP_INVALID".to_owned(),
        Role::Alignment => "64".to_owned(),
        Role::Pes(_) => "some_pes".to_owned(),
        Role::Value => match (function, name) {
            ("p2p::wait_while", "cmp_value") | ("team::split_strided", "size" | "stride") => "1",
            ("team::split_2d", "xrange") | ("team::split_list", "npes") => "1",
            ("team::split_list", "pes") => "some_pes",
            ("memory::realloc" | "memory::align", "size") => "64",
            ("team::ptr" | "setup::ptr", "dest") => "block",
            ("amo::fetch_op_nb" | "amo::fetch_op_signal", "datatype") => "SHMEMX_SIGNED + 4",
            (_, "datatype") => "SHMEMX_SIGNED + 1",
            ("operators::create", "function") => "do_nothing",
            ("spawn::spawn" | "spawn::spawn_multiple", "config" | "configs" | "config_masks") => "NULL",
            ("spawn::spawn", "command") => "\"./no-such-program\"",
            ("spawn::spawn_multiple", "commands" | "npes") => "NULL",
            ("exports::export" | "exports::unexport" | "exports::import", "name") => "\"object\"",
            ("exports::export", "addr") => "block",
            (f, "name") if f.starts_with("port::") => "\"name\"",
            (f, "port") if f.starts_with("port::") => "\"port\"",
            ("neighbor::alltoall" | "neighbor::alltoallw" | "neighbor::graph_neighbors", "graph") => "live_graph",
            ("neighbor::cart_create", "ndims") => "1",
            ("neighbor::cart_create", "dims" | "periods") => "all_pes",
            ("space::create", "config") => "&space_config",
            ("space::create", "config_mask") => "SHMEMX_SPACE_SHEAP_SIZE",
            ("space::align", "size") => "64",
            ("{ startup::prepare(); setup::init_thread", "requested") => "SHMEM_THREAD_SINGLE",
            _ => "0",
        }
        .to_owned(),
        Role::Pe | Role::TeamPe | Role::Root | Role::Start | Role::LogStride => "0".to_owned(),
    }
}

/// All trials of a family: right ones, wrong ones by argument, and those of the context last. None
/// if nothing can be wrong.
fn trials(family: &Family) -> Vec<Trial> {
    let mut wrong: Vec<Trial> = roles::of(family).iter().flat_map(|(name, role)| wrong(name, *role)).collect();
    let context = context_trials(family);
    if wrong.is_empty() {
        return context;
    }
    let mut all = right_trials(family);
    all.append(&mut wrong);
    all.extend(context);
    all
}

/// A call as it should be, and one of no elements with null pointers.
fn right_trials(family: &Family) -> Vec<Trial> {
    let right = |what, statement: String| Trial { argument: "", what, word: "", statement };
    let prelude = match roles::function(family) {
        "lock::clear" => "shmem_set_lock(lock);",
        _ => "",
    };
    let mut trials = vec![right("as it should be", prelude.to_owned())];
    let roles = roles::of(family);
    for (count, role) in &roles {
        if !matches!(role, Role::Count | Role::IntCount) {
            continue;
        }
        let mut statement = format!("{count} = 0;");
        for (name, role) in &roles {
            let is_array = match role {
                Role::Symmetric(e)
                | Role::Array(e)
                | Role::Read(e)
                | Role::OptionalRead(e)
                | Role::Write(e)
                | Role::Result(e) => !matches!(e, Extent::Bytes(_) | Extent::Work(_)),
                Role::Pes(_) => true,
                _ => false,
            };
            if is_array {
                write!(statement, " {name} = NULL;").unwrap();
            }
        }
        trials.push(right("no elements at null pointers", statement));
    }
    trials
}

/// The wrong contexts of the forms that take one.
fn context_trials(family: &Family) -> Vec<Trial> {
    if !family.has_ctx() {
        return Vec::new();
    }
    wrong("ctx", roles::context(family))
}

/// The wrong values of an argument.
fn wrong(name: &'static str, role: Role) -> Vec<Trial> {
    let trial = |what, word, statement: String| Trial { argument: name, what, word, statement };
    let set = |what, value: &str| trial(what, name, format!("{name} = {value};"));
    let named = |what, word, value: &str| trial(what, word, format!("{name} = {value};"));
    let misaligned = |base: &str, extent: Extent| {
        let align = match extent {
            Extent::Bytes(_) | Extent::ElementsOf(..) => "2",
            _ => "ALIGN",
        };
        trial("misaligned", name, format!("ONLY_IF({align} > 1); {name} = (void *)({base} + 1);"))
    };
    match role {
        Role::Symmetric(extent) | Role::Array(extent) => {
            let mut trials = vec![
                set("null", "NULL"),
                set("private", "(void *)private1"),
                misaligned("block", extent),
                set("in a freed block", "(void *)(block + BLOCK)"),
            ];
            let size = match extent {
                Extent::One | Extent::Bytes(..=8) => return trials,
                Extent::Bytes(_) => "8",
                _ => "SIZE",
            };
            let past = format!("(void *)(block + BLOCK - {size})");
            trials.push(match extent {
                Extent::Work(_) => trial("past the end of its block", name, format!("nreduce = 100; {name} = {past};")),
                _ => set("past the end of its block", &past),
            });
            trials
        }
        Role::Read(_) | Role::Write(_) => {
            vec![set("null", "NULL"), set("past the last address", "(void *)(uintptr_t)-1")]
        }
        Role::OptionalRead(_) => vec![set("past the last address", "(void *)(uintptr_t)-1")],
        Role::Result(extent) => vec![set("null", "NULL"), misaligned("private1", extent)],
        Role::AnyTimeResult => vec![set("null", "NULL")],
        Role::Count => vec![
            set("as large as can be", "SIZE_MAX"),
            set("negative", "(size_t)-5"),
            trial(
                "of a product that overflows",
                name,
                format!("ONLY_IF(SIZE > 1); {name} = SIZE_MAX / (SIZE > 0 ? SIZE : 1) + 2;"),
            ),
        ],
        Role::IntCount => vec![set("negative", "-1"), set("the least", "INT_MIN")],
        Role::SymmetricStride => {
            vec![set("zero", "0"), set("too large", "PTRDIFF_MAX / 2"), set("too small", "PTRDIFF_MIN")]
        }
        Role::Stride => vec![set("too large", "PTRDIFF_MAX / 2"), set("too small", "PTRDIFF_MIN")],
        Role::PositiveStride => vec![set("zero", "0"), set("negative", "-1"), set("too large", "PTRDIFF_MAX / 2")],
        Role::Root => vec![set("negative", "-1"), set("that of no member", "1")],
        Role::Start => vec![set("negative", "-1"), set("that of no PE", "1")],
        Role::LogStride => vec![set("negative", "-1"), set("too large", "31")],
        Role::Size => vec![set("zero", "0"), set("negative", "INT_MIN"), set("too large", "2")],
        Role::Comparison => vec![set("none", "77"), set("negative", "-1")],
        Role::SignalOperation => vec![set("none", "77"), set("negative", "-1")],
        Role::Pe | Role::TeamPe => vec![
            named("negative", "PE -1", "-1"),
            named("that of no PE", "PE 1 ", "1"),
            named("the largest", "PE 2147483647", "INT_MAX"),
        ],
        Role::Context => vec![
            named("invalid", "SHMEM_CTX_INVALID", "SHMEM_CTX_INVALID"),
            named("destroyed", "context", "freed_ctx"),
            named("never made", "context", "(shmem_ctx_t)0x123456"),
        ],
        Role::ContextOrInvalid => {
            vec![named("destroyed", "context", "freed_ctx"), named("never made", "context", "(shmem_ctx_t)0x123456")]
        }
        Role::OwnContext => vec![
            named("the default context", "SHMEM_CTX_DEFAULT", "SHMEM_CTX_DEFAULT"),
            named("destroyed", "context", "freed_ctx"),
        ],
        Role::Team => vec![
            named("invalid", "SHMEM_TEAM_INVALID", "SHMEM_TEAM_INVALID"),
            named("destroyed", "team", "freed_team"),
            named("never made", "team", "(shmem_team_t)0x123456"),
        ],
        Role::TeamOrInvalid => {
            vec![named("destroyed", "team", "freed_team"), named("never made", "team", "(shmem_team_t)0x123456")]
        }
        Role::OwnTeam => {
            vec![named("predefined", "predefined", "SHMEM_TEAM_WORLD"), named("destroyed", "team", "freed_team")]
        }
        Role::Configuration(mask) => vec![trial("null", name, format!("{mask} = SHMEM_TEAM_NUM_CONTEXTS;"))],
        Role::Block => vec![
            named("private", "0x", "private1"),
            named("freed", "0x", "freed_block"),
            named("not the start of a block", "0x", "block + 16"),
        ],
        Role::Space => vec![
            named("invalid", "SHMEMX_SPACE_INVALID", "SHMEMX_SPACE_INVALID"),
            named("destroyed", "space", "freed_space"),
            named("never made", "space", "(shmemx_space_t)0x123456"),
        ],
        Role::SpaceOrInvalid => {
            vec![named("destroyed", "space", "freed_space"), named("never made", "space", "(shmemx_space_t)0x123456")]
        }
        Role::GroupOrInvalid => vec![named("never made", "group", "(shmemx_group_t)0x123456")],
        Role::SpaceBlock => vec![
            named("of the heap", "0x", "block"),
            named("private", "0x", "private1"),
            named("never allocated", "0x", "(void *)live_space"),
        ],
        Role::Alignment => vec![set("no power of two", "3"), set("zero", "0")],
        Role::Pes(_) => vec![
            set("null", "NULL"),
            trial("of a PE that there is not", "PE 2147483647", format!("{name} = &no_such_pe;")),
        ],
        Role::Value => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn every_argument_with_a_role_is_passed_wrongly() {
        let chapters = table::chapters();
        for family in chapters.iter().flat_map(|c| &c.families) {
            let trials = trials(family);
            for (name, role) in roles::of(family) {
                assert!(role == Role::Value || trials.iter().any(|w| w.argument == name), "{}: {name}", family.pattern);
            }
        }
    }
}
