//! Kernel modules and what they need, from what they say of themselves.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the modules `wanted` and of all that they need, each after what it needs.
///
/// # Errors
/// If one is not below `folder`, or is compressed.
pub(super) fn in_order(folder: &Path, wanted: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    collect(folder, &mut files).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut request = Vec::new();
    let mut seen = BTreeSet::new();
    for name in wanted {
        add(name, &files, &mut seen, &mut request)?;
    }
    Ok(request)
}

fn add(
    name: &str,
    files: &BTreeMap<String, PathBuf>,
    seen: &mut BTreeSet<String>,
    request: &mut Vec<PathBuf>,
) -> Result<()> {
    if !seen.insert(name.to_owned()) {
        return Ok(());
    }
    let Some(file) = files.get(name) else {
        bail!("the kernel package has no module {name}");
    };
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    for needed in needs(&content) {
        add(&needed, files, seen, request)?;
    }
    request.push(file.clone());
    Ok(())
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "ko") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            // File names have either, what modules say has underscores.
            files.insert(name.replace('-', "_"), path);
        }
    }
    Ok(())
}

/// Names of the modules that this one needs: `depends=a,b` in the section `.modinfo`, whose
/// strings end with zero bytes.
fn needs(content: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(start) = content.windows(KEY.len()).position(|bytes| bytes == KEY) else {
        return Vec::new();
    };
    let rest = &content[start + KEY.len()..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&rest[..end])
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_needs_comes_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, needs: &str| {
            let content = format!("\0license=GPL\0depends={needs}\0name=x\0");
            fs::write(folder.path().join(name), content).unwrap();
        };
        write("top.ko", "left-one,right");
        write("left-one.ko", "bottom");
        write("right.ko", "bottom");
        write("bottom.ko", "");
        write("other.ko", "");
        let request = in_order(folder.path(), &["top", "bottom"]).unwrap();
        let names: Vec<_> = request.iter().map(|p| p.file_stem().unwrap()).collect();
        assert_eq!(names, ["bottom", "left-one", "right", "top"]);
    }

    #[test]
    fn a_missing_module_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.ko"), "\0depends=b\0").unwrap();
        let error = in_order(folder.path(), &["a"]).unwrap_err();
        assert_eq!(error.to_string(), "the kernel package has no module b");
    }
}
