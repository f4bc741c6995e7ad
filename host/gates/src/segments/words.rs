//! The words of the protocol and of JSON Schema, by where they may stand.

use portcullis_model::Role;

use super::place::Place;

/// Words that say nothing: where a protocol word has one of these values, it is no segment.
pub(super) fn is_known_word(text: &str) -> bool {
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
            | "task"
            | "working"
            | "completed"
            | "failed"
            | "cancelled"
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

pub(super) fn item(key: &str) -> Option<Place> {
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

pub(super) fn prompt_argument(key: &str) -> Option<Place> {
    Some(match key {
        "name" => Place::Free(Role::Name),
        "title" => Place::Free(Role::Title),
        "description" => Place::Free(Role::Description),
        "required" => Place::Word,
        _ => return None,
    })
}

pub(super) fn icon(key: &str) -> Option<Place> {
    Some(match key {
        "src" => Place::Free(Role::Uri),
        "mimeType" | "sizes" | "theme" => Place::Free(Role::Other),
        _ => return None,
    })
}

/// The words of JSON Schema 2020-12 and of the drafts that servers still send.
pub(super) fn schema(key: &str) -> Option<Place> {
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

pub(super) fn annotation(key: &str) -> Option<Place> {
    Some(match key {
        "audience" => Place::Word,
        "title" | "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" | "priority"
        | "lastModified" => Place::Free(Role::Annotation),
        _ => return None,
    })
}

pub(super) fn result(key: &str) -> Option<Place> {
    Some(match key {
        "content" => Place::Content,
        "structuredContent" => Place::Free(Role::Structured),
        "contents" => Place::Contents,
        "messages" => Place::Message,
        "description" => Place::Free(Role::Description),
        "completion" => Place::Completion,
        "resultType" | "cacheScope" | "status" => Place::Word,
        // A task is told with what came of it (MCP 2026-07-28, tasks extension) or wrapped once (2025-11-25).
        "result" | "task" => Place::Result,
        "error" => Place::Error,
        "statusMessage" => Place::Free(Role::Text),
        "isError" | "ttlMs" | "taskId" | "createdAt" | "lastUpdatedAt" | "pollIntervalMs" | "ttl" | "pollInterval" => {
            Place::Free(Role::Other)
        }
        _ => return None,
    })
}

pub(super) fn content(key: &str) -> Option<Place> {
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

pub(super) fn contents(key: &str) -> Option<Place> {
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

pub(super) fn message(key: &str) -> Option<Place> {
    Some(match key {
        "role" => Place::Word,
        "content" => Place::Content,
        _ => return None,
    })
}

pub(super) fn completion(key: &str) -> Option<Place> {
    Some(match key {
        "values" => Place::Free(Role::Text),
        "total" | "hasMore" => Place::Free(Role::Other),
        _ => return None,
    })
}

pub(super) fn error(key: &str) -> Option<Place> {
    matches!(key, "code" | "message" | "data").then_some(Place::Free(Role::Error))
}

pub(super) fn progress(key: &str) -> Option<Place> {
    Some(match key {
        "message" => Place::Free(Role::Log),
        "progressToken" | "progress" | "total" => Place::Free(Role::Other),
        _ => return None,
    })
}

pub(super) fn log(key: &str) -> Option<Place> {
    Some(match key {
        "level" => Place::Word,
        "logger" | "data" => Place::Free(Role::Log),
        _ => return None,
    })
}

/// The parameters of sampling, elicitation and roots: their words do not contradict each other.
pub(super) fn request(key: &str) -> Option<Place> {
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

pub(super) fn preferences(key: &str) -> Option<Place> {
    Some(match key {
        "hints" => Place::Preferences,
        "name" => Place::Free(Role::Name),
        "costPriority" | "speedPriority" | "intelligencePriority" => Place::Free(Role::Other),
        _ => return None,
    })
}

pub(super) fn completing(key: &str) -> Option<Place> {
    Some(match key {
        "ref" => Place::Reference,
        "argument" => Place::CompletedArgument,
        "context" => Place::CompletionContext,
        _ => return None,
    })
}

pub(super) fn reference(key: &str) -> Option<Place> {
    Some(match key {
        "type" => Place::Free(Role::Other),
        "name" => Place::Free(Role::Name),
        "uri" => Place::Free(Role::Uri),
        _ => return None,
    })
}
