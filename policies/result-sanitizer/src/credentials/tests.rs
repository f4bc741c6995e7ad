use super::*;

/// The pack as it ships, read as the host reads it.
fn credentials() -> Credentials {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/packs/credentials.yaml");
    let pack: serde_yaml::Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    Credentials::compile(serde_yaml::from_value(pack["data"].clone()).unwrap()).unwrap()
}

/// A body of random-looking characters, made here so that no credential stands in a file.
fn body(alphabet: &str, length: usize) -> String {
    let characters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_F491_u32;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            characters[(state >> 16) as usize % characters.len()]
        })
        .collect()
}

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn careful(text: &str) -> Vec<String> {
    credentials().scan(text, Strictness::Careful).into_iter().map(|secret| text[secret.range].to_owned()).collect()
}

fn eager(text: &str) -> Vec<String> {
    credentials().scan(text, Strictness::Eager).into_iter().map(|secret| text[secret.range].to_owned()).collect()
}

#[test]
fn tokens_of_providers_are_found_by_prefix_length_and_randomness() {
    let tokens = [
        ["gh", "p_", &body(ALPHANUMERIC, 36)].concat(),
        ["gh", "o_", &body(ALPHANUMERIC, 36)].concat(),
        ["gh", "u_", &body(ALPHANUMERIC, 36)].concat(),
        ["gh", "s_", &body(ALPHANUMERIC, 36)].concat(),
        ["github", "_pat_", &body(ALPHANUMERIC, 82)].concat(),
        ["xox", "b-", &body("0123456789", 12), "-", &body(ALPHANUMERIC, 24)].concat(),
        ["AK", "IA", &body(UPPER, 16)].concat(),
        ["AI", "za", &body(ALPHANUMERIC, 35)].concat(),
        ["sk", "-proj-", &body(ALPHANUMERIC, 20), "-", &body(ALPHANUMERIC, 40)].concat(),
        ["sk", "-ant-api03-", &body(ALPHANUMERIC, 90)].concat(),
        ["sk", "_live_", &body(ALPHANUMERIC, 24)].concat(),
        ["gl", "pat-", &body(ALPHANUMERIC, 20)].concat(),
        ["np", "m_", &body(ALPHANUMERIC, 36)].concat(),
        ["do", "p_v1_", &body(HEX, 64)].concat(),
        ["MT", "AyOTQ4MTA5NTk1MTAwMjMx", ".GS", "wJyi.", &body(ALPHANUMERIC, 38)].concat(),
    ];
    for token in tokens {
        assert_eq!(careful(&format!("found {token}, please rotate")), [token.as_str()], "{token}");
        assert_eq!(careful(&format!("line\\n{token}\\n")), [token.as_str()], "behind an escaped line end: {token}");
    }
}

#[test]
fn a_prefix_inside_a_word_or_with_a_stand_in_behind_it_is_no_token() {
    let token = ["gh", "p_", &body(ALPHANUMERIC, 36)].concat();
    assert!(careful(&format!("x{token}")).is_empty());
    for text in [
        "ghp_your_token_here_1234567890",
        "sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIA",
        "task-management-for-teams",
        "AIza",
    ] {
        assert!(careful(text).is_empty(), "{text}");
    }
}

#[test]
fn values_behind_secret_names_go_in_every_notation() {
    let value = body(ALPHANUMERIC, 24);
    for text in [
        format!("token={value}"),
        format!("API_KEY={value}&next=1"),
        format!("\"apiKey\": \"{value}\""),
        format!("{{\\\"token\\\":\\\"{value}\\\"}}"),
        format!("client_secret: {value}"),
        format!("'password' => '{value}'"),
        format!("<secret>{value}</secret>"),
        format!("run --password {value} now"),
        format!("X-Api-Key: {value}"),
    ] {
        assert_eq!(careful(&text), [value.as_str()], "{text}");
    }
}

