//! The front door of a gateway: who may come in over HTTP, for one operator.
//!
//! It turns a request into a [`Principal`](portcullis_model::Principal) or a [`Refusal`], and it answers the addresses
//! beside the routes of MCP: what describes the routes (RFC 9728), and the authorization server (OAuth 2.1, RFC 8414) by
//! which clients get tokens once the operator consents.
//!
//! It stands below `mcp`, which owns connections, and above `model` alone: it knows HTTP heads and bodies, and nothing of
//! MCP messages, policies or WebAssembly. Its state is a folder of small files of mode 0600, which commands change and a
//! running gateway reads again; tokens stand there as digests. In memory a token is found by its digest, one way for all
//! kinds.
//!
//! Strangers leave nothing behind: what they ask for travels with them (in their address, a cookie, an id that we
//! authenticated), so that no number of them fills a table. State begins where the operator said yes.

#![forbid(unsafe_code)]

mod ask;
mod bearer;
mod browser;
mod client;
mod clock;
mod counts;
mod credential;
mod desk;
mod document;
mod fetch;
mod files;
mod form;
mod front_door;
mod grants;
mod metadata;
mod mint;
mod named;
mod page;
mod rate;
mod redirect;
mod refusal;
mod registration;
mod reply;
mod route;
mod seal;
mod seen;
mod server;
mod settings;
mod shown;
mod source;

pub use browser::Code;
pub use client::{ClientError, ClientFile, RegisteredClient};
pub use clock::Clock;
pub use counts::Counts;
pub use desk::{ConsentView, DeskError};
pub use fetch::{FetchError, Fetcher};
pub use files::FileError;
pub use front_door::{FrontDoor, Sizes};
pub use grants::GrantView;
pub use mint::NoRandomness;
pub use named::{NamedToken, TokenError, TokenFile, TokenWish, is_weak};
pub use redirect::{Place, RedirectError, RedirectUri};
pub use refusal::Refusal;
pub use reply::Reply;
pub use route::{PublicUrl, PublicUrlError, of_path as route_of_path};
pub use settings::{Approval, AuthorizationSettings, ClientDocuments, DoorSettings, ProvePassphrase};
pub use source::{AddressRange, AddressRangeError, TrustedProxies};
