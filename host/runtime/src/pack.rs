//! Data packs as files.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use portcullis_model::json::{Object, Value, push_key};
use portcullis_model::{Pack, PolicyName};

use crate::yaml::{YamlError, parse_yaml};

/// Texts of a pack's head: names and versions are for people.
const LONGEST_HEAD: usize = 128;

/// A file is no pack.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// It is no YAML that is accepted.
    #[error("the pack is no YAML that is accepted")]
    Yaml(#[from] YamlError),
    /// It is no map.
    #[error("the pack is no map with `name`, `version` and `data`")]
    Form,
    /// A member is missing or no short text.
    #[error("the pack's `{0}` is missing or no text of at most {LONGEST_HEAD} bytes")]
    Member(&'static str),
    /// It has a member that no pack has.
    #[error("the pack has the member `{0}`, which no pack has")]
    Unknown(String),
    /// `policy` is no name.
    #[error("the pack's `policy` is no name of a policy")]
    Policy(#[source] portcullis_model::IdError),
    /// `grows` is no list of JSON pointers.
    #[error("the pack's `grows` is no list of JSON pointers into its data, such as `/texts`")]
    Grows,
    /// `expires` is no date.
    #[error("the pack's `expires` is no date like 2027-01-31")]
    Expires,
}

/// A pack with what only the host looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct PackFile {
    /// The policy that it is for; nothing where its place tells.
    pub policy: Option<PolicyName>,
    /// What the policy is handed.
    pub pack: Pack,
    /// When it expires: an alarm then, no stop.
    pub expires: Option<SystemTime>,
    /// What of the data a pack of the same name from the folder may add to, as JSON pointers: lists of which each entry
    /// only tightens. Everything else stays as it is here.
    pub grows: Vec<String>,
}

impl PackFile {
    /// Parses a pack: a map with `name`, `version`, `data`, and where useful `policy`, `expires` and `grows`.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        let Value::Object(mut map) = parse_yaml(bytes)? else {
            return Err(PackError::Form);
        };
        let name = text(&mut map, "name")?.ok_or(PackError::Member("name"))?;
        let version = text(&mut map, "version")?.ok_or(PackError::Member("version"))?;
        let policy = text(&mut map, "policy")?
            .map(|policy| PolicyName::parse(&policy))
            .transpose()
            .map_err(PackError::Policy)?;
        let expires = text(&mut map, "expires")?.map(|text| parse_date(&text).ok_or(PackError::Expires)).transpose()?;
        let grows = match map.remove("grows") {
            None => Vec::new(),
            Some(grows) => pointers(&grows).ok_or(PackError::Grows)?,
        };
        let data = map.remove("data").ok_or(PackError::Member("data"))?;
        if let Some((key, _)) = map.iter().next() {
            return Err(PackError::Unknown(key.chars().take(64).collect()));
        }
        Ok(Self { policy, pack: Pack { name, version, data }, expires, grows })
    }

    /// Returns the data with what another pack adds: of the lists that grow everything that is here and more.
    ///
    /// # Errors
    /// The other pack differs elsewhere; the error names the place.
    pub(crate) fn grown_by(&self, other: &Value) -> Result<Value, String> {
        self.grown(&self.pack.data, other, &mut String::new())
    }

    fn grown(&self, own: &Value, other: &Value, pointer: &mut String) -> Result<Value, String> {
        if own == other {
            return Ok(own.clone());
        }
        if self.grows.iter().any(|place| place == pointer) {
            return union(own, other).ok_or_else(|| pointer.clone());
        }
        let (Value::Object(own), Value::Object(other)) = (own, other) else {
            return Err(pointer.clone());
        };
        let mut grown = own.clone();
        let base = pointer.len();
        for (key, value) in other.iter() {
            push_key(pointer, key);
            let known = own.get(key).ok_or_else(|| pointer.clone())?;
            grown.insert(key, self.grown(known, value, pointer)?);
            pointer.truncate(base);
        }
        Ok(Value::Object(grown))
    }

    /// Returns true where the pack has expired at that time.
    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Returns two lists as one without repetition.
fn union(own: &Value, other: &Value) -> Option<Value> {
    let (own, other) = (own.as_array()?, other.as_array()?);
    let mut seen: HashSet<String> = own.iter().map(Value::to_canonical).collect();
    let added = other.iter().filter(|entry| seen.insert(entry.to_canonical()));
    Some(Value::Array(own.iter().cloned().chain(added.cloned()).collect()))
}

fn pointers(value: &Value) -> Option<Vec<String>> {
    let is_pointer = |text: &&str| text.is_empty() || text.starts_with('/');
    value.as_array()?.iter().map(|text| text.as_str().filter(is_pointer).map(str::to_owned)).collect()
}

