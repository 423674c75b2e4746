//! Misuses that the library names, by the roles of the arguments.

use crate::family::Family;
use crate::roles::{self, Role};

/// What is named always, and what with `SHMEM_CHECK=1` alone, for a page's routines.
pub(super) fn of(families: &[&Family]) -> (Vec<String>, Vec<String>) {
    let (mut always, mut checked) = (Vec::new(), Vec::new());
    for family in families {
        if family.has_ctx() {
            match roles::context(family) {
                Role::Context => add(&mut always, "`ctx` is `SHMEM_CTX_INVALID` or no context".to_owned()),
                _ => add(&mut always, "`ctx` is no context".to_owned()),
            }
        }
        for (name, role) in roles::of(family) {
            one(&mut always, &mut checked, name, role);
        }
    }
    (always, checked)
}

fn add(list: &mut Vec<String>, line: String) {
    if !list.contains(&line) {
        list.push(line);
    }
}

fn one(always: &mut Vec<String>, checked: &mut Vec<String>, name: &str, role: Role) {
    let mut always = |words: &str| add(always, format!("`{name}` {words}"));
    let mut checked = |words: &str| add(checked, format!("`{name}` {words}"));
    match role {
        Role::Value | Role::AnyTimeResult | Role::Stride | Role::GroupOrInvalid => {}
        Role::Context | Role::ContextOrInvalid => always("is no context"),
        Role::OwnContext => always("is `SHMEM_CTX_DEFAULT` or no context"),
        Role::Pe | Role::TeamPe => always("is no PE of the job, or of the context's team"),
        Role::TeamOrInvalid => always("is no team"),
        Role::Team => {
            always("is no team");
            checked("is `SHMEM_TEAM_INVALID`; the other PEs give another size or root, or call another collective");
        }
        Role::OwnTeam => always("is a predefined team, or no team"),
        Role::Symmetric(_) => {
            checked("is no symmetric address, or not aligned, or the access leaves its object");
        }
        Role::Array(_) => {
            always("is not symmetric");
            checked("is another object on another PE, or the access leaves its object");
        }
        Role::Read(_) | Role::Write(_) => checked("is a null pointer, though there are elements"),
        Role::OptionalRead(_) => {}
        Role::Result(_) => checked("is a null pointer or not aligned"),
        Role::Count => checked("is larger than memory: negative numbers are"),
        Role::IntCount => always("is negative"),
        Role::SymmetricStride => checked("is 0"),
        Role::PositiveStride => always("is not positive"),
        Role::Root => always("is no PE of the team or active set"),
        Role::Start | Role::LogStride | Role::Size => {
            always("makes an active set that is not within the job");
        }
        Role::Comparison => always("is none of `SHMEM_CMP_EQ`, `NE`, `GT`, `GE`, `LT`, `LE`"),
        Role::SignalOperation => always("is neither `SHMEM_SIGNAL_SET` nor `SHMEM_SIGNAL_ADD`"),
        Role::Configuration(mask) => {
            always(&format!("is a null pointer, though `{mask}` is not 0"));
        }
        Role::Block => always("is not what an allocation has returned"),
        Role::Space | Role::SpaceOrInvalid => always("is no space"),
        Role::SpaceBlock => always("is no block of the space"),
        Role::Alignment => checked("is no power of two"),
        Role::Pes(_) => always("has a number that is no PE"),
    }
}
