//! Rules of this code base that no compiler checks: modules have no long import cycles, environment variables are read
//! in one place, safety arguments name a promise, documentation shows examples.
//!
//! Sources are read as tokens, without comments, strings and unit tests.

mod house {
    pub(super) mod cycles;
    pub(super) mod environment;
    pub(super) mod examples;
    pub(super) mod models;
    pub(super) mod safety;
    pub(super) mod source;
}

use house::source::{Source, rust_files, sources};
use house::{cycles, environment, examples, models, safety};
use std::fs;
use std::path::Path;

/// The files of the largest cycle that is allowed: a module and its parent.
const CYCLE: usize = 2;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn report(findings: &[String], advice: &str) {
    assert!(findings.is_empty(), "{}\n{advice}", findings.join("\n"));
}

/// No folders of a crate import each other in a circle.
#[test]
fn folders_do_not_import_each_other_in_circles() {
    let crates = fs::read_dir(root().join("crates")).expect("the workspace's crates");
    let folders = crates.map(|entry| {
        let name = entry.expect("an entry").file_name();
        format!("crates/{}/src", name.display())
    });
    let mut findings = Vec::new();
    for folder in folders.chain(["src".to_owned()]) {
        let sources = sources(root(), &folder);
        let largest = cycles::largest_cycle_of_folders(&sources);
        if largest.len() > 1 {
            findings.push(format!("{folder}: {}", largest.join(", ")));
        }
    }
    report(&findings, "move what both need below both, or what needs both above");
}

/// Each function of the walks in docs/architecture.md is in its file, and named in the file of one before it, unless
/// another process or a table of functions calls it.
#[test]
fn walks_are_as_described() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    let text = read("docs/architecture.md");
    let (_, walks) = text.split_once("\n## Walks\n").expect("a part on walks");
    let (walks, _) = walks.split_once("\n## ").expect("a part after it");
    let (mut findings, mut steps) = (Vec::new(), 0);
    let mut before: Vec<String> = Vec::new();
    for line in walks.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(name), Some(file)) = (cells.get(1).and_then(|c| quoted(c)), cells.get(2).and_then(|c| quoted(c)))
        else {
            before.clear();
            continue;
        };
        let source = read(file);
        let is_called_from_here = cells[1].starts_with('—');
        let defined = ["fn {}(", "fn {}<"].iter().any(|form| source.contains(&form.replace("{}", name)));
        if !defined {
            findings.push(format!("{name} is not in {file}"));
        }
        let calls = ["{}(", "{}::<"].map(|form| form.replace("{}", name));
        let is_named = |text: &String| {
            let uses = |call| text.matches(call).count() > text.matches(&format!("fn {call}")).count();
            calls.iter().any(|call| uses(call.as_str()))
        };
        if is_called_from_here && !before.iter().any(is_named) {
            findings.push(format!("no function before {name} in its walk calls it"));
        }
        before.push(source);
        steps += 1;
    }
    assert!(steps > 40, "{steps} steps");
    report(&findings, "make docs/architecture.md follow the code");
}

/// Each function, test and model that docs/memory-order.md names exists, and the page says of each protocol what
/// decides it.
#[test]
fn orders_are_decided_as_described() {
    let read = |path: &Path| fs::read_to_string(path).expect("a text");
    let text = read(&root().join("docs/memory-order.md"));
    let (_, tables) = text.split_once("\n## Who releases").expect("a part on functions");
    let (functions, deciders) = tables.split_once("\n## What decides it\n").expect("a part on tests");
    let rows = |part: &str| -> Vec<[String; 3]> {
        let rows = part.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
        let rows = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
        rows.skip(1).map(|cells| cells.try_into().expect("three cells")).collect()
    };
    let (functions, deciders) = (rows(functions), rows(deciders));
    let protocols = |rows: &[[String; 3]]| rows.iter().map(|[protocol, ..]| protocol.clone()).collect::<Vec<_>>();
    assert_eq!(protocols(&functions), protocols(&deciders));
    assert!(functions.len() > 30, "{} protocols", functions.len());

    let headers = ["native.h", "native_atomic.h"].map(|file| root().join("include/shmem").join(file));
    let sources: Vec<_> = rust_files(&root().join("crates")).into_iter().chain(headers).collect();
    let defines = |path: &Path, name: &str| {
        let text = read(path);
        let forms = ["fn {}(", "fn {}<", "#define {}(", "void {}("];
        forms.iter().any(|form| text.contains(&form.replace("{}", name)))
    };
    let is_model = |path: &Path| read(path).contains("model(");
    let mut findings = Vec::new();
    for cell in functions.iter().flat_map(|[_, release, acquire]| [release, acquire]) {
        let [file, name] = <[&str; 2]>::try_from(all_quoted(cell)).expect("a file and a function");
        if !sources.iter().any(|path| path.ends_with(file) && defines(path, name)) {
            findings.push(format!("{name} is not in {file}"));
        }
    }
    for [protocol, litmus, model] in &deciders {
        let tests = all_quoted(litmus);
        let is_there = |test: &&str| root().join(format!("dev/litmus/{test}.litmus")).exists();
        let missing: Vec<&str> = tests.iter().copied().filter(|test| !is_there(test)).collect();
        let models = all_quoted(model);
        let is_modelled = |name: &&str| sources.iter().any(|path| is_model(path) && defines(path, name));
        if tests.is_empty() || !missing.is_empty() || !models.iter().all(is_modelled) {
            findings.push(format!("{protocol}: {litmus} {model}"));
        }
    }
    report(&findings, "make docs/memory-order.md follow the code");
}

