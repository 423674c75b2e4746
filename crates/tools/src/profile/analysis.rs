//! Where the time of a job went: who waited, for whom, at which call.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ferroshmem_layout::profile::{header, peer, sizes};
use serde::{Serialize, Serializer};

use super::clock::Clock;
use super::record::{Call, Kind, Object, PeRecord, Site, Team};
use super::symbols::{Position, Symbols};

/// Times of one PE in nanoseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PeTimes {
    /// World number.
    pub pe: usize,
    /// Node.
    pub node: usize,
    /// From the end of `shmem_init` to `shmem_finalize`.
    pub total: u64,
    /// Outside of routines, in the thread that initialised the library.
    pub computing: u64,
    /// In routines, waiting for other PEs.
    pub waiting: u64,
    /// In routines otherwise, on a core.
    pub transfer: u64,
    /// Ready to run without a core, and not waiting for other PEs.
    #[serde(rename = "core")]
    pub without_core: u64,
    /// In routines of other threads.
    #[serde(skip)]
    pub others: u64,
    /// Whether its record ends before `shmem_finalize`.
    pub died: bool,
    /// Most bytes of the heap in use.
    #[serde(skip)]
    pub heap: u64,
}

/// A call site with the sums of all PEs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SiteSum {
    /// The routine.
    pub name: String,
    /// Its kind.
    #[serde(skip)]
    pub kind: Kind,
    /// Where it is called.
    #[serde(flatten)]
    pub position: Position,
    /// Calls of all PEs.
    pub calls: u64,
    /// Whether some of a PE's calls are not among them, as they were inlined.
    pub is_partial: bool,
    /// Those of them that were counted without their time.
    pub untimed: u64,
    /// Nanoseconds of all PEs in the others.
    pub ns: u64,
    /// Those of them that were waiting.
    pub waiting: u64,
    /// Bytes.
    pub bytes: u64,
    /// The longest call.
    pub longest: u64,
    /// The most bytes of a call.
    #[serde(skip)]
    pub largest: u64,
    /// Operations on PEs of other nodes, and small ones.
    #[serde(skip)]
    pub internode: (u64, u64),
    /// PEs that have called it.
    #[serde(serialize_with = "number")]
    pub pes: BTreeSet<usize>,
    /// By PE: how often it came last to a collective.
    #[serde(skip)]
    pub last: BTreeMap<usize, u64>,
    /// By PE: nanoseconds that others waited for it.
    #[serde(skip)]
    pub caused: BTreeMap<usize, u64>,
    /// Collectives of which all members' times are known.
    #[serde(skip)]
    pub aligned: u64,
    /// By PE: nanoseconds of computing before those.
    #[serde(skip)]
    pub computed: BTreeMap<usize, u64>,
    /// By PE: its targets and operations on them; None for more targets than were recorded.
    #[serde(skip)]
    pub targets: BTreeMap<usize, BTreeMap<Option<usize>, u64>>,
}

/// How many there are.
fn number<S: Serializer>(pes: &BTreeSet<usize>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(pes.len() as u64)
}

/// The whole job.
#[derive(Debug)]
pub struct Analysis {
    /// The program and its arguments.
    pub command: String,
    /// PEs that the job had.
    pub n_pes: usize,
    /// Those with records.
    pub pes: Vec<PeTimes>,
    /// Host name of each node.
    pub hosts: BTreeMap<usize, String>,
    /// Call sites, those with most time first.
    pub sites: Vec<SiteSum>,
    /// Nanoseconds that a PE, the first number, waited for another.
    pub waits: BTreeMap<(usize, usize), u64>,
    /// Traffic from a PE to another: words of [`peer`].
    pub traffic: BTreeMap<(usize, usize), [u64; peer::WORDS]>,
    /// Number and bytes of operations by class and size.
    pub sizes: Vec<Vec<[u64; 2]>>,
    /// The wall time from the first PE's start to the last one's end.
    pub wall: u64,
    /// By how much clocks of different hosts may differ after alignment.
    pub clock_error: u64,
    /// One of so many collectives was looked at.
    pub step: u64,
    /// Bytes of a PE's heap.
    pub heap_size: u64,
    /// Whether operations that are inlined are missing.
    pub inlined: bool,
    /// Whether the program has counted them itself.
    pub counted_inline: bool,
    /// PEs that counted short operations without their time after too many, and after how long the first did.
    pub counted_alone: Option<(usize, u64)>,
}

