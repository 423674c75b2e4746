//! The problem classes of IS: sizes and test values as published with the NAS Parallel Benchmarks
//! (NAS reports RNR-94-007 and NAS-95-020, and their successors).

/// Rankings that are timed.
pub(crate) const ITERATIONS: u32 = 10;

/// Keys whose ranks are known.
pub(crate) const TESTS: usize = 5;

/// Largest number of PEs of most classes.
const MOST_PES: usize = 1024;

/// A key of known rank: the rank of `keys[index]` is `rank + step * (iteration - since)`, because
/// each iteration adds a small key and removes a large one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Test {
    pub index: usize,
    rank: i64,
    step: i64,
    since: i64,
}

impl Test {
    /// The key's rank in an iteration.
    pub(crate) fn rank(&self, iteration: u32) -> i64 {
        self.rank + self.step * (i64::from(iteration) - self.since)
    }
}

/// A class.
#[derive(Debug)]
pub(crate) struct Problem {
    pub class: char,
    /// Logarithm of the number of keys.
    pub log2_keys: u32,
    /// Keys are below two to the power of this.
    pub log2_max_key: u32,
    pub most_pes: usize,
    pub tests: [Test; TESTS],
}

const fn test(index: usize, rank: i64, step: i64, since: i64) -> Test {
    Test { index, rank, step, since }
}

#[rustfmt::skip]
const PROBLEMS: &[Problem] = &[
    Problem {
        class: 'S', log2_keys: 16, log2_max_key: 11, most_pes: 128,
        tests: [
            test(48_427, 0, 1, 0), test(17_148, 18, 1, 0), test(23_627, 346, 1, 0),
            test(62_548, 64_917, -1, 0), test(4_431, 65_463, -1, 0),
        ],
    },
    Problem {
        class: 'W', log2_keys: 20, log2_max_key: 16, most_pes: MOST_PES,
        tests: [
            test(357_773, 1_249, 1, 2), test(934_767, 11_698, 1, 2), test(875_723, 1_039_987, -1, 0),
            test(898_999, 1_043_896, -1, 0), test(404_505, 1_048_018, -1, 0),
        ],
    },
    Problem {
        class: 'A', log2_keys: 23, log2_max_key: 19, most_pes: MOST_PES,
        tests: [
            test(2_112_377, 104, 1, 1), test(662_041, 17_523, 1, 1), test(5_336_171, 123_928, 1, 1),
            test(3_642_833, 8_288_932, -1, 1), test(4_250_760, 8_388_264, -1, 1),
        ],
    },
    Problem {
        class: 'B', log2_keys: 25, log2_max_key: 21, most_pes: MOST_PES,
        tests: [
            test(41_869, 33_422_937, -1, 0), test(812_306, 10_244, 1, 0), test(5_102_857, 59_149, 1, 0),
            test(18_232_239, 33_135_281, -1, 0), test(26_860_214, 99, 1, 0),
        ],
    },
    Problem {
        class: 'C', log2_keys: 27, log2_max_key: 23, most_pes: MOST_PES,
        tests: [
            test(44_172_927, 61_147, 1, 0), test(72_999_161, 882_988, 1, 0), test(74_326_391, 266_290, 1, 0),
            test(129_606_274, 133_997_595, -1, 0), test(21_736_814, 133_525_895, -1, 0),
        ],
    },
];

impl Problem {
    /// The problem of the class with this name, if there is one.
    pub(crate) fn of_class(name: &str) -> Option<&'static Self> {
        PROBLEMS.iter().find(|problem| name == problem.class.encode_utf8(&mut [0; 4]))
    }

    /// All classes.
    pub(crate) fn classes() -> String {
        PROBLEMS.iter().map(|problem| problem.class).collect()
    }

    pub(crate) fn keys(&self) -> usize {
        1 << self.log2_keys
    }
}
