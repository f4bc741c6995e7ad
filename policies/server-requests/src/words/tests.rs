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
