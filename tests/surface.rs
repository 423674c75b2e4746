//! The public interface names only its own types, those of the standard library, `bytemuck::Pod` and, with the features
//! of these names, those of `ndarray`, `num-complex`, `rayon` and `tracing`: so users do not depend on other crates'
//! versions.
//!
//! Reads rustdoc's JSON. If that format changes, the test fails instead of passing without a check.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Builds with unstable options share this folder: `RUSTC_BOOTSTRAP` has cargo run build scripts again.
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../sanitizers");

/// A command of cargo's for the crate with all features.
fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([command, "--quiet", "--lib", "--all-features", "--target-dir", TARGET])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS");
    cargo
}

/// The documentation of the crate with all features, as rustdoc's JSON.
fn documentation() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| {
        let mut cargo = cargo("rustdoc");
        let status = cargo
            .args(["--", "-Zunstable-options", "--output-format=json", "-Dwarnings"])
            .status()
            .expect("cargo runs");
        assert!(status.success());
        let json = std::fs::read(format!("{TARGET}/doc/ferroshmem.json")).expect("rustdoc wrote it");
        serde_json::from_slice(&json).expect("it is JSON")
    })
}

/// What the crate has: `Type::method` of types and traits, and the names of its modules' functions.
fn methods(json: &Value) -> BTreeSet<String> {
    let index = json["index"].as_object().expect("items");
    let name_of = |id: &Value| index.get(&id.to_string())?["name"].as_str();
    let mut found = BTreeSet::new();
    for (id, item) in index {
        let inner = &item["inner"];
        let (owner, items) = if inner["impl"].is_object() {
            let path = inner["impl"]["for"]["resolved_path"]["path"].as_str();
            (path.and_then(|path| path.rsplit("::").next()), &inner["impl"]["items"])
        } else if inner["module"].is_object() {
            (name_of(&Value::String(id.clone())).or(item["name"].as_str()), &inner["module"]["items"])
        } else {
            continue;
        };
        for id in items.as_array().into_iter().flatten() {
            if let (Some(owner), Some(name)) = (owner, name_of(id)) {
                found.insert(format!("{owner}::{name}"));
            }
        }
    }
    found
}

/// Every routine of the C API has a line in the table of the guide, whose Rust forms the crate has.
#[test]
fn every_routine_has_a_form_or_a_reason() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rust-routines.md");
    let text = std::fs::read_to_string(path).expect("the table is there");
    let code = |cell: &str| {
        let parts = cell.split('`').skip(1).step_by(2).map(str::to_owned);
        parts.collect::<Vec<_>>()
    };
    let methods = methods(documentation());
    assert!(methods.len() > 200, "rustdoc's format has changed: {methods:?}");
    let (mut listed, mut wrong) = (BTreeSet::new(), Vec::new());
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let (c, rust) = line.trim_matches(['|', ' ']).split_once(" | ").expect("two cells");
        for routine in code(c) {
            if !listed.insert(routine.clone()) {
                wrong.push(format!("{routine} is listed twice"));
            }
        }
        let forms = code(rust).into_iter().filter(|name| name.contains("::"));
        let forms = Vec::from_iter(forms);
        wrong.extend(
            forms.iter().filter(|form| !methods.contains(*form)).map(|form| format!("{form} is not in the crate")),
        );
        if forms.is_empty() && !rust.starts_with("none: ") && !rust.starts_with("the macro") {
            wrong.push(format!("no form and no reason: {line}"));
        }
    }
    let families = ferroshmem_abi::table::chapters();
    let families = families.iter().flat_map(|chapter| &chapter.families);
    let routines: BTreeSet<String> = families
        .map(|family| {
            let name = family.pattern.replace("{ctx}", "");
            name.replace("_{T}", "").replace("{T}", "")
        })
        .collect();
    let missing = routines.difference(&listed).map(|name| format!("{name} has no line"));
    let extra = listed.difference(&routines).map(|name| format!("{name} is no routine"));
    wrong.extend(missing.chain(extra));
    assert!(wrong.is_empty(), "docs/rust-routines.md:\n{}", wrong.join("\n"));
}