type SiteKey = (String, Option<Object>, u64);

fn key(site: &Site) -> SiteKey {
    (site.name.clone(), site.object.clone(), site.place)
}

/// Collects what the PEs recorded.
struct Collector<'a> {
    records: &'a [PeRecord],
    clock: &'a Clock,
    index: HashMap<SiteKey, usize>,
    sites: Vec<SiteSum>,
    waits: BTreeMap<(usize, usize), u64>,
    /// By record and site of the file: nanoseconds in aligned calls, and of waiting.
    aligned: HashMap<(usize, usize), (u64, u64)>,
}

impl Analysis {
    /// Of these records, at least one.
    pub fn new(records: &[PeRecord], clock: &Clock, symbols: &mut Symbols) -> Self {
        let mut collector = Collector {
            records,
            clock,
            index: HashMap::new(),
            sites: Vec::new(),
            waits: BTreeMap::new(),
            aligned: HashMap::new(),
        };
        collector.sum_sites(symbols);
        let causes = collector.align();
        let mut waiting = collector.share_out(&causes);
        for (index, record) in records.iter().enumerate() {
            waiting[index] += collector.point_to_point(record);
        }
        let without_core = collector.without_core();
        let pes = records.iter().zip(&waiting).zip(&without_core).map(|((r, w), c)| times(r, *w, *c)).collect();
        let time = |record: &PeRecord, i: usize| {
            let (begin, end) = record.span();
            (clock.time(i, begin), clock.time(i, end))
        };
        let spans: Vec<_> = records.iter().enumerate().map(|(i, r)| time(r, i)).collect();
        let begin = spans.iter().map(|s| s.0).min().unwrap_or(0);
        let end = spans.iter().map(|s| s.1).max().unwrap_or(0);
        let Collector { mut sites, waits, .. } = collector;
        sites.sort_by_key(|s| std::cmp::Reverse(s.ns));
        let first = &records[0];
        Self {
            command: first.command(),
            n_pes: first.n_pes(),
            pes,
            hosts: records.iter().map(|r| (r.header(header::NODE) as usize, r.host())).collect(),
            sites,
            waits,
            traffic: traffic(records),
            sizes: histogram(records),
            wall: end - begin,
            clock_error: clock.error,
            step: records.iter().map(|r| r.header(header::COLLECTIVES_STEP)).max().unwrap_or(1),
            heap_size: records.iter().map(|r| r.header(header::HEAP_SIZE)).max().unwrap_or(0),
            inlined: any_inlined(records, header::ALWAYS_INLINED),
            counted_inline: any_inlined(records, header::COUNTED_INLINE),
            counted_alone: counted_alone(records),
        }
    }

    /// Whether the time of puts, gets and atomics is that of a part of them: the rest counts as computing.
    pub fn is_sample(&self) -> bool {
        self.inlined || self.counted_inline || self.counted_alone.is_some()
    }

    /// Nanoseconds of all PEs together.
    pub fn pe_time(&self) -> u64 {
        self.pes.iter().map(|p| p.total).sum::<u64>().max(1)
    }
}

fn times(record: &PeRecord, waiting: u64, without_core: u64) -> PeTimes {
    let (begin, end) = record.span();
    let total = end - begin;
    let in_routines = record.header(header::MAIN_NS).min(total);
    let waiting = waiting.min(in_routines);
    let without_core = without_core.min(in_routines - waiting);
    let computing_without = record.header(header::CORE_NS).min(total - in_routines);
    PeTimes {
        pe: record.pe,
        node: record.header(header::NODE) as usize,
        total,
        computing: total - in_routines - computing_without,
        waiting,
        transfer: in_routines - waiting - without_core,
        without_core: without_core + computing_without,
        others: record.header(header::OTHERS_NS),
        died: !record.is_complete(),
        heap: record.header(header::HEAP_MOST),
    }
}

fn any_inlined(records: &[PeRecord], how: u64) -> bool {
    records.iter().any(|r| r.header(header::INLINED) == how)
}

/// Whether operations of a kind may be inlined into a program.
fn is_inlined(kind: Kind) -> bool {
    matches!(kind, Kind::Put | Kind::Get | Kind::Atomic | Kind::Quiet | Kind::Fence | Kind::Lock | Kind::Unlock)
}