#[test]
fn tokens_of_further_providers_are_found_in_every_surrounding() {
    let url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let lower = "abcdefghijklmnopqrstuvwxyz0123456789";
    let tokens = [
        ["LT", "AI", &body(ALPHANUMERIC, 20)].concat(),
        ["4b", "1d", &body(ALPHANUMERIC, 38)].concat(),
        ["CLO", "JARS_", &body(lower, 60)].concat(),
        ["EZ", "AK", &body(ALPHANUMERIC, 54)].concat(),
        ["du", "ffel_live_", &body(url, 43)].concat(),
        ["fm", "2_", &body(ALPHANUMERIC, 140)].concat(),
        ["pa", "t.", &body(ALPHANUMERIC, 22), ".", &body(ALPHANUMERIC, 24), ".", &body(ALPHANUMERIC, 20)].concat(),
        ["HR", "KU-AA", &body(ALPHANUMERIC, 58)].concat(),
        ["ic", "o-", &body(ALPHANUMERIC, 32)].concat(),
        ["AP", "I-", &body(UPPER, 26)].concat(),
        ["rd", "me_", &body(lower, 70)].concat(),
        ["xkey", "sib-", &body(HEX, 64), "-", &body(ALPHANUMERIC, 16)].concat(),
        ["sm", "_aat_", &body(ALPHANUMERIC, 16)].concat(),
        ["rk", "_prod_", &body(ALPHANUMERIC, 30)].concat(),
        [&body(HEX, 32), "-u", "s20"].concat(),
        [&body(ALPHANUMERIC, 6), "_", &body(ALPHANUMERIC, 29), "_m", "mk"].concat(),
        ["tv", "ly-", &body(ALPHANUMERIC, 32)].concat(),
        ["nv", "api-", &body(ALPHANUMERIC, 64)].concat(),
        ["pc", "sk_", &body(ALPHANUMERIC, 6), "_", &body(ALPHANUMERIC, 63)].concat(),
        ["s", ".", &body(ALPHANUMERIC, 24)].concat(),
    ];
    for token in tokens {
        for text in [format!("found {token}, rotate it"), format!("{{\"value\":\"{token}\"}}"), format!("x={token}\n")]
        {
            assert_eq!(careful(&text), [token.as_str()], "{text}");
        }
    }
}

#[test]
fn a_long_random_value_behind_the_name_of_a_service_goes_and_any_other_stays() {
    let value = body(ALPHANUMERIC, 32);
    for text in [
        format!("{}: {value}", ["face", "book"].concat()),
        format!("MERAKI = \"{value}\""),
        format!("'etsy' => '{value}'"),
        format!("auth: {value}"),
        format!("datadog_creds={value}"),
    ] {
        assert_eq!(careful(&text), [value.as_str()], "{text}");
        assert_eq!(eager(&text), [value.as_str()], "{text}");
    }
    for text in ["github: octocat", "sentry: enabled", "auth=none", "slack: #general", "access: read-only", "session=3"]
    {
        assert!(careful(text).is_empty() && eager(text).is_empty(), "{text}");
    }
}

#[test]
fn secrets_of_files_are_found_by_their_notation() {
    let secret = body(ALPHANUMERIC, 20);
    let lines = [body(ALPHANUMERIC, 64), body(ALPHANUMERIC, 30)].concat();
    for (text, secret) in [
        (format!("<add key=\"ClearTextPassword\" value=\"{secret}\" />"), &secret),
        (format!("machine api.test login bob password {secret}"), &secret),
        (format!("psk=\"{secret}\""), &secret),
        (format!("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n{lines}\nPrivate-MAC: 00"), &lines),
        (format!("https://x.test/f?sp=r&sig={lines}"), &["&sig=", &lines].concat()),
        (format!("root:$6${lines}:1:"), &["$6$", &lines].concat()),
        (format!("curl -u ada:{} https://x.test", "kQvTRbxnZWmL"), &"kQvTRbxnZWmL".to_owned()),
    ] {
        assert_eq!(careful(&text), [secret.as_str()], "{text}");
    }
    for text in ["log in with login and password below", "curl -u user:PassWord https://x.test", "Private-Lines: none"]
    {
        assert!(careful(text).is_empty(), "{text}");
    }
}

#[test]
fn names_that_only_contain_such_a_word_are_left_alone() {
    let value = body(ALPHANUMERIC, 24);
    for name in ["monkey", "max_tokens", "turkey", "tokenizer", "keyboard", "secretary", "author"] {
        assert!(eager(&format!("{name}={value}")).is_empty(), "{name}");
    }
    assert!(eager("monkey=1").is_empty());
}

#[test]
fn in_results_a_value_must_look_like_a_secret_and_in_errors_it_need_not() {
    for text in ["password=hunter", "key=abc123", "secret: tango", "token=abc"] {
        assert!(careful(text).is_empty(), "{text}");
        assert_eq!(eager(text).len(), 1, "{text}");
    }
    for text in [
        "token: string",
        "password = getpass.getpass()",
        "token=${TOKEN}",
        "api_key=<your key>",
        "secret = os.environ['X']",
        "token=***",
        "the token = the thing",
        "password: None",
    ] {
        assert!(careful(text).is_empty(), "{text}");
    }
}

