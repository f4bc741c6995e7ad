//! What nobody uses up for others.

use std::time::Duration;

use super::scene::*;
use super::*;

#[tokio::test]
async fn ten_thousand_strangers_leave_nothing_behind_and_the_operator_gets_in_all_the_same() {
    let scene = Scene::with(|settings| settings.registration = true);
    // From ten thousand places.
    for number in 0..10_000u32 {
        let query =
            form(&scene.query().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>());
        let request =
            Request::get(format!("/authorize?{}", String::from_utf8(query).unwrap())).body(Vec::new()).unwrap();
        let from = std::net::Ipv4Addr::from(0x0100_0000 + number * 257).to_string();
        assert_eq!(scene.send(request, &from).await.status(), 200);
    }
    let after = scene.door.sizes();
    assert_eq!((after.grants, after.codes, after.tokens), (0, 0, 1), "{after:?}");
    assert!(after.sources <= 65_537, "{after:?}");
    // From one place: it is slowed down, and a browser from there that has a page is not.
    let mut operator = Browser::new(&scene);
    let page = operator.ask(&scene.query()).await;
    assert_eq!(page.status(), 200);
    let mut limited = 0;
    for _ in 0..1_000 {
        limited += u32::from(Browser::new(&scene).ask(&scene.query()).await.status() == 429);
    }
    assert!(limited >= 900, "{limited}");
    let back = operator.approved(&scene.query()).await;
    assert!(back.parameter("code").is_some(), "{back:?}");
    // What limits remember goes with time.
    scene.clock.advance(Duration::from_mins(5));
    assert_eq!(Browser::new(&scene).ask(&scene.query()).await.status(), 200);
}

#[tokio::test]
async fn wrong_passphrases_are_slowed_down_for_all_and_the_other_way_in_stays_open() {
    let scene = Scene::by_passphrase();
    let mut tried = 0;
    for number in 0..40u8 {
        let mut stranger = Browser::new(&scene);
        stranger.from = Box::leak(format!("198.51.{number}.1").into_boxed_str());
        let page = stranger.ask(&scene.query()).await;
        let answer = stranger.submit(&page, &[("passphrase", "guess"), ("decision", "allow")]).await;
        tried += u32::from(answer.text().contains("The passphrase is wrong"));
    }
    assert_eq!(tried, 20);
    let mut operator = Browser::new(&scene);
    let page = operator.ask(&scene.query()).await;
    let held_up = operator.submit(&page, &[("passphrase", &passphrase()), ("decision", "allow")]).await;
    assert!(held_up.text().contains("Too many wrong passphrases"));
    assert!(operator.approved(&scene.query()).await.parameter("code").is_some());
}

#[tokio::test]
async fn registrations_leave_nothing_behind() {
    let scene = Scene::with(|settings| settings.registration = true);
    let before = std::fs::read_dir(scene.folder.path()).unwrap().count();
    let mut registered = 0;
    for number in 0..500u32 {
        let body = format!(r#"{{"redirect_uris":["{CALLBACK}"]}}"#).into_bytes();
        let request = Request::post("/register").header("content-type", "application/json").body(body).unwrap();
        let from = std::net::Ipv4Addr::from(0x0100_0000 + number % 50).to_string();
        registered += u32::from(scene.send(request, &from).await.status() == 201);
    }
    assert_eq!(registered, 250, "five from each place");
    assert_eq!(std::fs::read_dir(scene.folder.path()).unwrap().count(), before);
}

#[tokio::test]
async fn every_address_of_strangers_is_limited_and_says_when_to_come_back() {
    let scene = Scene::new();
    for path in ["/token", "/revoke"] {
        let mut last = scene.post(path, &[("client_id", "x")]).await;
        for _ in 0..100 {
            last = scene.post(path, &[("client_id", "x")]).await;
        }
        assert_eq!((last.status(), last.header("retry-after").is_empty()), (429, false), "{path}");
    }
    let mut last = scene.get("/.well-known/oauth-authorization-server").await;
    for _ in 0..100 {
        last = scene.get("/.well-known/oauth-authorization-server").await;
    }
    assert_eq!((last.status(), last.header("retry-after").is_empty()), (429, false));
}
