//! What is asked of an OSV endpoint, and what it answers (OSV API, `POST /v1/query`; OSV schema 1.7).

use portcullis_sdk::serde_json::{self, json};
use serde::Deserialize;

use crate::packages::Package;

/// Malicious packages have ids that begin so.
const MALICIOUS: &str = "MAL-";

/// One advisory, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advisory {
    pub(crate) id: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) malicious: bool,
    /// True where no release of the package is unaffected.
    pub(crate) of_every_release: bool,
}

/// One page of an answer.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) advisories: Vec<Advisory>,
    /// Where the answer goes on.
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    vulns: Vec<Vulnerability>,
    #[serde(default)]
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct Vulnerability {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    withdrawn: Option<String>,
    #[serde(default)]
    affected: Vec<Affected>,
}

#[derive(Deserialize)]
struct Affected {
    #[serde(default)]
    package: Option<Affects>,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Affects {
    ecosystem: String,
    name: String,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    events: Vec<serde_json::Map<String, serde_json::Value>>,
}

/// Returns the body of the question about a package.
pub(crate) fn question(package: &Package, page: Option<&str>) -> String {
    let mut body = serde_json::Map::new();
    body.insert("package".to_owned(), json!({ "name": package.name, "ecosystem": package.ecosystem.name() }));
    body.extend(package.version.as_ref().map(|version| ("version".to_owned(), json!(version))));
    body.extend(page.map(|page| ("page_token".to_owned(), json!(page))));
    serde_json::Value::Object(body).to_string()
}

/// Reads an answer. Advisories that were withdrawn are left out.
pub(crate) fn read(answer: &[u8], package: &Package) -> Option<Page> {
    // A list would be taken for an answer of which everything is left out.
    let answer: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(answer).ok()?;
    let answer: Answer = serde_json::from_value(answer.into()).ok()?;
    let standing = answer.vulns.into_iter().filter(|vulnerability| vulnerability.withdrawn.is_none());
    let advisories = standing
        .map(|vulnerability| Advisory {
            malicious: vulnerability.id.starts_with(MALICIOUS)
                || vulnerability.aliases.iter().any(|alias| alias.starts_with(MALICIOUS)),
            of_every_release: vulnerability.affected.iter().any(|affected| affected.is_every_release_of(package)),
            id: vulnerability.id,
            aliases: vulnerability.aliases,
        })
        .collect();
    Some(Page { advisories, next: answer.next_page_token.filter(|token| !token.is_empty()) })
}

impl Affected {
    /// Returns true where it is about the package from its first release on, without end.
    fn is_every_release_of(&self, package: &Package) -> bool {
        let named = self.package.as_ref().is_none_or(|affects| {
            affects.ecosystem == package.ecosystem.name() && affects.name.eq_ignore_ascii_case(&package.name)
        });
        let open = self.ranges.iter().any(|range| {
            let has = |key: &str| range.events.iter().any(|event| event.contains_key(key));
            let first = |event: &serde_json::Map<_, _>| {
                event.get("introduced").and_then(|value: &serde_json::Value| value.as_str()) == Some("0")
            };
            range.events.iter().any(first) && !has("fixed") && !has("last_affected") && !has("limit")
        });
        named && (open || (self.ranges.is_empty() && self.versions.is_empty()))
    }
}
