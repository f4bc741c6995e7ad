//! Fingerprints of a text: the runs of bytes that winnowing keeps.

/// Bytes of a run. They fit a word, so that a run is told from another exactly.
pub(super) const GRAM: usize = 6;

/// Of so many runs in a row one is kept.
const WINDOW: usize = 5;

/// Every common part of at least so many bytes contains a run that is kept of both texts: it spans a whole window, and
/// which run of a window is kept depends on nothing else.
pub(super) const SHORTEST: usize = GRAM + WINDOW - 1;

/// Gives out each run of a text: where it begins, and its bytes as a number.
fn grams(text: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let mut held = 0_u64;
    text.iter().enumerate().filter_map(move |(index, byte)| {
        held = (held << 8 | u64::from(*byte)) & ((1 << (8 * GRAM)) - 1);
        (index + 1).checked_sub(GRAM).map(|start| (start, held))
    })
}

/// Spreads a run over 32 bits, by the golden ratio as in Fibonacci hashing.
fn mix(run: u64) -> u64 {
    let spread = run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread ^ spread >> 29) >> 32
}

/// Gives out the runs that are kept, each with where it begins: of each window the one of least hash, of equal ones the
/// last. A text without a whole window keeps one. Texts are shorter than 4 GiB.
pub(super) fn winnow(text: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    // The hash, and below it the place counted backwards: the least of a window is the one that is kept.
    let rank = |start: usize, run: u64| mix(run) << 32 | LAST.saturating_sub(start as u64);
    let runs = (text.len() + 1).saturating_sub(GRAM);
    let first_whole = WINDOW.min(runs);
    let mut window = [u64::MAX; WINDOW];
    let mut kept = u64::MAX;
    grams(text).filter_map(move |(start, run)| {
        let [_, second, third, fourth, fifth] = window;
        window = [second, third, fourth, fifth, rank(start, run)];
        let least = window.into_iter().fold(u64::MAX, u64::min);
        if start + 1 < first_whole || least == kept {
            return None;
        }
        kept = least;
        let place = usize::try_from(LAST - (least & 0xffff_ffff)).unwrap_or(usize::MAX);
        run_at(text, place).map(|run| (place, run))
    })
}

/// The last place that a rank can hold; one less than all bits, which stand for no rank.
const LAST: u64 = 0xffff_fffe;

/// Returns the run that begins at a place.
fn run_at(text: &[u8], place: usize) -> Option<u64> {
    let bytes = text.get(place..place.checked_add(GRAM)?)?;
    Some(bytes.iter().fold(0, |held, byte| held << 8 | u64::from(*byte)))
}

/// Returns how many bytes two texts have in common at their beginnings.
pub(super) fn common_start(one: &[u8], other: &[u8]) -> usize {
    let ((whole, _), (others, _)) = (one.as_chunks::<BLOCK>(), other.as_chunks::<BLOCK>());
    let blocks = whole.iter().zip(others).take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one.iter().zip(other).skip(blocks);
    blocks + rest.take_while(|(one, other)| one == other).count()
}

/// Returns how many bytes two texts have in common at their ends.
pub(super) fn common_end(one: &[u8], other: &[u8]) -> usize {
    let ((_, whole), (_, others)) = (one.as_rchunks::<BLOCK>(), other.as_rchunks::<BLOCK>());
    let same = |(one, other): &(&[u8; BLOCK], &[u8; BLOCK])| one == other;
    let blocks = whole.iter().rev().zip(others.iter().rev()).take_while(same).count() * BLOCK;
    let rest = one.iter().rev().zip(other.iter().rev()).skip(blocks);
    blocks + rest.take_while(|(one, other)| one == other).count()
}

/// Bytes that are compared at once.
const BLOCK: usize = 32;
