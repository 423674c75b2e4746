//! What ends a job before its time: misuse that the library sees ([`fatal`]; [`checks`] says how much it looks at), and
//! debuggers on it ([`debugger`]). The crate `ferroshmem-runtime` watches others.

mod caller;
pub mod checks;
pub mod debugger;
pub mod fatal;
pub mod place;
