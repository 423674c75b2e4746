//! Records made by hand, and what is made of them.

use ferroshmem_layout::profile::{Layout, MAGIC, collective, event, header, object, peer, site, team};

use super::{Analysis, Clock, Kind, PeRecord, Symbols};
use crate::trace::{self, Part, Trace};

/// A job of PEs whose records are filled in.
pub(crate) struct Job {
    layout: Layout,
    words: Vec<Vec<u64>>,
}

const SECOND: u64 = 1_000_000_000;

impl Job {
    /// PE i is on host `host_of[i]`, whose clocks are a second apart.
    pub(crate) fn new(host_of: &[u64]) -> Self {
        Self::with_trace(host_of, 1 << 16)
    }

    /// The same with so many bytes for events of each PE.
    pub(crate) fn with_trace(host_of: &[u64], bytes: u64) -> Self {
        let layout = Layout::new(host_of.len(), bytes);
        let mut job = Self::without_ring(host_of, layout);
        for words in &mut job.words {
            words.resize(layout.events().end, 0);
        }
        job
    }

    /// The same, with the ring of events left to the caller.
    pub(crate) fn without_ring(host_of: &[u64], layout: Layout) -> Self {
        let of_pe = |(pe, host): (usize, &u64)| {
            let mut words = vec![0; layout.events().start];
            for (at, value) in [
                (header::MAGIC, MAGIC),
                (header::PE, pe as u64),
                (header::N_PES, host_of.len() as u64),
                (header::SITES, layout.sites as u64),
                (header::COLLECTIVES, layout.collectives as u64),
                (header::EVENTS, layout.events as u64),
                (header::EVENTS_ROOM, layout.events as u64),
                (header::COLLECTIVES_STEP, 1),
                (header::NODE, *host),
                (header::BOOT, host + 1),
                (header::BEGIN, SECOND * (host + 1)),
                (header::END_ENTERED, SECOND * (host + 2)),
                (header::END, SECOND * (host + 2) + 1000),
            ] {
                words[at] = value;
            }
            words[layout.objects().start + object::BASE] = 1;
            words[layout.objects().start + object::IS_SOURCE] = 1;
            words[layout.objects().start + object::PATH] = u64::from_le_bytes(*b"solve.c\0");
            let world = layout.teams().start;
            words[world + team::STRIDE] = 1;
            words[world + team::SIZE] = host_of.len() as u64;
            words
        };
        let words = host_of.iter().enumerate().map(of_pe).collect();
        Self { layout, words }
    }

    /// Site 0 of a PE: calls and nanoseconds of a routine at line 7.
    pub(crate) fn site(&mut self, pe: usize, name: [u8; 8], kind: Kind, calls: u64, ns: u64) -> &mut [u64] {
        self.words[pe][header::MAIN_NS] = ns;
        self.site_at(0, pe, name, kind, calls, ns)
    }

    /// Another site.
    pub(crate) fn site_at(
        &mut self,
        index: usize,
        pe: usize,
        name: [u8; 8],
        kind: Kind,
        calls: u64,
        ns: u64,
    ) -> &mut [u64] {
        let at = self.layout.sites().start + index * site::WORDS;
        let words = &mut self.words[pe];
        let site = &mut words[at..at + site::WORDS];
        site[site::KIND] = kind as u64 + 1;
        site[site::OBJECT] = 1;
        site[site::PLACE] = 7;
        site[site::CALLS] = calls;
        site[site::NS] = ns;
        site[site::NAME] = u64::from_le_bytes(name);
        site
    }

    /// The next collective of a PE, by its host's clock.
    fn collective(&mut self, pe: usize, entered: u64, left: u64, computed: u64) {
        let words = &mut self.words[pe];
        let number = words[header::COLLECTIVES_KEPT];
        let at = self.layout.collectives().start + number as usize * collective::WORDS;
        words[at + collective::ENTERED] = entered;
        words[at + collective::LEFT] = left;
        words[at + collective::SEQUENCE] = number << 16;
        words[at + collective::COMPUTED] = computed;
        words[header::COLLECTIVES_KEPT] = number + 1;
    }

    /// When a PE's time begins.
    pub(crate) fn begin(&self, pe: usize) -> u64 {
        self.words[pe][header::BEGIN]
    }

    /// The words of a PE's record.
    pub(crate) fn words(&mut self, pe: usize) -> &mut [u64] {
        &mut self.words[pe]
    }

