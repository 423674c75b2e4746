//! A file of code that a process has mapped: its tables for unwinding, its symbols, and its source lines.

use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Loader, demangle_auto};
use framehop::ExplicitModuleSectionInfo;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SymbolKind};

/// A part of the program's source, or what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Line {
    /// The function, demangled, and the distance from its start where the line is not known.
    pub function: Option<(String, Option<u64>)>,
    /// File and line.
    pub source: Option<(String, u32)>,
}

/// The file.
pub(crate) struct Image {
    /// Where it can be read.
    path: PathBuf,
    /// What to call it.
    pub name: String,
    segments: Vec<Segment>,
    sections: Sections,
    /// Variables by address: start, size, name.
    variables: OnceCell<Vec<(u64, u64, String)>>,
    /// None if it has no debug information and no symbols.
    loader: OnceCell<Option<Loader>>,
}

/// A part of the file that is mapped.
struct Segment {
    address: u64,
    size: u64,
    file: Range<u64>,
    is_executable: bool,
}

/// A section: where it is meant to be, and what is in it.
type Section = Option<(Range<u64>, Arc<[u8]>)>;

struct Sections {
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    eh_frame: Section,
    eh_frame_hdr: Section,
    debug_frame: Section,
}

impl Image {
    /// Reads the file at `path`, which is called `name`.
    pub(crate) fn open(path: &Path, name: &Path) -> Option<Self> {
        // Most of a file is debug information, of which no more is read than is asked for.
        let file = ReadCache::new(std::fs::File::open(path).ok()?);
        Self::parse(&file, path, name)
    }

    /// The file that has these bytes.
    pub(super) fn parse<'a>(bytes: impl ReadRef<'a>, path: &Path, name: &Path) -> Option<Self> {
        let object = object::File::parse(bytes).ok()?;
        let segments = object.segments().map(|segment| {
            let (start, len) = segment.file_range();
            Segment {
                address: segment.address(),
                size: segment.size(),
                file: start..start + len,
                is_executable: matches!(
                    segment.flags(),
                    object::SegmentFlags::Elf { p_flags } if p_flags & object::elf::PF_X != 0
                ),
            }
        });
        let range = |name: &str| {
            let section = object.section_by_name(name)?;
            Some(section.address()..section.address() + section.size())
        };
        let section = |name: &str| {
            let section = object.section_by_name(name)?;
            let data = section.uncompressed_data().ok()?;
            Some((range(name)?, Arc::from(data.as_ref())))
        };
        let file_name = name.file_name().unwrap_or(name.as_os_str());
        Some(Self {
            path: path.to_owned(),
            name: file_name.to_string_lossy().into_owned(),
            segments: segments.collect(),
            sections: Sections {
                text: range(".text"),
                got: range(".got"),
                eh_frame: section(".eh_frame"),
                eh_frame_hdr: section(".eh_frame_hdr"),
                debug_frame: section(".debug_frame"),
            },
            variables: OnceCell::new(),
            loader: OnceCell::new(),
        })
    }

    /// How far above its own addresses the file is loaded, of whose code the part from `offset` on is mapped at
    /// `start`.
    pub(super) fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        /// Pages are at most as large.
        const PAGE: u64 = 64 << 10;

        // Linkers let two segments share a page of the file: it is mapped for either.
        let holds = |segment: &&Segment| {
            let first = segment.file.start / PAGE * PAGE;
            segment.is_executable && (first..segment.file.end).contains(&offset)
        };
        let segment = self.segments.iter().find(holds)?;
        let address = segment.address.wrapping_sub(segment.file.start).wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }

    /// Whether one of the file's own addresses is in it.
    pub(super) fn contains(&self, address: u64) -> bool {
        let of = |s: &Segment| (s.address..s.address + s.size).contains(&address);
        self.segments.iter().any(of)
    }

    /// The tables by which stacks are unwound.
    pub(super) fn unwinding(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let parts = |section: &Section| section.clone().unzip();
        let s = &self.sections;
        let (eh_frame_svma, eh_frame) = parts(&s.eh_frame);
        let (eh_frame_hdr_svma, eh_frame_hdr) = parts(&s.eh_frame_hdr);
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: s.text.clone(),
            got_svma: s.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame: parts(&s.debug_frame).1,
            ..Default::default()
        }
    }

    fn loader(&self) -> Option<&Loader> {
        let load = || Loader::new(&self.path).ok();
        self.loader.get_or_init(load).as_ref()
    }

    /// The functions at one of the file's own addresses: those that are inlined first. None is known of a stripped
    /// file.
    pub(super) fn lines(&self, address: u64) -> Vec<Line> {
        let mut lines = Vec::new();
        let Some(loader) = self.loader() else {
            return lines;
        };
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref();
                let name = name.and_then(|f| Some(f.demangle().ok()?.into_owned()));
                let source = frame.location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|line| *line > 0)?)));
                lines.push(Line { function: name.map(|name| (name, None)), source });
            }
        }
        // Debug information of lines alone has Rust's names without their crates: the symbol has the whole name of the
        // outermost function; what is inlined there cannot be told from the library's.
        let is_bare = |line: &Line| {
            let of_rust = line.source.as_ref().is_some_and(|(file, _)| file.ends_with(".rs"));
            let name = line.function.as_ref();
            of_rust && name.is_some_and(|(name, _)| !name.contains("::"))
        };
        if let Some(mut outermost) = lines.pop() {
            if is_bare(&outermost) {
                outermost.function = None;
                lines.retain(|line| !is_bare(line));
            }
            lines.push(outermost);
        }
        let has_name = lines.last().is_some_and(|line| line.function.is_some());
        if !has_name && let Some(symbol) = loader.find_symbol_info(address) {
            let name = readable(symbol.name());
            let distance = address - symbol.address();
            match lines.last_mut() {
                Some(line) => line.function = Some((name, None)),
                None => lines.push(Line { function: Some((name, Some(distance))), source: None }),
            }
        }
        lines
    }

    /// The function at one of the file's own addresses, if the file exports it.
    pub(super) fn exported(&self, address: u64) -> Option<String> {
        let file = ReadCache::new(std::fs::File::open(&self.path).ok()?);
        let object = object::File::parse(&file).ok()?;
        let holds = |symbol: &object::Symbol<'_, '_, _>| {
            symbol.is_definition() && (symbol.address()..symbol.address() + symbol.size()).contains(&address)
        };
        object.dynamic_symbols().find(holds)?.name().ok().map(readable)
    }

    /// The variable at one of the file's own addresses, and how many bytes into it.
    pub(crate) fn variable(&self, address: u64) -> Option<(&str, u64)> {
        let all = self.variables.get_or_init(|| read_variables(&self.path).unwrap_or_default());
        let after = all.partition_point(|(start, ..)| *start <= address);
        // Objects may be nested, as names of the linker's are.
        let holds = |(start, size, _): &&(u64, u64, String)| address < start + size;
        let found = all[..after].iter().rev().take(8).find(holds)?;
        Some((&found.2, address - found.0))
    }
}

