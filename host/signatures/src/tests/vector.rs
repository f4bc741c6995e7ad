//! Signatures that the `minisign` program (0.11) made once, of both kinds: whatever else changes, these stay good.

use crate::{PublicKey, SignatureError};

const KEY: &str = "RWTYckCirqnxrPly2wJM11RYLvAEHEtDJz/dsr0AsHAWhktzNzNNoCJQ";
const BYTES: &[u8] = b"a module that nobody wrote\n";

const OF_THE_HASH: &str = "untrusted comment: signature from minisign secret key
RUTYckCirqnxrAKm+RM6qObb3c5Cbd86LoIO0rp8aso5UamEwcGtNqO3zSqNw50fLgng1xcDJ/bo2ehk2lTsFgCnI047/YZeUQU=
trusted comment: timestamp:1764547200\tfile:module.wasm\thashed
BXZ9XKoOx78nLuOzkoiBDwhOczHotMORn3LeeDbBHhEJYXowF5Q/EauyLXo6fwfnw6N2rpV8JfNaKaK33RJeDg==
";

const OF_THE_BYTES: &str = "untrusted comment: signature from minisign secret key
RWTYckCirqnxrDN2avFgxmde9S0Mi5ASwW0QCs7cmqDHJe0p/hHng+L9EtnAx91uxvcyH+FNMeeklaFd2PuVXT+u2NvQ+/XHOgE=
trusted comment: timestamp:1764547200\tfile:module.wasm
Zi8T/xE93byEDvXcOx7JEqzZY+j8tMliz32thAy6ni1kb5SBCkFqKvBnaEJ1TZ7FZDSDqdIUspQbFbct72AnCQ==
";

#[test]
fn both_kinds_of_signature_verify() {
    let key = PublicKey::parse(KEY).unwrap();
    assert_eq!(key.id(), "ACF1A9AEA24072D8");
    for signature in [OF_THE_HASH, OF_THE_BYTES] {
        key.verify(BYTES, signature.as_bytes()).unwrap();
        let error = key.verify(b"another module that nobody wrote\n", signature.as_bytes()).unwrap_err();
        assert!(matches!(error, SignatureError::Changed { .. }));
    }
}

#[test]
fn the_trusted_comment_is_part_of_what_is_signed() {
    let key = PublicKey::parse(KEY).unwrap();
    for signature in [OF_THE_HASH, OF_THE_BYTES] {
        let changed = signature.replace("timestamp:17", "timestamp:18");
        assert!(matches!(key.verify(BYTES, changed.as_bytes()), Err(SignatureError::Changed { .. })));
    }
}