    pub(crate) fn event(&mut self, pe: usize, begin: u64, end: u64, subject: u64) {
        let words = &mut self.words[pe];
        let number = words[header::EVENTS_TOTAL] as usize;
        // A chunk that is full has been written to the ring.
        let newest = self.layout.newest().start + number % self.layout.chunk() * event::WORDS;
        let in_ring = self.layout.events().start + number % self.layout.events * event::WORDS;
        for at in [newest, in_ring] {
            words[at + event::BEGIN] = begin;
            words[at + event::END] = end;
            words[at + event::SITE] = 1 << 32;
            words[at + event::PE] = subject;
            words[at + event::BYTES] = 64;
        }
        words[header::EVENTS_TOTAL] = number as u64 + 1;
    }

    pub(crate) fn records(self) -> Vec<PeRecord> {
        let records = self.words.into_iter().map(PeRecord::new);
        records.map(|r| r.expect("a whole record")).collect()
    }
}

fn findings(records: &[PeRecord]) -> Vec<String> {
    let clock = Clock::new(records);
    let analysis = Analysis::new(records, &clock, &mut Symbols::default());
    analysis.findings().into_iter().map(|f| f.what).collect()
}

/// Ten barriers, each 90 ms after the last one; PE `late` comes 60 ms after the others.
fn barriers(host_of: &[u64], late: Option<usize>) -> Job {
    let mut job = Job::new(host_of);
    for (pe, host) in host_of.iter().enumerate() {
        let is_late = late == Some(pe);
        let mut ns = 0;
        for round in 0..10 {
            let start = SECOND * (host + 1) + round * 90_000_000;
            let entered = start + if is_late { 80_000_000 } else { 20_000_000 };
            let left = start + if late.is_some() { 80_001_000 } else { 20_001_000 };
            ns += left - entered;
            job.collective(pe, entered, left, entered - start);
        }
        job.site(pe, *b"barrier\0", Kind::Barrier, 10, ns);
    }
    job
}

#[test]
fn the_late_pe_is_named_on_one_host_and_on_two() {
    for hosts in [[0, 0, 0], [0, 1, 1]] {
        let found = findings(&barriers(&hosts, Some(2)).records());
        let expected = "PE 2 arrives last in 100% of barrier at solve.c:7; the others wait 60% of the run for it";
        assert_eq!(found, [expected]);
        assert!(findings(&barriers(&hosts, None).records()).is_empty());
    }
}

#[test]
fn uneven_work_is_found_where_it_explains_the_waiting() {
    /// Ten barriers, to each of which another PE comes late; the last PE computes twice as long as the others.
    fn job(others: u64) -> Job {
        let mut job = Job::new(&[0; 4]);
        for pe in 0..4 {
            for round in 0..10 {
                let start = SECOND + round * 90_000_000;
                let entered = start + if round % 4 == pe as u64 { 80_000_000 } else { 20_000_000 };
                job.collective(pe, entered, start + 80_001_000, if pe == 3 { 2 * others } else { others });
            }
            job.site(pe, *b"barrier\0", Kind::Barrier, 10, 450_000_000);
        }
        job
    }
    let expected =
        "work before barrier at solve.c:7 is uneven: PE 3 computes 1.6 times the mean; PEs wait 45% of the run";
    assert_eq!(findings(&job(40_000_000).records()), [expected]);
    assert!(findings(&job(1_000_000).records()).is_empty());
}

#[test]
fn a_pe_that_lacks_a_core_is_not_told_to_compute_less() {
    let mut job = barriers(&[0, 0, 0], Some(2));
    job.words[2][header::CORE_NS] = SECOND / 2;
    assert_eq!(findings(&job.records()), ["17% of the run, PEs wait for a core"]);
}

#[test]
fn a_barrier_in_which_pes_wait_for_cores_needs_no_signal() {
    /// Thirty barriers that take most of the run; each PE puts to the next one.
    fn job(core_ns: u64) -> Job {
        let mut job = Job::new(&[0; 4]);
        for pe in 0..4 {
            job.site(pe, *b"barrier\0", Kind::Barrier, 30, SECOND / 2);
            let peers = job.layout.peers().start + (pe + 1) % 4 * peer::WORDS;
            job.words[pe][peers + peer::PUTS] = 30;
            job.words[pe][header::CORE_NS] = core_ns;
        }
        job
    }
    let signal = "barrier at solve.c:7 synchronises all 4 PEs where each puts to at most 1 of them: a signal would do";
    assert_eq!(findings(&job(0).records()), [signal]);
    let cores = "45% of the run, PEs wait for a core";
    assert_eq!(findings(&job(SECOND * 45 / 100).records()), [cores]);
    assert_eq!(findings(&job(SECOND / 8).records()), [signal, "12% of the run, PEs wait for a core"]);
}

