use std::time::Duration;

use portcullis_model::ServerName;

use super::code::Shown;
use super::*;
use crate::Approval;

const NOW: Moment = 1_800_000_000_000;
const MINUTE: Moment = 60_000;
const VERIFIER: &str = "verifier-of-43-characters-and-a-few-more-than-that";

fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(Digest::of(VERIFIER.as_bytes()).as_bytes())
}

struct Scene {
    folder: tempfile::TempDir,
    grants: Grants,
    credentials: Credentials,
    settings: AuthorizationSettings,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let grants = Grants::new(Kept::new(folder.path(), "https://g.example", true), Vec::new());
    let settings = AuthorizationSettings::new(Approval::OutOfBand);
    Scene { folder, grants, credentials: Credentials::default(), settings }
}

fn files() -> Route {
    ServerName::parse("files").ok()
}

impl Scene {
    fn code(&self, client: &str, now: Moment) -> String {
        let consent = Consent {
            client: client.to_owned(),
            name: "A client".to_owned(),
            redirect: "https://app.example/callback".to_owned(),
            challenge: challenge(),
            route: files(),
        };
        self.grants.give_code(consent, now).unwrap().expose().to_owned()
    }

    fn redeem(&self, shown: &Shown<'_>, now: Moment) -> Result<Issued, Denied> {
        self.grants.redeem(shown, &self.settings, &self.credentials, now)
    }

    fn first(&self, client: &str, now: Moment) -> Issued {
        let code = self.code(client, now);
        self.redeem(&shown(&code, client), now).unwrap()
    }

    fn refresh(&self, token: &Secret, client: &str, now: Moment) -> Result<Issued, Denied> {
        self.grants.refresh(token.expose(), client, None, &self.settings, &self.credentials, now)
    }

    fn opens(&self, token: &Secret, route: &Route, now: Moment) -> bool {
        let source = "192.0.2.1".parse().unwrap();
        self.credentials.find(&digest(token.expose()), route.as_ref(), source, now).is_ok()
    }
}

fn shown<'a>(code: &'a str, client: &'a str) -> Shown<'a> {
    Shown { code, client, redirect: None, verifier: VERIFIER, resource: None }
}

#[test]
fn a_code_becomes_tokens_for_its_route_once_and_within_a_minute() {
    let scene = scene();
    let code = scene.code("c", NOW);
    let issued = scene.redeem(&shown(&code, "c"), NOW + MINUTE - 1).unwrap();
    assert_eq!(issued.seconds, 3_600);
    assert!(scene.opens(&issued.access, &files(), NOW));
    assert!(!scene.opens(&issued.access, &None, NOW), "a token of one route is none on another");
    assert!(!scene.opens(&issued.refresh, &files(), NOW), "a refresh token opens nothing");
    assert!(!scene.opens(&issued.access, &files(), NOW + MINUTE + 3_600_000));
    let late = scene.code("c", NOW);
    assert_eq!(scene.redeem(&shown(&late, "c"), NOW + MINUTE).unwrap_err(), Denied::Invalid);
}

#[test]
fn a_code_is_for_its_client_its_address_and_its_verifier() {
    let scene = scene();
    let code = scene.code("c", NOW);
    let good = shown(&code, "c");
    let short = "verifier";
    for wrong in [
        Shown { client: "d", ..good },
        Shown { redirect: Some("https://app.example/other"), ..good },
        Shown { verifier: "another-verifier-of-43-characters-and-a-few-more", ..good },
        Shown { verifier: short, ..good },
        Shown { code: "ptc_c_made-up", ..good },
    ] {
        assert_eq!(scene.redeem(&wrong, NOW).unwrap_err(), Denied::Invalid);
    }
    assert_eq!(scene.redeem(&Shown { resource: Some(&None), ..good }, NOW).unwrap_err(), Denied::Target);
    // None of these used it up.
    scene
        .redeem(&Shown { redirect: Some("https://app.example/callback"), resource: Some(&files()), ..good }, NOW)
        .unwrap();
}

