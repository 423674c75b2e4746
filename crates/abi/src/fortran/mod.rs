//! The Fortran interface of OpenSHMEM 1.4, the last one that had it: a table of what each routine calls, and what is
//! made of it.

mod glue;
mod include;
mod legacy;
mod test;

use crate::table;

/// The files of an installation, by their names: what programs include, and the source of the library.
pub fn files() -> Vec<(&'static str, String)> {
    vec![("shmem.fh", include::text()), ("shmem-fortran.c", glue::text(&table::chapters()))]
}

/// The program that calls each routine.
pub fn test() -> String {
    test::text()
}
