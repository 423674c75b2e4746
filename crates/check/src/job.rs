//! This PE, and what all checks need of it.

use std::cell::RefCell;
use std::collections::HashMap;

use ferroshmem_layout::Operation;

use crate::call::{Call, Role};
use crate::finding::{Finding, Kind, Place};
use crate::globals::Globals;
use crate::library::Library;
use crate::members::Members;
use crate::records::Records;
use crate::sites::located;

/// This PE.
#[derive(Debug)]
pub(crate) struct ThisPe {
    pub records: Records,
    pub library: Library,
    pub globals: Globals,
    /// The program, as a file of code.
    pub object: u32,
    pub me: usize,
    pub n_pes: usize,
}

thread_local! {
    /// The numbers of the calls that this thread has made, by routine and address.
    static SITES: RefCell<HashMap<(usize, usize), u32>> = RefCell::default();
}

impl ThisPe {
    pub(crate) fn new(records: Records, library: Library) -> Self {
        let globals = Globals::read();
        let object = records.object(&globals.path).unwrap_or(0);
        let (me, n_pes) = library.numbers();
        Self { records, library, globals, object, me, n_pes }
    }

    /// The number of a call's routine and place.
    pub(crate) fn site(&self, call: &Call) -> u32 {
        let key = (call.key(), call.return_address);
        self.site_at(key, call.name(), || call.line().unwrap_or_else(|| located(call.return_address)))
    }

    fn site_at(&self, key: (usize, usize), name: &str, place: impl FnOnce() -> (Option<String>, u64)) -> u32 {
        let known = SITES.try_with(|sites| sites.borrow().get(&key).copied());
        if let Ok(Some(site)) = known {
            return site;
        }
        let site = self.records.site(name, place());
        // At the end of a thread there is no table.
        let _ = SITES.try_with(|sites| sites.borrow_mut().insert(key, site));
        site
    }

    /// The same of a load or store of the program.
    pub(crate) fn site_of_access(&self, writes: bool, address: usize) -> u32 {
        let (key, name) = match writes {
            true => (1, "store"),
            false => (0, "load"),
        };
        self.site_at((key, address), name, || located(address))
    }

    /// The PE that a call names, by its number in the world; None if there is none.
    pub(crate) fn target(&self, call: &Call) -> Option<usize> {
        let pe = call.argument(Role::Pe)?;
        let pe = self.library.pe(call.context, pe)?;
        (pe < self.n_pes).then_some(pe)
    }

    /// The members of a collective call, None if they are not PEs of this job: the library ends such a call.
    pub(crate) fn members(&self, call: &Call) -> Option<Members> {
        let number = |role| call.argument(role).map(|value| value as i32);
        if let Some(start) = number(Role::Start) {
            let stride = 1_i32.checked_shl(number(Role::LogStride)? as u32)?;
            let size = usize::try_from(number(Role::Size)?).ok()?;
            return Members::of(start, stride, size, self.n_pes);
        }
        match call.argument(Role::Team) {
            Some(team) => self.library.members(team, self.n_pes),
            None => Some(Members::world(self.n_pes)),
        }
    }

    /// The same, one by one.
    pub(crate) fn pes(&self, call: &Call) -> Vec<usize> {
        let Some(members) = self.members(call) else {
            return Vec::new();
        };
        let team = call.argument(Role::Team).filter(|_| members.is_list());
        match team.and_then(|team| self.library.pes(team)) {
            Some(listed) => listed.into_iter().filter_map(|pe| usize::try_from(pe).ok()).collect(),
            None => members.pes().collect(),
        }
    }

    /// The root of a collective by its number in the world. Of active sets, too, the call has its number in the set.
    pub(crate) fn root(&self, call: &Call) -> Option<usize> {
        self.pes(call).get(call.argument(Role::Root)?).copied()
    }

    /// Whether a collective reads this PE's source, parameter `number`: those with a root read that of the root alone,
    /// but gathers the blocks of all. After the blocks come places of blocks.
    pub(crate) fn reads_source(&self, call: &Call, number: usize) -> bool {
        let blocks = call.parameters().find(|(_, p)| p.role == Role::Source);
        let is_gathered = call.operation() == Operation::Gather && blocks.is_some_and(|(of, _)| of == number);
        is_gathered || call.argument(Role::Root).is_none() || self.root(call) == Some(self.me)
    }

    /// The context of a call: 0 for the default one, which has two names.
    pub(crate) fn context_of(&self, call: &Call) -> usize {
        let context = call.argument(Role::Context).unwrap_or(call.context);
        if context == self.library.0.default_context { 0 } else { context }
    }

    /// Where an address of this PE is, if it is in a variable of the program.
    pub(crate) fn global(&self, at: usize) -> Option<Place> {
        let is_here = self.globals.range.contains(&at);
        is_here.then(|| Place::Global(self.object, at.wrapping_sub(self.globals.bias) as u64))
    }

    /// A finding of this PE about its own memory.
    pub(crate) fn finding(&self, kind: Kind, site: u32) -> Finding {
        Finding { kind, pe: self.me, site, target: self.me, other: None, place: Place::None, bytes: 0, detail: 0 }
    }
}
