//! What a policy says of itself, read as an operator will read it.

use portcullis_model::{Description, PolicyName, Rights};

use super::Grade;

/// A word of a name that operators type: of labels and meters.
fn is_name(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'_');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(word)
}

/// Three numbers, with what a pre-release adds (semver.org, 2.0.0, §2 and §9).
fn is_semantic(version: &str) -> bool {
    let (numbers, rest) = version.split_once(['-', '+']).unwrap_or((version, "x"));
    let parts: Vec<_> = numbers.split('.').collect();
    let number = |part: &&str| part.parse::<u64>().is_ok_and(|number| number.to_string() == **part);
    parts.len() == 3 && parts.iter().all(number) && !rest.is_empty()
}

fn is_sentence(text: &str) -> bool {
    text.ends_with('.') && text.len() > 5 && !text.contains('\n')
}

/// Returns what is wrong or doubtful. `wanted` is the name of the folder's policy.
pub(super) fn mistakes(about: &Description, wanted: Option<&PolicyName>) -> Vec<(Grade, String)> {
    let mut mistakes = Vec::new();
    let mut wrong = |words: String| mistakes.push((Grade::Wrong, words));
    if let Some(wanted) = wanted.filter(|wanted| **wanted != about.name) {
        wrong(format!("it calls itself `{}`; the folder says `{wanted}`", about.name));
    }
    if !is_semantic(&about.version) {
        wrong(format!("the version `{}` is no semantic version such as 1.0.0", about.version));
    }
    for (index, rule) in about.rules.iter().enumerate() {
        if about.rules.iter().take(index).any(|other| other.id == rule.id) {
            wrong(format!("the rule `{}` is declared twice", rule.id));
        }
    }
    let names = about.labels.iter().chain(about.meters.iter().map(|meter| &meter.name));
    for name in names.filter(|name| !is_name(name)) {
        wrong(format!("`{name}` is no name for a label or meter: lowercase letters, digits, hyphens and colons"));
    }
    for meter in about.meters.iter().filter(|meter| meter.window_seconds == 0) {
        wrong(format!("the meter `{}` has a window of no time", meter.name));
    }
    let mut doubtful = |words: String| mistakes.push((Grade::Doubtful, words));
    if !is_sentence(&about.summary) {
        doubtful("the summary is no sentence that ends with a full stop".to_owned());
    }
    for rule in about.rules.iter().filter(|rule| !is_sentence(&rule.summary)) {
        doubtful(format!("the summary of the rule `{}` is no sentence that ends with a full stop", rule.id));
    }
    if about.rules.is_empty() {
        doubtful("it declares no rule, so it can tell an operator nothing".to_owned());
    }
    if about.wants == Rights::ALL {
        doubtful("it wants every right there is".to_owned());
    }
    if about.wants.label == about.labels.is_empty() {
        doubtful("labels and the right to set them come together".to_owned());
    }
    if about.wants.charge == about.meters.is_empty() {
        doubtful("meters and the right to charge them come together".to_owned());
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Meter, Rule, RuleId, Severity};

    use super::*;

    fn description() -> Description {
        let rule =
            |id| Rule { id: RuleId::parse(id).unwrap(), severity: Severity::High, summary: "A word.".to_owned() };
        Description {
            name: PolicyName::parse("words").unwrap(),
            version: "1.0.0".to_owned(),
            summary: "Refuses words.".to_owned(),
            rules: vec![rule("word")],
            labels: Vec::new(),
            meters: Vec::new(),
            wants: Rights { deny: true, ..Rights::NONE },
            needs_payload: true,
        }
    }

    #[test]
    fn a_sound_description_has_no_mistake() {
        assert_eq!(mistakes(&description(), Some(&PolicyName::parse("words").unwrap())), []);
        let pre_release = Description { version: "1.0.0-rc.1".to_owned(), ..description() };
        assert_eq!(mistakes(&pre_release, None), []);
    }

    #[test]
    fn every_mistake_is_told() {
        let about = description();
        let bad = Description {
            version: "1.0".to_owned(),
            summary: "words".to_owned(),
            rules: [about.rules.clone(), about.rules.clone()].concat(),
            labels: vec!["Read It".to_owned()],
            meters: vec![Meter { name: "m".to_owned(), window_seconds: 0 }],
            ..about
        };
        let told = mistakes(&bad, Some(&PolicyName::parse("other").unwrap()));
        let wrong = told.iter().filter(|(grade, _)| *grade == Grade::Wrong).count();
        assert_eq!((wrong, told.len()), (5, 8), "{told:?}");
        for version in ["1.0.0.0", "01.0.0", "v1.0.0", "1.0.0-", "a.b.c"] {
            assert!(!is_semantic(version), "{version}");
        }
    }
}
