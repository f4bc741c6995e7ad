//! What a member of a protocol message is to the model: the vocabulary that segments are built by.

use portcullis_model::Role;

use super::words;

/// Where in a message the walk stands. A place knows the words of the protocol that may stand there; any other key is
/// free text of the sender, and so is what stands under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Free-form: strings have this role, every key of an object is a segment.
    Free(Role),
    /// A word that the protocol fixes, such as a `type`; skipped where it is one of those known.
    Word,
    /// A tool, prompt, resource or resource template.
    Item,
    /// An argument of a prompt.
    PromptArgument,
    /// An icon.
    Icon,
    /// How a tool is run.
    Execution,
    /// A JSON schema.
    Schema,
    /// Named JSON schemas: the names are free-form.
    Schemas,
    /// Annotations of an item or of content.
    Annotations,
    /// `_meta`: keys and values are free-form.
    Meta,
    /// The result of a request.
    Result,
    /// A block of content.
    Content,
    /// The contents of a resource.
    Contents,
    /// A message of a prompt or of a sampling request.
    Message,
    /// The completions of an argument.
    Completion,
    /// A JSON-RPC error object.
    Error,
    /// The parameters of a progress notification.
    Progress,
    /// The parameters of a log notification.
    Log,
    /// The parameters of a request of a server.
    Request,
    /// The model preferences of a sampling request.
    Preferences,
    /// The parameters of reading a resource.
    Reading,
    /// The parameters of a completion.
    Completing,
    /// What a completion completes.
    Reference,
    /// The argument that a completion completes.
    CompletedArgument,
    /// The arguments that were completed before.
    CompletionContext,
}

impl Place {
    /// Returns the role of a string that stands here.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Free(role) => role,
            Self::Schema | Self::Schemas => Role::Schema,
            Self::Annotations => Role::Annotation,
            Self::Meta => Role::Meta,
            Self::Content | Self::Contents | Self::Message | Self::Result => Role::Text,
            Self::Error => Role::Error,
            Self::Progress | Self::Log => Role::Log,
            Self::Icon => Role::Uri,
            Self::PromptArgument => Role::Name,
            Self::Reading | Self::Completing | Self::Reference | Self::CompletedArgument | Self::CompletionContext => {
                Role::Argument
            }
            Self::Word | Self::Item | Self::Execution | Self::Completion | Self::Request | Self::Preferences => {
                Role::Other
            }
        }
    }

    /// Returns the place of a member whose key is a word of the protocol here; nothing where the key is free text.
    pub(crate) fn member(self, key: &str) -> Option<Self> {
        if key == "_meta" && self.has_meta() {
            return Some(Self::Meta);
        }
        match self {
            Self::Free(_) | Self::Schemas | Self::Meta | Self::Word => None,
            Self::Item => words::item(key),
            Self::PromptArgument => words::prompt_argument(key),
            Self::Icon => words::icon(key),
            Self::Execution => (key == "taskSupport").then_some(Self::Word),
            Self::Schema => words::schema(key),
            Self::Annotations => words::annotation(key),
            Self::Result => words::result(key),
            Self::Content => words::content(key),
            Self::Contents => words::contents(key),
            Self::Message => words::message(key),
            Self::Completion => words::completion(key),
            Self::Error => words::error(key),
            Self::Progress => words::progress(key),
            Self::Log => words::log(key),
            Self::Request => words::request(key),
            Self::Preferences => words::preferences(key),
            Self::Reading => (key == "uri").then_some(Self::Free(Role::Uri)),
            Self::Completing => words::completing(key),
            Self::Reference => words::reference(key),
            Self::CompletedArgument => matches!(key, "name" | "value").then_some(Self::Free(Role::Argument)),
            Self::CompletionContext => (key == "arguments").then_some(Self::Free(Role::Argument)),
        }
    }

    /// Returns the place of a member whose key is free text here.
    pub(crate) fn unknown(self) -> Self {
        match self {
            Self::Schemas => Self::Schema,
            Self::Item
            | Self::Word
            | Self::Execution
            | Self::Completion
            | Self::Request
            | Self::Preferences
            | Self::Content
            | Self::Contents
            | Self::Message
            | Self::Result
            | Self::Icon
            | Self::PromptArgument => Self::Free(Role::Other),
            Self::Free(_)
            | Self::Schema
            | Self::Annotations
            | Self::Meta
            | Self::Error
            | Self::Progress
            | Self::Log
            | Self::Reading
            | Self::Completing
            | Self::Reference
            | Self::CompletedArgument
            | Self::CompletionContext => Self::Free(self.role()),
        }
    }

    /// Returns true where `_meta` is the protocol's, and not a key of somebody's data.
    fn has_meta(self) -> bool {
        match self {
            Self::Item
            | Self::Result
            | Self::Content
            | Self::Contents
            | Self::Message
            | Self::Progress
            | Self::Log
            | Self::Request => true,
            Self::Free(_)
            | Self::Word
            | Self::PromptArgument
            | Self::Icon
            | Self::Execution
            | Self::Schema
            | Self::Schemas
            | Self::Annotations
            | Self::Meta
            | Self::Completion
            | Self::Error
            | Self::Preferences
            | Self::Reading
            | Self::Completing
            | Self::Reference
            | Self::CompletedArgument
            | Self::CompletionContext => false,
        }
    }
}
