//! What of a call is known from earlier results.

use std::collections::BTreeSet;

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Echo, Facts, Segment};

use crate::pack::Tables;
use crate::settings::Settings;
use crate::words::words;
use crate::{INSTRUCTION, PRIVATE, UNTRUSTED};

/// A target is an address, a name or an identifier; what is longer is a letter.
const LONGEST_TARGET: usize = 256;

/// What of a call is known from earlier results.
#[derive(Debug, Default)]
pub(crate) struct Sighting<'a> {
    /// Echoes that name the target and stand in prose.
    pub(crate) from_prose: Vec<&'a Echo>,
    /// Those of them that stand in a text with instructions for its reader.
    pub(crate) from_instruction: Vec<&'a Echo>,
    /// Echoes that name the target and are whole fields.
    pub(crate) from_data: Vec<&'a Echo>,
    /// Echoes of private content, from other texts than those that name the target.
    pub(crate) private: Vec<&'a Echo>,
    /// True where the call reaches a URL that an argument gives: a page is fetched, and the URL itself may carry data.
    pub(crate) fetches: bool,
}

impl<'a> Sighting<'a> {
    /// Sorts the echoes of a call. Of one that only fetches, the URLs alone count.
    pub(crate) fn of(facts: &'a Facts, call: &Call, outward: bool, settings: &Settings, tables: &Tables) -> Self {
        let role =
            |echo: &Echo| call.segments.get(echo.span.segment as usize).map(|segment| Place::of(segment, tables));
        let mut sighting =
            Self { fetches: call.segments.iter().any(|segment| is_url(&segment.text)), ..Self::default() };
        for echo in facts.echoes.iter().filter(|echo| echo.label == UNTRUSTED) {
            let counts = match role(echo) {
                Some(Place::Url) => true,
                Some(Place::Target) => outward,
                Some(Place::Content) | None => false,
            };
            let text = call.segments.get(echo.span.segment as usize).map_or("", |segment| segment.text.as_str());
            if counts && is_whole(text, echo.span.start as usize, echo.span.end as usize) {
                let list = if echo.prose { &mut sighting.from_prose } else { &mut sighting.from_data };
                list.push(echo);
            }
        }
        let instructing: BTreeSet<u32> =
            facts.echoes.iter().filter(|echo| echo.label == INSTRUCTION).map(|echo| echo.text).collect();
        sighting.from_instruction =
            sighting.from_prose.iter().copied().filter(|echo| instructing.contains(&echo.text)).collect();
        let naming: BTreeSet<u32> = sighting.from_prose.iter().map(|echo| echo.text).collect();
        let carried = |echo: &&Echo| {
            echo.label == PRIVATE
                && echo.length >= settings.shortest_private
                && !naming.contains(&echo.text)
                && match role(echo) {
                    Some(Place::Url) => true,
                    Some(Place::Content) => outward,
                    Some(Place::Target) | None => false,
                }
        };
        sighting.private = facts.echoes.iter().filter(carried).collect();
        sighting
    }
}

/// What an argument is to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It says whom the call reaches.
    Target,
    /// It says so, and has room for data.
    Url,
    /// It is what is sent.
    Content,
}

impl Place {
    fn of(segment: &Segment, tables: &Tables) -> Self {
        let text = segment.text.trim();
        if is_url(text) {
            return Self::Url;
        }
        if segment.key || text.len() > LONGEST_TARGET {
            return Self::Content;
        }
        let name = segment.pointer.rsplit('/').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
        let words = words(name.unwrap_or_default());
        let is_label = words.last().is_some_and(|word| tables.words.labels.contains(word));
        let is_target = !is_label && words.iter().any(|word| tables.words.targets.contains(word));
        if is_target || is_mail_address(text) { Self::Target } else { Self::Content }
    }
}

/// Returns true where a part is a whole address, or the host of one: two addresses of one domain are not the same.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(after)) = (text.get(..start), text.get(end..)) else {
        return false;
    };
    let parts = |character: char| character.is_whitespace() || ",;<>\"'()[]{}|".contains(character);
    let begins = before.is_empty() || before.ends_with("://") || before.ends_with(parts);
    let ends = after.is_empty() || after.starts_with(parts) || (is_url(text) && after.starts_with(['/', '?', '#']));
    begins && ends
}

fn is_url(text: &str) -> bool {
    let text = text.trim();
    let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    (begins("https://") || begins("http://")) && !text.contains(char::is_whitespace)
}

fn is_mail_address(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.')) && !text.contains(char::is_whitespace)
}
