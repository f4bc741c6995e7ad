//! Under which names items are published.

use std::collections::HashMap;

use portcullis_config::Naming;
use portcullis_model::Digest;

/// Most characters of a published name: what clients and models accept.
pub const LONGEST_NAME: usize = 64;

/// Hex digits of the hash that tells shortened and colliding names apart: 48 bits, so that a server that is free to
/// choose its names would have to try for long before it hits that of another.
const HASH_DIGITS: usize = 12;

/// What a name is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin<'a> {
    pub(crate) server: &'a str,
    pub(crate) name: &'a str,
}

/// Returns the published name of each item, in order. Items whose names collide are all renamed by a hash of server and
/// name, which depends on neither order nor time; nothing where that does not help either.
pub(crate) fn assign(naming: &Naming, origins: &[Origin<'_>]) -> Vec<Option<String>> {
    let plain: Vec<String> = origins.iter().map(|origin| expose(naming, *origin)).collect();
    let often = count(&plain);
    let named: Vec<String> = plain
        .iter()
        .zip(origins)
        .map(|(name, origin)| if often.get(name.as_str()) == Some(&1) { name.clone() } else { hashed(name, *origin) })
        .collect();
    let often = count(&named);
    named.iter().map(|name| (often.get(name.as_str()) == Some(&1)).then(|| name.clone())).collect()
}

fn count(names: &[String]) -> HashMap<&str, usize> {
    let mut often = HashMap::with_capacity(names.len());
    for name in names {
        *often.entry(name.as_str()).or_default() += 1;
    }
    often
}

/// Returns the published name of an item, collisions aside.
pub(crate) fn expose(naming: &Naming, origin: Origin<'_>) -> String {
    let Naming::Qualified { prefix } = naming else {
        return origin.name.to_owned();
    };
    let parts = prefix.as_deref().into_iter().chain([origin.server, origin.name]);
    let name = parts.map(permitted).collect::<Vec<_>>().join("__");
    if name.len() <= LONGEST_NAME { name } else { hashed(&name, origin) }
}

/// Replaces what is no letter, digit or underscore.
fn permitted(text: &str) -> String {
    text.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect()
}

/// Returns a name that ends in a hash of what it is made of.
fn hashed(name: &str, origin: Origin<'_>) -> String {
    let digest = Digest::of_parts([origin.server.as_bytes(), origin.name.as_bytes()]).to_string();
    let kept: String = name.chars().take(LONGEST_NAME - HASH_DIGITS - 1).collect();
    format!("{kept}_{}", digest.get(..HASH_DIGITS).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn origin<'a>(server: &'a str, name: &'a str) -> Origin<'a> {
        Origin { server, name }
    }

    fn qualified() -> Naming {
        Naming::default()
    }

    #[test]
    fn names_have_prefix_server_and_name() {
        assert_eq!(expose(&qualified(), origin("my.server", "get-time")), "mcp__my_server__get_time");
        assert_eq!(expose(&Naming::Qualified { prefix: None }, origin("a", "b")), "a__b");
        assert_eq!(expose(&Naming::Plain, origin("a", "get-time")), "get-time");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let (left, right) = ("x".repeat(80), format!("{}y", "x".repeat(79)));
        let names = assign(&qualified(), &[origin("s", &left), origin("s", &right)]);
        assert_ne!(names[0], names[1]);
        assert!(names.iter().flatten().all(|name| name.len() == LONGEST_NAME));
        assert_eq!(names[0].as_deref(), Some(expose(&qualified(), origin("s", &left)).as_str()));
    }

    #[test]
    fn a_name_of_64_characters_is_kept() {
        let name = "x".repeat(64 - "mcp__s__".len());
        assert_eq!(expose(&qualified(), origin("s", &name)), format!("mcp__s__{name}"));
    }

    #[test]
    fn names_that_collide_are_all_renamed_whatever_their_order() {
        let (left, right) = (origin("a", "b__c"), origin("a__b", "c"));
        let names = assign(&qualified(), &[left, right]);
        let swapped = assign(&qualified(), &[right, left]);
        assert_ne!(names[0], names[1]);
        assert_eq!((&names[0], &names[1]), (&swapped[1], &swapped[0]));
        assert!(names.iter().flatten().all(|name| name.starts_with("mcp__a__b__c_") && name.len() <= LONGEST_NAME));
    }

    #[test]
    fn a_server_that_guesses_the_name_of_another_after_renaming_gets_neither_published() {
        let (left, right) = (origin("a", "b__c"), origin("a__b", "c"));
        let names = assign(&qualified(), &[left, right]);
        let guessed = names[1].clone().unwrap().replacen("mcp__a__", "", 1);
        let names = assign(&qualified(), &[left, right, origin("a", &guessed)]);
        assert!(names[0].is_some());
        assert_eq!((&names[1], &names[2]), (&None, &None));
    }

    #[test]
    fn the_same_item_twice_is_published_under_no_name() {
        assert_eq!(assign(&qualified(), &[origin("a", "b"), origin("a", "b")]), [None, None]);
    }

    proptest::proptest! {
        #[test]
        fn qualified_names_are_short_and_plain_and_never_given_twice(
            items in proptest::collection::vec((".{1,20}", ".{0,100}"), 0..20)
        ) {
            let origins: Vec<_> = items.iter().map(|(server, name)| origin(server, name)).collect();
            let names = assign(&qualified(), &origins);
            let given: Vec<&String> = names.iter().flatten().collect();
            let unique: std::collections::HashSet<_> = given.iter().collect();
            proptest::prop_assert_eq!(given.len(), unique.len());
            for name in given {
                proptest::prop_assert!(name.len() <= LONGEST_NAME);
                proptest::prop_assert!(name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_'));
            }
        }
    }
}
