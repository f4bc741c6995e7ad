//! Fingerprints of a text: the hashes of its runs of bytes that winnowing keeps.

/// Bytes of a run. They fit a word, so that the rolling hash is exact before it is mixed.
pub(super) const GRAM: usize = 6;

/// Of so many runs in a row one is kept.
const WINDOW: usize = 5;

/// Every common part of at least so many bytes contains a run that is kept.
pub(super) const SHORTEST: usize = GRAM + WINDOW - 1;

/// Gives out each run of a text: where it begins, and its hash.
pub(super) fn grams(text: &[u8]) -> impl Iterator<Item = (usize, u32)> {
    let mut held = 0_u64;
    text.iter().enumerate().filter_map(move |(index, byte)| {
        held = (held << 8 | u64::from(*byte)) & ((1 << (8 * GRAM)) - 1);
        (index + 1).checked_sub(GRAM).map(|start| (start, mix(held)))
    })
}

/// Spreads a run over the hash, by the golden ratio as in Fibonacci hashing.
fn mix(run: u64) -> u32 {
    let spread = run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from((spread ^ spread >> 29) >> 32).unwrap_or_default()
}

/// Gives out the runs that are kept: of each window the least hash, of equal ones the last.
pub(super) fn winnow(text: &[u8]) -> Vec<(usize, u32)> {
    let mut kept: Vec<(usize, u32)> = Vec::new();
    let mut window: Vec<(usize, u32)> = Vec::with_capacity(WINDOW);
    let keep = |window: &[(usize, u32)], kept: &mut Vec<(usize, u32)>| {
        let least = window.iter().min_by_key(|(start, hash)| (*hash, std::cmp::Reverse(*start)));
        if let Some(least) = least.filter(|least| kept.last() != Some(least)) {
            kept.push(*least);
        }
    };
    for gram in grams(text) {
        if window.len() == WINDOW {
            window.remove(0);
        }
        window.push(gram);
        if window.len() == WINDOW {
            keep(&window, &mut kept);
        }
    }
    if window.len() < WINDOW {
        keep(&window, &mut kept);
    }
    kept
}
