//! From a server entry to a connected server with all that it lists: through the config and environment gates.

use std::sync::Arc;

use portcullis_gates::{Environment, Launching, Refusal};
use portcullis_model::{Launch, Occasion};

use super::connect_lock::connect_lock;
use super::items::RawListing;
use super::server::Server;
use super::{Fleet, Link, LinkError, LoginTrouble, Pages, ServerPeer};
use crate::method::Listable;

/// Why a server is not running.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// A gate refused it.
    Refused(Refusal),
    /// It could not be reached.
    Failed {
        /// Stable code of the reason.
        code: &'static str,
        /// For the operator.
        detail: String,
        /// False where another try can't end differently.
        retry: bool,
    },
}

impl Fleet {
    /// Asks the config gate about a server's entry.
    pub(crate) async fn screen(
        &self,
        server: &Server,
        occasion: Occasion,
    ) -> Result<portcullis_gates::Cleared<Launching>, Refusal> {
        let launching = Launching { entry: server.entry(), occasion };
        self.gates().config(&self.own_context(server), launching).await
    }

    /// Starts or connects a server.
    pub(crate) async fn launch(
        self: &Arc<Self>,
        server: &Arc<Server>,
        number: u64,
    ) -> Result<Arc<dyn Link>, NotStarted> {
        let is_process = matches!(server.entry().launch, Launch::Stdio { .. });
        let occasion = if is_process { Occasion::Start } else { Occasion::Connect };
        let launching = self.screen(server, occasion).await.map_err(NotStarted::Refused)?;
        let environment = if is_process {
            let offered = Environment {
                entry: server.entry(),
                variables: self.options().environment.clone(),
                tagged: self.options().tagged.clone(),
            };
            let selected = self.gates().environment(&self.own_context(server), offered).await;
            Some(selected.map_err(NotStarted::Refused)?)
        } else {
            None
        };
        let peer = Arc::new(ServerPeer::new(Arc::downgrade(self), Arc::clone(server), number));
        let capabilities = self.declared(&server.options());
        let limit = server.options().connect_timeout;
        // Held until the server is connected or was not.
        let _lock = match &self.options().lock_folder {
            Some(folder) => connect_lock(folder, &server.entry(), limit).await,
            None => None,
        };
        let connecting = self.shared.launcher.launch(launching, environment, &server.options(), capabilities, peer);
        match tokio::time::timeout(limit, connecting).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => Err(NotStarted::Failed { code: error.code, detail: error.detail, retry: error.retry }),
            Err(_) => Err(NotStarted::Failed {
                code: "connect-timeout",
                detail: format!("it did not answer within {} s", limit.as_secs()),
                retry: true,
            }),
        }
    }
}

/// Lists everything that a server advertises. A list that fails costs no other; the listing says what failed.
pub(crate) async fn list_all(link: &dyn Link) -> Result<RawListing, LinkError> {
    let mut raw = RawListing { instructions: link.greeting().instructions.clone(), ..RawListing::default() };
    for listable in Listable::ALL {
        list_one(link, listable, &mut raw).await?;
    }
    Ok(raw)
}

/// Lists one kind anew. Where that fails the former list stands: the server offers it still.
pub(crate) async fn list_one(link: &dyn Link, listable: Listable, raw: &mut RawListing) -> Result<(), LinkError> {
    if !link.greeting().declares(listable.capability()) {
        return Ok(());
    }
    let failure = match link.list(listable).await {
        Ok(Pages { items, incomplete, ttl_ms }) => {
            if listable == Listable::Tools {
                raw.ttl_ms = ttl_ms;
            }
            let failed = items.is_empty() && incomplete.is_some();
            let place = match listable {
                Listable::Tools => &mut raw.tools,
                Listable::Prompts => &mut raw.prompts,
                Listable::Resources => &mut raw.resources,
                Listable::Templates => &mut raw.templates,
            };
            if !failed {
                *place = items;
            }
            incomplete
        }
        // Without a login nothing else of it can be had either.
        Err(error @ (LinkError::Gone { .. } | LinkError::Login(LoginTrouble::Missing))) => return Err(error),
        Err(error) => Some(error.to_string()),
    };
    match failure {
        Some(failure) => raw.incomplete.insert(listable, format!("{listable:?}: {failure}")),
        None => raw.incomplete.remove(&listable),
    };
    Ok(())
}
