//! Lists of numbers as the kernel writes them for CPUs and NUMA nodes: `0-3,8`.

/// The numbers of a list, ascending; those that cannot be read are left out.
pub fn numbers(list: &str) -> Vec<usize> {
    /// More than any machine has.
    const MOST: usize = 1 << 16;

    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            all.extend(first..=last.min(MOST));
        }
    }
    all
}

/// The list of ascending `numbers`.
pub fn list(numbers: &[usize]) -> String {
    let mut list = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        if !list.is_empty() {
            list.push(',');
        }
        list += &run[0].to_string();
        if run.len() > 1 {
            list.push('-');
            list += &run[run.len() - 1].to_string();
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        assert_eq!(numbers("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert!(numbers("").is_empty() && numbers("x,-,3-1").is_empty());
        assert_eq!(list(&[]), "");
    }
}
