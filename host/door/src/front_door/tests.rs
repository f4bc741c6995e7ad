use std::time::Duration;

use http::Request;
use portcullis_model::Secret;

use super::*;
use crate::{Clock, PublicUrl, TokenWish, TrustedProxies};

struct Opened {
    _folder: tempfile::TempDir,
    file: TokenFile,
    clock: Clock,
    door: FrontDoor,
}

fn opened() -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::still();
    let settings = DoorSettings {
        folder: folder.path().to_owned(),
        public_url: PublicUrl::parse("https://gateway.example").unwrap(),
        proxies: TrustedProxies::default(),
        installation: Some(Secret::new("i".repeat(43))),
        environment: None,
        key: [7; 32],
        authorization: None,
        clock: clock.clone(),
    };
    Opened {
        file: TokenFile::in_folder(folder.path()),
        _folder: folder,
        clock,
        door: FrontDoor::open(settings).unwrap(),
    }
}

impl Opened {
    fn mint(&self, wish: TokenWish) -> String {
        let secret = self.file.mint(wish, self.clock.now() / 1_000).unwrap();
        self.door.refresh();
        secret.expose().to_owned()
    }

    fn ask(&self, route: &str, authorization: &[&str], from: &str) -> Result<String, (u16, String)> {
        let mut request = Request::get(route);
        for value in authorization {
            request = request.header("authorization", *value);
        }
        let head = request.body(()).unwrap().into_parts().0;
        let path = crate::route::of_path(head.uri.path()).unwrap();
        self.door.admit(path.as_ref(), &head, from.parse().unwrap()).map(|principal| principal.to_string()).map_err(
            |refusal| {
                let challenge = refusal.challenge().map(|value| value.to_str().unwrap().to_owned());
                (refusal.status().as_u16(), challenge.unwrap_or_default())
            },
        )
    }

    fn opens(&self, route: &str, token: &str) -> Result<String, u16> {
        self.ask(route, &[&format!("Bearer {token}")], "127.0.0.1").map_err(|(status, _)| status)
    }
}

fn wish(name: &str) -> TokenWish {
    TokenWish { name: name.to_owned(), ..TokenWish::default() }
}

#[test]
fn a_token_acts_for_the_principal_of_its_name_on_every_route() {
    let opened = opened();
    let laptop = opened.mint(wish("laptop"));
    for route in ["/mcp", "/mcp/files"] {
        assert_eq!(opened.opens(route, &laptop), Ok("laptop".to_owned()));
        assert_eq!(opened.opens(route, &"i".repeat(43)), Ok("local".to_owned()));
        assert_eq!(opened.opens(route, &format!("{laptop}x")), Err(401));
    }
}

#[test]
fn a_token_for_some_servers_opens_their_routes_alone() {
    let opened = opened();
    let servers = Some(vec![ServerName::parse("files").unwrap(), ServerName::parse("tracker").unwrap()]);
    let token = opened.mint(TokenWish { servers, ..wish("narrow") });
    assert!(opened.opens("/mcp/files", &token).is_ok() && opened.opens("/mcp/tracker", &token).is_ok());
    for route in ["/mcp", "/mcp/mail", "/mcp/Files"] {
        assert_eq!(opened.opens(route, &token), Err(403), "{route}");
    }
}

#[test]
fn a_token_ends_when_it_expires_and_when_it_is_revoked_without_a_restart() {
    let opened = opened();
    let short = opened.mint(TokenWish { seconds: Some(60), ..wish("short") });
    let long = opened.mint(wish("long"));
    opened.clock.advance(Duration::from_secs(59));
    assert!(opened.opens("/mcp", &short).is_ok());
    opened.clock.advance(Duration::from_secs(1));
    assert_eq!(opened.opens("/mcp", &short), Err(401));
    assert!(opened.opens("/mcp", &long).is_ok() && opened.door.principals().contains("long"));
    opened.file.revoke(&["long".to_owned()]).unwrap();
    opened.door.refresh();
    assert_eq!(opened.opens("/mcp", &long), Err(401));
    assert!(!opened.door.principals().contains("long"));
}

