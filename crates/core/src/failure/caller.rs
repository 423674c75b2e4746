//! Where in the program a routine was called that ends the job.

use std::fmt;
use std::ops::ControlFlow;

use ferroshmem_platform::object::{self, Object};
use ferroshmem_platform::unwind;

/// A call in the program; displayed as the command that prints file and line.
#[derive(Debug)]
pub(super) struct Caller {
    /// The function and the distance from its start, if the program exports its name.
    symbol: Option<(String, usize)>,
    /// The file of the code.
    object: String,
    /// The address in this file, as `addr2line` takes it.
    address: usize,
}

/// Whether it is the library that `oshrun --check` puts before this one.
fn has_checks(object: &Object) -> bool {
    object.path.ends_with("/libshmem-check.so")
}

/// The call that led into the library; None where the library is linked into the program itself, so
/// that their functions cannot be told apart.
pub(super) fn find() -> Option<Caller> {
    let library = Object::around(find as fn() -> Option<Caller> as usize)?;
    if object::program()? == library.base {
        return None;
    }
    let mut found = None;
    unwind::frames(&mut |frame| {
        // A return address belongs to the call before it.
        let address = frame.address.wrapping_sub(1);
        match Object::around(address) {
            Some(object) if object.base == library.base || has_checks(&object) => return ControlFlow::Continue(()),
            object => found = object.map(|object| (address, object)),
        }
        ControlFlow::Break(())
    });
    let (address, object) = found?;
    let escaped = |text: String| text.escape_debug().to_string();
    let symbol = object::symbol(address).map(|(name, distance)| (escaped(name), distance + 1));
    let place = address - object.load_address();
    Some(Caller { symbol, object: escaped(object.path), address: place })
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { symbol, object, address } = self;
        if let Some((name, distance)) = symbol {
            write!(f, "{name}+{distance:#x} ")?;
        }
        write!(f, "(addr2line -ife {object} {address:#x})")
    }
}
