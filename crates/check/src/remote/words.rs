//! Messages as words.

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Words that are being put together.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    words: Vec<u64>,
}

impl Writer {
    pub(crate) fn word(&mut self, word: u64) {
        self.words.push(word);
    }

    pub(crate) fn words(&mut self, words: impl IntoIterator<Item = u64>) {
        self.words.extend(words);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(WORD) {
            let mut eight = [0; WORD];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(eight));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The words; none are left.
    pub(crate) fn finish(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.words)
    }
}

/// Words that are being read.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    words: std::slice::Iter<'a, u64>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Self { words: words.iter() }
    }

    pub(crate) fn word(&mut self) -> Option<u64> {
        self.words.next().copied()
    }

    /// The next word, which stays.
    pub(crate) fn peek(&self) -> Option<u64> {
        self.words.as_slice().first().copied()
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.word()?).ok()?;
        if len.div_ceil(WORD) > self.words.len() {
            return None;
        }
        let words = self.words.by_ref().take(len.div_ceil(WORD));
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(len);
        String::from_utf8(bytes).ok()
    }

    /// Whether there are more.
    pub(crate) fn has_more(&self) -> bool {
        self.words.len() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::default();
        writer.text("shmem_put");
        writer.word(7);
        let words = writer.finish();
        let mut reader = Reader::new(&words);
        assert_eq!(reader.text().as_deref(), Some("shmem_put"));
        assert!(reader.has_more());
        assert_eq!(reader.word(), Some(7));
        assert_eq!((reader.word(), reader.has_more()), (None, false));
    }

    #[test]
    fn a_text_that_is_cut_off_is_refused() {
        assert_eq!(Reader::new(&[u64::MAX, 1]).text(), None);
        assert_eq!(Reader::new(&[9, 1]).text(), None);
        assert_eq!(Reader::new(&[2, 0xffff]).text(), None);
    }
}