fn text(map: &mut Object, key: &'static str) -> Result<Option<String>, PackError> {
    match map.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && text.len() <= LONGEST_HEAD => Ok(Some(text)),
        // `version: 2` and `version: 1.0` are YAML numbers.
        Some(Value::Number(number)) => Ok(Some(number.as_str().to_owned())),
        Some(_) => Err(PackError::Member(key)),
    }
}

/// Parses a date of the proleptic Gregorian calendar as the midnight (UTC) that begins it.
pub(crate) fn parse_date(text: &str) -> Option<SystemTime> {
    let mut parts = text.splitn(3, '-');
    let year: i64 = parts.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let month: i64 = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day: i64 = parts.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    // Days since 1970-01-01 by counting years from March on, so that the leap day comes last.
    let (shifted, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(days).ok()?.checked_mul(86_400)?))
}

/// Compares versions by their numbers, so that 1.10 comes after 1.9; what is no number is compared as text.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(u64, String)> {
        version
            .split(['.', '-', '+'])
            .map(|part| part.parse::<u64>().map_or_else(|_| (0, part.to_owned()), |number| (number, String::new())))
            .collect()
    };
    let (mut left, mut right) = (parts(left), parts(right));
    let longest = left.len().max(right.len());
    left.resize(longest, (0, String::new()));
    right.resize(longest, (0, String::new()));
    left.cmp(&right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_names_its_policy_and_keeps_its_data() {
        let file =
            PackFile::parse(b"policy: config-screen\nname: iocs\nversion: 1.2.0\nexpires: 2027-01-31\ndata: {a: [1]}")
                .unwrap();
        assert_eq!(file.policy.unwrap().as_str(), "config-screen");
        assert_eq!(file.pack.data.to_json(), r#"{"a":[1]}"#);
        let expires = file.expires.unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(expires.as_secs(), 1_801_353_600);
    }

    #[test]
    fn a_misspelt_member_is_refused_instead_of_ignored() {
        let error = PackFile::parse(b"name: a\nversion: 1\ndata: {}\nexpire: 2027-01-31").unwrap_err();
        assert!(matches!(error, PackError::Unknown(key) if key == "expire"));
    }

    #[test]
    fn a_pack_without_data_or_with_a_bad_date_is_refused() {
        assert!(matches!(PackFile::parse(b"name: a\nversion: 1"), Err(PackError::Member("data"))));
        assert!(matches!(
            PackFile::parse(b"name: a\nversion: 1\ndata: {}\nexpires: tomorrow"),
            Err(PackError::Expires)
        ));
        assert!(matches!(PackFile::parse(b"- a"), Err(PackError::Form)));
    }

    #[test]
    fn a_pack_grows_where_it_says_so_and_nowhere_else() {
        let pack = |data: &str, grows: &str| {
            PackFile::parse(format!("name: a\nversion: 1\ngrows: {grows}\ndata: {data}").as_bytes()).unwrap()
        };
        let grown = |grows: &str, other: &str| {
            let own = pack("{texts: [a, {b: 1}], known: [c], n: 1}", grows);
            own.grown_by(&parse_yaml(other.as_bytes()).unwrap()).map(|value| value.to_json())
        };
        let whole = |texts: &str| Ok(format!(r#"{{"texts":[{texts}],"known":["c"],"n":1}}"#));
        assert_eq!(grown("[/texts]", "{texts: [z, a]}"), whole(r#""a",{"b":1},"z""#));
        assert_eq!(grown("[/texts]", "{texts: []}"), whole(r#""a",{"b":1}"#));
        assert_eq!(grown("[/texts]", "{known: [c], texts: [a, a]}"), whole(r#""a",{"b":1}"#));
        assert_eq!(grown("[/texts]", "{known: []}"), Err("/known".to_owned()));
        assert_eq!(grown("[/texts]", "{known: [c, d]}"), Err("/known".to_owned()));
        assert_eq!(grown("[/texts]", "{n: 2}"), Err("/n".to_owned()));
        assert_eq!(grown("[/texts]", "{more: []}"), Err("/more".to_owned()));
        assert_eq!(grown("[/texts]", "{texts: {}}"), Err("/texts".to_owned()));
        assert_eq!(grown("[]", "[]"), Err(String::new()));
        assert_eq!(grown("[/texts]", "{}"), whole(r#""a",{"b":1}"#));
        assert!(matches!(PackFile::parse(b"name: a\nversion: 1\ngrows: texts\ndata: {}"), Err(PackError::Grows)));
        assert!(matches!(PackFile::parse(b"name: a\nversion: 1\ngrows: [texts]\ndata: {}"), Err(PackError::Grows)));
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(compare_versions("1.10.0", "1.9.9"), Ordering::Greater);
        assert_eq!(compare_versions("1.0", "1.0.0"), Ordering::Equal);
        assert_eq!(compare_versions("2026-09-30", "2026-10-01"), Ordering::Less);
        assert_eq!(compare_versions("1.0.0-rc1", "1.0.0-rc2"), Ordering::Less);
    }
}
