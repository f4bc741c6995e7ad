//! What is done to a result before its gate: the middle of one that is too large is left out, and what is there twice goes
//! where the operator wants it sent once.
//!
//! Before the gate, because a gate judges 4 MiB of text at most, and because nothing may be left out or put in after it.

mod copies;
mod repeated;
mod shorten;

use std::sync::Arc;

use portcullis_model::json::Value;

use super::server::Server;
use super::{Answer, Fleet};

impl Fleet {
    /// Shapes what a server answered. An error is short, or else refused by the gate.
    pub(super) async fn shape(&self, server: &Server, name: &str, answer: Answer) -> Answer {
        let mut result = answer?;
        let settings = self.shared.arrangement.load().results;
        repeated::send_once(&mut result, settings.repeated);
        let Some(plan) = shorten::Plan::of(&result, settings.largest_text) else {
            return Ok(result);
        };
        let whole = Arc::new(result);
        let copy = match &self.options().results_folder {
            Some(folder) if settings.copies > 0 => {
                let (folder, whole) = (folder.clone(), Arc::clone(&whole));
                let keep = move || copies::keep(&folder, &whole, settings.copies);
                tokio::task::spawn_blocking(keep).await.map_err(std::io::Error::other).flatten().map(Some)
            }
            Some(_) | None => Ok(None),
        };
        let server = server.name();
        let kept = match copy {
            Ok(Some(path)) => {
                tracing::warn!(%server, name, copy = %path.display(), "a result was shortened; its full copy is kept");
                true
            }
            Ok(None) => {
                tracing::warn!(%server, name, "a result was shortened; no full copy is kept");
                false
            }
            Err(error) => {
                tracing::error!(%server, name, %error, "a result was shortened; its full copy could not be kept");
                false
            }
        };
        let mut result: Value = Arc::unwrap_or_clone(whole);
        plan.carry_out(&mut result, kept);
        Ok(result)
    }
}