#[test]
fn clocks_of_hosts_are_aligned_by_barriers() {
    let clock = Clock::new(&barriers(&[0, 1, 0], Some(1)).records());
    assert!(clock.error <= 1000, "{clock:?}");
    assert!(clock.offsets[1].abs_diff(-(SECOND as i64)) <= 1000, "{clock:?}");
    assert_eq!((clock.offsets[0], clock.offsets[2]), (0, 0));
}

#[test]
fn clocks_of_hosts_without_collectives_are_aligned_by_the_start() {
    let mut job = Job::new(&[0, 1]);
    for words in &mut job.words {
        words[header::END] = 0;
    }
    let clock = Clock::new(&job.records());
    assert_eq!(clock.offsets, [0, -(SECOND as i64)]);
    assert!(clock.error > 1_000_000, "{clock:?}");
}

#[test]
fn a_routine_may_take_months() {
    let mut job = Job::new(&[0, 0]);
    for (pe, entered) in [(0, SECOND), (1, SECOND + 10)] {
        job.collective(pe, entered, SECOND + 10, 0);
        // A floating-point number does not have all of its digits.
        let site = job.site(pe, *b"barrier\0", Kind::Barrier, 1, (1 << 53) + 3);
        site[site::CORE_NS] = 5;
    }
    assert!(findings(&job.records()).is_empty());
}

#[test]
fn calls_in_one_line_count_together() {
    let mut job = Job::new(&[0; 4]);
    for pe in 0..4 {
        let neighbours = [(pe + 1) % 4, (pe + 3) % 4];
        for (place, neighbour) in neighbours.into_iter().enumerate() {
            // Where a PE's record has a site depends on the addresses of its process.
            let at = if pe == 3 { 1 - place } else { place };
            let site = job.site_at(at, pe, *b"shmem_p\0", Kind::Put, 100, SECOND / 8);
            site[site::TARGETS..][..2].copy_from_slice(&[neighbour as u64 + 1, 100]);
        }
    }
    assert!(findings(&job.records()).is_empty());
}

#[test]
fn small_puts_to_other_nodes_are_found() {
    let job = |bytes: u64, calls: u64| {
        let mut job = Job::new(&[0, 1]);
        let site = job.site(0, *b"shmem_p\0", Kind::Put, calls, SECOND / 4);
        site[site::BYTES] = bytes * calls;
        site[site::INTERNODE] = calls;
        site[site::INTERNODE_SMALL] = if bytes <= 64 { calls } else { 0 };
        let peers = job.layout.peers().start + peer::WORDS;
        job.words[0][peers + peer::PUTS] = calls;
        findings(&job.records())
    };
    let expected = "8-byte operations on PEs of other nodes: 4.20 million by shmem_p at solve.c:7";
    assert_eq!(job(8, 4_200_000), [expected]);
    assert!(job(4096, 4_200_000).is_empty() && job(8, 100).is_empty());
}

#[test]
fn clocks_that_jump_end_no_analysis() {
    let mut job = barriers(&[0, 0, 1], Some(1));
    // Thirteen days.
    let far = 1 << 50;
    // Back to before the start, for one PE; far ahead, for another; a call that ends before it begins.
    for (pe, begin, end) in [(0, far, SECOND), (1, 0, far), (2, SECOND, 0)] {
        job.words[pe][header::BEGIN] = begin;
        job.words[pe][header::END_ENTERED] = end;
        job.collective(pe, far, 5, far);
        job.event(pe, far, 5, 0);
    }
    let records = job.records();
    let clock = Clock::new(&records);
    let analysis = Analysis::new(&records, &clock, &mut Symbols::default());
    let findings = analysis.findings();
    assert!(analysis.page(&findings).contains("</html>"));
    assert!(analysis.summary(&findings).len() <= 10);
    let trace = Trace::new(&records, &clock, &mut Symbols::default(), Part::default());
    for format in [trace::Format::Perfetto, trace::Format::Chrome, trace::Format::Page] {
        let mut bytes = Vec::new();
        trace.write(format, &mut bytes).unwrap();
        assert!(!bytes.is_empty());
    }
}

