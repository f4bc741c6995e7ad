//! What keys, signatures, scopes and bundles accept, and what each refusal is called.

mod bundle;
mod interop;
mod vector;

use portcullis_model::{GateName, PolicyName};

use crate::{KeyError, Names, NamesError, PublicKey, ScopeError, SecretKey, SignatureError, Trust, TrustedKey};

pub(crate) fn trusted(name: &str, key: PublicKey) -> TrustedKey {
    let names = Names::parse(["acme-*", "config-screen"]).unwrap();
    TrustedKey { name: name.to_owned(), key, names, gates: Some(vec![GateName::Call]), may_loosen: false }
}

fn policy(name: &str) -> PolicyName {
    PolicyName::parse(name).unwrap()
}

#[test]
fn a_key_that_is_trusted_vouches_for_what_it_signed_and_for_nothing_else() {
    let secret = SecretKey::generate().unwrap();
    let trust = Trust::new(vec![trusted("acme", secret.public())]);
    let signature = secret.sign(b"bytes", "acme-a.wasm").unwrap();
    assert_eq!(trust.signer(b"bytes", signature.as_bytes()).unwrap().name, "acme");
    for changed in [b"bytez".as_slice(), b"byte", b"bytes ", b""] {
        let error = trust.signer(changed, signature.as_bytes()).unwrap_err();
        assert!(matches!(error, SignatureError::Changed { .. }), "{error}");
    }
}

#[test]
fn a_key_that_is_not_trusted_is_named_by_its_id() {
    let (known, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let trust = Trust::new(vec![trusted("acme", known.public())]);
    let signature = other.sign(b"bytes", "a.wasm").unwrap();
    let error = trust.signer(b"bytes", signature.as_bytes()).unwrap_err();
    assert!(matches!(&error, SignatureError::UnknownKey { id } if *id == other.public().id()), "{error}");
    let error = known.public().verify(b"bytes", signature.as_bytes()).unwrap_err();
    assert!(matches!(error, SignatureError::OtherKey { .. }));
    assert!(Trust::default().signer(b"bytes", signature.as_bytes()).is_err(), "without keys nobody vouches");
}

#[test]
fn a_signature_that_is_cut_off_anywhere_or_changed_anywhere_never_vouches() {
    let secret = SecretKey::generate().unwrap();
    let trust = Trust::new(vec![trusted("acme", secret.public())]);
    let whole = secret.sign(b"bytes", "a.wasm").unwrap();
    let text = whole.trim_end();
    for length in 0..text.len() {
        let cut = text.as_bytes().get(..length).unwrap();
        assert!(trust.signer(b"bytes", cut).is_err(), "cut after {length} bytes");
    }
    assert!(matches!(trust.signer(b"bytes", &text.as_bytes()[..40]), Err(SignatureError::Malformed)));
    // The first line is a comment that nobody signs; everything after it counts.
    let start = text.find('\n').unwrap() + 1;
    for place in start..text.len() {
        let mut changed = text.as_bytes().to_vec();
        let byte = changed[place];
        changed[place] = if byte == b'A' { b'B' } else { b'A' };
        assert!(trust.signer(b"bytes", &changed).is_err(), "changed at {place}");
    }
    for garbage in [b"".as_slice(), b"\xff\xfe", &vec![b'a'; 100_000]] {
        assert!(matches!(trust.signer(b"bytes", garbage), Err(SignatureError::Malformed)));
    }
}

#[test]
fn a_scope_is_names_and_gates() {
    let key = trusted("acme", SecretKey::generate().unwrap().public());
    assert_eq!(key.covers(&policy("acme-paths"), &[GateName::Call]), Ok(()));
    assert_eq!(key.covers(&policy("config-screen"), &[]), Ok(()));
    let error = key.covers(&policy("trust"), &[GateName::Call]).unwrap_err();
    assert!(matches!(error, ScopeError::Name { .. }), "{error}");
    let error = key.covers(&policy("acme-paths"), &[GateName::Call, GateName::Result]).unwrap_err();
    assert!(matches!(error, ScopeError::Gate { gate: GateName::Result, .. }), "{error}");
    let everywhere = TrustedKey { gates: None, ..key };
    assert_eq!(everywhere.covers(&policy("acme-paths"), &GateName::ALL), Ok(()));
}

#[test]
fn a_pattern_that_says_nothing_or_nonsense_is_refused() {
    assert!(matches!(Names::parse([]), Err(NamesError::Empty)));
    assert!(matches!(Names::parse(["acme-[a"]), Err(NamesError::Pattern { .. })));
    assert!(matches!(Names::parse(std::iter::repeat_n("a", 1_000)), Err(NamesError::TooMany)));
    assert!(!Names::parse(["acme"]).unwrap().include(&policy("acme-more")), "a name is no prefix");
}

#[test]
fn a_key_file_is_read_back_with_its_password_and_only_with_it() {
    let secret = SecretKey::generate().unwrap();
    let file = secret.to_unprotected_file();
    assert_eq!(SecretKey::open(&file, None).unwrap().public(), secret.public());
    let damaged = damage(&file);
    assert!(matches!(SecretKey::open(&damaged, None), Err(KeyError::NoSecretKey)));
    let password = ["cor", "rect"].concat();
    let file = secret.to_protected_file(&password).unwrap();
    assert!(matches!(SecretKey::open(&file, None), Err(KeyError::PasswordNeeded)));
    assert!(matches!(SecretKey::open(&file, Some("wrong")), Err(KeyError::WrongPassword)));
    let opened = SecretKey::open(&file, Some(&password)).unwrap();
    let signature = opened.sign(b"bytes", "a.wasm").unwrap();
    assert!(secret.public().verify(b"bytes", signature.as_bytes()).is_ok());
    assert!(!format!("{secret:?}").contains(file.lines().nth(1).unwrap()), "a secret is never shown");
}

/// Changes a byte in the secret half of an unprotected key.
fn damage(file: &str) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let mut lines = file.lines();
    let (comment, encoded) = (lines.next().unwrap(), lines.next().unwrap());
    let mut bytes = engine.decode(encoded).unwrap();
    bytes[70] ^= 1;
    format!("{comment}\n{}\n", engine.encode(bytes))
}

