use portcullis_gates::testing::{AllowAll, policy, session};
use portcullis_gates::{Gates, Listed, NoApprover, NoJournal};
use portcullis_model::json::parse_str;

use super::*;

/// Pins in memory.
#[derive(Default)]
struct Kept(Mutex<HashMap<PinKey, Pin>>);

impl Pins for Kept {
    fn pin(&self, key: &PinKey) -> Result<Option<Pin>, StoreError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn pins(&self, server: &str) -> Result<Vec<Pin>, StoreError> {
        Ok(self.0.lock().unwrap().values().filter(|pin| pin.key.server == server).cloned().collect())
    }

    fn set_pins(&self, pins: &[Pin]) -> Result<(), StoreError> {
        self.0.lock().unwrap().extend(pins.iter().map(|pin| (pin.key.clone(), pin.clone())));
        Ok(())
    }

    fn remove_pin(&self, key: &PinKey) -> Result<bool, StoreError> {
        Ok(self.0.lock().unwrap().remove(key).is_some())
    }
}

fn server() -> ServerName {
    ServerName::parse("s").unwrap()
}

fn tool(name: &str, description: &str) -> ListedItem {
    let text = format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object"}}}}"#);
    let document = parse_str(&text).unwrap();
    ListedItem { server: server(), kind: ItemKind::Tool, name: name.to_owned(), document }
}

/// Lists items as the gateway does, judged by one policy of that name. Returns what each was compared with.
async fn list(book: &PinBook, judge: &str, items: Vec<ListedItem>) -> Vec<Option<Pinned>> {
    let pinned = book.of(&server(), &items).await;
    let listed: Vec<_> = items.into_iter().zip(pinned.clone()).map(|(item, pinned)| Listed { item, pinned }).collect();
    let set = PolicySet::new(vec![Arc::new(policy(judge, &[GateName::Listing], AllowAll))]);
    let gates = Gates::new(set, Arc::new(NoJournal));
    let context = gates.context(session("one"), Arc::new(NoApprover), None);
    let outcomes = gates.listing(&context, listed.clone(), Arc::default()).await;
    book.accept(&server(), &context.set, &listed, &outcomes).await;
    pinned
}

fn book() -> PinBook {
    PinBook::new(Some(Arc::new(Kept::default())))
}

fn state(book: &PinBook, name: &str) -> PinState {
    book.state(&server(), CallKind::Tool, name)
}

#[tokio::test]
async fn what_is_published_first_is_pinned_and_compared_with_from_then_on() {
    let book = book();
    assert_eq!(state(&book, "read"), PinState::Unpinned);
    assert_eq!(list(&book, "pins", vec![tool("read", "Reads.")]).await, [None]);
    assert_eq!(state(&book, "read"), PinState::Approved);
    let pinned = list(&book, "pins", vec![tool("read", "Reads a file.")]).await;
    assert_eq!(pinned[0].as_ref().unwrap().document, tool("read", "Reads.").document);
}

#[tokio::test]
async fn a_change_that_was_judged_takes_the_place_of_the_pin_and_another_does_not() {
    let book = book();
    list(&book, "pins", vec![tool("read", "Reads.")]).await;
    list(&book, "someone-else", vec![tool("read", "Reads a file.")]).await;
    assert_eq!(state(&book, "read"), PinState::Drifted);
    list(&book, "pins", vec![tool("read", "Reads a file.")]).await;
    assert_eq!(state(&book, "read"), PinState::Approved);
    let pinned = list(&book, "pins", vec![tool("read", "Reads a file.")]).await;
    assert_eq!(pinned[0].as_ref().unwrap().document, tool("read", "Reads a file.").document);
}

#[tokio::test]
async fn an_item_with_another_name_is_compared_with_the_one_that_is_gone() {
    let book = book();
    list(&book, "pins", vec![tool("read", "Reads."), tool("write", "Writes.")]).await;
    let pinned =
        list(&book, "pins", vec![tool("read_text", "Reads."), tool("write", "Writes."), tool("new", "New.")]).await;
    let names: Vec<_> = pinned
        .iter()
        .map(|pinned| pinned.as_ref().and_then(|pinned| pinned.document.get("name")).and_then(Value::as_str))
        .collect();
    assert_eq!(names, [Some("read"), Some("write"), None]);
    let still_there = list(&book, "pins", vec![tool("write", "Writes."), tool("copy", "Writes.")]).await;
    assert!(still_there[0].is_some() && still_there[1].is_none());
}

#[tokio::test]
async fn where_nobody_keeps_pins_nothing_is_pinned() {
    let book = PinBook::default();
    assert_eq!(list(&book, "pins", vec![tool("read", "Reads.")]).await, [None]);
    assert_eq!(state(&book, "read"), PinState::Unpinned);
}
