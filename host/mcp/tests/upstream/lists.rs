//! Lists in pages.

use libtest_mimic::Trial;
use portcullis_mcp::upstream::{Incomplete, ListMethod, Listing};
use portcullis_model::json::Value;

use crate::support::{connect, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("all_pages_are_read_and_an_empty_cursor_is_one", all_pages_are_read_and_an_empty_cursor_is_one),
        trial("an_empty_cursor_that_starts_over_ends_the_list", an_empty_cursor_that_starts_over_ends_the_list),
        trial("a_list_that_goes_round_ends", a_list_that_goes_round_ends),
        trial("a_list_without_an_end_is_cut_at_fifty_pages", a_list_without_an_end_is_cut_at_fifty_pages),
    ]
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.items.iter().map(|item| item.get("name").and_then(Value::as_str).unwrap()).collect()
}

async fn all_pages_are_read_and_an_empty_cursor_is_one() {
    let listing = connect("normal").await.upstream.list(ListMethod::Tools).await.unwrap();
    assert_eq!((names(&listing), &listing.incomplete), (vec!["a", "b", "c"], &None));
}

async fn an_empty_cursor_that_starts_over_ends_the_list() {
    let listing = connect("normal").await.upstream.list(ListMethod::Prompts).await.unwrap();
    assert_eq!((names(&listing), &listing.incomplete), (vec!["only"], &None));
}

async fn a_list_that_goes_round_ends() {
    let listing = connect("normal").await.upstream.list(ListMethod::Resources).await.unwrap();
    assert_eq!(names(&listing)[..2], ["first", "second"]);
    assert_eq!(listing.incomplete, Some(Incomplete::CursorLoop));
}

async fn a_list_without_an_end_is_cut_at_fifty_pages() {
    let listing = connect("normal").await.upstream.list(ListMethod::ResourceTemplates).await.unwrap();
    assert_eq!((listing.items.len(), listing.incomplete), (50, Some(Incomplete::Pages)));
}
