//! What a server of the stateless era is asked to tell by itself (MCP 2026-07-28, `subscriptions/listen`).
//!
//! There is one subscription for a connection. It asks for the changes of all lists that the server offers, and for those of
//! the resources and tasks that somebody subscribed to; what comes of it goes to the peer as any other notification.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use rmcp::model::TASKS_EXTENSION_ID;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::shared::Shared;
use super::{CallError, Hello, call};
use crate::jsonrpc::code;

/// The member of a notification's `_meta` that names its subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// So many resources may be subscribed to at one server: each is sent anew with every change.
const MOST_RESOURCES: usize = 1024;
/// So many tasks may be listened for at one server: all that a gateway knows of.
const MOST_TASKS: usize = 512;
/// A subscription that ends is made again after so long …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … twice as long each time, and at most so long …
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// … unless it had lasted so long.
const LASTING: Duration = Duration::from_mins(1);

/// What is subscribed to.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    wanted: watch::Sender<Wanted>,
    acknowledged: Notify,
}

#[derive(Debug, Default)]
struct Wanted {
    resources: BTreeSet<String>,
    /// By the server's own ids.
    tasks: BTreeSet<String>,
}

impl Subscriptions {
    /// Adds a resource. Returns false where there are too many.
    pub(super) fn add(&self, uri: &str) -> bool {
        let mut has_room = true;
        self.wanted.send_if_modified(|wanted| {
            has_room = wanted.resources.len() < MOST_RESOURCES || wanted.resources.contains(uri);
            has_room && wanted.resources.insert(uri.to_owned())
        });
        has_room
    }

    /// Takes a resource out.
    pub(super) fn remove(&self, uri: &str) {
        self.wanted.send_if_modified(|wanted| wanted.resources.remove(uri));
    }

    /// Listens for a task, as long as there is room, or does not any more.
    pub(super) fn set_task(&self, id: &str, listens: bool) {
        self.wanted.send_if_modified(|wanted| {
            if listens {
                wanted.tasks.len() < MOST_TASKS && wanted.tasks.insert(id.to_owned())
            } else {
                wanted.tasks.remove(id)
            }
        });
    }

    /// Notes that a subscription stands.
    pub(super) fn acknowledge(&self) {
        self.acknowledged.notify_one();
    }
}

/// Takes the name of the subscription out of a notification: whoever hears of it knows of none.
pub(super) fn untag(params: &mut Value) {
    let Some(params) = params.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(meta)) = params.get_mut("_meta")
        && meta.remove(SUBSCRIPTION_ID).is_some()
        && meta.is_empty()
    {
        params.remove("_meta");
    }
}

/// The lists whose changes a server offers to tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    lists: [(bool, &'static str, &'static str); 3],
    resources: bool,
    tasks: bool,
}

impl Offered {
    pub(super) fn of(hello: &Hello) -> Self {
        let list = |capability| hello.has_flag(capability, "listChanged");
        Self {
            lists: [
                (list("tools"), "toolsListChanged", "notifications/tools/list_changed"),
                (list("prompts"), "promptsListChanged", "notifications/prompts/list_changed"),
                (list("resources"), "resourcesListChanged", "notifications/resources/list_changed"),
            ],
            resources: hello.has_flag("resources", "subscribe"),
            tasks: hello
                .capability("extensions")
                .and_then(|extensions| extensions.get(TASKS_EXTENSION_ID))
                .is_some_and(|extension| extension.as_object().is_some()),
        }
    }

    fn lists(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.lists.into_iter().filter(|(is_offered, ..)| *is_offered).map(|(_, member, method)| (member, method))
    }

    /// Returns the parameters of a subscription; nothing where there is nothing to ask for.
    fn params(&self, wanted: &Wanted) -> Option<Value> {
        let list = |names: &BTreeSet<String>| names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>();
        let mut filter = Object::new();
        self.lists().for_each(|(member, _)| drop(filter.insert(member, true)));
        if self.resources && !wanted.resources.is_empty() {
            filter.insert("resourceSubscriptions", list(&wanted.resources));
        }
        if self.tasks && !wanted.tasks.is_empty() {
            filter.insert("taskIds", list(&wanted.tasks));
        }
        (!filter.is_empty()).then(|| object! { "notifications" => filter }.into())
    }
}

/// Keeps a subscription for as long as the connection lasts.
pub(super) async fn follow(shared: Arc<Shared>, offered: Offered) {
    let Some(era) = shared.era() else {
        return;
    };
    let subscriptions = era.subscriptions();
    let mut wanted = subscriptions.wanted.subscribe();
    let mut pause = FIRST_PAUSE;
    // True from the end of a subscription until the next one stands: what changed meanwhile was not told.
    let mut is_blind = false;
    while shared.closed().is_none() {
        let Some(params) = offered.params(&wanted.borrow_and_update()) else {
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        };
        let began = Instant::now();
        let ended = {
            let mut listening = std::pin::pin!(call::listen(&shared, &params, era));
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut listening => break Some(outcome),
                    () = subscriptions.acknowledged.notified() => if std::mem::take(&mut is_blind) {
                        offered.lists().for_each(|(_, method)| shared.peer().notification(method.to_owned(), None));
                    },
                    // The one that stands is dropped, and thereby withdrawn, before there is another.
                    changed = wanted.changed() => match changed {
                        Ok(()) => break None,
                        Err(_) => return,
                    },
                }
            }
        };
        match ended {
            None => continue,
            Some(Ok(Err(error))) if error.code() == code::METHOD_NOT_FOUND => return,
            Some(Err(CallError::Closed(_))) => return,
            Some(Ok(_) | Err(_)) => is_blind = true,
        }
        if began.elapsed() >= LASTING {
            pause = FIRST_PAUSE;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    #[test]
    fn only_the_name_of_the_subscription_is_taken_out() {
        let untagged = |text: &str| {
            let mut params = parse_str(text).unwrap();
            untag(&mut params);
            params.to_json()
        };
        let tag = r#""io.modelcontextprotocol/subscriptionId":7"#;
        assert_eq!(untagged(&format!(r#"{{"a":1.0,"_meta":{{{tag}}}}}"#)), r#"{"a":1.0}"#);
        assert_eq!(untagged(&format!(r#"{{"_meta":{{"k":1,{tag}}}}}"#)), r#"{"_meta":{"k":1}}"#);
        assert_eq!(untagged(r#"{"_meta":{}}"#), r#"{"_meta":{}}"#);
        assert_eq!(untagged("[1]"), "[1]");
    }

    #[test]
    fn resources_are_bounded() {
        let subscriptions = Subscriptions::default();
        assert!((0..MOST_RESOURCES).all(|number| subscriptions.add(&number.to_string())));
        assert!(!subscriptions.add("one more") && subscriptions.add("0"));
        subscriptions.remove("0");
        assert!(subscriptions.add("one more"));
    }
}
