//! The words that rules know, found by one walk over the bytes of a word.
//!
//! A *lexeme* stands for "these entries and no others match": two words with the same lexeme are the same to every
//! rule. So a word is looked up once, and what an element accepts is one bit per lexeme.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a word is to the rules. Zero: nothing that any rule knows.
pub(super) type Lexeme = u16;

/// A trie with one row per node.
#[derive(Debug)]
pub(super) struct Lexicon {
    /// Column of each byte; upper case shares the column of lower case. Zero: no entry has this byte.
    columns: [u8; 256],
    stride: usize,
    /// Next node by node and column; zero leads nowhere, since nothing leads to the root.
    next: Vec<u16>,
    /// Lexeme of a word that ends at the node.
    ends: Vec<Lexeme>,
    /// Lexeme of a word that goes on where the node has no way on.
    passes: Vec<Lexeme>,
}

/// One entry: a word, or all words with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) word: String,
    pub(super) prefix: bool,
}

/// The lexicon has no room for more nodes or lexemes than 16 bits can number.
#[derive(Debug, thiserror::Error)]
#[error("more words than a lexicon can number")]
pub struct LexiconError(());

impl Lexicon {
    /// Builds the lexicon and says, for each entry, which lexemes it covers.
    pub(super) fn build(entries: &BTreeSet<Entry>) -> Result<(Self, BTreeMap<Entry, Vec<Lexeme>>), LexiconError> {
        let mut columns = [0_u8; 256];
        let mut used = 0_u8;
        for byte in entries.iter().flat_map(|entry| entry.word.bytes()) {
            if let Some(column) = columns.get_mut(usize::from(byte)).filter(|column| **column == 0) {
                used = used.checked_add(1).ok_or(LexiconError(()))?;
                *column = used;
            }
        }
        for upper in b'A'..=b'Z' {
            let lower = columns.get(usize::from(upper.to_ascii_lowercase())).copied().unwrap_or_default();
            if let Some(column) = columns.get_mut(usize::from(upper)) {
                *column = lower;
            }
        }
        let stride = usize::from(used) + 1;
        let mut trie = Trie { stride, next: vec![0; stride], own: vec![Vec::new()] };
        let numbered: Vec<&Entry> = entries.iter().collect();
        for (id, entry) in numbered.iter().enumerate() {
            trie.insert(id, entry, &columns)?;
        }
        let mut lexemes = Lexemes::default();
        let nodes = trie.own.len();
        let (mut ends, mut passes) = (vec![0; nodes], vec![0; nodes]);
        let mut pending = vec![(0_usize, Vec::<usize>::new())];
        while let Some((node, mut prefixes)) = pending.pop() {
            let own = trie.own.get(node).cloned().unwrap_or_default();
            prefixes.extend(own.iter().filter(|id| numbered.get(**id).is_some_and(|entry| entry.prefix)));
            let exact = own.iter().copied().filter(|id| numbered.get(*id).is_some_and(|entry| !entry.prefix));
            let ending: BTreeSet<usize> = prefixes.iter().copied().chain(exact).collect();
            if let (Some(end), Some(pass)) = (ends.get_mut(node), passes.get_mut(node)) {
                *end = lexemes.number(ending)?;
                *pass = lexemes.number(prefixes.iter().copied().collect())?;
            }
            for child in trie.children(node) {
                pending.push((child, prefixes.clone()));
            }
        }
        let mut covered: BTreeMap<Entry, Vec<Lexeme>> = BTreeMap::new();
        for (members, lexeme) in lexemes.sorted() {
            for entry in members.into_iter().filter_map(|id| numbered.get(id)) {
                covered.entry((*entry).clone()).or_default().push(lexeme);
            }
        }
        Ok((Self { columns, stride, next: trie.next, ends, passes }, covered))
    }

    /// Walks the plain word at the start of `bytes`: a letter and lowercase letters behind it. Returns its length and
    /// what it is to the rules. Most words of most texts are plain, so this is the path that must be short.
    pub(super) fn plain(&self, bytes: &[u8]) -> (usize, Lexeme) {
        let (mut node, mut passed, mut length) = (0_usize, None, 0);
        for byte in bytes {
            if !(byte.is_ascii_lowercase() || length == 0 && byte.is_ascii_uppercase()) {
                break;
            }
            length += 1;
            if passed.is_none() {
                let column = self.columns.get(usize::from(*byte)).copied().unwrap_or_default();
                let next = self.next.get(node * self.stride + usize::from(column)).copied().unwrap_or_default();
                if next == 0 {
                    passed = Some(self.passes.get(node).copied().unwrap_or_default());
                } else {
                    node = usize::from(next);
                }
            }
        }
        (length, passed.unwrap_or_else(|| self.ends.get(node).copied().unwrap_or_default()))
    }

    /// Returns what `word` is to the rules.
    pub(super) fn look_up(&self, word: &[u8]) -> Lexeme {
        let mut node = 0_usize;
        for byte in word {
            let column = self.columns.get(usize::from(*byte)).copied().unwrap_or_default();
            let next = self.next.get(node * self.stride + usize::from(column)).copied().unwrap_or_default();
            if next == 0 {
                return self.passes.get(node).copied().unwrap_or_default();
            }
            node = usize::from(next);
        }
        self.ends.get(node).copied().unwrap_or_default()
    }
}

struct Trie {
    stride: usize,
    next: Vec<u16>,
    /// Entries that end at each node.
    own: Vec<Vec<usize>>,
}

impl Trie {
    fn insert(&mut self, id: usize, entry: &Entry, columns: &[u8; 256]) -> Result<(), LexiconError> {
        let mut node = 0_usize;
        for byte in entry.word.bytes() {
            let column = columns.get(usize::from(byte)).copied().unwrap_or_default();
            let cell = node * self.stride + usize::from(column);
            let known = self.next.get(cell).copied().unwrap_or_default();
            node = if known == 0 {
                let fresh = u16::try_from(self.own.len()).map_err(|_| LexiconError(()))?;
                if let Some(slot) = self.next.get_mut(cell) {
                    *slot = fresh;
                }
                self.own.push(Vec::new());
                self.next.resize(self.own.len() * self.stride, 0);
                usize::from(fresh)
            } else {
                usize::from(known)
            };
        }
        if let Some(own) = self.own.get_mut(node) {
            own.push(id);
        }
        Ok(())
    }

    fn children(&self, node: usize) -> Vec<usize> {
        let row = self.next.get(node * self.stride..(node + 1) * self.stride).unwrap_or_default();
        row.iter().filter(|next| **next != 0).map(|next| usize::from(*next)).collect()
    }
}

#[derive(Default)]
struct Lexemes {
    numbers: HashMap<BTreeSet<usize>, Lexeme>,
}

impl Lexemes {
    fn number(&mut self, members: BTreeSet<usize>) -> Result<Lexeme, LexiconError> {
        if members.is_empty() {
            return Ok(0);
        }
        let fresh = u16::try_from(self.numbers.len() + 1).map_err(|_| LexiconError(()))?;
        Ok(*self.numbers.entry(members).or_insert(fresh))
    }

    fn sorted(self) -> BTreeMap<BTreeSet<usize>, Lexeme> {
        self.numbers.into_iter().collect()
    }
}