#[test]
fn five_wrong_verifiers_end_a_code() {
    let scene = scene();
    let code = scene.code("c", NOW);
    for _ in 0..5 {
        let wrong = Shown { verifier: "another-verifier-of-43-characters-and-a-few-more", ..shown(&code, "c") };
        scene.redeem(&wrong, NOW).unwrap_err();
    }
    assert_eq!(scene.redeem(&shown(&code, "c"), NOW).unwrap_err(), Denied::Invalid);
}

#[test]
fn a_code_that_is_shown_again_by_its_client_ends_the_family_and_by_others_does_not() {
    let scene = scene();
    let code = scene.code("c", NOW);
    let issued = scene.redeem(&shown(&code, "c"), NOW).unwrap();
    for wrong in [
        Shown { client: "d", ..shown(&code, "c") },
        Shown { verifier: "another-verifier-of-43-characters-and-a-few-more", ..shown(&code, "c") },
    ] {
        assert_eq!(scene.redeem(&wrong, NOW).unwrap_err(), Denied::Invalid);
        assert!(scene.opens(&issued.access, &files(), NOW), "whoever found a code ends nothing");
    }
    assert_eq!(scene.redeem(&shown(&code, "c"), NOW + 9 * MINUTE).unwrap_err(), Denied::Replayed);
    assert!(!scene.opens(&issued.access, &files(), NOW));
    assert_eq!(scene.refresh(&issued.refresh, "c", NOW).unwrap_err(), Denied::Invalid);
}

#[test]
fn of_many_that_show_one_code_at_once_one_gets_tokens() {
    let scene = scene();
    let code = scene.code("c", NOW);
    let got = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..64).map(|_| scope.spawn(|| scene.redeem(&shown(&code, "c"), NOW).is_ok())).collect();
        tries.into_iter().filter(|_| true).map(|one| one.join().unwrap()).filter(|got| *got).count()
    });
    assert_eq!(got, 1);
}

#[test]
fn a_refresh_token_is_replaced_by_each_use_and_the_access_token_with_it() {
    let scene = scene();
    let first = scene.first("c", NOW);
    let second = scene.refresh(&first.refresh, "c", NOW + 1).unwrap();
    assert!(scene.opens(&second.access, &files(), NOW) && !scene.opens(&first.access, &files(), NOW));
    assert!(!scene.opens(&second.access, &None, NOW), "what it is for stays");
    let third = scene.refresh(&second.refresh, "c", NOW + 2).unwrap();
    // One that was replaced is shown again: somebody has a copy.
    assert_eq!(scene.refresh(&first.refresh, "c", NOW + 3).unwrap_err(), Denied::Replayed);
    assert!(!scene.opens(&third.access, &files(), NOW));
    assert_eq!(scene.refresh(&third.refresh, "c", NOW + 3).unwrap_err(), Denied::Invalid);
}

#[test]
fn of_many_that_show_one_refresh_token_at_once_at_most_one_gets_tokens() {
    let scene = scene();
    let first = scene.first("c", NOW);
    let got = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..64).map(|_| scope.spawn(|| scene.refresh(&first.refresh, "c", NOW).is_ok())).collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|got| *got).count()
    });
    assert_eq!(got, 1);
    assert_eq!(scene.grants.sizes().0, 0, "the others were copies");
}