#[test]
fn what_is_no_key_is_refused() {
    for text in
        ["", "RW", "untrusted comment: a\n", "two\nlines", "RWTYckCirqnxrPly2wJM11RYLvAEHEtDJz/dsr0AsHAWhktzNzNNoCJ="]
    {
        assert!(matches!(PublicKey::parse(text), Err(KeyError::NoPublicKey)), "{text:?}");
        assert!(matches!(SecretKey::open(text, Some("a")), Err(KeyError::NoSecretKey)), "{text:?}");
    }
    let public = SecretKey::generate().unwrap().public();
    assert_eq!(PublicKey::parse(&public.to_file()).unwrap(), public);
    assert_eq!(PublicKey::parse(public.encoded()).unwrap(), public);
    assert!(matches!(SecretKey::open(&public.to_file(), None), Err(KeyError::NoSecretKey)));
}

#[test]
fn the_name_of_a_file_cannot_add_lines_to_a_signature() {
    let secret = SecretKey::generate().unwrap();
    assert!(matches!(secret.sign(b"bytes", "a\nb"), Err(SignatureError::FileName)));
}

#[test]
fn a_signature_that_names_another_file_or_none_vouches_for_no_file_of_this_name() {
    let secret = SecretKey::generate().unwrap();
    let trust = Trust::new(vec![trusted("acme", secret.public())]);
    let signature = secret.sign(b"root: /srv", "acme-a.yaml").unwrap();
    let signer = |name: &str, signature: &str| {
        trust.signer_of_file(name, b"root: /srv", signature.as_bytes()).map(|key| key.name.clone())
    };
    assert_eq!(signer("acme-a.yaml", &signature).unwrap(), "acme");
    let error = signer("acme-b.yaml", &signature).unwrap_err();
    assert!(matches!(&error, SignatureError::OtherFile { signed } if signed == "acme-a.yaml"), "{error}");
    // The name is signed: changing it leaves no signature.
    let renamed = signature.replace("file:acme-a.yaml", "file:acme-b.yaml");
    assert!(matches!(signer("acme-b.yaml", &renamed), Err(SignatureError::Changed { .. })));
}
