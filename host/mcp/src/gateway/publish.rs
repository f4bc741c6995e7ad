//! From what servers list to what is published.

use std::sync::Arc;

use portcullis_gates::{Cleared, Context, Listed, ListedItem, Withheld};
use portcullis_model::{CatalogueEntry, ItemKind};
use portcullis_registry::{Advertised, Catalogue, Filter, Offer, Published, Reason, Unpublished};

use super::faults::{PAUSES, is_fault};
use super::fleet::Offers;
use super::items::RawListing;
use super::link::Boxed;
use super::members::Members;
use super::server::Server;
use super::snapshot::Snapshot;
use super::{Fleet, Greeting};
use crate::approver::shown;
use crate::status::{Counts, WithheldItem};

/// Operators read so many reasons of one server; all are counted.
const MOST_REASONS: usize = 1_000;
/// The log tells of so many at once: a server with thousands of odd items must not drown the lines about others. All are
/// in the status.
const MOST_TOLD: usize = 50;
/// A reason is a sentence.
const LONGEST_REASON: usize = 500;

impl Fleet {
    /// Sorts, filters and scans what a server lists. An item that does not pass costs no other.
    pub(crate) fn scan<'a>(
        &'a self,
        server: &'a Server,
        greeting: &'a Greeting,
        raw: &'a RawListing,
    ) -> Boxed<'a, Offer> {
        // In a box: without one the compiler cannot tell that the keeper's future may move between threads.
        Box::pin(self.scan_all(server, greeting, raw))
    }

    async fn scan_all(&self, server: &Server, greeting: &Greeting, raw: &RawListing) -> Offer {
        let options = &server.options().filter;
        let advertised = Advertised {
            resources: options.resources && greeting.declares("resources"),
            prompts: options.prompts && greeting.declares("prompts"),
        };
        let mut offer = Offer::new(server.name().clone(), advertised);
        let sorted = raw.sort(server.name());
        for malformed in &sorted.malformed {
            offer.leave_out(malformed.kind, &malformed.name, Reason::Malformed(malformed.reason));
        }
        let filter = Filter::new(options);
        let names: Vec<&str> =
            sorted.items.iter().filter(|item| item.kind == ItemKind::Tool).map(|item| item.name.as_str()).collect();
        for unmatched in filter.unmatched(&names) {
            tracing::warn!(server = %server.name(), "{}", shown(&unmatched.to_string(), LONGEST_REASON));
        }
        let mut wanted = Vec::with_capacity(sorted.items.len());
        for item in sorted.items {
            if item.kind == ItemKind::Tool && !filter.keeps(&item.name) {
                offer.leave_out(item.kind, &item.name, Reason::Filtered);
            } else {
                wanted.push(item);
            }
        }
        let pinned = self.shared.pins.of(server.name(), &wanted).await;
        let wanted: Vec<_> = wanted.into_iter().zip(pinned).map(|(item, pinned)| Listed { item, pinned }).collect();
        let catalogue = self.snapshot().catalogue.entries();
        let context = self.own_context(server);
        let outcomes = self.scan_patiently(&context, &wanted, &catalogue).await;
        self.shared.pins.accept(server.name(), &context.set, &wanted, &outcomes).await;
        for outcome in outcomes {
            offer.push(outcome);
        }
        offer
    }

    /// Scans items, and those again whose check broke.
    async fn scan_patiently(
        &self,
        context: &Context,
        wanted: &[Listed],
        catalogue: &Arc<Vec<CatalogueEntry>>,
    ) -> Vec<Result<Cleared<ListedItem>, Withheld>> {
        let scan = |items: Vec<Listed>| self.gates().listing(context, items, Arc::clone(catalogue));
        let mut outcomes = scan(wanted.to_vec()).await;
        for pause in PAUSES {
            let (broken, places): (Vec<Listed>, Vec<_>) = outcomes
                .iter_mut()
                .zip(wanted)
                .filter(|(outcome, _)| outcome.as_ref().is_err_and(|withheld| is_fault(&withheld.refusal)))
                .map(|(outcome, listed)| (listed.clone(), outcome))
                .unzip();
            if broken.is_empty() {
                break;
            }
            tokio::time::sleep(pause).await;
            for (place, outcome) in places.into_iter().zip(scan(broken).await) {
                *place = outcome;
            }
        }
        outcomes
    }

    /// Publishes what a server offers now, or withdraws everything of it. Clients hear of what changed.
    pub(crate) fn publish(&self, server: &Server, offer: Option<Offer>) {
        let mut offers = self.locked_offers();
        let members = self.members();
        if !members.contains(server) {
            return self.succeed(&mut offers, server, offer);
        }
        match offer {
            Some(offer) => offers.by_server.insert(server.index, Arc::new(offer)),
            None => offers.by_server.remove(&server.index),
        };
        self.rebuild(members, &offers);
    }

    /// Publishes anew without a change of offers: the state of a server changed.
    pub(crate) fn publish_state(&self) {
        let offers = self.locked_offers();
        self.rebuild(self.members(), &offers);
    }

    /// Builds and publishes the snapshot of all offers. They are locked until it is in place.
    pub(super) fn rebuild(&self, members: Arc<Members>, offers: &Offers) {
        let present: Vec<Arc<Offer>> =
            members.iter().filter_map(|server| offers.by_server.get(&server.index).cloned()).collect();
        let offering = |server: &Server| offers.by_server.contains_key(&server.index);
        let catalogue = Catalogue::build(&self.shared.arrangement.load().naming, &present);
        let notice = self.notice(&members, offering);
        let snapshot = Snapshot::new(members, catalogue, notice);
        let changes = snapshot.changes_since(&self.snapshot());
        let snapshot = Arc::new(snapshot);
        self.published.store(Arc::clone(&snapshot));
        // A collision may have come to be or gone for any server.
        for server in snapshot.members.iter() {
            note(server, &snapshot.catalogue, offering(server));
        }
        self.versions.send_if_modified(|versions| {
            versions.add(changes);
            changes.any()
        });
    }
}

