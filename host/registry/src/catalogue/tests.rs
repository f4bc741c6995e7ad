use portcullis_gates::{Gates, Listed, NoApprover, NoJournal, PolicySet, Session};
use portcullis_model::json::{self, Value};
use portcullis_model::{ClientFacts, Era, Principal, SessionId};

use super::*;
use crate::{Advertised, Utility};

fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

/// Passes items through a gate without policies: the only way to a cleared item.
async fn offer(name: &str, advertised: Advertised, items: &[(ItemKind, &str, &str)]) -> Arc<Offer> {
    let gates = Gates::new(PolicySet::default(), Arc::new(NoJournal));
    let session = Session::new(
        SessionId::parse("s").unwrap(),
        Principal::parse("p").unwrap(),
        ClientFacts::default(),
        Era::Initialize,
    );
    let context = gates.context(Arc::new(session), Arc::new(NoApprover), None);
    let listed = items.iter().map(|(kind, item, document)| Listed {
        item: ListedItem {
            server: server(name),
            kind: *kind,
            name: (*item).to_owned(),
            document: json::parse_str(document).unwrap(),
        },
        pinned: None,
    });
    let outcomes = gates.listing(&context, listed.collect(), Arc::default()).await;
    let mut offer = Offer::new(server(name), advertised);
    for outcome in outcomes {
        offer.push(outcome);
    }
    Arc::new(offer)
}

fn tool(name: &str) -> (ItemKind, String, String) {
    (
        ItemKind::Tool,
        name.to_owned(),
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"x-vendor":1.50}}"#),
    )
}

async fn tools(name: &str, names: &[&str]) -> Arc<Offer> {
    let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
    let items: Vec<_> = tools.iter().map(|(kind, name, document)| (*kind, name.as_str(), document.as_str())).collect();
    offer(name, Advertised::default(), &items).await
}

fn exposed(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.tools().iter().map(Published::exposed).collect()
}

#[tokio::test]
async fn tools_are_found_under_their_published_names_and_keep_all_else() {
    let catalogue = Catalogue::build(&Naming::default(), &[tools("time", &["get-time"]).await]);
    let tool = catalogue.tool("mcp__time__get_time").unwrap();
    assert_eq!((tool.server().as_str(), tool.name()), ("time", "get-time"));
    assert_eq!(
        tool.document().to_json(),
        r#"{"name":"mcp__time__get_time","inputSchema":{"type":"object"},"x-vendor":1.50}"#
    );
    assert!(catalogue.tool("get-time").is_none());
    assert_eq!(catalogue.definition_of(&server("time"), CallKind::Tool, "get-time"), Some(tool.definition()));
}

#[tokio::test]
async fn the_catalogue_does_not_depend_on_the_order_of_arrival() {
    let (left, right) = (tools("a", &["x", "b__c"]).await, tools("a__b", &["c"]).await);
    let one = Catalogue::build(&Naming::default(), &[left.clone(), right.clone()]);
    let two = Catalogue::build(&Naming::default(), &[right, left]);
    assert_eq!(exposed(&one), exposed(&two));
    assert_eq!(exposed(&one).len(), 3);
    assert!(one.tool("mcp__a__b__c").is_none());
    assert!(!one.changes_since(&two).any());
}

