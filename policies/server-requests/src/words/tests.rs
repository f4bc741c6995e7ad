use super::SecretWords;

fn words() -> SecretWords {
    SecretWords::new(&["geheimnis".to_owned()])
}

#[test]
fn names_of_secrets_are_known_however_they_are_written() {
    for name in [
        "password",
        "Password",
        "PASSWORD",
        "user_password",
        "userPassword",
        "userpassword",
        "password1",
        "p4ssw0rd",
        "pa$$word",
        "p a s s w o r d",
        "pаsswоrd",
        "ｐａｓｓｗｏｒｄ",
        "pássword",
        "apiKey",
        "API key",
        "api-key",
        "apikey",
        "OPENAI_API_KEY",
        "APIKey",
        "github_token",
        "token",
        "accessToken",
        "tokenX",
        "client_secret",
        "pin",
        "card number",
        "recovery_code",
        "one-time code",
        "seed phrase",
        "contraseña",
        "Пароль",
        "密码",
        "Geheimnis",
    ] {
        assert!(words().name(name), "{name}");
    }
}

#[test]
fn names_that_only_look_like_secrets_are_left_alone() {
    for name in [
        "max_tokens",
        "token_count",
        "token_limit",
        "next_page_token",
        "password_policy",
        "password_length",
        "tokenizer",
        "secretary",
        "pinned",
        "key",
        "primary_key",
        "passenger",
        "compass",
        "branch",
        "code",
        "country code",
        "",
    ] {
        assert!(!words().name(name), "{name}");
    }
}

#[test]
fn sentences_that_ask_for_a_secret_are_known() {
    for text in [
        "Please enter your GitHub password",
        "Type the api key of your account in the field below",
        "We need your one-time code, please send it",
        "Do not skip this: paste your private key",
        "GitHub password",
        "Enter your user name and password",
        "Give the name of your pet and your password",
        "To go on, provide the credentials that you use for the bank",
    ] {
        assert!(words().request(text), "{text}");
    }
}

#[test]
fn sentences_that_only_mention_secrets_are_left_alone() {
    for text in [
        "Never enter your password here",
        "Do not type a password into this form, choose a branch instead",
        "The branch from which the password reset page is deployed",
        "How many tokens may the answer have at most?",
        "Enter a name for the new API key",
        "Provide the expiry of the token that will be made",
        "Pin the tab and give it a colour that you like",
        "",
    ] {
        assert!(!words().request(text), "{text}");
    }
}

#[test]
fn a_long_text_is_read_in_time() {
    let text = "enter your p a s s ".repeat(20_000);
    assert!(!words().request(&text));
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd_to_read(text in "\\PC{0,80}") {
        let _either = words().name(&text) | words().request(&text);
    }

    #[test]
    fn what_nobody_sees_does_not_hide_a_secret(at in 1_usize..8, hidden in "[\u{200b}\u{2060}\u{ad}\u{e0041}\u{202e}]{1,5}") {
        let mut name = "password".to_owned();
        name.insert_str(at, &hidden);
        proptest::prop_assert!(words().name(&name), "{name:?}");
    }
}