/// Notes in the status of a server what of it is published.
fn note(server: &Server, catalogue: &Catalogue, offers: bool) {
    let mine = |unpublished: &&Unpublished| unpublished.server == *server.name();
    let unpublished: Vec<&Unpublished> = catalogue.unpublished().iter().filter(mine).collect();
    let published: Vec<ItemKind> =
        catalogue.published().filter(|item| item.server() == server.name()).map(Published::kind).collect();
    let of_tools = |kind: ItemKind| kind == ItemKind::Tool;
    let filtered = unpublished.iter().filter(|unpublished| unpublished.reason == Reason::Filtered).count();
    let tools_exposed = published.iter().filter(|kind| of_tools(**kind)).count();
    let tools_unpublished = unpublished.iter().filter(|unpublished| of_tools(unpublished.kind)).count();
    let counts = Counts {
        tools_listed: tools_exposed + tools_unpublished,
        tools_exposed,
        tools_filtered: filtered,
        listed: published.len() + unpublished.len(),
        exposed: published.len(),
        withheld: unpublished.len() - filtered,
    };
    let withheld: Vec<WithheldItem> = unpublished
        .iter()
        .filter(|unpublished| unpublished.reason != Reason::Filtered)
        .take(MOST_REASONS)
        .map(|unpublished| withheld(unpublished))
        .collect();
    tell_withheld(server, &withheld);
    server.set_status(|status| {
        status.counts = if offers { counts } else { Counts::default() };
        status.withheld = withheld;
    });
}

/// Tells the operator of each item that is withheld from now on, with its reason.
fn tell_withheld(server: &Server, withheld: &[WithheldItem]) {
    let known = server.status().withheld;
    for item in withheld.iter().filter(|item| !known.contains(item)).take(MOST_TOLD) {
        tracing::warn!(
            server = %server.name(),
            kind = item.kind.as_str(),
            name = item.name,
            code = item.code,
            policy = item.policy.as_ref().map(portcullis_model::PolicyName::as_str),
            "withheld: {}", item.detail
        );
    }
}

fn withheld(unpublished: &Unpublished) -> WithheldItem {
    let policy = if let Reason::Withheld(_, refusal) = &unpublished.reason { refusal.policy.clone() } else { None };
    WithheldItem {
        kind: unpublished.kind,
        name: shown(&unpublished.name, LONGEST_REASON),
        code: unpublished.reason.code().to_owned(),
        policy,
        detail: shown(&unpublished.reason.to_string(), LONGEST_REASON),
    }
}
