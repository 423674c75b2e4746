//! Recipes of Spack, EasyBuild and conda. The first two are programs in Python, which are run with stand-ins for these
//! tools. Where the tools are, ignored tests build by them.

use super::support::lacks;
use super::{files_below, installation, note, root, serves_a_user, succeed, xtask};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a recipe says; none without Python.
fn read(kind: &str, recipe: &Path, more: &[&Path]) -> Option<Value> {
    if lacks("python3", "python3") {
        return None;
    }
    let scratch = tempfile::tempdir().unwrap();
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages/recipes.py");
    let mut python = Command::new("python3");
    python.arg(reader).arg(kind).arg(recipe).args(more);
    python.env("STAGE", scratch.path()).env("SOURCE", root());
    Some(serde_json::from_str(&succeed(&mut python)).unwrap())
}

/// The oldest Rust that the workspace takes.
fn rust_version() -> String {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("rust-version = \"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Whether `cargo xtask` takes these arguments, of which the first one names the task.
fn is_task(arguments: &[&str]) {
    let help = succeed(&mut xtask(&[arguments[0], "--help"]));
    for option in arguments.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "cargo xtask {arguments:?}:\n{help}");
    }
}

#[test]
fn spack_builds_what_there_is() {
    let recipe = root().join("packaging/spack/package.py");
    let Some(fields) = read("spack", &recipe, &[installation()]) else {
        return;
    };
    // `cargo xtask release` adds each version with its tag.
    let versions = fields["versions"].as_array().unwrap();
    assert_eq!(versions[0], json!(["main", { "branch": "main" }]));
    for version in &versions[1..] {
        let number = version[0].as_str().unwrap();
        assert_eq!(version[1], json!({ "tag": format!("v{number}") }));
    }

    let names = |key: &str| {
        let list = fields[key].as_array().unwrap().iter();
        list.map(|item| item[0].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let needs = names("depends_on");
    let rust = format!("rust@{}:", rust_version());
    assert!(needs.contains(&rust), "{needs:?} lacks {rust}");
    let guide = fs::read_to_string(root().join("docs/nodes.md")).unwrap();
    let fabric = needs.iter().find_map(|need| need.strip_prefix("libfabric@"));
    let oldest = fabric.unwrap().trim_end_matches(':');
    assert!(guide.contains(&format!("libfabric {oldest}")), "{oldest}");
    // Each variant has an effect, and no other is asked for.
    let mut variants = names("variants");
    variants.sort();
    let asked: Vec<String> = serde_json::from_value(fields["asked"].clone()).unwrap();
    assert_eq!(variants, asked);
    assert_eq!(names("license"), ["MIT OR Apache-2.0"]);

    let commands: Vec<Vec<String>> = serde_json::from_value(fields["commands"].clone()).unwrap();
    let [release, debug] = &commands[..] else {
        panic!("{commands:?}");
    };
    assert_eq!(release[..], ["xtask", "install", "--prefix", "/prefix"]);
    assert_eq!(debug[4..], ["--debug"]);
    is_task(&debug[1..].iter().map(String::as_str).collect::<Vec<_>>());
    note("Spack's recipe is run with stand-ins, its check on the installation under test; Spack: ignored test");
}

#[test]
fn easybuild_builds_this_version() {
    let recipe = easybuild_recipe();
    let Some(fields) = read("easybuild", &recipe, &[]) else {
        return;
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((&fields["name"], &fields["version"]), (&json!("FerroSHMEM"), &json!(version)));
    let of = |key: &str| fields["toolchain"][key].as_str().unwrap();
    let name = format!("FerroSHMEM-{version}-{}-{}.eb", of("name"), of("version"));
    assert!(recipe.ends_with(&name), "{name}");
    let needs = fields["builddependencies"].as_array().unwrap();
    let rust = needs.iter().find(|need| need[0] == "Rust").unwrap();
    let has = rust[1].as_str().unwrap();
    let minor = |version: &str| version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    assert!(minor(has) >= minor(&rust_version()), "Rust {has}");

    let words: Vec<&str> = fields["install_cmd"].as_str().unwrap().split(' ').collect();
    assert_eq!(words[..2], ["cargo", "xtask"]);
    is_task(&words[2..]);
    for kind in ["files", "dirs"] {
        for path in fields["sanity_check_paths"][kind].as_array().unwrap() {
            let path = installation().join(path.as_str().unwrap());
            assert!(path.exists(), "no {}", path.display());
        }
    }
    let bin = installation().join("bin");
    let before = env::var("PATH").unwrap_or_default();
    for line in fields["sanity_check_commands"].as_array().unwrap() {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", line.as_str().unwrap()]);
        succeed(shell.env("PATH", format!("{}:{before}", bin.display())));
    }
    note("EasyBuild's recipe is read, and its checks are run on the installation under test; EasyBuild: ignored test");
}

/// Spack installs the newest commit, with the fabric, and runs the recipe's check, with this system's Rust and
/// libfabric.
#[test]
#[ignore = "builds the library, which takes minutes"]
fn spack_installs() {
    if lacks("spack", "Spack") || lacks("pkg-config", "pkg-config") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let word = |program: &str, arguments: &[&str], at: usize| {
        let printed = succeed(Command::new(program).args(arguments));
        printed.split_whitespace().nth(at).unwrap().to_owned()
    };
    let file = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let external = |name: &str, version: &str, prefix: &str| {
        format!("  {name}: {{buildable: false, externals: [{{spec: {name}@{version}, prefix: {prefix}}}]}}\n")
    };
    let rust = external("rust", &word("rustc", &["--version"], 1), &word("rustc", &["--print=sysroot"], 0));
    let fabric = |what| word("pkg-config", &[what, "libfabric"], 0);
    let fabric = external("libfabric", &fabric("--modversion"), &fabric("--variable=prefix"));
    file("user/packages.yaml", &format!("packages:\n{rust}{fabric}"));
    let [clone, opt, repository] = ["clone", "opt", "repository"].map(|name| folder.join(name).display().to_string());
    file("user/config.yaml", &format!("config:\n  install_tree: {{root: {opt}}}\n"));
    succeed(Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&clone));
    succeed(Command::new("git").args(["-C", &clone, "checkout", "--quiet", "-B", "main"]));
    let spack = |arguments: &[&str]| {
        let mut spack = Command::new("spack");
        spack.env("SPACK_USER_CONFIG_PATH", folder.join("user")).env("SPACK_USER_CACHE_PATH", folder.join("cache"));
        let address = format!("{}.git", env!("CARGO_PKG_REPOSITORY"));
        spack.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", format!("url.{clone}.insteadOf"));
        succeed(spack.env("GIT_CONFIG_VALUE_0", address).args(arguments))
    };
    spack(&["repo", "create", &repository, "own"]);
    let named = files_below(Path::new(&repository)).into_iter().find(|file| file.ends_with("repo.yaml")).unwrap();
    let own = Path::new(&repository).join(named.parent().unwrap());
    let recipe = fs::read_to_string(root().join("packaging/spack/package.py")).unwrap();
    file(own.join("packages/ferroshmem/package.py").to_str().unwrap(), &recipe);
    spack(&["repo", "add", own.to_str().unwrap()]);
    spack(&["install", "--test=root", "ferroshmem@main+fabric+debug"]);
    let prefix = spack(&["location", "--install-dir", "ferroshmem"]);
    serves_a_user(&Path::new(prefix.trim()).join("bin"), folder);
}

/// conda-build makes a package and runs the recipe's test, with this system's compiler, Rust and libfabric in place of
/// those of a channel.
#[test]
#[ignore = "builds the library as it is released, which takes minutes"]
fn conda_makes_a_package() {
    if lacks("conda-build", "conda-build") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let channel = scratch.path().join("channel");
    fs::create_dir(&channel).unwrap();
    let build = |recipe: &Path| {
        let mut build = Command::new("conda-build");
        build
            .args(["--no-anaconda-upload", "--override-channels", "--channel"])
            .arg(format!("file://{}", channel.display()))
            .env("CONDA_SOLVER", "classic");
        build.arg("--output-folder").arg(&channel).arg("--croot").arg(scratch.path().join("croot"));
        succeed(build.arg(recipe));
    };
    // By the classic solver, which each conda has, conda-build looks for the system's properties in channels, too.
    let info: Value = serde_json::from_str(&succeed(Command::new("conda").args(["info", "--json"]))).unwrap();
    let virtuals = info["virtual_pkgs"].as_array().unwrap().iter().map(|package| package[0].as_str().unwrap());
    for name in virtuals.chain(["gcc_linux-64", "rust_linux-64", "libfabric"]) {
        let recipe = scratch.path().join(name);
        fs::create_dir(&recipe).unwrap();
        fs::write(recipe.join("meta.yaml"), format!("package: {{name: {name}, version: 99}}\n")).unwrap();
        build(&recipe);
    }
    build(&root().join("packaging/conda"));
    let packages = files_below(&channel);
    let name = format!("ferroshmem-{}-", env!("CARGO_PKG_VERSION"));
    assert!(packages.iter().any(|file| file.to_string_lossy().contains(&name)), "{packages:?}");
}

fn easybuild_recipe() -> PathBuf {
    fs::read_dir(root().join("packaging/easybuild")).unwrap().next().unwrap().unwrap().path()
}

/// EasyBuild finds all that the recipe names, and makes a module by it. The toolchain, which takes hours to build, is
/// this system's compiler and Rust.
#[test]
#[ignore = "builds the library as it is released, which takes minutes"]
fn easybuild_makes_a_module() {
    if lacks("eb", "easybuild of PyPI, with a modules tool such as lmod") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let eb = |options: &[&str]| {
        let mut eb = Command::new("eb");
        eb.arg("--allow-use-as-root-and-accept-consequences").arg("--prefix").arg(scratch.path());
        succeed(eb.args(options).arg(easybuild_recipe()))
    };
    let plan = eb(&["--dry-run", "--robot"]);
    assert!(plan.contains("module: Rust/") && plan.contains("module: libfabric/"), "{plan}");

    let version = env!("CARGO_PKG_VERSION");
    let sources = scratch.path().join("f/FerroSHMEM");
    fs::create_dir_all(&sources).unwrap();
    let archive = sources.join(format!("ferroshmem-{version}.tar.gz"));
    let mut git = Command::new("git");
    git.current_dir(root()).args(["archive", "--format=tar.gz"]).arg(format!("--prefix=ferroshmem-{version}/"));
    succeed(git.arg("--output").arg(archive).arg("HEAD"));
    let path = scratch.path().to_str().unwrap();
    eb(&["--sourcepath", path, "--try-toolchain=system,system", "--filter-deps=binutils,libfabric,Rust"]);
    let installed = scratch.path().join("software/FerroSHMEM").join(version);
    serves_a_user(&installed.join("bin"), scratch.path());
    assert!(scratch.path().join("modules/all/FerroSHMEM").join(format!("{version}.lua")).exists());
}