/// A symbol's name as in the source. C's are: the demangler would take a variable `b` for the type bool.
fn readable(name: &str) -> String {
    match name.starts_with("_Z") || name.starts_with("_R") {
        true => demangle_auto(name.into(), None).into_owned(),
        false => name.to_owned(),
    }
}

fn read_variables(path: &Path) -> Option<Vec<(u64, u64, String)>> {
    let bytes = std::fs::read(path).ok()?;
    let object = object::File::parse(&*bytes).ok()?;
    let symbols = object.symbols().chain(object.dynamic_symbols());
    let variable = |symbol: object::Symbol<'_, '_>| {
        let is_variable = symbol.is_definition() && symbol.kind() == SymbolKind::Data;
        let name = readable(symbol.name().ok()?);
        (is_variable && symbol.size() > 0).then(|| (symbol.address(), symbol.size(), name))
    };
    let mut all: Vec<_> = symbols.filter_map(variable).collect();
    all.sort_unstable();
    all.dedup();
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    static MARKED: [u64; 4] = [1, 2, 3, 4];

    fn own() -> Image {
        let path = std::env::current_exe().unwrap();
        Image::open(&path, &path).unwrap()
    }

    /// This program's own mapping of an address, as the kernel lists it.
    fn bias_of(image: &Image, address: u64) -> u64 {
        let all = super::super::thread::mappings(nix::unistd::getpid());
        let mapping = all.iter().find(|m| m.range.contains(&address)).unwrap();
        image.bias(mapping.range.start, mapping.offset).unwrap()
    }

    #[test]
    fn a_variable_has_a_name() {
        let image = own();
        let data = &raw const MARKED[2] as u64;
        let bias = bias_of(&image, own as fn() -> Image as usize as u64);
        assert!(image.contains(data - bias));
        let (name, offset) = image.variable(data - bias).unwrap();
        assert!(name.contains("MARKED") && offset == 16, "{name}+{offset}");
    }

    /// A program in C, as these tests may be compiled without debug information.
    #[test]
    fn a_function_has_a_line() {
        let folder = std::env::temp_dir().join(format!("inspected-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join("sum.c"), folder.join("sum"));
        std::fs::write(&source, "int sum(int a)\n{\n    return a + 1;\n}\nint main(void) { return sum(-1); }\n")
            .unwrap();
        let mut compiler = std::process::Command::new("cc");
        let status = compiler.arg("-g").arg(&source).arg("-o").arg(&program).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped: cc compiles no program");
            return;
        }
        let bytes = std::fs::read(&program).unwrap();
        let image = Image::open(&program, &program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let sum = file.symbol_by_name("sum").unwrap().address();
        let lines = image.lines(sum);
        let line = lines.last().unwrap();
        let (file, number) = line.source.as_ref().unwrap();
        assert!(file.ends_with("sum.c"), "{file}");
        assert!((1..=3).contains(number), "{number}");
        assert!(line.function.as_ref().unwrap().0.contains("sum"));
        // Debug information is read when it is asked for.
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("b"), "b");
        assert_eq!(readable("_ZN4flux3sumE"), "flux::sum");
    }

    #[test]
    fn bytes_that_are_no_program_are_refused() {
        let path = Path::new("/x");
        assert!(Image::parse(&b"#!/bin/sh\n"[..], path, path).is_none());
        assert!(Image::parse(&b"\x7fELF"[..], path, path).is_none());
        assert!(Image::open(Path::new("/no/such"), path).is_none());
    }
}
