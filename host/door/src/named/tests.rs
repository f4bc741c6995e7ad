use super::*;

fn file() -> (tempfile::TempDir, TokenFile) {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::in_folder(folder.path());
    (folder, file)
}

fn wish(name: &str) -> TokenWish {
    TokenWish { name: name.to_owned(), ..TokenWish::default() }
}

#[test]
fn a_token_is_shown_once_and_kept_as_its_digest() {
    let (folder, file) = file();
    let server = ServerName::parse("files").unwrap();
    let wish = TokenWish {
        servers: Some(vec![server]),
        sources: vec!["192.0.2.0/24".parse().unwrap()],
        seconds: Some(60),
        ..wish("laptop")
    };
    let secret = file.mint(wish.clone(), 1_000).unwrap();
    assert!(secret.expose().starts_with("ptc_t_") && secret.expose().len() == 49);
    let listed = file.list().unwrap();
    let [token] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((token.name.as_str(), token.made, token.expires), ("laptop", 1_000, Some(1_060)));
    assert_eq!((&token.servers, &token.sources), (&wish.servers, &wish.sources));
    let text = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
    assert!(!text.contains(secret.expose()) && text.contains(&digest(secret.expose()).to_string()));
}

#[test]
fn two_tokens_are_never_the_same_and_have_names_of_their_own() {
    let (_folder, file) = file();
    let one = file.mint(wish("one"), 0).unwrap();
    assert_ne!(one, file.mint(wish("two"), 0).unwrap());
    assert!(matches!(file.mint(wish("one"), 0), Err(TokenError::Taken(_))));
    for name in ["", "local", "env", "Upper", "with space", "a/b", "a\n", "oauth:a", &"a".repeat(65)] {
        assert!(matches!(file.mint(wish(name), 0), Err(TokenError::Name)), "{name:?}");
    }
    assert!(matches!(file.mint(TokenWish { servers: Some(Vec::new()), ..wish("none") }, 0), Err(TokenError::NoServer)));
}

#[test]
fn revoking_takes_all_of_the_names_or_none() {
    let (_folder, file) = file();
    for name in ["one", "two"] {
        file.mint(wish(name), 0).unwrap();
    }
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert!(matches!(file.revoke(&names(&["one", "three"])), Err(TokenError::Unknown(name)) if name == "three"));
    assert_eq!(file.list().unwrap().len(), 2);
    file.revoke(&names(&["one"])).unwrap();
    assert_eq!(file.list().unwrap()[0].name, "two");
}

#[test]
fn a_file_with_a_token_that_makes_no_sense_opens_nothing_and_is_not_written_over() {
    let (folder, file) = file();
    file.mint(wish("one"), 0).unwrap();
    let path = folder.path().join("tokens.json");
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"made\":0", "\"made\":0,\"servers\":\"files\""),
        ("\"made\":0", "\"made\":0,\"expires\":\"never\""),
        ("\"made\":0", "\"made\":0,\"only_on\":\"monday\""),
        ("\"made\":0", "\"made\":0,\"sources\":[\"all\"]"),
        ("\"digest\":\"", "\"digest\":\"0"),
    ] {
        let broken = text.replace(from, to);
        assert_ne!(broken, text);
        std::fs::write(&path, &broken).unwrap();
        assert!(file.list().is_err() && file.mint(wish("two"), 0).is_err(), "{to}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
    }
}

#[test]
fn a_token_from_elsewhere_that_could_be_guessed_is_weak() {
    let random = mint(Kind::Named).unwrap();
    assert!(!is_weak(random.expose()) && !is_weak("3q9fKZ0xV7hLmB2tYw8RcJ5sNpD1gAeU"));
    let half = "abcdefghijklmnop";
    for weak in [
        "",
        "short",
        &"a".repeat(43),
        &"abcdefgh".repeat(5),
        &half.repeat(2),
        &"3q9f KZ0x".repeat(5),
        &random.expose().repeat(11),
    ] {
        assert!(is_weak(weak), "{weak}");
    }
}