/// What loom tries has the orderings of the library's own words.
#[test]
fn models_have_the_orderings_of_the_library() {
    const MODELS: [(&str, &[&str]); 6] = [
        ("crates/core/tests/model/common.rs", &["crates/core/src/wait/word.rs"]),
        ("crates/core/tests/model/waits.rs", &["crates/core/src/wait/signals.rs"]),
        ("crates/core/tests/model/locks.rs", &["crates/core/src/wait/ticket.rs"]),
        ("crates/core/tests/model/chunks.rs", &["crates/core/src/offload/chunks.rs"]),
        ("crates/core/tests/model/inbox.rs", &["crates/layout/src/inbox/mod.rs"]),
        (
            "crates/core/tests/model/batches.rs",
            &["crates/fabric/src/batches.rs", "crates/fabric/src/encoding/batch.rs"],
        ),
    ];
    let source = |path: &str| Source::new(path, &fs::read_to_string(root().join(path)).expect("a source"));
    let (mut same, mut findings) = (0, Vec::new());
    for (model, files) in MODELS {
        let library: Vec<_> = files.iter().flat_map(|file| models::methods(&source(file))).collect();
        let (n, differ) = models::compare(&source(model), &library);
        assert!(n > 0 || !differ.is_empty(), "{model} has no words");
        same += n;
        findings.extend(differ);
    }
    report(&findings, "let the model have what the library has");
    assert!(same > 25, "{same} methods");
}

/// The texts between backquotes.
fn all_quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The text between the first two backquotes.
fn quoted(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

/// Each crate of the drawing in docs/architecture.md uses crates below it alone, and all crates are drawn.
#[test]
fn the_floors_are_as_drawn() {
    const DRAWN_APART: [&str; 2] = ["digest", "macros"];
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a text");
    let text = read("docs/architecture.md");
    let drawing = text.split("## Floors").nth(1).expect("a part on floors");
    let drawing = drawing.split("```").nth(1).expect("a drawing");
    // Names come first in a line; two blanks or one are between them, and what they are follows from column 34 on.
    let floors: Vec<Vec<&str>> =
        drawing.lines().skip(1).map(|line| line.get(..34).unwrap_or(line).split_whitespace().collect()).collect();
    let floor = |name: &str| floors.iter().position(|floor| floor.contains(&name));
    let crates = fs::read_dir(root().join("crates")).expect("the workspace's crates");
    let mut manifests: Vec<(String, String)> = crates
        .map(|entry| {
            let name = entry.expect("an entry").file_name().display().to_string();
            let path = format!("crates/{name}/Cargo.toml");
            (name, path)
        })
        .filter(|(name, _)| !DRAWN_APART.contains(&name.as_str()))
        .collect();
    manifests.push(("sys".to_owned(), "shmem-sys/Cargo.toml".to_owned()));
    manifests.push(("ferroshmem".to_owned(), "Cargo.toml".to_owned()));
    let mut findings = Vec::new();
    for (name, manifest) in &manifests {
        let Some(own) = floor(name) else {
            findings.push(format!("{name} is not drawn"));
            continue;
        };
        let text = read(manifest);
        let product = text.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let product = product.split("\n[").next().unwrap_or_default();
        for line in product.lines() {
            let used = line.strip_prefix("ferroshmem-").unwrap_or_default();
            let used = used.split(['.', ' ']).next().unwrap_or_default();
            if floor(used).is_some_and(|below| below <= own) {
                findings.push(format!("{name} uses {used}, which is not below it"));
            }
        }
    }
    report(&findings, "draw it in docs/architecture.md where it stands");
}

/// `cargo xtask test` lints libraries by compiling their unit tests (`dev/conformance/scripts/lint.sh`).
#[test]
fn unit_tests_leave_no_code_out() {
    let mut findings = Vec::new();
    for folder in ["crates", "src", "benches/src", "pgas-microbench/src", "dev"] {
        let files = rust_files(&root().join(folder)).into_iter();
        let left_out = files.filter(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("cfg(not(test")));
        findings.extend(left_out.map(|file| file.display().to_string()));
    }
    report(&findings, "compile it with the tests, too: nothing else lints it");
}

