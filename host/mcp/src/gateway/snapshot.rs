//! What is published, ready to be sent.

use std::sync::{Arc, OnceLock};

use portcullis_model::json::{Object, Value};
use portcullis_model::{Era, ServerName};
use portcullis_registry::{Catalogue, Changes, Published, UtilityTool, provider_tool};

use super::members::Members;
use super::notice::{STATUS_TOOL, document};
use crate::downstream::ListGroup;
use crate::method::Listable;
use crate::upstream::{Binding, Bindings, bindings};

/// What is published: an immutable catalogue with the servers that are behind it, and the results of lists, made once for
/// all who ask.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) members: Arc<Members>,
    pub(crate) catalogue: Arc<Catalogue>,
    /// What the status tool says of missing servers; without it there is no such tool.
    notice: Option<String>,
    tools: OnceLock<Arc<Value>>,
    stateless_tools: OnceLock<Arc<Value>>,
    earlier_tools: OnceLock<Arc<Value>>,
    /// Of each era, for clients that hand tools to a model provider.
    provider_tools: [OnceLock<Arc<Value>>; 2],
    headers: OnceLock<Bindings>,
    prompts: OnceLock<Arc<Value>>,
    resources: OnceLock<Arc<Value>>,
    templates: OnceLock<Arc<Value>>,
}

impl Snapshot {
    pub(crate) fn new(members: Arc<Members>, catalogue: Catalogue, notice: Option<String>) -> Self {
        let notice = notice.filter(|_| catalogue.tool(STATUS_TOOL).is_none());
        Self { members, catalogue: Arc::new(catalogue), notice, ..Self::default() }
    }

    /// Returns a snapshot with nothing published of these servers.
    pub(crate) fn of(members: Members) -> Self {
        Self { members: Arc::new(members), ..Self::default() }
    }

    /// Returns true where a tool of that name is the gateway's status tool.
    pub(crate) fn is_status_tool(&self, name: &str) -> bool {
        self.notice.is_some() && name == STATUS_TOOL
    }

    /// Returns what differs from an earlier snapshot.
    pub(crate) fn changes_since(&self, earlier: &Self) -> Changes {
        let mut changes = self.catalogue.changes_since(&earlier.catalogue);
        changes.tools |= self.notice != earlier.notice;
        changes
    }

    /// Returns the result of a list, whole: downstream there are no pages.
    pub(crate) fn list(&self, listable: Listable) -> Arc<Value> {
        let documents = |items: &[Published]| items.iter().map(Published::document).collect::<Vec<_>>();
        let catalogue = &self.catalogue;
        let (place, key, items): (_, _, &dyn Fn() -> Vec<Value>) = match listable {
            Listable::Tools => (&self.tools, "tools", &|| {
                let utilities = catalogue.utilities().iter().map(UtilityTool::document);
                let notice = self.notice.iter().map(|notice| document(notice));
                documents(catalogue.tools()).into_iter().chain(utilities).chain(notice).collect()
            }),
            Listable::Prompts => (&self.prompts, "prompts", &|| documents(catalogue.prompts())),
            Listable::Resources => (&self.resources, "resources", &|| documents(catalogue.resources())),
            Listable::Templates => (&self.templates, "resourceTemplates", &|| documents(catalogue.templates())),
        };
        let list = place.get_or_init(|| {
            let mut result = Object::new();
            result.insert(key, items());
            Arc::new(result.into())
        });
        Arc::clone(list)
    }

    /// Returns which arguments of a tool an HTTP client of the stateless era repeats in headers. Of a tool whose schema
    /// says so in a way that cannot be followed, none: such clients leave it out.
    pub(crate) fn headers_of(&self, tool: &str) -> Option<Arc<[Binding]>> {
        let headers = self.headers.get_or_init(|| {
            let tools = self.catalogue.tools().iter();
            let found = tools.filter_map(|tool| {
                let bindings = bindings(&tool.cleared().get().document).ok().filter(|bindings| !bindings.is_empty())?;
                Some((tool.exposed().to_owned(), bindings.into()))
            });
            found.collect()
        });
        headers.get(tool).cloned()
    }

    /// Returns the result of a list as the stateless era has it: its tools know no `execution`.
    pub(crate) fn list_stateless(&self, listable: Listable) -> Arc<Value> {
        let list = self.list(listable);
        if listable != Listable::Tools {
            return list;
        }
        let stateless = self.stateless_tools.get_or_init(|| {
            let has_execution = |tool: &Value| tool.get("execution").is_some();
            let tools = list.get("tools").and_then(Value::as_array).unwrap_or_default();
            if tools.iter().any(has_execution) { Arc::new(stateless_list(Value::clone(&list))) } else { list }
        });
        Arc::clone(stateless)
    }

