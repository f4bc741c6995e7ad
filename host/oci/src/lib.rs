//! Policies, packs and bundles in OCI registries: pushed, pulled by digest, and kept for when there is no network.
//!
//! An [`Artifact`] is one file. A module has the layout of the WebAssembly artifacts of the CNCF (config of media type
//! `application/vnd.wasm.config.v0+json`, one layer of `application/wasm`), so that other programs read it too; bundles and
//! packs have one layer of a media type of ours. The detached signature of a module or a pack travels as an annotation of
//! its layer; a bundle has its own inside.
//!
//! Nothing here says whether an artifact is to be trusted: digests say that it is what the registry was asked for, and
//! signatures are looked at by whoever pulls. What a registry sends is hostile until then. The layer that is read is bounded
//! by what its manifest says and by [`LARGEST`], everything together by time. What the client library reads by itself (a
//! manifest, a token, the text of an error) it reads whole: a caller that must not be filled up by a registry pulls in a
//! process of its own with bounded memory, as the program does.
//!
//! The crate stands beside `portcullis-signatures`, on `portcullis-model` alone; only the composition root uses it.

#![forbid(unsafe_code)]

mod kept;
mod layout;
mod place;
mod registry;

pub use kept::{Kept, KeptError};
pub use layout::{Artifact, Kind, LARGEST, LayoutError};
pub use place::{Place, PlaceError};
pub use registry::{Credentials, Pulled, Registry, RegistryError};

#[cfg(test)]
mod tests;
