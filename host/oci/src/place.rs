//! Where an artifact is.

use std::fmt;
use std::net::IpAddr;

use oci_client::{ParseError, Reference};
use portcullis_model::Digest;

/// The scheme of places, as in other programs that speak of artifacts in registries.
const SCHEME: &str = "oci://";

/// A text is no place of an artifact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// It does not begin with the scheme.
    #[error("a place begins with `{SCHEME}`, as `{SCHEME}registry.example/acme/policies:1.0.0`")]
    Scheme,
    /// It names no registry: other programs would look at Docker Hub, which nobody meant.
    #[error("`{0}` names no registry; hint: `{SCHEME}HOST/REPOSITORY:TAG`")]
    NoRegistry(String),
    /// It is none in another way.
    #[error("it is no `{SCHEME}HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`")]
    Reference(#[source] ParseError),
    /// Its digest is of another kind.
    #[error("only digests of SHA-256 are known")]
    Digest,
}

/// Where an artifact is: a registry, a repository, and a tag or a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    reference: Reference,
    digest: Option<Digest>,
}

impl Place {
    /// Parses `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`. Without tag and digest the tag is `latest`.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let rest = text.strip_prefix(SCHEME).ok_or(PlaceError::Scheme)?;
        let host = rest.split_once('/').map(|(host, _)| host).unwrap_or_default();
        if !(host.contains(['.', ':']) || host == "localhost") {
            return Err(PlaceError::NoRegistry(host.chars().take(64).collect()));
        }
        let reference: Reference = rest.parse().map_err(PlaceError::Reference)?;
        let digest = match reference.digest() {
            None => None,
            Some(text) => Some(parse_digest(text).ok_or(PlaceError::Digest)?),
        };
        Ok(Self { reference, digest })
    }

    /// Returns the digest of the manifest, where the place names one: it is the same for ever then.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the place of the same repository with that digest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self { reference: self.reference.clone_with_digest(format!("sha256:{digest}")), digest: Some(digest) }
    }

    /// Returns the last part of the repository's name, after which a file can be named.
    pub fn stem(&self) -> &str {
        let repository = self.reference.repository();
        repository.rsplit_once('/').map_or(repository, |(_, stem)| stem)
    }

    /// Returns true where the registry is on this machine, and plain HTTP leaves it as little as anything else.
    pub fn is_loopback(&self) -> bool {
        let registry = self.reference.registry();
        let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.reference.whole())
    }
}

/// Parses `sha256:` and 64 hexadecimal digits.
pub(crate) fn parse_digest(text: &str) -> Option<Digest> {
    Digest::parse(text.strip_prefix("sha256:")?)
}
