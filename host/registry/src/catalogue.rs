//! Everything that is published.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use globset::GlobMatcher;
use portcullis_config::Naming;
use portcullis_gates::{Cleared, ListedItem};
use portcullis_model::{CallKind, CatalogueEntry, Digest, ItemKind, ServerName};

use crate::names::{self, Origin};
use crate::offer::Offered;
use crate::{Changes, Offer, Published, Reason, Unpublished, UtilityTool, templates, utility};

/// The instructions of one server.
#[derive(Clone, Debug)]
pub struct Instructions {
    offered: Arc<Offered>,
}

impl Instructions {
    /// Returns the server.
    pub fn server(&self) -> &ServerName {
        &self.offered.item.get().server
    }

    /// Returns the instructions as they passed their gate.
    pub fn cleared(&self) -> &Cleared<ListedItem> {
        &self.offered.item
    }
}

/// Everything that is published: an immutable snapshot, the same for the same offers in any order of arrival.
#[derive(Debug, Default)]
pub struct Catalogue {
    tools: List,
    prompts: List,
    resources: List,
    templates: List,
    matchers: Vec<(GlobMatcher, usize)>,
    utilities: Vec<UtilityTool>,
    utility_index: HashMap<String, usize>,
    instructions: Vec<Instructions>,
    unpublished: Vec<Unpublished>,
    entries: Arc<Vec<CatalogueEntry>>,
}

#[derive(Debug, Default)]
struct List {
    items: Vec<Published>,
    index: HashMap<String, usize>,
}

impl List {
    fn get(&self, exposed: &str) -> Option<&Published> {
        self.items.get(*self.index.get(exposed)?)
    }

    fn push(&mut self, published: Published) {
        self.index.insert(published.exposed.clone(), self.items.len());
        self.items.push(published);
    }

    fn is_same(&self, other: &Self) -> bool {
        let same = |(left, right): (&Published, &Published)| {
            left.exposed == right.exposed
                && left.definition() == right.definition()
                && left.server() == right.server()
                && left.name() == right.name()
        };
        self.items.len() == other.items.len() && self.items.iter().zip(&other.items).all(same)
    }
}

impl Catalogue {
    /// Builds the catalogue of all offers. Servers are ordered by name, items as their server listed them.
    pub fn build(naming: &Naming, offers: &[Arc<Offer>]) -> Self {
        let mut offers: Vec<&Offer> = offers.iter().map(AsRef::as_ref).collect();
        offers.sort_by(|left, right| left.server.cmp(&right.server));
        let mut catalogue = Self {
            unpublished: offers.iter().flat_map(|offer| offer.withheld.iter().cloned()).collect(),
            ..Self::default()
        };
        let of_kind = |kind: ItemKind| {
            let offers = offers.iter().flat_map(|offer| &offer.items);
            offers.filter(|offered| offered.item.get().kind == kind).cloned().collect::<Vec<_>>()
        };
        catalogue.publish_tools(naming, &offers, &of_kind(ItemKind::Tool));
        let prompts = of_kind(ItemKind::Prompt);
        let names = names::assign(naming, &origins(&prompts));
        catalogue.prompts = catalogue.publish(&prompts, names);
        for (kind, resource) in [(ItemKind::Resource, true), (ItemKind::ResourceTemplate, false)] {
            let items = of_kind(kind);
            let names = names::assign(&Naming::Plain, &origins(&items));
            // A URI can't be renamed: two servers that claim the same are both refused.
            let names =
                names.into_iter().zip(&items).map(|(name, item)| name.filter(|name| *name == item.item.get().name));
            let list = catalogue.publish(&items, names.collect());
            if resource {
                catalogue.resources = list;
            } else {
                catalogue.templates = list;
            }
        }
        let templates = catalogue.templates.items.iter().enumerate();
        catalogue.matchers =
            templates.filter_map(|(index, item)| Some((templates::matcher(item.name())?, index))).collect();
        catalogue.instructions =
            of_kind(ItemKind::Instructions).into_iter().map(|offered| Instructions { offered }).collect();
        catalogue.entries = Arc::new(catalogue.published().map(entry).collect());
        catalogue
    }

    fn publish_tools(&mut self, naming: &Naming, offers: &[&Offer], tools: &[Arc<Offered>]) {
        let own: HashSet<(&ServerName, &str)> =
            tools.iter().map(|tool| (&tool.item.get().server, tool.item.get().name.as_str())).collect();
        let utilities: Vec<_> = offers
            .iter()
            .flat_map(|offer| utility::allowed(naming, offer.advertised).map(move |utility| (&offer.server, utility)))
            // A server's own tool of that name is the better one: it knows what it does.
            .filter(|(server, utility)| !own.contains(&(*server, utility.as_str())))
            .collect();
        let mut all = origins(tools);
        all.extend(
            utilities.iter().map(|(server, utility)| Origin { server: server.as_str(), name: utility.as_str() }),
        );
        let mut names = names::assign(naming, &all);
        let utility_names = names.split_off(tools.len());
        self.tools = self.publish(tools, names);
        for (exposed, (server, utility)) in utility_names.into_iter().zip(utilities) {
            if let Some(exposed) = exposed {
                self.utility_index.insert(exposed.clone(), self.utilities.len());
                self.utilities.push(UtilityTool { exposed, server: server.clone(), utility });
            }
        }
    }