#[test]
fn import_cycles_are_short() {
    let mut findings = Vec::new();
    for folder in [
        "crates/api/src", "crates/core/src", "crates/collective/src", "crates/port/src", "crates/message/src",
        "crates/stream/src", "crates/profiling/src", "crates/runtime/src", "crates/fabric/src", "crates/bootstrap/src",
        "crates/platform/src", "crates/tools/src", "dev/cluster/src",
    ] {
        for cycle in cycles::cycles(&sources(root(), folder)) {
            if cycle.len() > CYCLE {
                findings.push(format!("{} files: {}", cycle.len(), cycle.join(", ")));
            }
        }
    }
    report(&findings, "modules of a cycle are read and changed together: move what they share below them");
}

#[test]
fn the_environment_is_read_in_one_place() {
    let mut findings = Vec::new();
    for folder in environment::FOLDERS {
        for source in sources(root(), folder) {
            findings.extend(environment::findings(&source));
        }
    }
    report(&findings, "add the variable to the table of the configuration and read it from there");
}

#[test]
fn safety_arguments_name_a_promise() {
    let mut findings = Vec::new();
    for folder in safety::FOLDERS {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            findings.extend(safety::findings(&path.display().to_string(), &text));
        }
    }
    report(&findings, "say which promise: \"the caller promises that `source` is readable for `bytes` bytes\"");
}

#[test]
fn functions_of_the_rust_api_have_examples() {
    let mut findings = Vec::new();
    for path in rust_files(&root().join("src")) {
        // What the attributes expand to is no part of the documentation.
        if !path.ends_with("src/job.rs") {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            findings.extend(examples::findings(&path.display().to_string(), &text));
        }
    }
    report(&findings, "show its point in 2 to 6 lines, or say: As in the example of [`other`](Self::other).");
}

/// Rustfmt leaves comments and literals as they are.
#[test]
fn lines_have_at_most_120_columns() {
    let folders =
        ["src", "crates", "shmem-sys", "libshmem", "libshmem-check", "benches", "pgas-microbench", "dev", "tests"];
    let mut findings = Vec::new();
    for path in folders.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let text = fs::read_to_string(&path).expect("sources are UTF-8");
        // Rows of tables cannot be parted.
        let is_long = |line: &str| line.chars().count() > 120 && !line.trim_start().starts_with("/// |");
        let long = text.lines().enumerate().filter(|(_, line)| is_long(line));
        findings.extend(long.map(|(i, _)| format!("{}:{}", path.display(), i + 1)));
    }
    report(&findings, "part the line");
}

#[test]
fn a_function_without_an_example_is_found() {
    let text =
        "/// ```\n/// f();\n/// ```\npub fn f() {}\npub fn g() {}\n/// As in the example of [`f`].\npub fn h() {}";
    assert_eq!(examples::findings("a.rs", text), ["a.rs:5"]);
}

#[test]
fn an_empty_safety_argument_is_found() {
    let text = "fn a() {\n    // SAFETY: the caller's promise.\n    b();\n}\n";
    assert_eq!(safety::findings("a.rs", text), ["a.rs:2"]);
    let text = "// SAFETY: the caller's promise\n// that `a` is readable.\n";
    assert!(safety::findings("a.rs", text).is_empty());
}

#[test]
fn a_long_cycle_is_found() {
    let files = |last: &str| {
        vec![
            Source::new("src/lib.rs", "mod a; mod b; mod c; mod d;"),
            Source::new("src/a.rs", "use crate::b::B; pub struct A;"),
            Source::new("src/b/mod.rs", "mod inner; pub use inner::B;"),
            Source::new("src/b/inner.rs", "pub struct B(crate::c::C);"),
            Source::new("src/c.rs", "use super::{d::D, b}; pub struct C;"),
            Source::new("src/d.rs", last),
        ]
    };
    let cyclic = files("use crate::a::A; pub struct D;");
    assert_eq!(cycles::cycles(&cyclic), [["src/a.rs", "src/b/inner.rs", "src/c.rs", "src/d.rs"]]);
    assert!(cycles::cycles(&files("#[cfg(test)] mod tests { use crate::a::A; }")).is_empty());
}

#[test]
fn a_variable_read_elsewhere_is_found() {
    let found = |file: &str, text: &str| environment::findings(&Source::new(file, text)).len();
    for text in [
        "let x = std::env::var(\"A\");",
        "use std::env;\nlet x = env::var_os(NAME);",
        "let x = unsafe { libc::getenv(name) };",
        "const X: Option<&str> = option_env!(\"A\");",
        "use std::env::vars;",
    ] {
        assert_eq!(found("crates/core/src/heap.rs", text), 1, "{text}");
        assert_eq!(found(environment::TABLES[0], text), 0, "{text}");
    }
    assert_eq!(found("crates/core/src/heap.rs", "let x = env::args(); command.env(1, 2);"), 0);
}
