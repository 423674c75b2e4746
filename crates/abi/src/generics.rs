//! The type-generic routines: which functions each selects among.

use crate::family::{Family, Symbol};
use crate::table::Chapter;
use crate::types::{Group, Type};

/// One type-generic routine.
#[derive(Debug)]
pub struct Generic<'a> {
    /// Its name.
    pub name: &'static str,
    /// The families it selects among: one, and a second for types that are not in the standard's table.
    pub families: Vec<&'a Family>,
}

impl<'a> Generic<'a> {
    /// The first family, which gives the routine its parameters.
    pub fn shape(&self) -> &'a Family {
        self.families[0]
    }

    /// The types it selects among, each once.
    pub fn types(&self) -> Vec<Type> {
        self.families.iter().flat_map(|f| f.group.basic_types()).collect()
    }

    /// Name of that set of types, for macros.
    pub fn set(&self) -> &'static str {
        match (self.shape().group, self.families.len()) {
            (Group::Rma, 1) => "RMA",
            (Group::Amo, 1) => "AMO",
            (Group::ExtAmo, 1) => "EXTENDED_AMO",
            (Group::BitAmo, 1) => "BITWISE_AMO",
            (Group::Amo, 2) => "P2P",
            (Group::ReduceBits, 2) => "BITWISE",
            (Group::ReduceOrder, 1) => "ORDERED",
            (Group::ReduceArith, 1) => "ARITHMETIC",
            (group, n) => panic!("{}: no name for {n} groups like {group:?}", self.name),
        }
    }

    /// What follows the type's name in the functions' names: `_put`.
    pub fn suffix(&self) -> &'static str {
        let pattern = self.shape().pattern;
        &pattern[pattern.find("{T}").expect("a typed family") + 3..]
    }

    /// The form without a context and, if the families have it, the form with one.
    pub fn forms(&self) -> Vec<Symbol<'a>> {
        let ty = self.types()[0];
        let forms: &[bool] = if self.shape().has_ctx() { &[false, true] } else { &[false] };
        forms.iter().map(|&ctx| Symbol { family: self.shape(), ty, ctx }).collect()
    }
}

/// All type-generic routines that select by type, in table order.
pub fn generics(chapters: &[Chapter]) -> Vec<Generic<'_>> {
    let mut all: Vec<Generic<'_>> = Vec::new();
    for family in chapters.iter().flat_map(|c| &c.families) {
        let Some(name) = family.generic else { continue };
        if family.group == Group::Single {
            continue;
        }
        match all.iter_mut().find(|g| g.name == name) {
            Some(generic) => generic.families.push(family),
            None => all.push(Generic { name, families: vec![family] }),
        }
    }
    all
}