#[test]
fn a_refresh_token_is_for_its_client_and_its_resource_and_ends() {
    let scene = scene();
    let first = scene.first("c", NOW);
    assert_eq!(scene.refresh(&first.refresh, "d", NOW).unwrap_err(), Denied::Invalid);
    let other =
        scene.grants.refresh(first.refresh.expose(), "c", Some(&None), &scene.settings, &scene.credentials, NOW);
    assert_eq!(other.unwrap_err(), Denied::Target);
    let made_up = refresh_token(5).unwrap();
    assert_eq!(scene.refresh(&made_up, "c", NOW).unwrap_err(), Denied::Invalid);
    // Used every twenty days it holds for ninety, however often it is used.
    let day = 24 * 60 * MINUTE;
    let mut token = first.refresh;
    for days in [20, 40, 60, 80] {
        token = scene.refresh(&token, "c", NOW + days * day).unwrap().refresh;
    }
    assert_eq!(scene.refresh(&token, "c", NOW + 90 * day).unwrap_err(), Denied::Invalid);
    let unused = scene.first("c", NOW);
    assert_eq!(scene.refresh(&unused.refresh, "c", NOW + 30 * day).unwrap_err(), Denied::Invalid);
}

#[test]
fn a_client_that_gives_a_token_back_ends_its_family_and_no_other() {
    let scene = scene();
    let (one, two, other) = (scene.first("c", NOW), scene.first("c", NOW), scene.first("d", NOW));
    assert!(!scene.grants.give_back(one.access.expose(), "d", &scene.credentials));
    assert!(scene.grants.give_back(one.access.expose(), "c", &scene.credentials));
    assert!(!scene.opens(&one.access, &files(), NOW));
    assert_eq!(scene.refresh(&one.refresh, "c", NOW).unwrap_err(), Denied::Invalid);
    assert!(scene.grants.give_back(other.refresh.expose(), "d", &scene.credentials));
    assert!(scene.opens(&two.access, &files(), NOW) && !scene.opens(&other.access, &files(), NOW));
}

#[test]
fn a_client_with_many_families_loses_its_own_oldest_and_codes_are_bounded() {
    let scene = scene();
    let other = scene.first("d", NOW);
    let all: Vec<Issued> = (0..20).map(|number| scene.first("c", NOW + number)).collect();
    let open = all.iter().filter(|issued| scene.opens(&issued.access, &files(), NOW)).count();
    assert_eq!((open, scene.opens(&other.access, &files(), NOW)), (16, true));
    assert!(scene.opens(&all[19].access, &files(), NOW) && !scene.opens(&all[0].access, &files(), NOW));
    for _ in 0..100 {
        scene.code("c", NOW);
    }
    assert!(scene.grants.sizes().1 <= 17, "{:?}", scene.grants.sizes());
}

#[tokio::test]
async fn families_survive_a_restart_and_their_file_has_no_token() {
    let scene = scene();
    let first = scene.first("c", NOW);
    let second = scene.refresh(&first.refresh, "c", NOW).unwrap();
    scene.grants.keep().await;
    let kept = || Kept::new(scene.folder.path(), "https://g.example", true);
    let grants = Grants::new(kept(), kept().read().unwrap());
    let credentials = Credentials::default();
    grants.publish_all(&credentials);
    let source = "192.0.2.1".parse().unwrap();
    assert!(credentials.find(&digest(second.access.expose()), files().as_ref(), source, NOW).is_ok());
    grants.refresh(second.refresh.expose(), "c", None, &scene.settings, &credentials, NOW).unwrap();
    let names: Vec<_> = std::fs::read_dir(scene.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let text = std::fs::read_to_string(&names[0]).unwrap();
    for token in [&first.access, &first.refresh, &second.access, &second.refresh] {
        assert!(!text.contains(token.expose()) && !text.contains(&token.expose()[6..]));
    }
    let other = Kept::new(scene.folder.path(), "https://other.example", true);
    assert!(other.read().unwrap().is_empty(), "another address, other tokens");
}

#[test]
fn a_principal_is_the_client_whatever_it_calls_itself() {
    assert_eq!(principal("ptc-abc").unwrap().as_str(), "oauth:ptc-abc");
    let long = principal(&"x".repeat(2_000)).unwrap();
    assert!(long.as_str().len() < 80 && long != principal(&"y".repeat(2_000)).unwrap());
    assert_eq!(Duration::from_hours(1), AuthorizationSettings::new(Approval::OutOfBand).access);
}
