//! `package-lookalike`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Compares packages with well-known servers: a name or a scope that is almost one of them, or that has letters of another
/// alphabet.
///
/// # Why
/// Such names are registered to be taken for the ones they resemble.
///
/// # Example
/// ```yaml
/// command: npx
/// args: [-y, "@playwrigth/mcp"]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "package-lookalike",
    summary: "A package whose name is almost that of a well-known server.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    for (_, package) in context.packages() {
        if package.contains("://") || package.contains([' ', '$', '<', '{']) {
            continue;
        }
        let name = bare(&package);
        if !name.is_ascii() {
            hits.ask(format!("the package {name:?} has letters that are not in names of packages"), &package);
            continue;
        }
        if context.tables.packages.names.contains(&name) {
            continue;
        }
        if let Some(known) = resembled(context, &name) {
            hits.ask(format!("the package `{name}` is almost `{known}`"), &package);
        }
    }
}

/// Returns the name of a package without version and extras.
pub(super) fn bare(package: &str) -> String {
    let lower = package.trim().to_lowercase();
    let start = usize::from(lower.starts_with('@'));
    let end = lower
        .get(start..)
        .and_then(|rest| rest.find(['@', '[', '=', '<', '>', '~', ';']))
        .map_or(lower.len(), |end| start + end);
    lower.get(..end).unwrap_or_default().to_owned()
}

fn resembled<'a>(context: &'a Context<'_>, name: &str) -> Option<&'a str> {
    let packages = &context.tables.packages;
    let Some((scope, inner)) = name.strip_prefix('@').and_then(|rest| rest.split_once('/')) else {
        let unscoped = packages.names.iter().filter(|known| !known.starts_with('@'));
        return unscoped.map(String::as_str).find(|known| is_slip(name, known));
    };
    if packages.scopes.iter().any(|known| known == scope) {
        let own = packages.names.iter().filter(|known| {
            known.strip_prefix('@').is_some_and(|rest| rest.split_once('/').is_some_and(|(known, _)| known == scope))
        });
        return own.map(String::as_str).find(|known| {
            let known = known.rsplit('/').next().unwrap_or_default();
            known != inner && known.len() >= 12 && strsim::osa_distance(known, inner) <= 1
        });
    }
    packages.scopes.iter().map(String::as_str).find(|known| {
        let most = match known.len() {
            0..8 => 0,
            8..14 => 1,
            _ => 2,
        };
        let plain = |text: &str| text.replace(['-', '_', '.'], "");
        plain(known) == plain(scope) || (most > 0 && strsim::osa_distance(known, scope) <= most)
    })
}

/// Two letters swapped, one doubled, or one left out of a long word: other small differences make other words, as `git` and
/// `gist` are.
fn is_slip(name: &str, known: &str) -> bool {
    if name == known || name.replace(['_', '.'], "-") == *known || strsim::osa_distance(name, known) != 1 {
        return false;
    }
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let doubled = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.dedup();
        letters
    };
    let words = |text: &str| text.split('-').map(str::len).collect::<Vec<_>>();
    let (own, other) = (words(name), words(known));
    // `sever` for `server`; of a short word, a letter less is another word.
    let left_out = own.len() == other.len() && own.iter().zip(&other).all(|(own, other)| own == other || *other >= 6);
    sorted(name) == sorted(known)
        || (name.len() > known.len() && doubled(name) == doubled(known))
        || (name.len() < known.len() && left_out)
}
