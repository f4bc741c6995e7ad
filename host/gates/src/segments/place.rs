//! What a member of a protocol message is to the model: the vocabulary that segments are built by.

use portcullis_model::Role;

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
            Self::Item => item(key),
            Self::PromptArgument => prompt_argument(key),
            Self::Icon => icon(key),
            Self::Execution => (key == "taskSupport").then_some(Self::Word),
            Self::Schema => schema(key),
            Self::Annotations => annotation(key),
            Self::Result => result(key),
            Self::Content => content(key),
            Self::Contents => contents(key),
            Self::Message => message(key),
            Self::Completion => completion(key),
            Self::Error => error(key),
            Self::Progress => progress(key),
            Self::Log => log(key),
            Self::Request => request(key),
            Self::Preferences => preferences(key),
            Self::Reading => (key == "uri").then_some(Self::Free(Role::Uri)),
            Self::Completing => completing(key),
            Self::Reference => reference(key),
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

/// Words that say nothing: where a protocol word has one of these values, it is no segment.
pub(crate) fn is_known_word(text: &str) -> bool {
    matches!(
        text,
        "text"
            | "image"
            | "audio"
            | "resource"
            | "resource_link"
            | "tool_use"
            | "tool_result"
            | "user"
            | "assistant"
            | "object"
            | "array"
            | "string"
            | "number"
            | "integer"
            | "boolean"
            | "null"
            | "complete"
            | "input_required"
            | "form"
            | "url"
            | "none"
            | "thisServer"
            | "allServers"
            | "auto"
            | "required"
            | "optional"
            | "forbidden"
            | "debug"
            | "info"
            | "notice"
            | "warning"
            | "error"
            | "critical"
            | "alert"
            | "emergency"
    )
}

fn item(key: &str) -> Option<Place> {
    Some(match key {
        "name" => Place::Free(Role::Name),
        "title" => Place::Free(Role::Title),
        "description" => Place::Free(Role::Description),
        "inputSchema" | "outputSchema" => Place::Schema,
        "annotations" => Place::Annotations,
        "arguments" => Place::PromptArgument,
        "icons" => Place::Icon,
        "execution" => Place::Execution,
        "uri" | "uriTemplate" | "websiteUrl" => Place::Free(Role::Uri),
        "mimeType" | "size" => Place::Free(Role::Other),
        _ => return None,
    })
}

fn prompt_argument(key: &str) -> Option<Place> {
    Some(match key {
        "name" => Place::Free(Role::Name),
        "title" => Place::Free(Role::Title),
        "description" => Place::Free(Role::Description),
        "required" => Place::Word,
        _ => return None,
    })
}

fn icon(key: &str) -> Option<Place> {
    Some(match key {
        "src" => Place::Free(Role::Uri),
        "mimeType" | "sizes" | "theme" => Place::Free(Role::Other),
        _ => return None,
    })
}

/// The words of JSON Schema 2020-12 and of the drafts that servers still send.
fn schema(key: &str) -> Option<Place> {
    Some(match key {
        "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => Place::Schemas,
        "items"
        | "additionalItems"
        | "prefixItems"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "contentSchema" => Place::Schema,
        "description" => Place::Free(Role::Description),
        "title" => Place::Free(Role::Title),
        "type" => Place::Word,
        "required" => Place::Free(Role::Name),
        "default" | "const" | "enum" | "examples" | "enumNames" | "dependentRequired" | "$comment" | "pattern"
        | "format" | "$id" | "$ref" | "$schema" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$vocabulary"
        | "contentMediaType" | "contentEncoding" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
        | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minContains"
        | "maxContains" | "minProperties" | "maxProperties" | "readOnly" | "writeOnly" | "deprecated" | "nullable" => {
            Place::Free(Role::Schema)
        }
        _ => return None,
    })
}

fn annotation(key: &str) -> Option<Place> {
    Some(match key {
        "audience" => Place::Word,
        "title" | "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" | "priority"
        | "lastModified" => Place::Free(Role::Annotation),
        _ => return None,
    })
}