    /// Returns the result of a list as the era with `initialize` has it: its structured content is an object, so that a schema
    /// of any other is none. Clients of that era drop the whole list over one such schema.
    pub(crate) fn list_earlier(&self, listable: Listable) -> Arc<Value> {
        let list = self.list(listable);
        if listable != Listable::Tools {
            return list;
        }
        let earlier = self.earlier_tools.get_or_init(|| {
            let tools = list.get("tools").and_then(Value::as_array).unwrap_or_default();
            let has_foreign = |tool: &Value| tool.get("outputSchema").is_some_and(is_foreign_schema);
            if tools.iter().any(has_foreign) { Arc::new(earlier_list(Value::clone(&list))) } else { list }
        });
        Arc::clone(earlier)
    }

    /// Returns the list of tools of an era with their schemas as model providers take them.
    pub(crate) fn tools_for_provider(&self, era: Era) -> Arc<Value> {
        let [earlier, stateless] = &self.provider_tools;
        let (place, list) = match era {
            Era::Initialize => (earlier, self.list_earlier(Listable::Tools)),
            Era::Stateless => (stateless, self.list_stateless(Listable::Tools)),
        };
        Arc::clone(place.get_or_init(|| Arc::new(provider_list(Value::clone(&list)))))
    }

    /// Returns the result of a list with what one server has, made anew each time: few clients look at one server.
    pub(crate) fn list_of(&self, listable: Listable, server: &ServerName) -> Value {
        let catalogue = &self.catalogue;
        let documents = |items: &[Published]| -> Vec<Value> {
            items.iter().filter(|item| item.server() == server).map(Published::document).collect()
        };
        let (key, items) = match listable {
            Listable::Tools => {
                let utilities = catalogue.utilities().iter().filter(|utility| utility.server == *server);
                let notice = self.notice.iter().map(|notice| document(notice));
                let tools = documents(catalogue.tools()).into_iter();
                ("tools", tools.chain(utilities.map(UtilityTool::document)).chain(notice).collect())
            }
            Listable::Prompts => ("prompts", documents(catalogue.prompts())),
            Listable::Resources => ("resources", documents(catalogue.resources())),
            Listable::Templates => ("resourceTemplates", documents(catalogue.templates())),
        };
        let mut result = Object::new();
        result.insert(key, items);
        result.into()
    }
}

/// Returns a list as the stateless era has it: its tools know no `execution`.
pub(crate) fn stateless_list(mut list: Value) -> Value {
    if let Some(Value::Array(tools)) = list.as_object_mut().and_then(|list| list.get_mut("tools")) {
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            tool.remove("execution");
        }
    }
    list
}

/// Returns a list as the era with `initialize` has it: without schemas of structured content that is no object.
pub(crate) fn earlier_list(mut list: Value) -> Value {
    if let Some(Value::Array(tools)) = list.as_object_mut().and_then(|list| list.get_mut("tools")) {
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            if tool.get("outputSchema").is_some_and(is_foreign_schema) {
                tool.remove("outputSchema");
            }
        }
    }
    list
}

/// Returns a list of tools with their schemas as model providers take them.
pub(crate) fn provider_list(mut list: Value) -> Value {
    if let Some(Value::Array(tools)) = list.as_object_mut().and_then(|list| list.get_mut("tools")) {
        for tool in tools {
            if let Some(changed) = provider_tool(tool) {
                *tool = changed;
            }
        }
    }
    list
}

fn is_foreign_schema(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) != Some("object")
}

/// Returns which group a list belongs to.
pub(crate) fn group_of(listable: Listable) -> ListGroup {
    match listable {
        Listable::Tools => ListGroup::Tools,
        Listable::Prompts => ListGroup::Prompts,
        Listable::Resources | Listable::Templates => ListGroup::Resources,
    }
}

/// How often each group of lists changed, counted from 1: a client that was given 0 never asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    tools: u64,
    prompts: u64,
    resources: u64,
}

impl Default for Versions {
    fn default() -> Self {
        Self { tools: 1, prompts: 1, resources: 1 }
    }
}

impl Versions {
    /// Returns how often a group changed.
    pub(crate) fn of(self, group: ListGroup) -> u64 {
        match group {
            ListGroup::Tools => self.tools,
            ListGroup::Prompts => self.prompts,
            ListGroup::Resources => self.resources,
        }
    }

    /// Counts changes.
    pub(crate) fn add(&mut self, changes: Changes) {
        self.tools += u64::from(changes.tools);
        self.prompts += u64::from(changes.prompts);
        self.resources += u64::from(changes.resources);
    }
}
