//! The public interface names only its own types, those of the standard library, `bytemuck::Pod` and,
//! with that feature, those of `ndarray`: so users do not depend on other crates' versions.
//!
//! Reads rustdoc's JSON. If that format changes, the test fails instead of passing without a check.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

#[test]
fn no_foreign_types() {
    // Builds with unstable options share this folder: `RUSTC_BOOTSTRAP` has cargo run build scripts again.
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/../sanitizers");
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "--lib", "--all-features"])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .args(["--target-dir", target])
        .args(["--", "-Zunstable-options", "--output-format=json"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .status()
        .expect("cargo runs");
    assert!(status.success());
    let json = std::fs::read(format!("{target}/doc/ferroshmem.json")).expect("rustdoc wrote it");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");

    let mut named = BTreeSet::new();
    for (id, item) in json["index"].as_object().expect("items") {
        // Users cannot name the types behind a sealed trait.
        let path = json["paths"][id]["path"].as_array();
        if path.is_some_and(|path| path.contains(&"sealed".into())) {
            continue;
        }
        // Blanket implementations of other crates do not count.
        let implementation = &item["inner"]["impl"];
        if implementation["blanket_impl"].is_null() && implementation["is_synthetic"] != true {
            collect(&item["inner"], &json, &mut named);
        }
    }
    let foreign = named.iter().filter(|path| {
        !["bytemuck::pod::Pod"].contains(&path.as_str()) && !path.starts_with("ndarray::")
    });
    assert_eq!(Vec::from_iter(foreign), Vec::<&String>::new());
    assert!(
        named.len() > 1,
        "rustdoc's format has changed: only {named:?} found"
    );
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
            fields
                .values()
                .for_each(|value| collect(value, json, named));
        }
        _ => {}
    }
}
