//! Who vouches for policies and packs: keys, signatures, scopes, and bundles.
//!
//! Signatures are those of `minisign`: detached, Ed25519, over the `BLAKE2b` hash of a file (or over the file itself, as
//! early versions of the program did). Files of the program and of this crate are the same. A [`Trust`] is what the
//! operator's config says: which keys there are, and which policies and gates each may ship. A [`Bundle`] is modules,
//! packs and settings in one file, under one signature.
//!
//! The crate stands beside `portcullis-gates`, on `portcullis-model` alone: the config reads keys with it, the runtime
//! asks it, and it knows no file system, no network and no WebAssembly.
//!
//! ```
//! use portcullis_model::{GateName, PolicyName};
//! use portcullis_signatures::{Names, SecretKey, Trust, TrustedKey};
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let secret = SecretKey::generate()?;
//! let key = TrustedKey {
//!     name: "acme".to_owned(),
//!     key: secret.public(),
//!     names: Names::parse(["acme-*"])?,
//!     gates: Some(vec![GateName::Call]),
//!     may_loosen: false,
//! };
//! let trust = Trust::new(vec![key]);
//! let signature = secret.sign(b"a module", "acme-paths.wasm")?;
//! let signer = trust.signer(b"a module", signature.as_bytes())?;
//! signer.covers(&PolicyName::parse("acme-paths")?, &[GateName::Call])?;
//! assert!(trust.signer(b"another module", signature.as_bytes()).is_err());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod bundle;
mod key;
mod manifest;
mod secret;
mod signature;
mod trust;

pub use bundle::{Bundle, BundleError, BundleFile, LARGEST_BUNDLE, MOST_FILES};
pub use key::{KeyError, PublicKey, SecretKey};
pub use manifest::{Manifest, ManifestError, ManifestFile};
pub use signature::{LARGEST_SIGNATURE, SignatureError};
pub use trust::{Names, NamesError, ScopeError, Trust, TrustedKey};

#[cfg(test)]
mod tests;