#[test]
fn headers_lose_their_credential_and_prose_keeps_its_words() {
    let token = body(ALPHANUMERIC, 40);
    assert_eq!(careful(&format!("Authorization: Bearer {token}")), [token.as_str()]);
    assert_eq!(careful(&format!("Authorization: {token}")), [token.as_str()]);
    assert_eq!(careful("Authorization: Basic dXNlcjpwYXNzd29yZDE="), ["dXNlcjpwYXNzd29yZDE="]);
    assert_eq!(eager("sent Bearer abc123"), ["abc123"]);
    for text in
        ["a bearer token is needed", "basic knowledge of Rust", "Authorization: required", "Bearer authentication"]
    {
        assert!(careful(text).is_empty() && eager(text).is_empty(), "{text}");
    }
    let password = body(ALPHANUMERIC, 12);
    assert_eq!(careful(&format!("curl -u admin:{password} https://host.example")), [password.as_str()]);
}

#[test]
fn passwords_in_urls_go_and_the_rest_of_the_url_stays() {
    let password = body(ALPHANUMERIC, 12);
    assert_eq!(careful(&format!("postgres://app:{password}@db.example:5432/app")), [password.as_str()]);
    for text in [
        "https://host.example:8080/a@b",
        "http://user@host.example",
        "see https://a.example, b:c@d",
        "redis://:${PASS}@host",
    ] {
        assert!(careful(text).is_empty(), "{text}");
    }
}

#[test]
fn private_keys_go_whole_with_real_or_escaped_line_ends() {
    let (begin, end) =
        (["-----BEGIN RSA ", "PRIVATE KEY-----"].concat(), ["-----END RSA ", "PRIVATE KEY-----"].concat());
    let material = body(ALPHANUMERIC, 64);
    for line_end in ["\n", "\\n"] {
        let key = format!("{begin}{line_end}{material}{line_end}{material}{line_end}{end}");
        assert_eq!(careful(&format!("before {key} after")), [key.as_str()]);
    }
    let cut = format!("{begin}\n{material}\n");
    assert_eq!(careful(&cut).len(), 1, "a key without its end is a key");
    assert!(careful(&format!("{begin}\n***\n{end}")).is_empty());
    assert!(careful("-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----").is_empty());
}

#[test]
fn web_tokens_are_found_and_what_only_begins_like_one_is_not() {
    let token = ["eyJ", "hbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiIxMjM0NTYifQ", ".", &body(ALPHANUMERIC, 43)].concat();
    assert_eq!(careful(&format!("session {token};")), [token.as_str()]);
    assert!(careful("eyJB.eyJC.eyJD").is_empty());
}

#[test]
fn a_member_is_judged_by_its_name() {
    let value = body(ALPHANUMERIC, 24);
    let credentials = credentials();
    assert!(credentials.member("api_key", &value, Strictness::Careful).is_some());
    assert!(credentials.member("dbPassword", "S0mething!", Strictness::Careful).is_some());
    assert!(credentials.member("description", &value, Strictness::Careful).is_none());
    assert!(credentials.member("token", "a sentence about tokens", Strictness::Careful).is_none());
}

#[test]
fn overlapping_finds_become_one() {
    let token = ["gh", "p_", &body(ALPHANUMERIC, 36)].concat();
    let text = format!("Authorization: token={token}");
    assert_eq!(careful(&text).len(), 1);
}

#[test]
fn broken_packs_are_refused() {
    let token = |fields: &str| {
        let text = format!(
            "{{ tokens: [{{ name: x, alphabet: word, length: [1, 2], {fields} }}], secret-names: [], key-owners: [] }}"
        );
        Credentials::compile(serde_yaml::from_str(&text).unwrap())
    };
    assert!(token("prefixes: [a_]").is_ok());
    for fields in ["prefixes: []", "prefixes: ['']", "prefixes: [a], infix: b"] {
        assert!(matches!(token(fields), Err(CompileError::Fixed(name)) if name == "x"), "{fields}");
    }
}

/// A quarter of a megabyte: unoptimised, on a busy machine, what is not linear takes minutes with it.
const SIZE: usize = 256 * 1024;

#[test]
fn adversarial_texts_end_soon() {
    let credentials = credentials();
    for part in [
        "token=",
        "password:",
        "://a:",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "--user ",
        "ghp_",
        "|",
        "keykeykey",
        "T3BlbkFJ",
        "a=\"token\" : ",
    ] {
        let text = part.repeat(SIZE / part.len());
        let started = std::time::Instant::now();
        let found = credentials.scan(&text, Strictness::Eager);
        assert!(found.len() <= text.len());
        assert!(started.elapsed().as_secs() < 60, "{part}: {:?}", started.elapsed());
    }
}
