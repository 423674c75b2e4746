//! The element loops of reductions in the installed library are vector code for every level.

use std::path::Path;
use std::process::Command;

use ferroshmem_benches::Prefix;

/// Registers that a loop loads from a source in one iteration, each combined by one instruction.
const REGISTERS: usize = 4;

/// A level, its registers, and the instructions of the loops compiled for it. Operations that need
/// several instructions at a level are not listed.
struct Level {
    name: &'static str,
    register: &'static str,
    /// First letter of the instructions with these registers.
    prefix: &'static str,
    operations: &'static [&'static str],
    stream: &'static str,
}

const LEVELS: [Level; 3] = [
    Level {
        name: "baseline",
        register: "%xmm",
        prefix: "",
        operations: &[
            "addpd", "addps", "mulpd", "mulps", "maxpd", "maxps", "minpd", "minps", "paddb", "paddw", "paddd", "paddq",
            "pmullw", "pmaxub", "pmaxsw", "pminub", "pminsw",
        ],
        stream: "movnt",
    },
    Level {
        name: "avx2",
        register: "%ymm",
        prefix: "v",
        operations: &[
            "addpd", "addps", "mulpd", "mulps", "maxpd", "maxps", "minpd", "minps", "paddb", "paddw", "paddd", "paddq",
            "pmullw", "pmulld", "pmaxub", "pmaxsw", "pmaxsd", "pmaxud", "pminub", "pminsw", "pminsd", "pminud",
            "pcmpgtq",
        ],
        stream: "vmovnt",
    },
    Level {
        name: "avx512",
        register: "%zmm",
        prefix: "v",
        operations: &[
            "addpd", "addps", "mulpd", "mulps", "maxpd", "maxps", "minpd", "minps", "paddb", "paddw", "paddd", "paddq",
            "pmullw", "pmulld", "pmullq", "pmaxub", "pmaxsw", "pmaxsd", "pmaxud", "pmaxsq", "pmaxuq", "pminub",
            "pminsw", "pminsd", "pminud", "pminsq", "pminuq",
        ],
        stream: "vmovnt",
    },
];

/// The output of a command; none if it is not installed.
fn output(command: &mut Command) -> Option<String> {
    let Ok(output) = command.output() else {
        eprintln!("skipped: no {} (binutils)", command.get_program().display());
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The functions of the library that are compiled for a level, disassembled.
fn functions(library: &Path, level: &str) -> Option<Vec<String>> {
    let symbols = output(Command::new("nm").arg("--quiet").arg(library))?;
    let module = format!("15ferroshmem_simd5level{}{level}", level.len());
    let sections: Vec<String> = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|symbol| symbol.contains(&module))
        .map(|symbol| format!("--section=.text.{symbol}"))
        .collect();
    assert!(!sections.is_empty(), "no function for {level}");
    let mut objdump = Command::new("objdump");
    objdump.args(["--disassemble", "--no-show-raw-insn"]);
    let text = output(objdump.args(sections).arg(library))?;
    Some(text.split("\n\n").map(str::to_owned).collect())
}

/// The number of instructions of a name and with a register in a function.
fn count(function: &str, name: &str, register: &str) -> usize {
    let is_it = |line: &&str| {
        let instruction = line.split('\t').nth(1).unwrap_or_default();
        instruction.split_whitespace().next() == Some(name) && instruction.contains(register)
    };
    function.lines().filter(is_it).count()
}

#[test]
fn of_every_level_are_vector_code() {
    let library = Prefix::find().unwrap().library("libshmem.a");
    for level in LEVELS {
        let Some(functions) = functions(&library, level.name) else {
            return;
        };
        for operation in level.operations {
            let name = format!("{}{operation}", level.prefix);
            let found = functions.iter().any(|function| count(function, &name, level.register) >= REGISTERS);
            assert!(found, "no loop of {name} for {}", level.name);
        }
        // Sums of doubles, real and complex, consist of nothing else.
        let instruction = |name: &str| format!("{}{name}", level.prefix);
        let sums = functions
            .iter()
            .filter(|function| count(function, &instruction("addpd"), level.register) >= REGISTERS)
            .filter(|function| {
                let other = |name| count(function, &instruction(name), "mm");
                other("subpd") == 0 && other("mulpd") == 0
            });
        assert_eq!(sums.count(), 2, "sums of doubles for {}", level.name);
        let streams = functions
            .iter()
            .flat_map(|function| function.lines())
            .any(|line| line.contains(level.stream) && line.contains(level.register));
        assert!(streams, "no streaming stores for {}", level.name);
    }
}
