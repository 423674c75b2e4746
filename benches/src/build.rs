//! Compiling the programs of `c/`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ferroshmem_conformance::compile::on_path;
use pgas_microbench::build;

use crate::{Compiler, Prefix};

/// A source file and how it is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// File in `c/`.
    pub file: &'static str,
    /// Whether the compiler must keep loops over single elements: no vectors, no unrolling.
    pub element_wise: bool,
}

/// A program to build.
#[derive(Debug, Clone)]
pub struct Build {
    /// Name of the program; a slash separates it from its variants.
    pub name: String,
    /// Its sources.
    pub sources: Vec<Source>,
    /// The compiler under `oshcc`.
    pub compiler: Compiler,
    /// Flags for all sources, `-O2` if they say nothing else.
    pub flags: Vec<&'static str>,
}

impl Build {
    /// A program of one source, compiled by gcc.
    pub fn new(file: &'static str) -> Self {
        Self {
            name: file.trim_end_matches(".c").to_owned(),
            sources: vec![Source { file, element_wise: false }],
            compiler: Compiler::Gcc,
            flags: Vec::new(),
        }
    }

    /// The same under a name of its own.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// The same with a further flag.
    pub fn flag(mut self, flag: &'static str) -> Self {
        self.flags.push(flag);
        self
    }

    fn file_name(&self) -> String {
        self.name.replace('/', "-")
    }
}

/// Builds programs in a folder.
#[derive(Debug, Clone)]
pub struct Builder {
    /// The installation that programs are built with.
    pub prefix: Prefix,
    folder: PathBuf,
}

impl Builder {
    /// Builds in `folder`, with the installation that the environment names or one made from this
    /// source tree.
    ///
    /// # Errors
    /// If the library cannot be installed, or the folder cannot be made.
    pub fn new(folder: &Path) -> Result<Self> {
        let prefix = Prefix::find()?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { prefix, folder: folder.to_owned() })
    }

    /// Whether a compiler is installed.
    pub fn has(&self, compiler: Compiler) -> bool {
        on_path(compiler.name())
    }

    /// Builds a program; returns its path.
    ///
    /// # Errors
    /// If the compiler fails; its messages are in the error.
    pub fn program(&self, build: &Build) -> Result<PathBuf> {
        let objects: Vec<_> = build.sources.iter().map(|source| self.object(build, *source)).collect::<Result<_>>()?;
        let program = self.folder.join(build.file_name());
        self.compile(build, objects.iter().map(AsRef::as_ref), &program)?;
        Ok(program)
    }

    /// Compiles one source of a program; returns the object file.
    ///
    /// # Errors
    /// As for [`Self::program`].
    pub fn object(&self, build: &Build, source: Source) -> Result<PathBuf> {
        let object = self.folder.join(format!("{}-{}.o", build.file_name(), source.file));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(source.file);
        let mut arguments: Vec<&OsStr> = vec!["-c".as_ref(), path.as_ref()];
        if source.element_wise {
            arguments.extend(element_wise(build.compiler).iter().map(OsStr::new));
        }
        self.compile(build, arguments, &object)?;
        Ok(object)
    }

    fn compile<'a>(
        &self,
        program: &Build,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        output: &Path,
    ) -> Result<()> {
        let mut command = Command::new(self.prefix.bin("oshcc"));
        command
            .env("OSHMEM_CC", program.compiler.name())
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-pthread"])
            .args(&program.flags)
            .args(arguments)
            .arg("-o")
            .arg(output);
        build::run(&mut command)
    }
}

/// Flags that keep loops over single elements: no vectors, no unrolling, no call of memcpy.
fn element_wise(compiler: Compiler) -> &'static [&'static str] {
    match compiler {
        Compiler::Gcc => &["-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-tree-loop-distribute-patterns"],
        Compiler::Clang => &["-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"],
    }
}
