//! From a name to addresses that may be connected to.

use std::net::SocketAddr;
use std::sync::Arc;

use portcullis_model::HttpGrant;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name resolves to an address that is neither public nor named by the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name resolves to an address that is not public and not named in the grant")]
pub(super) struct Prohibited;

/// Resolves once for each connection, and hands on what was checked: the address that is connected to is never asked for
/// again.
#[derive(Debug)]
pub(super) struct Checked(pub(super) Arc<HttpGrant>);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let grant = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One that is inside makes all of them suspicious, so that nobody mixes good ones with a bad one.
            if found.iter().any(|address| !grant.admits(address.ip())) {
                return Err(Prohibited.into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}
