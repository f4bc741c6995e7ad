//! Files of fixtures: cases with what they expect. The format is described in `sdk/README.md`.

use std::path::Path;

use portcullis_model::json::Value;
use portcullis_model::{Facts, GateName, Pack};
use portcullis_runtime::{PackFile, parse_yaml};

use super::expectation::Expectation;
use super::facts;
use super::fields::{Fields, FixtureError};
use crate::commands::policy::project::yaml_files;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

const GATES: [(&str, GateName); 6] = [
    ("config", GateName::Config),
    ("environment", GateName::Environment),
    ("listing", GateName::Listing),
    ("call", GateName::Call),
    ("result", GateName::Result),
    ("request", GateName::Request),
];

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    /// Its file, without the extension.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) gate: GateName,
    pub(super) settings: Value,
    pub(super) packs: Vec<Pack>,
    pub(super) facts: Facts,
    pub(super) subject: Value,
    /// One, or one for each item of a batch.
    pub(super) expect: Vec<Expectation>,
}

/// Reads every case of a policy's folder: `fixtures/*.yaml`, with the packs of `packs/*.yaml` where a file states none.
pub(super) fn read(folder: &Path) -> Result<Vec<Case>, Failure> {
    let beside = packs_beside(folder)?;
    let mut cases = Vec::new();
    for path in yaml_files(&folder.join("fixtures")) {
        let doing = || format!("reading the fixtures {}", path.display());
        let bytes = std::fs::read(&path).or_exit(Exit::Usage, doing())?;
        let document = parse_yaml(&bytes).or_exit(Exit::Usage, doing())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        cases.extend(file(&name, &document, &beside).or_exit(Exit::Usage, doing())?);
    }
    if cases.is_empty() {
        let place = folder.join("fixtures");
        return Err(Failure::new(Exit::Usage, format!("there is no case in {}", place.display()))
            .hint("a case is an entry of `cases` in a YAML file there; sdk/README.md describes them"));
    }
    Ok(cases)
}

fn file(name: &str, document: &Value, beside: &[Pack]) -> Result<Vec<Case>, FixtureError> {
    let mut fields = Fields::of(name, document)?;
    let gate = fields.one_of("gate", &GATES)?.ok_or_else(|| FixtureError::new(name, "`gate` is missing"))?;
    let settings = fields.value("settings").unwrap_or(Value::Null);
    let packs = stated_packs(&mut fields)?.unwrap_or_else(|| beside.to_vec());
    let facts = facts::read(name, &fields.value("facts").unwrap_or(Value::Null))?;
    let cases = fields.list("cases")?.unwrap_or_default();
    fields.end()?;
    let mut read = Vec::with_capacity(cases.len());
    for (index, case) in cases.iter().enumerate() {
        let mut fields = Fields::of(&format!("{name}, case {}", index + 1), case)?;
        let title = fields.required("name")?;
        let place = format!("{name}, {title}");
        let own_facts = fields.value("facts").map(|facts| facts::read(&place, &facts)).transpose()?;
        let case = Case {
            file: name.to_owned(),
            gate,
            settings: fields.value("settings").unwrap_or_else(|| settings.clone()),
            packs: stated_packs(&mut fields)?.unwrap_or_else(|| packs.clone()),
            facts: own_facts.unwrap_or_else(|| facts.clone()),
            subject: fields.value("subject").unwrap_or(Value::Null),
            expect: expectations(&place, fields.value("expect"))?,
            name: title,
        };
        fields.end()?;
        read.push(case);
    }
    Ok(read)
}

fn expectations(place: &str, expect: Option<Value>) -> Result<Vec<Expectation>, FixtureError> {
    match expect {
        None => Err(FixtureError::new(place, "`expect` is missing")),
        Some(Value::Array(each)) => each.iter().map(|one| Expectation::read(place, one)).collect(),
        Some(one) => Ok(vec![Expectation::read(place, &one)?]),
    }
}

/// Packs that a file or a case states as data by name.
fn stated_packs(fields: &mut Fields) -> Result<Option<Vec<Pack>>, FixtureError> {
    let stated = fields.map("packs")?;
    let pack = |(name, data)| Pack { name, version: "0".to_owned(), data };
    Ok(stated.map(|packs| packs.into_iter().map(pack).collect()))
}

/// Packs as files: with a head, or data alone.
fn packs_beside(folder: &Path) -> Result<Vec<Pack>, Failure> {
    let mut packs = Vec::new();
    for path in yaml_files(&folder.join("packs")) {
        let doing = || format!("reading the pack {}", path.display());
        let bytes = std::fs::read(&path).or_exit(Exit::Usage, doing())?;
        let data = parse_yaml(&bytes).or_exit(Exit::Usage, doing())?;
        packs.push(if data.get("data").is_some() && data.get("version").is_some() {
            PackFile::parse(&bytes).or_exit(Exit::Usage, doing())?.pack
        } else {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Pack { name, version: "0".to_owned(), data }
        });
    }
    Ok(packs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        file("calls", &parse_yaml(text.as_bytes()).unwrap(), &[]).unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        assert_eq!(problem("cases: []"), "calls: `gate` is missing");
        assert!(problem("gate: cal").starts_with("calls.gate: `cal` is unknown; known are config, "));
        assert_eq!(problem("gate: call\ncase: []"), "calls.case: unknown key");
        let case = |text: &str| problem(&format!("gate: call\ncases: [{{ name: one, {text} }}]"));
        assert_eq!(case("subject: {}"), "calls, one: `expect` is missing");
        assert_eq!(case("expect: { decison: deny }"), "calls, one, expect.decison: unknown key");
        assert_eq!(
            case("expect: {}, facts: { round: -1 }"),
            "calls, one, facts.round: expected a whole number that is not too large"
        );
    }

    #[test]
    fn what_a_case_states_is_stronger_than_what_the_file_does() {
        let text = "gate: call\nsettings: { a: 1 }\npacks: { p: [1] }\ncases:\n  - { name: x, expect: {} }\n  - { name: y, expect: {}, settings: { a: 2 }, packs: {} }";
        let cases = file("calls", &parse_yaml(text.as_bytes()).unwrap(), &[]).unwrap();
        let [first, second] = cases.as_slice() else { panic!("two cases") };
        assert_eq!(first.settings.to_json(), r#"{"a":1}"#);
        assert_eq!(second.settings.to_json(), r#"{"a":2}"#);
        assert_eq!((first.packs.len(), second.packs.len()), (1, 0));
    }
}
