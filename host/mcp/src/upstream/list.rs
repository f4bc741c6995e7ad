//! Lists in pages.

use std::sync::Arc;
use std::time::Instant;

use portcullis_model::json::Value;
use portcullis_model::object;

use super::call::request;
use super::headers::{Bindings, bindings};
use super::shared::Shared;
use super::{CallError, CallOptions, Outcome};
use crate::jsonrpc::ErrorObject;

/// So many pages are read at most; the reference client stops there too.
const MOST_PAGES: usize = 50;
/// So many items are taken at most. The largest public servers list a few hundred.
const MOST_ITEMS: usize = 10_000;

/// What to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListMethod {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
}

impl ListMethod {
    /// Returns the name of the method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// Returns the member of the result that has the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }
}

/// What a server lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The items, as the server sent them; not all of them need be objects.
    pub items: Vec<Value>,
    /// Why there may be more, where there may.
    pub incomplete: Option<Incomplete>,
    /// For how many milliseconds the list stands, where its first page says so (`ttlMs`, MCP 2026-07-28).
    pub ttl_ms: Option<u64>,
    /// What was left out because it cannot be called.
    pub excluded: Vec<Excluded>,
}

/// A tool that was left out of a list (MCP 2026-07-28, Streamable HTTP: a client must not offer it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Its name; foreign text.
    pub name: String,
    /// Why, in the gateway's words.
    pub reason: &'static str,
}

/// Why a list may be incomplete.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Incomplete {
    /// There are more pages than are read.
    #[error("the list has more than {MOST_PAGES} pages")]
    Pages,
    /// There are more items than are taken.
    #[error("the list has more than {MOST_ITEMS} items")]
    Items,
    /// A cursor came again.
    #[error("the list goes round in a circle")]
    CursorLoop,
    /// A page has no list in it.
    #[error("a page of the list has no items")]
    NoItems,
    /// A later page could not be had.
    #[error("a page of the list could not be read: {0}")]
    Failed(CallError),
    /// A later page was answered with an error.
    #[error("a page of the list was refused by the server")]
    Refused(ErrorObject),
}

/// Lists all pages. Fails only where the first one cannot be had; an error of the server to the first one is an empty,
/// incomplete list.
pub(super) async fn list(shared: &Arc<Shared>, method: ListMethod) -> Result<Listing, CallError> {
    let mut listing = list_pages(shared, method).await?;
    if method == ListMethod::Tools
        && shared.wire().has_headers()
        && let Some(era) = shared.era()
    {
        let mut bound = Bindings::new();
        listing.items.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            match bindings(tool) {
                Ok(bindings) if bindings.is_empty() => true,
                Ok(bindings) => {
                    bound.insert(name.to_owned(), bindings.into());
                    true
                }
                Err(reason) => {
                    listing.excluded.push(Excluded { name: name.to_owned(), reason });
                    false
                }
            }
        });
        era.set_bindings(bound);
    }
    Ok(listing)
}

async fn list_pages(shared: &Arc<Shared>, method: ListMethod) -> Result<Listing, CallError> {
    let mut listing = Listing::default();
    let mut cursors: Vec<String> = Vec::new();
    let mut previous: Option<Vec<Value>> = None;
    // All pages together have the time of one call.
    let until = Instant::now() + shared.call_timeout;
    for page in 0..MOST_PAGES {
        let options =
            CallOptions { timeout: Some(until.saturating_duration_since(Instant::now())), ..CallOptions::default() };
        let params = cursors.last().map(|cursor| Value::from(object! { "cursor" => cursor.as_str() }));
        let result = match request(shared, method.method(), params.as_ref(), options).await {
            Ok(Outcome::Ok(result)) => result,
            Ok(Outcome::Err(error)) => return Ok(listing.end(Some(Incomplete::Refused(error)))),
            Err(error) if page == 0 => return Err(error),
            Err(error) => return Ok(listing.end(Some(Incomplete::Failed(error)))),
        };
        if page == 0 {
            listing.ttl_ms = result.get("ttlMs").and_then(Value::as_u64);
        }
        let cursor = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let Some(items) = take_items(result, method.member()) else {
            return Ok(listing.end(Some(Incomplete::NoItems)));
        };
        // Servers exist that end with an empty cursor, which others use for a page: asked for it, they start over.
        if previous.as_ref() == Some(&items) && !items.is_empty() {
            let harmless = cursors.last().is_some_and(String::is_empty);
            return Ok(listing.end((!harmless).then_some(Incomplete::CursorLoop)));
        }
        let room = MOST_ITEMS - listing.items.len();
        let too_many = items.len() > room;
        listing.items.extend(items.iter().take(room).cloned());
        if too_many {
            return Ok(listing.end(Some(Incomplete::Items)));
        }
        match cursor {
            None => return Ok(listing),
            Some(cursor) if cursors.contains(&cursor) => return Ok(listing.end(Some(Incomplete::CursorLoop))),
            Some(cursor) => cursors.push(cursor),
        }
        previous = Some(items);
    }
    Ok(listing.end(Some(Incomplete::Pages)))
}

fn take_items(result: Value, member: &str) -> Option<Vec<Value>> {
    let Value::Object(mut result) = result else {
        return None;
    };
    match result.remove(member)? {
        Value::Array(items) => Some(items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

impl Listing {
    fn end(mut self, incomplete: Option<Incomplete>) -> Self {
        self.incomplete = incomplete;
        self
    }
}