fn counted_alone(records: &[PeRecord]) -> Option<(usize, u64)> {
    let of = |r: &PeRecord| {
        let is_so = r.header(header::INLINED) == header::COUNTED_ALONE;
        is_so.then(|| r.header(header::COUNTED_AT).saturating_sub(r.span().0))
    };
    let times: Vec<u64> = records.iter().filter_map(of).collect();
    Some((times.len(), *times.iter().min()?))
}

fn traffic(records: &[PeRecord]) -> BTreeMap<(usize, usize), [u64; peer::WORDS]> {
    let mut all = BTreeMap::new();
    for record in records {
        for to in 0..record.n_pes() {
            let words = record.peer(to);
            if words.iter().any(|w| *w != 0) {
                let mut row = [0; peer::WORDS];
                row.copy_from_slice(words);
                all.insert((record.pe, to), row);
            }
        }
    }
    all
}

fn histogram(records: &[PeRecord]) -> Vec<Vec<[u64; 2]>> {
    let of_class = |class: usize| {
        let mut sum = vec![[0; 2]; sizes::BUCKETS];
        for record in records {
            for (to, from) in sum.iter_mut().zip(record.sizes(class)) {
                to[0] += from[0];
                to[1] += from[1];
            }
        }
        sum
    };
    (0..sizes::CLASSES).map(of_class).collect()
}

/// Waiting in collectives: (record, site of the file, PE waited for) → nanoseconds of aligned calls.
type Causes = HashMap<(usize, usize, usize), u64>;

