use std::time::{Duration, UNIX_EPOCH};

use portcullis_model::json::parse_str;
use portcullis_model::{Digest, FieldDigest, ItemKind, Pinned};

use super::{home, store};
use crate::{Pin, PinKey, Pins as _};

fn pin(name: &str, document: &str) -> Pin {
    let document = parse_str(document).unwrap();
    let field = |pointer: &str| FieldDigest { pointer: pointer.to_owned(), digest: Digest::of(pointer.as_bytes()) };
    Pin {
        key: PinKey { server: "files".to_owned(), kind: ItemKind::Tool, name: name.to_owned() },
        pinned: Pinned { digest: document.digest(), fields: vec![field("/name"), field("/a~1b")], document },
        approved_at: UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_007),
    }
}

#[test]
fn a_pin_is_read_back_number_text_and_member_order_included() {
    let (_folder, home) = home();
    let written = pin("read", r#"{"z":1.50,"a":[1e400,"\u0000"]}"#);
    store(&home).set_pins(std::slice::from_ref(&written)).unwrap();
    let read = store(&home).pin(&written.key).unwrap().unwrap();
    assert_eq!(read, written);
    assert_eq!(read.pinned.document.to_json(), r#"{"z":1.50,"a":[1e400,"\u0000"]}"#);
}

#[test]
fn a_new_pin_takes_the_place_of_the_old_one_of_its_key_only() {
    let (_folder, home) = home();
    let store = store(&home);
    let mut prompt = pin("read", r#"{"prompt":true}"#);
    prompt.key.kind = ItemKind::Prompt;
    let (first, second) = (pin("read", r#"{"v":1}"#), pin("read", r#"{"v":2}"#));
    store.set_pins(&[first, pin("write", "{}"), prompt.clone()]).unwrap();
    store.set_pins(std::slice::from_ref(&second)).unwrap();
    assert_eq!(store.pins("files").unwrap(), [prompt, second, pin("write", "{}")]);
    assert_eq!(store.pins("another").unwrap(), []);
}

#[test]
fn a_removed_pin_is_gone() {
    let (_folder, home) = home();
    let store = store(&home);
    let pin = pin("read", "{}");
    store.set_pins(std::slice::from_ref(&pin)).unwrap();
    assert!(store.remove_pin(&pin.key).unwrap());
    assert!(!store.remove_pin(&pin.key).unwrap());
    assert_eq!(store.pin(&pin.key).unwrap(), None);
}
