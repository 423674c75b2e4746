//! The Fortran interfaces: that of OpenSHMEM 1.4, the last one that had it, by a table of what each routine calls; and
//! the module of version 1.6, by the table of C's routines.

mod glue;
mod include;
mod interface;
mod legacy;
mod module;
mod module_test;
mod test;

pub use interface::synopses;

use crate::table;

/// The files of an installation, by their names: what programs include, the module, and the sources of the library.
pub fn files() -> Vec<(&'static str, String)> {
    let chapters = table::chapters();
    vec![
        ("shmem.fh", include::text()),
        ("shmem.f90", module::text(&chapters)),
        ("shmem-fortran.c", glue::text(&chapters)),
        ("shmem-module.c", glue::module(&chapters)),
    ]
}

/// The programs that call each routine, by their names.
pub fn tests() -> Vec<(&'static str, String)> {
    vec![("every_routine.f90", test::text()), ("every_interface.f90", module_test::text(&table::chapters()))]
}
