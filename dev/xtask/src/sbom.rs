//! The list of what a release is made of, in the format of CycloneDX: each crate that is compiled into the library or a
//! command, with version, licence, checksum and what it depends on itself.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What is released: the crates that programs link, and that the commands are made of.
const ROOTS: [&str; 2] = ["ferroshmem-libshmem", "ferroshmem-tools"];

/// The platform of releases.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The document.
///
/// # Errors
/// If cargo does not tell what the workspace depends on.
pub(crate) fn document() -> Result<Value> {
    let metadata = metadata()?;
    let packages = by_id(&metadata["packages"], "id");
    let nodes = by_id(&metadata["resolve"]["nodes"], "id");
    let edges = edges(&packages, &nodes)?;
    let checksums = checksums()?;
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for (id, needs) in &edges {
        let package = packages.get(id).context("cargo knows its packages")?;
        components.push(component(package, &checksums)?);
        let needs: Vec<Value> = needs.iter().map(|id| json!(reference(packages[id]))).collect();
        dependencies.push(json!({ "ref": reference(package), "dependsOn": needs }));
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "ferroshmem",
                "version": env!("CARGO_PKG_VERSION"),
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn metadata() -> Result<Value> {
    let mut cargo = workspace::cargo("metadata");
    cargo.args(["--locked", "--format-version=1", "--filter-platform", PLATFORM]);
    let output = cargo.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The objects of a list by one of their words.
fn by_id<'a>(list: &'a Value, key: &str) -> BTreeMap<&'a str, &'a Value> {
    let objects = list.as_array().into_iter().flatten();
    objects.filter_map(|object| Some((object[key].as_str()?, object))).collect()
}

/// All packages that are compiled into what is released, with those that each depends on; not what is only used by
/// build scripts and tests.
fn edges<'a>(
    packages: &BTreeMap<&'a str, &'a Value>,
    nodes: &BTreeMap<&'a str, &'a Value>,
) -> Result<BTreeMap<&'a str, BTreeSet<&'a str>>> {
    let is_root = |package: &Value| ROOTS.iter().any(|root| package["name"] == *root);
    let roots = packages.iter().filter(|(_, package)| is_root(package));
    let mut waiting: Vec<&str> = roots.map(|(id, _)| *id).collect();
    ensure!(waiting.len() == ROOTS.len(), "not all of {ROOTS:?} are there");
    let mut found = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if found.contains_key(id) {
            continue;
        }
        let node = nodes.get(id).context("cargo resolves its packages")?;
        let needs = node["deps"].as_array().into_iter().flatten();
        let linked = needs.filter(|need| {
            let kinds = need["dep_kinds"].as_array().into_iter().flatten();
            kinds.into_iter().any(|kind| kind["kind"].is_null())
        });
        let linked: BTreeSet<&str> = linked.filter_map(|need| need["pkg"].as_str()).collect();
        waiting.extend(&linked);
        found.insert(id, linked);
    }
    Ok(found)
}

/// Name and version, as package URLs have them.
fn reference(package: &Value) -> String {
    let of = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", of("name"), of("version"))
}

fn component(package: &Value, checksums: &BTreeMap<String, String>) -> Result<Value> {
    let reference = reference(package);
    let license = package["license"].as_str().with_context(|| format!("{reference} names no licence"))?;
    let mut component = Map::new();
    component.insert("type".into(), json!("library"));
    component.insert("bom-ref".into(), json!(reference));
    component.insert("name".into(), package["name"].clone());
    component.insert("version".into(), package["version"].clone());
    component.insert("purl".into(), json!(reference));
    // Some still have the old form of "or".
    let expression = license.replace('/', " OR ");
    component.insert("licenses".into(), json!([{ "expression": expression }]));
    if let Some(checksum) = checksums.get(&reference) {
        let hash = json!([{ "alg": "SHA-256", "content": checksum }]);
        component.insert("hashes".into(), hash);
    }
    Ok(component.into())
}

/// The checksums of `Cargo.lock`, of crates that come from a registry.
fn checksums() -> Result<BTreeMap<String, String>> {
    let path = workspace::root().join("Cargo.lock");
    let text = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
    Ok(read_checksums(&text))
}

fn read_checksums(lock: &str) -> BTreeMap<String, String> {
    let packages = lock.split("[[package]]").skip(1);
    let value = |package: &str, key: &str| {
        let mut lines = package.lines();
        let quoted = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        Some(quoted.trim_end_matches('"').to_owned())
    };
    packages
        .filter_map(|package| {
            let (name, version) = (value(package, "name")?, value(package, "version")?);
            Some((format!("pkg:cargo/{name}@{version}"), value(package, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_what_builds_is_not() {
        let document = document().unwrap();
        let components = document["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|c| c["name"] == name);
        for name in ["ferroshmem-core", "libc", "clap", "syn"] {
            let listed = named(name).is_some();
            // A macro is run by the compiler, and yet cargo lists it as any other dependency.
            assert!(listed || name == "syn", "{name} is not listed");
        }
        for name in ["cc", "tempfile", "ferroshmem-conformance"] {
            assert!(named(name).is_none(), "{name} is listed");
        }
        let libc = named("libc").unwrap();
        assert_eq!(libc["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert_eq!(libc["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let all = document["dependencies"].as_array().unwrap();
        let core = all.iter().find(|d| {
            let name = d["ref"].as_str().unwrap();
            name.starts_with("pkg:cargo/ferroshmem-core@")
        });
        let needs = core.unwrap()["dependsOn"].as_array().unwrap();
        assert!(needs.contains(&libc["bom-ref"]), "{needs:?}");
    }

    #[test]
    fn checksums_are_of_registries() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum \
            = \"0f\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let read = read_checksums(lock);
        assert_eq!(read.len(), 1);
        assert_eq!(read["pkg:cargo/a@1.0.0"], "0f");
    }
}