impl Collector<'_> {
    fn sum_sites(&mut self, symbols: &mut Symbols) {
        for record in self.records {
            for site in record.sites.iter().flatten() {
                let sites = &mut self.sites;
                let at = *self.index.entry(key(site)).or_insert_with(|| {
                    sites.push(SiteSum {
                        name: site.name.clone(),
                        kind: site.kind,
                        position: symbols.position(site.object.as_ref(), site.place),
                        ..SiteSum::default()
                    });
                    sites.len() - 1
                });
                let sum = &mut self.sites[at];
                sum.calls += site.calls;
                sum.is_partial |= record.header(header::INLINED) == header::ALWAYS_INLINED && is_inlined(site.kind);
                sum.untimed += site.untimed;
                sum.ns += site.ns;
                sum.bytes += site.bytes;
                sum.longest = sum.longest.max(site.longest);
                sum.largest = sum.largest.max(site.largest);
                sum.internode.0 += site.internode;
                sum.internode.1 += site.internode_small;
                sum.pes.insert(record.pe);
                // A record may have a line several times, of generic code and of several calls.
                let targets = site.targets.iter().map(|(pe, n)| (Some(*pe), *n)).chain([(None, site.other_targets)]);
                for (target, n) in targets.filter(|(_, n)| *n > 0) {
                    *sum.targets.entry(record.pe).or_default().entry(target).or_default() += n;
                }
            }
        }
    }

    fn sum_of(&mut self, record: usize, site: usize) -> Option<&mut SiteSum> {
        let site = self.records[record].sites.get(site)?.as_ref()?;
        let at = *self.index.get(&key(site))?;
        self.sites.get_mut(at)
    }

    /// Compares when the members of each collective entered it.
    fn align(&mut self) -> Causes {
        let mut groups: HashMap<(Team, u64), Vec<(usize, Call)>> = HashMap::new();
        for (index, record) in self.records.iter().enumerate() {
            for call in &record.calls {
                if let Some(team) = record.teams.get(call.team) {
                    let members = groups.entry((*team, call.sequence)).or_default();
                    members.push((index, *call));
                }
            }
        }
        let mut causes = Causes::new();
        for ((team, _), members) in groups {
            if members.len() == team.size && members.len() > 1 {
                self.align_one(&team, &members, &mut causes);
            }
        }
        causes
    }

    fn align_one(&mut self, team: &Team, members: &[(usize, Call)], causes: &mut Causes) {
        let entered = |(index, call): &(usize, Call)| self.clock.time(*index, call.entered);
        let Some(last) = members.iter().max_by_key(|m| entered(m)) else {
            return;
        };
        let kind = self.records[last.0].sites.get(last.1.site);
        let kind = kind.and_then(|s| s.as_ref()).map_or(Kind::Other, |s| s.kind);
        // The PE that the others cannot go on without.
        let awaited = match kind {
            Kind::Broadcast => {
                let root = team.pe(last.1.root);
                members.iter().find(|m| Some(self.records[m.0].pe) == root)
            }
            _ => Some(last),
        };
        let Some(awaited) = awaited else {
            return;
        };
        let (awaited_pe, arrival) = (self.records[awaited.0].pe, entered(awaited));
        let mut caused = 0;
        for (index, call) in members {
            let inside = call.left.saturating_sub(call.entered);
            let wait = arrival.saturating_sub(self.clock.time(*index, call.entered)).min(inside);
            *causes.entry((*index, call.site, awaited_pe)).or_default() += wait;
            let (time, waiting) = self.aligned.entry((*index, call.site)).or_default();
            *time += inside;
            *waiting += wait;
            caused += wait;
            let pe = self.records[*index].pe;
            let computed = call.computed;
            if let Some(sum) = self.sum_of(*index, call.site) {
                *sum.computed.entry(pe).or_default() += computed;
            }
        }
        if let Some(sum) = self.sum_of(awaited.0, awaited.1.site) {
            sum.aligned += 1;
            *sum.last.entry(awaited_pe).or_default() += 1;
            *sum.caused.entry(awaited_pe).or_default() += caused;
        }
    }

    /// Scales what the sample of collectives says to all of them: waiting by record.
    fn share_out(&mut self, causes: &Causes) -> Vec<u64> {
        let mut waiting = vec![0; self.records.len()];
        for ((index, site, awaited), ns) in causes {
            let record = &self.records[*index];
            let total = record.sites.get(*site).and_then(|s| s.as_ref()).map_or(0, |s| s.ns);
            let (time, _) = self.aligned[&(*index, *site)];
            if time == 0 || *ns == 0 {
                continue;
            }
            let scaled = (*ns as f64 * total as f64 / time as f64) as u64;
            waiting[*index] += scaled;
            *self.waits.entry((record.pe, *awaited)).or_default() += scaled;
            if let Some(sum) = self.sum_of(*index, *site) {
                sum.waiting += scaled;
            }
        }
        waiting
    }

    /// How long each PE was without a core in routines, beyond what counts as waiting: of a collective, the time after
    /// the last member has come; of a wait, nothing.
    fn without_core(&self) -> Vec<u64> {
        let of_record = |(index, record): (usize, &PeRecord)| {
            let sites = record.sites.iter().enumerate().filter_map(|(at, site)| Some((at, site.as_ref()?)));
            let of_site = |(at, site): (usize, &Site)| {
                let (time, waiting) = self.aligned.get(&(index, at)).copied().unwrap_or_default();
                let share = waiting as f64 / time.max(1) as f64;
                match site.kind.is_wait() {
                    true => 0,
                    false => site.without_core.min(site.ns.saturating_sub((site.ns as f64 * share.min(1.0)) as u64)),
                }
            };
            sites.map(of_site).sum()
        };
        self.records.iter().enumerate().map(of_record).collect()
    }

    /// Waiting for variables, messages and locks: the whole call, shared out among the PEs that update or send.
    fn point_to_point(&mut self, record: &PeRecord) -> u64 {
        let mut all = 0;
        for site in record.sites.iter().flatten().filter(|s| s.kind.is_wait()) {
            all += site.ns;
            if let Some(at) = self.index.get(&key(site)) {
                self.sites[*at].waiting += site.ns;
            }
            let word = match site.kind {
                Kind::Wait => peer::UPDATES,
                Kind::Receive => peer::SENDS,
                _ => continue,
            };
            let sources: Vec<_> = self
                .records
                .iter()
                .filter(|r| r.pe != record.pe && record.pe < r.n_pes())
                .map(|r| (r.pe, r.peer(record.pe)[word]))
                .filter(|(_, count)| *count > 0)
                .collect();
            let sum: u64 = sources.iter().map(|s| s.1).sum();
            for (pe, count) in sources {
                let share = (site.ns as f64 * count as f64 / sum as f64) as u64;
                *self.waits.entry((record.pe, pe)).or_default() += share;
                if let Some(at) = self.index.get(&key(site)) {
                    *self.sites[*at].caused.entry(pe).or_default() += share;
                }
            }
        }
        all
    }
}
