//! Words that this code base once had for what the field has words for. None may be, or be part
//! of, a name of an item, a variable or a file.

use super::source::Source;

/// Where the rule holds.
pub(crate) const FOLDERS: &[&str] = &[
    "crates/core/src",
    "crates/fabric/src",
    "crates/bootstrap/src",
    "crates/tools/src",
    "dev/cluster/src",
];

/// A word and the field's. Left out are words that have other meanings as well in every code:
/// answer, ask, hold, note, record, stream, tell, there, here, watch, counts.
const WORDS: &[(&str, &str)] = &[
    // Fabric.
    ("desk", "active messages"),
    ("clerk", "handler"),
    ("slip", "frame, reply"),
    ("question", "request"),
    ("bell", "event counter"),
    ("naps", "sleeps of the back-off"),
    ("nap", "sleep of the back-off"),
    ("glance", "idle poll"),
    ("glances", "idle polls"),
    ("untold", "pending notification"),
    ("harvest", "poll the completion queue"),
    ("insist", "retry"),
    ("settle", "drain"),
    ("tally", "completion counter"),
    ("lease", "memory-region reference"),
    ("spot", "remote address and key"),
    ("pieces", "RMA iov"),
    ("gathers", "write coalescing"),
    ("ticket", "endpoint address blob"),
    ("wish", "hints"),
    ("survey", "enumerate"),
    ("admit", "filter"),
    ("offers", "providers, enumerate"),
    ("helper", "progress thread"),
    ("scatter", "bounce copy-out"),
    ("reap", "poll the completion queue"),
    // Everywhere.
    ("near", "local, intra-node"),
    ("far", "remote, inter-node"),
    ("across", "inter-node"),
    ("beyond", "inter-node"),
    ("mate", "node peer"),
    ("stranger", "a PE that runs another program"),
    // Core.
    ("mail", "mailbox"),
    ("landing", "rendezvous buffer"),
    ("board", "failure notice area"),
    ("places", "member addresses"),
    ("pulse", "heartbeat"),
    ("obituary", "failure notice"),
    ("speaker", "node leader"),
    ("corner", "hypercube vertex"),
    ("patience", "wait strategy"),
    ("hope", "back-off reset"),
    ("selfish", "spin limit"),
    ("crowded", "oversubscribed"),
    ("books", "allocator metadata"),
    ("paper", "Hockney model"),
    // Tools.
    ("keeper", "supervisor"),
    ("verdict", "exit classification"),
    ("ending", "shutdown"),
    ("hopeless", "deadlock"),
    ("departure", "PE failure"),
    // The cluster.
    ("rig", "test cluster"),
    ("roles", "applets"),
    ("guest", "extra rank"),
];

/// Files, or folders, in which a word is the field's own, and what it means there.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("dev/cluster/src/machines", "guest", "a QEMU guest"),
    ("dev/cluster/src/bin/machines", "guest", "a QEMU guest"),
    ("dev/cluster/src/hosts/init", "reap", "orphans of PID 1"),
    ("crates/tools/src/launch", "reap", "child processes"),
    ("crates/core/src/lock", "ticket", "ticket lock"),
    ("crates/core/src/wait/ticket", "ticket", "ticket lock"),
    ("crates/core/src/wait/mod", "ticket", "ticket lock"),
    ("crates/core/src/simulation/counts", "ticket", "ticket lock"),
    (
        "crates/fabric/src/libfabric/bindings",
        "scatter",
        "FI_SCATTER of libfabric",
    ),
    (
        "crates/core/src/choice",
        "pieces",
        "parts of a pipelined message",
    ),
];

/// Names in this source that have one of the words.
pub(crate) fn findings(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let path = source.path.trim_end_matches(".rs");
    let names = path.split('/').map(|name| (1, name));
    let words = source.tokens.iter().filter(|token| token.is_word());
    for (line, name) in names.chain(words.map(|token| (token.line, token.text.as_str()))) {
        for part in parts(name) {
            let known = WORDS.iter().find(|(word, _)| *word == part);
            let Some((word, instead)) = known else {
                continue;
            };
            let allowed = ALLOWED
                .iter()
                .any(|(file, allowed, _)| source.path.starts_with(file) && allowed == word);
            if !allowed {
                found.push(format!(
                    "{}:{line}: the name {name} has \"{word}\"; the field's: {instead}",
                    source.path
                ));
            }
        }
    }
    found
}

/// The words of a name in either case, in lower case: `TicketDesk`, `ticket_desk`, `TICKET_DESK`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut lower_before = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && lower_before) {
            parts.push(String::new());
        }
        if c != '_' {
            parts
                .last_mut()
                .expect("one is there")
                .extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase() || c.is_numeric();
    }
    parts
}
