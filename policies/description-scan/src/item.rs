//! Judging one item.

use portcullis_sdk::listing_gate::Item;
use portcullis_sdk::{Segment, Verdict};
use portcullis_text::normal::Normal;
use portcullis_text::rules::{Names, Rules, Scanner};

use crate::rules::{characters, escaped, layout, phrases, side_parameter, spelling};
use crate::settings::Settings;
use crate::sighting::{self, Sighting};

/// Shortest text that can hold a phrase. Type names, formats and short keys are skipped.
const SHORTEST_PHRASE: usize = 12;

/// Judges every segment of an item.
pub(crate) fn judge(
    item: &Item,
    scanner: &mut Scanner<'_>,
    others: &Names<'_>,
    rules: &Rules,
    settings: &Settings,
) -> Verdict {
    let names = others.with_own(&item.name);
    let mut sightings = Vec::new();
    for (index, segment) in item.segments.iter().enumerate() {
        characters::look(index, segment, &mut sightings);
        let normal = Normal::new(&segment.text);
        spelling::look(index, segment, &normal, &mut sightings);
        escaped::look(index, segment, &normal, &mut sightings);
        layout::look(index, segment, &mut sightings);
        if segment.key {
            side_parameter::look(index, segment, &mut sightings);
        }
        if segment.text.len() >= SHORTEST_PHRASE {
            phrases::look(index, segment, scanner, rules, &names, &mut sightings);
            if let Some(words) = spelled_out(segment) {
                phrases::look_spelled(index, segment, &words, scanner, rules, &mut sightings);
            }
        }
    }
    verdict(sightings, settings)
}

fn verdict(sightings: Vec<Sighting>, settings: &Settings) -> Verdict {
    sighting::verdict(sightings, settings)
}

/// Returns the words of a name that is long enough to be a sentence: `read_ssh_key_and_pass_it` says something too.
fn spelled_out(segment: &Segment) -> Option<String> {
    const WORDS: usize = 4;
    let text = &segment.text;
    let joints = text.bytes().filter(|byte| matches!(byte, b'_' | b'-')).count();
    (joints >= WORDS - 1 && !text.contains(' ')).then(|| text.replace(['_', '-'], " "))
}
