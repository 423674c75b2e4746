//! `shmem.fh`: the constants, in lines that both source forms of Fortran read, and types of functions whose names imply
//! others. Programs declare the types of all other functions, and may do so once only.

use std::fmt::Write;

use crate::constants::{SECTIONS, VENDOR_STRING};

/// Elements of the work arrays have half the size of C's, and the array may begin at half of one.
const WORK_ARRAY: &str = "SYNC_SIZE";

pub(super) fn text() -> String {
    let mut out = "! OpenSHMEM for Fortran, as version 1.4 of the standard had it.\n".to_owned();
    let constants = SECTIONS.iter().flat_map(|section| section.constants());
    for constant in constants.filter(|c| c.underscored || c.name.ends_with(WORK_ARRAY)) {
        let value: u32 = constant.value.trim_end_matches('L').parse().expect("a number");
        let value = if constant.name.ends_with(WORK_ARRAY) { 2 * value + 1 } else { value };
        let name = constant.name;
        writeln!(out, "      INTEGER {name}\n      PARAMETER ({name}={value})").unwrap();
    }
    out += "      CHARACTER*(SHMEM_MAX_NAME_LEN) SHMEM_VENDOR_STRING\n";
    writeln!(out, "      PARAMETER (SHMEM_VENDOR_STRING='{VENDOR_STRING}')").unwrap();
    for (ty, name) in
        [("LOGICAL", "SHMEM_PE_ACCESSIBLE"), ("LOGICAL", "SHMEM_ADDR_ACCESSIBLE"), ("INTEGER*8", "SHMEM_PTR")]
    {
        writeln!(out, "      {ty} {name}\n      EXTERNAL {name}").unwrap();
    }
    out
}