#[tokio::test]
async fn a_uri_that_two_servers_claim_is_published_for_neither_and_says_so() {
    let resource = [(ItemKind::Resource, "x://1", r#"{"uri":"x://1","name":"one"}"#)];
    let both = [offer("a", Advertised::default(), &resource).await, offer("b", Advertised::default(), &resource).await];
    let catalogue = Catalogue::build(&Naming::default(), &both);
    assert!(catalogue.resources().is_empty());
    let reasons: Vec<String> = catalogue.unpublished().iter().map(|item| item.reason.to_string()).collect();
    assert_eq!(reasons, ["has the published name of an item of `b`", "has the published name of an item of `a`"]);
    assert_eq!(Catalogue::build(&Naming::default(), &both[..1]).resource("x://1").unwrap().name(), "x://1");
}

#[tokio::test]
async fn an_item_listed_twice_is_published_once_and_one_listed_in_two_forms_not_at_all() {
    let same = tools("a", &["x", "x"]).await;
    let catalogue = Catalogue::build(&Naming::default(), &[same]);
    assert_eq!(exposed(&catalogue), ["mcp__a__x"]);
    assert_eq!(catalogue.unpublished().len(), 1);
    let forms = [(ItemKind::Tool, "x", r#"{"name":"x"}"#), (ItemKind::Tool, "x", r#"{"name":"x","title":"y"}"#)];
    let catalogue = Catalogue::build(&Naming::default(), &[offer("a", Advertised::default(), &forms).await]);
    assert!(catalogue.tools().is_empty());
    assert_eq!(catalogue.unpublished().len(), 2);
}

#[tokio::test]
async fn a_resource_is_found_by_the_one_template_that_can_become_it() {
    let template = [(ItemKind::ResourceTemplate, "x://{id}", r#"{"uriTemplate":"x://{id}","name":"x"}"#)];
    let wide = [(ItemKind::ResourceTemplate, "{+any}", r#"{"uriTemplate":"{+any}","name":"any"}"#)];
    let (one, other) =
        (offer("a", Advertised::default(), &template).await, offer("b", Advertised::default(), &wide).await);
    let catalogue = Catalogue::build(&Naming::default(), std::slice::from_ref(&one));
    assert_eq!(catalogue.resource("x://7").unwrap().server().as_str(), "a");
    assert!(catalogue.resource("y://7").is_none());
    let catalogue = Catalogue::build(&Naming::default(), &[one, other]);
    assert!(catalogue.resource("x://7").is_none());
    assert_eq!(catalogue.resource_of(&server("b"), "x://7").unwrap().name(), "{+any}");
}

#[tokio::test]
async fn utility_tools_stand_only_for_what_the_server_advertises() {
    let advertised = Advertised { resources: true, prompts: false };
    let catalogue = Catalogue::build(&Naming::default(), &[offer("a", advertised, &[]).await]);
    let names: Vec<_> = catalogue.utilities().iter().map(|tool| tool.exposed.as_str()).collect();
    assert_eq!(names, ["mcp__a__list_resources", "mcp__a__read_resource"]);
    assert_eq!(catalogue.utility("mcp__a__read_resource").unwrap().utility, Utility::ReadResource);
    let document = catalogue.utilities()[1].document();
    assert_eq!(document.pointer("/inputSchema/required/0"), Some(&Value::from("uri")));
    assert!(Catalogue::build(&Naming::Plain, &[offer("a", advertised, &[]).await]).utilities().is_empty());
}

#[tokio::test]
async fn a_servers_own_tool_stands_before_the_utility_of_that_name() {
    let (kind, name, document) = tool("list_resources");
    let advertised = Advertised { resources: true, prompts: false };
    let catalogue = Catalogue::build(
        &Naming::default(),
        &[offer("a", advertised, &[(kind, name.as_str(), document.as_str())]).await],
    );
    assert_eq!(exposed(&catalogue), ["mcp__a__list_resources"]);
    assert!(catalogue.utility("mcp__a__list_resources").is_none());
    assert!(catalogue.utility("mcp__a__read_resource").is_some());
}

#[tokio::test]
async fn changes_name_the_lists_that_differ() {
    let before = Catalogue::build(&Naming::default(), &[tools("a", &["x"]).await]);
    let after = Catalogue::build(&Naming::default(), &[tools("a", &["x", "y"]).await]);
    let changes = after.changes_since(&before);
    assert!(changes.tools && !changes.prompts && !changes.resources);
    let item = [(ItemKind::Tool, "x", r#"{"name":"x","description":"other"}"#)];
    let edited = Catalogue::build(&Naming::default(), &[offer("a", Advertised::default(), &item).await]);
    assert!(edited.changes_since(&before).tools);
}

#[tokio::test]
async fn an_item_of_another_server_is_not_offered() {
    let mut offer = Offer::new(server("b"), Advertised::default());
    let other = tools("a", &["x"]).await;
    let item = Arc::try_unwrap(other).unwrap().items.remove(0);
    offer.push(Ok(Arc::try_unwrap(item).unwrap().item));
    assert!(offer.is_empty());
    assert_eq!(offer.withheld[0].reason.code(), "malformed");
}