#[test]
fn a_job_of_4096_pes_has_a_page_of_those_that_recorded() {
    let layout = Layout::new(4096, 1 << 16);
    let mut job = Job::without_ring(&[0; 4096], layout);
    // The others' records would be a gigabyte.
    job.words.truncate(64);
    for pe in 0..64 {
        job.words[pe].resize(layout.events().end, 0);
        job.site(pe, *b"barrier\0", Kind::Barrier, 10, SECOND / 2);
        let peers = job.layout.peers().start + (4095 - pe) * peer::WORDS;
        job.words[pe][peers + peer::PUTS] = 7;
    }
    let records = job.records();
    let clock = Clock::new(&records);
    let analysis = Analysis::new(&records, &clock, &mut Symbols::default());
    let page = analysis.page(&analysis.findings());
    assert!(page.contains("Of 4096 PEs there is no record") || page.contains("4032"));
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

#[test]
fn parts_of_files_are_refused() {
    let whole = Job::new(&[0, 0]);
    let start = whole.layout.events().start;
    let words = whole.words[0].clone();
    for length in [0, 1, header::WORDS, start - 1] {
        assert!(PeRecord::new(words[..length].to_vec()).is_none());
    }
    // Numbers that no library writes.
    for (at, value) in [(header::SITES, u64::MAX), (header::N_PES, 0), (header::PE, 9)] {
        let mut words = words.clone();
        words[at] = value;
        assert!(PeRecord::new(words).is_none());
    }
}

#[test]
fn a_trace_in_perfettos_format_is_decoded() {
    let mut job = barriers(&[0, 0], Some(1));
    // Both are in barrier 0 of team 0; PE 1 enters it last.
    for (pe, begin) in [(0, 20), (1, 80)] {
        job.event(pe, SECOND + begin, SECOND + 90, 0);
    }
    let records = job.records();
    let clock = Clock::new(&records);
    let trace = Trace::new(&records, &clock, &mut Symbols::default(), Part::default());
    let mut bytes = Vec::new();
    trace.write(trace::Format::Perfetto, &mut bytes).unwrap();
    let slices = trace::slices(&bytes);
    let of = |pe: u64, begin, end| (pe, "barrier".to_owned(), begin, end);
    assert_eq!(slices, [of(0, 20, 90), of(1, 80, 90)]);
    assert!(trace.describe().starts_with("a trace of 2 calls"));
    let mut fields = std::collections::BTreeSet::new();
    trace::schema::decode("Trace", &bytes, &mut |field, _| {
        fields.insert(field.to_owned());
    });
    for field in [
        "TracePacket.timestamp",
        "TrackEvent.flow_ids",
        "TrackEvent.terminating_flow_ids",
        "EventName.name",
        "ProcessDescriptor.process_name",
        "ThreadDescriptor.tid",
    ] {
        assert!(fields.contains(field), "no {field}: {fields:?}");
    }
}

#[test]
fn a_part_of_a_trace_has_the_calls_that_are_in_it() {
    let mut job = Job::new(&[0, 0, 0]);
    for pe in 0..3 {
        job.site(pe, *b"shmem_p\0", Kind::Put, 100, SECOND / 4);
        for call in 0..100 {
            let begin = SECOND + call * 1000;
            job.event(pe, begin, begin + 100, (pe as u64 + 1) % 3 + 1);
        }
    }
    let records = job.records();
    let clock = Clock::new(&records);
    let part = Part { from: Some(10_050), to: Some(20_000), pes: [0, 2].into() };
    let trace = Trace::new(&records, &clock, &mut Symbols::default(), part);
    let mut bytes = Vec::new();
    assert_eq!(trace.write(trace::Format::Perfetto, &mut bytes).unwrap(), 0);
    let slices = trace::slices(&bytes);
    // Call 10 began before, call 20 begins as the part ends.
    let expected =
        [0, 2].into_iter().flat_map(|pe| (10..=20).map(move |c| (pe, "shmem_p".to_owned(), c * 1000, c * 1000 + 100)));
    assert_eq!(slices, expected.collect::<Vec<_>>());
    assert!(trace.describe().starts_with("a trace of 22 calls from 10"));
    let mut page = Vec::new();
    assert_eq!(trace.write(trace::Format::Page, &mut page).unwrap(), 0);
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("22 calls of 2 PEs") && page.contains("a part of the trace"));
    assert!(page.contains("\"from\":10050,\"to\":20000"));
}
