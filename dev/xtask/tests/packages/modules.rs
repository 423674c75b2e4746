//! Environment modules, by the languages that Environment Modules and Lmod read them in.

use super::support::{installed, lacks};
use super::{installation, note, succeed};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Stand-ins for the words of a module in Tcl, which print themselves.
const TCL: &str = r#"
foreach word {module-whatis conflict setenv prepend-path} {
    proc $word {args} "puts \"$word \[join \$args\]\""
}
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
ModulesHelp
"#;

/// The same in Lua.
const LUA: &str = r#"
local file = arg[1]
function myFileName() return file end
function pathJoin(a, b) return a .. "/" .. b end
for _, word in ipairs({"help", "whatis", "conflict", "setenv", "prepend_path"}) do
    _G[word] = function(...) print(word:gsub("_", "-") .. " " .. table.concat({...}, " ")) end
end
dofile(file)
"#;

/// The module that is installed.
fn module(ending: &str) -> PathBuf {
    let version = env!("CARGO_PKG_VERSION");
    installation().join(format!("share/modulefiles/ferroshmem/{version}{ending}"))
}

/// Runs a module with stand-ins; it must lead to the commands of the installation.
fn lead_to_the_installation(interpreter: &str, script: &str, ending: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("stand-ins");
    fs::write(&program, script).unwrap();
    let printed = succeed(Command::new(interpreter).arg(program).arg(module(ending)));
    let path = printed.lines().find_map(|line| line.strip_prefix("prepend-path PATH "));
    let bin = PathBuf::from(path.unwrap_or_else(|| panic!("no path:\n{printed}")));
    assert!(bin.join("oshrun").is_file(), "{printed}");
    for word in ["setenv FERROSHMEM_ROOT /", "conflict ferroshmem", "PKG_CONFIG_PATH"] {
        assert!(printed.contains(word), "no {word}:\n{printed}");
    }
    assert!(!printed.contains("@VERSION@"), "{printed}");
}

#[test]
fn modules_in_tcl_and_lua_lead_to_the_installation() {
    let lua = ["lua5.4", "lua5.3", "lua"].into_iter().find(|lua| installed(lua));
    if lua.is_none() && lacks("tclsh", "tcl") {
        return;
    }
    match installed("tclsh") {
        true => lead_to_the_installation("tclsh", TCL, ""),
        false => note("the environment module in Tcl is not run: tclsh is not installed"),
    }
    match lua {
        Some(lua) => lead_to_the_installation(lua, LUA, ".lua"),
        None => note("the environment module in Lua is not run: lua is not installed"),
    }
    note("environment modules are run by tclsh and Lua with stand-ins for the words of Environment Modules and Lmod");
}
