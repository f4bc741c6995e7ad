//! What was said in conversations, for endpoints that remember nothing.

use std::collections::HashMap;
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{Principal, object};
use tokio::time::Instant;

/// Conversations of one principal and of all: each may hold [`MOST_BYTES`], so a desk holds 32 MiB at most.
const MOST_OF_ONE: usize = 16;
const MOST: usize = 64;
/// So much text one conversation holds: beyond the context of most models.
const MOST_BYTES: usize = 512 * 1024;
/// A conversation that nobody went on with for so long is forgotten.
const AGE: Duration = Duration::from_hours(24);
/// Where there is no room, one that rested for so long makes some, so that nobody can keep others out for good.
const RESTED: Duration = Duration::from_hours(1);

/// All conversations of a desk, by who holds them and the name that it gave them.
#[derive(Debug, Default)]
pub(super) struct Conversations(HashMap<(Principal, String), Conversation>);

#[derive(Debug)]
struct Conversation {
    messages: Vec<Value>,
    bytes: usize,
    used: Instant,
}

/// Why a conversation cannot be gone on with: for who asks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// It is too long.
    #[error("this conversation has reached its largest size; begin another one, under another `session_id`")]
    Conversation,
    /// There are too many.
    #[error("there are too many conversations; go on in one of them, or forget yours by `reset`")]
    Desk,
}

impl Conversations {
    /// Returns what was said so far, and makes room for a new conversation where there is none of that name.
    pub(super) fn recall(&mut self, principal: &Principal, name: &str, more: usize) -> Result<Vec<Value>, Full> {
        let now = Instant::now();
        self.0.retain(|_, conversation| now.duration_since(conversation.used) < AGE);
        let key = (principal.clone(), name.to_owned());
        if let Some(conversation) = self.0.get_mut(&key) {
            if conversation.bytes + more > MOST_BYTES {
                return Err(Full::Conversation);
            }
            conversation.used = now;
            return Ok(conversation.messages.clone());
        }
        if self.0.keys().filter(|(owner, _)| owner == principal).count() >= MOST_OF_ONE {
            return Err(Full::Desk);
        }
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, conversation)| conversation.used);
            let oldest = oldest.filter(|(_, oldest)| now.duration_since(oldest.used) >= RESTED);
            let oldest = oldest.map(|(key, _)| key.clone()).ok_or(Full::Desk)?;
            self.0.remove(&oldest);
        }
        self.0.insert(key, Conversation { messages: Vec::new(), bytes: 0, used: now });
        Ok(Vec::new())
    }

    /// Adds a question with its answer. Where they do not fit, the conversation ends with them: the next one is told so.
    pub(super) fn remember(&mut self, principal: &Principal, name: &str, question: &str, answer: &str) {
        // One that was forgotten meanwhile stays so.
        if let Some(conversation) = self.0.get_mut(&(principal.clone(), name.to_owned())) {
            conversation.used = Instant::now();
            conversation.bytes += question.len() + answer.len();
            if conversation.bytes <= MOST_BYTES {
                conversation.messages.push(object! { "role" => "user", "content" => question }.into());
                conversation.messages.push(object! { "role" => "assistant", "content" => answer }.into());
            }
        }
    }

    /// Forgets those of a principal.
    pub(super) fn forget(&mut self, principal: &Principal) {
        self.0.retain(|(owner, _), _| owner != principal);
    }
}