#[test]
fn no_foreign_types() {
    let json = documentation();
    let is_sealed = |id: &str| {
        let path = json["paths"][id]["path"].as_array();
        path.is_some_and(|path| path.contains(&"sealed".into()))
    };
    let index = json["index"].as_object().expect("items");
    let sealed = index.iter().filter(|(id, _)| is_sealed(id));
    let items = |item: &'static Value| item["inner"]["trait"]["items"].as_array();
    let of_sealed: BTreeSet<String> =
        sealed.filter_map(|(_, item)| items(item)).flatten().map(Value::to_string).collect();
    let mut named = BTreeSet::new();
    for (id, item) in index {
        // Users cannot name the types behind a sealed trait.
        if is_sealed(id) || of_sealed.contains(id) {
            continue;
        }
        // Blanket implementations of other crates do not count, nor do their items.
        if item["crate_id"] != 0 {
            continue;
        }
        let implementation = &item["inner"]["impl"];
        if is_sealed(&implementation["trait"]["id"].to_string()) {
            continue;
        }
        if implementation["blanket_impl"].is_null() && implementation["is_synthetic"] != true {
            collect(&item["inner"], json, &mut named);
        }
    }
    let foreign = named.iter().filter(|path| {
        !["bytemuck::pod::Pod"].contains(&path.as_str())
            && !["ndarray::", "rayon::", "rayon_core::", "num_complex::", "tracing_core::", "tracing_subscriber::"]
                .iter()
                .any(|of| path.starts_with(of))
    });
    assert_eq!(Vec::from_iter(foreign), Vec::<&String>::new());
    assert!(named.len() > 1, "rustdoc's format has changed: only {named:?} found");
}

/// The compiler refuses each line of `surface/mistakes.rs` that has a comment `//~`, with an error that has its text,
/// and no other line.
#[test]
fn mistakes_are_explained() {
    let output = cargo("check").arg("--message-format=json").output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let built: Vec<Value> = lines.map(|line| serde_json::from_slice(line).expect("a line of JSON")).collect();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/surface/mistakes.rs");
    let mut rustc = Command::new("rustc");
    rustc.args([source, "--edition=2024", "--error-format=short", "--emit=metadata", "-o", "/dev/null"]);
    for name in ["ferroshmem", "rayon"] {
        let artifact = built.iter().find(|message| message["target"]["name"] == name).expect("it is built");
        let file = artifact["filenames"][0].as_str().expect("a file");
        rustc.args(["--extern", &format!("{name}={file}"), &format!("-Ldependency={TARGET}/debug/deps")]);
    }
    let output = rustc.output().expect("rustc runs");
    // A name has its path where another crate has the same.
    let diagnostics = String::from_utf8_lossy(&output.stderr).replace("ferroshmem::", "");
    let text = std::fs::read_to_string(source).expect("the mistakes");
    let mut errors = Vec::from_iter(diagnostics.lines().filter(|line| line.contains(": error")));
    let before = errors.len();
    let mut expected = 0;
    for (i, line) in text.lines().enumerate() {
        let Some((_, message)) = line.split_once("//~ ") else { continue };
        expected += 1;
        let here = format!("{source}:{}:", i + 1);
        errors.retain(|error| !(error.starts_with(&here) && error.contains(message)));
    }
    assert!(errors.is_empty() && before == expected, "{before} errors, {expected} expected:\n{diagnostics}");
}

/// Adds the paths of other crates that `value` refers to.
fn collect(value: &Value, json: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, json, named)),
        Value::Object(fields) => {
            if let Some(id) = fields.get("id").filter(|_| fields.contains_key("path"))
                && let Some(path) = json["paths"].get(id.to_string())
                && path["crate_id"] != 0
            {
                let path = path["path"].as_array().into_iter().flatten();
                let path = Vec::from_iter(path.filter_map(Value::as_str));
                if !["std", "core", "alloc"].contains(&path[0]) {
                    named.insert(path.join("::"));
                }
            }
            fields.values().for_each(|value| collect(value, json, named));
        }
        _ => {}
    }
}