fn result(key: &str) -> Option<Place> {
    Some(match key {
        "content" => Place::Content,
        "structuredContent" => Place::Free(Role::Structured),
        "contents" => Place::Contents,
        "messages" => Place::Message,
        "description" => Place::Free(Role::Description),
        "completion" => Place::Completion,
        "resultType" | "cacheScope" => Place::Word,
        "isError" | "ttlMs" => Place::Free(Role::Other),
        _ => return None,
    })
}

fn content(key: &str) -> Option<Place> {
    Some(match key {
        "type" => Place::Word,
        "text" => Place::Free(Role::Text),
        "annotations" => Place::Annotations,
        "resource" => Place::Contents,
        "uri" => Place::Free(Role::Uri),
        "name" => Place::Free(Role::Name),
        "title" => Place::Free(Role::Title),
        "description" => Place::Free(Role::Description),
        "icons" => Place::Icon,
        "data" | "mimeType" | "size" | "id" | "toolUseId" | "isError" => Place::Free(Role::Other),
        "input" => Place::Free(Role::Argument),
        "content" => Place::Content,
        "structuredContent" => Place::Free(Role::Structured),
        _ => return None,
    })
}

fn contents(key: &str) -> Option<Place> {
    Some(match key {
        "uri" => Place::Free(Role::Uri),
        "text" | "blob" => Place::Free(Role::Text),
        "annotations" => Place::Annotations,
        "mimeType" | "size" => Place::Free(Role::Other),
        "name" => Place::Free(Role::Name),
        "title" => Place::Free(Role::Title),
        "description" => Place::Free(Role::Description),
        _ => return None,
    })
}

fn message(key: &str) -> Option<Place> {
    Some(match key {
        "role" => Place::Word,
        "content" => Place::Content,
        _ => return None,
    })
}

fn completion(key: &str) -> Option<Place> {
    Some(match key {
        "values" => Place::Free(Role::Text),
        "total" | "hasMore" => Place::Free(Role::Other),
        _ => return None,
    })
}

fn error(key: &str) -> Option<Place> {
    matches!(key, "code" | "message" | "data").then_some(Place::Free(Role::Error))
}

fn progress(key: &str) -> Option<Place> {
    Some(match key {
        "message" => Place::Free(Role::Log),
        "progressToken" | "progress" | "total" => Place::Free(Role::Other),
        _ => return None,
    })
}

fn log(key: &str) -> Option<Place> {
    Some(match key {
        "level" => Place::Word,
        "logger" | "data" => Place::Free(Role::Log),
        _ => return None,
    })
}

/// The parameters of sampling, elicitation and roots: their words do not contradict each other.
fn request(key: &str) -> Option<Place> {
    Some(match key {
        "messages" => Place::Message,
        "systemPrompt" | "message" => Place::Free(Role::Text),
        "modelPreferences" => Place::Preferences,
        "tools" => Place::Item,
        "requestedSchema" => Place::Schema,
        "url" => Place::Free(Role::Uri),
        "mode" | "includeContext" => Place::Word,
        "toolChoice" | "metadata" | "maxTokens" | "temperature" | "stopSequences" | "elicitationId" => {
            Place::Free(Role::Other)
        }
        _ => return None,
    })
}

fn preferences(key: &str) -> Option<Place> {
    Some(match key {
        "hints" => Place::Preferences,
        "name" => Place::Free(Role::Name),
        "costPriority" | "speedPriority" | "intelligencePriority" => Place::Free(Role::Other),
        _ => return None,
    })
}

fn completing(key: &str) -> Option<Place> {
    Some(match key {
        "ref" => Place::Reference,
        "argument" => Place::CompletedArgument,
        "context" => Place::CompletionContext,
        _ => return None,
    })
}

fn reference(key: &str) -> Option<Place> {
    Some(match key {
        "type" => Place::Free(Role::Other),
        "name" => Place::Free(Role::Name),
        "uri" => Place::Free(Role::Uri),
        _ => return None,
    })
}