    fn publish(&mut self, items: &[Arc<Offered>], names: Vec<Option<String>>) -> List {
        let mut list = List::default();
        for (offered, name) in items.iter().zip(names) {
            if let Some(exposed) = name {
                list.push(Published { exposed, offered: offered.clone() });
                continue;
            }
            let item = offered.item.get();
            let others = items.iter().filter(|other| !Arc::ptr_eq(other, offered)).map(|other| other.item.get());
            let other = others.into_iter().find(|other| other.name == item.name);
            let server = other.map_or_else(|| item.server.clone(), |other| other.server.clone());
            self.unpublished.push(Unpublished {
                server: item.server.clone(),
                kind: item.kind,
                name: item.name.clone(),
                reason: Reason::Collision(server),
            });
        }
        list
    }

    /// Returns the tools of servers.
    pub fn tools(&self) -> &[Published] {
        &self.tools.items
    }

    /// Returns the tools of the gateway.
    pub fn utilities(&self) -> &[UtilityTool] {
        &self.utilities
    }

    /// Returns the prompts.
    pub fn prompts(&self) -> &[Published] {
        &self.prompts.items
    }

    /// Returns the resources.
    pub fn resources(&self) -> &[Published] {
        &self.resources.items
    }

    /// Returns the resource templates.
    pub fn templates(&self) -> &[Published] {
        &self.templates.items
    }

    /// Returns the instructions of servers.
    pub fn instructions(&self) -> &[Instructions] {
        &self.instructions
    }

    /// Returns the tool of a published name.
    pub fn tool(&self, exposed: &str) -> Option<&Published> {
        self.tools.get(exposed)
    }

    /// Returns the tool of the gateway of a published name.
    pub fn utility(&self, exposed: &str) -> Option<&UtilityTool> {
        self.utilities.get(*self.utility_index.get(exposed)?)
    }

    /// Returns the prompt of a published name.
    pub fn prompt(&self, exposed: &str) -> Option<&Published> {
        self.prompts.get(exposed)
    }

    /// Returns the resource of a URI; else the one template that can become it. Nothing where templates of several servers
    /// can: which one is meant would be a guess.
    pub fn resource(&self, uri: &str) -> Option<&Published> {
        if let Some(resource) = self.resources.get(uri) {
            return Some(resource);
        }
        let matching = self.matchers.iter().filter(|(matcher, _)| matcher.is_match(uri));
        let mut found = matching.filter_map(|(_, index)| self.templates.items.get(*index));
        let first = found.next()?;
        found.all(|other| other.server() == first.server()).then_some(first)
    }

    /// Returns the resource or template of one server that serves a URI.
    pub fn resource_of(&self, server: &ServerName, uri: &str) -> Option<&Published> {
        let own = |item: &&Published| item.server() == server;
        self.resources.get(uri).filter(own).or_else(|| {
            let matching = self.matchers.iter().filter(|(matcher, _)| matcher.is_match(uri));
            matching.filter_map(|(_, index)| self.templates.items.get(*index)).find(own)
        })
    }

    /// Returns the prompt of one server by the server's own name.
    pub fn prompt_of(&self, server: &ServerName, name: &str) -> Option<&Published> {
        self.prompts.items.iter().find(|item| item.server() == server && item.name() == name)
    }

    /// Returns the tool of one server by the server's own name.
    pub fn tool_of(&self, server: &ServerName, name: &str) -> Option<&Published> {
        self.tools.items.iter().find(|item| item.server() == server && item.name() == name)
    }

    /// Returns the digest of the published definition that a call refers to.
    pub fn definition_of(&self, server: &ServerName, kind: CallKind, name: &str) -> Option<Digest> {
        let item = match kind {
            CallKind::Tool => self.tool_of(server, name),
            CallKind::Prompt => self.prompt_of(server, name),
            CallKind::Resource => self.resource_of(server, name),
            CallKind::Completion => self.prompt_of(server, name).or_else(|| self.resource_of(server, name)),
        };
        item.map(Published::definition)
    }

    /// Returns what is not published, with reasons.
    pub fn unpublished(&self) -> &[Unpublished] {
        &self.unpublished
    }

    /// Returns every published item of servers.
    pub fn published(&self) -> impl Iterator<Item = &Published> {
        [&self.tools, &self.prompts, &self.resources, &self.templates].into_iter().flat_map(|list| &list.items)
    }

    /// Returns the view that policies get when they scan a list.
    pub fn entries(&self) -> Arc<Vec<CatalogueEntry>> {
        self.entries.clone()
    }

    /// Returns what differs from an earlier catalogue.
    pub fn changes_since(&self, earlier: &Self) -> Changes {
        Changes {
            tools: !self.tools.is_same(&earlier.tools) || self.utilities != earlier.utilities,
            prompts: !self.prompts.is_same(&earlier.prompts),
            resources: !self.resources.is_same(&earlier.resources) || !self.templates.is_same(&earlier.templates),
        }
    }
}

fn origins(items: &[Arc<Offered>]) -> Vec<Origin<'_>> {
    items
        .iter()
        .map(|offered| offered.item.get())
        .map(|item| Origin { server: item.server.as_str(), name: &item.name })
        .collect()
}

fn entry(published: &Published) -> CatalogueEntry {
    CatalogueEntry {
        server: published.server().clone(),
        kind: published.kind(),
        name: published.name().to_owned(),
        digest: published.definition(),
    }
}

#[cfg(test)]
mod tests;