#[test]
fn a_token_for_some_sources_opens_nothing_from_elsewhere() {
    let opened = opened();
    let token = opened.mint(TokenWish { sources: vec!["192.0.2.0/24".parse().unwrap()], ..wish("office") });
    let bearer = format!("Bearer {token}");
    assert!(opened.ask("/mcp", &[&bearer], "192.0.2.9").is_ok());
    assert_eq!(opened.ask("/mcp", &[&bearer], "198.51.100.9").unwrap_err().0, 401);
}

#[test]
fn tokens_that_cannot_be_read_open_nothing_and_that_of_the_installation_still_does() {
    let opened = opened();
    let token = opened.mint(wish("one"));
    let path = opened.door.settings.folder.join("tokens.json");
    std::fs::write(&path, "{").unwrap();
    opened.door.refresh();
    assert_eq!(opened.opens("/mcp", &token), Err(401));
    assert!(opened.opens("/mcp", &"i".repeat(43)).is_ok());
}

#[test]
fn a_challenge_names_the_description_of_its_route_and_an_error_only_where_something_was_shown() {
    let opened = opened();
    let metadata =
        "resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource/mcp/files\",scope=\"mcp\"";
    let ask = |authorization: &[&str]| opened.ask("/mcp/files", authorization, "127.0.0.1").unwrap_err();
    assert_eq!(ask(&[]), (401, format!("Bearer {metadata}")));
    assert_eq!(ask(&["Bearer wrong"]), (401, format!("Bearer error=\"invalid_token\",{metadata}")));
    assert_eq!(ask(&["Basic YTpi"]).0, 401);
    assert_eq!(ask(&["Bearer a", "Bearer a"]), (400, format!("Bearer error=\"invalid_request\",{metadata}")));
    let narrow = TokenWish { servers: Some(vec![ServerName::parse("mail").unwrap()]), ..wish("narrow") };
    let bearer = format!("Bearer {}", opened.mint(narrow));
    assert_eq!(ask(&[&bearer]), (403, format!("Bearer error=\"insufficient_scope\",{metadata}")));
}

#[test]
fn a_token_in_the_address_is_refused_even_beside_a_right_one() {
    let opened = opened();
    let token = opened.mint(wish("one"));
    let bearer = format!("Bearer {token}");
    let refused = opened.ask(&format!("/mcp?access_token={token}"), &[&bearer], "127.0.0.1").unwrap_err();
    assert_eq!(refused.0, 400);
}

#[test]
fn whoever_shows_wrong_tokens_is_slowed_down_and_right_ones_are_not() {
    let opened = opened();
    let token = opened.mint(wish("one"));
    let statuses: Vec<_> = (0..40).map(|_| opened.opens("/mcp", "wrong").unwrap_err()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 30);
    assert_eq!(statuses.last(), Some(&429));
    assert!(opened.opens("/mcp", &token).is_ok(), "from the very same source");
    assert_eq!(opened.ask("/mcp", &[], "192.0.2.1").unwrap_err().0, 401, "others are not concerned");
}

#[test]
fn the_first_use_of_a_token_and_each_from_a_new_place_is_counted_once() {
    let opened = opened();
    let token = opened.mint(wish("one"));
    let bearer = format!("Bearer {token}");
    let places = || opened.door.counts.list().iter().find(|(name, _)| *name == "token_places").unwrap().1;
    for (from, expected) in [("192.0.2.1", 1), ("192.0.2.1", 1), ("198.51.100.1", 2), ("192.0.2.1", 2)] {
        opened.ask("/mcp", &[&bearer], from).unwrap();
        assert_eq!(places(), expected);
    }
    // Another token changes the file; this one keeps what is known of it.
    opened.mint(wish("two"));
    opened.ask("/mcp", &[&bearer], "192.0.2.1").unwrap();
    assert_eq!(places(), 2);
}

mod flow;
mod limits;
mod scene;
mod strangers;
