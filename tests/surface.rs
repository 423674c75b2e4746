//! The public interface names only its own types, those of the standard library, `bytemuck::Pod` and, with the
//! features of these names, those of `half`, `ndarray`, `num-complex`, `rayon` and `tracing`: so users do not depend
//! on versions of other crates.
//!
//! Reads rustdoc's JSON. If that format changes, the test fails instead of passing without a check.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The words by which rustdoc compiles the crate with all features: those of its examples' tests, which use what the
/// tests of the workspace have built. For `cargo rustdoc`, all that it depends on would be checked once more.
fn words() -> &'static [String] {
    static WORDS: OnceLock<Vec<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        // In rustdoc's place, it writes its words down.
        const SCRIPT: &str =
            "#!/bin/sh\ncase \"$*\" in *'--crate-name ferroshmem '*) printf '%s\\n' \"$@\" >\"$0.words\";; esac\n";
        let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rustdoc");
        fs::write(&script, SCRIPT).expect("the target folder is writable");
        fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("it is ours");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--quiet", "--workspace", "--doc"]).current_dir(ROOT);
        let status = cargo.env("RUSTDOC", &script).env_remove("RUSTDOCFLAGS").status().expect("cargo runs");
        assert!(status.success());
        let text = fs::read_to_string(script.with_extension("words")).expect("the script has written it");
        let mut words = Vec::from_iter(text.lines().map(str::to_owned));
        let test = words.iter().position(|word| word == "--test-run-directory").expect("cargo tests examples");
        words.drain(test..test + 2);
        words.retain(|word| word != "--test");
        let manifest = fs::read_to_string(format!("{ROOT}/Cargo.toml")).expect("the manifest");
        let (_, features) = manifest.split_once("[features]\n").expect("the crate has features");
        for (feature, _) in features.lines().take_while(|line| !line.is_empty()).filter_map(|l| l.split_once(" = ")) {
            let has = words.contains(&format!("feature=\"{feature}\""));
            assert!(has, "the workspace is built without {feature}: add it in dev/interop/Cargo.toml");
        }
        words
    })
}

/// The documentation of the crate with all features, as rustdoc's JSON.
fn documentation() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| {
        let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/surface");
        let mut rustdoc = Command::new("rustdoc");
        rustdoc.args(words()).args(["-Zunstable-options", "--output-format=json", "-Dwarnings", "--out-dir", folder]);
        let status = rustdoc.current_dir(ROOT).env("RUSTC_BOOTSTRAP", "1").status().expect("rustdoc runs");
        assert!(status.success());
        let json = fs::read(format!("{folder}/ferroshmem.json")).expect("rustdoc wrote it");
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
    let text = fs::read_to_string(format!("{ROOT}/docs/rust-routines.md")).expect("the table is there");
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
            && ![
                "half::", "ndarray::", "rayon::", "rayon_core::", "num_complex::", "tracing_core::",
                "tracing_subscriber::",
            ]
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
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/surface/mistakes.rs");
    let mut rustc = Command::new("rustc");
    rustc.args([source, "--edition=2024", "--error-format=short", "--emit=metadata", "-o", "/dev/null"]);
    for pair in words().windows(2) {
        let name = pair[1].split_once('=').map_or("", |(name, _)| name);
        if pair[0] == "-L" || pair[0] == "--extern" && ["ferroshmem", "rayon"].contains(&name) {
            rustc.args(pair);
        }
    }
    let output = rustc.output().expect("rustc runs");
    // A name has its path where another crate has the same.
    let diagnostics = String::from_utf8_lossy(&output.stderr).replace("ferroshmem::", "");
    let text = fs::read_to_string(source).expect("the mistakes");
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
