//! Why something in the folder or the config changes nothing.

use portcullis_model::PolicyName;
use portcullis_signatures::{BundleError, ScopeError, SignatureError};

use super::folder::FileError;
use crate::inspect::InspectError;

/// Something in the folder or the config that changes nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedError {
    /// A file of the folder has the name of a policy of the bundle.
    #[error(
        "the folder may add policies, not replace or configure `{0}` of the bundle; hint: use `policies:` in the config, or a key with `may_loosen`"
    )]
    Loosens(PolicyName),
    /// A file of the folder has the name of a policy that the config places elsewhere.
    #[error("the config says where `{0}` is; the folder may not replace it")]
    ConfigPlaces(PolicyName),
    /// Settings without a module.
    #[error("there is no module of that name in the folder")]
    NoModule,
    /// A module that no key vouches for.
    #[error(
        "it has no signature of a trusted key; hint: sign it and name the key under `policies.keys`, or set `policies.allow_unsigned: true` to take unsigned modules"
    )]
    Unsigned,
    /// Settings that no key vouches for, beside a module that one does.
    #[error(
        "its settings `{0}` have no signature of a trusted key; hint: `portcullis policy sign`, or `policies.allow_unsigned: true`"
    )]
    UnsignedSettings(String),
    /// A pack that no key vouches for.
    #[error(
        "the pack has no signature of a trusted key; hint: `portcullis policy sign`, or `policies.allow_unsigned: packs`"
    )]
    UnsignedPack,
    /// Part of the module is missing, so that no signature can vouch for it.
    #[error("the module is cut off: it ends within a section")]
    CutOff,
    /// Its signature does not vouch for it.
    #[error("its signature is refused")]
    Signature(#[from] SignatureError),
    /// Its key is not trusted for it.
    #[error("its key is out of scope")]
    Scope(#[from] ScopeError),
    /// A pack for a policy that is not there.
    #[error("there is no policy `{0}` that the pack could be for")]
    NoSuchPolicy(PolicyName),
    /// A pack takes away or changes what the one of the bundle has.
    #[error(
        "the folder may add to the pack `{pack}` of the bundle, not change its `{place}`; hint: keep to the lists that it lets grow, use a name of its own, or a key with `may_loosen`"
    )]
    Narrows {
        /// The pack.
        pack: String,
        /// JSON pointer into its data.
        place: String,
    },
    /// A pack of an older version than was seen.
    #[error("version {version} of the pack is older than {seen}, which was seen before")]
    OlderPack {
        /// Its version.
        version: String,
        /// The version seen.
        seen: String,
    },
    /// A pack of the same version with other data.
    #[error("the pack differs from what was seen as version {version}; hint: raise its version")]
    SameVersion {
        /// Its version.
        version: String,
    },
    /// A pack that has expired already when it comes. One that expires later stays, with an alarm.
    #[error("version {version} of the pack has expired; what is there stays")]
    ExpiredPack {
        /// Its version.
        version: String,
    },
    /// A bundle is refused whole.
    #[error("the bundle is refused whole")]
    Bundle(#[from] BundleRefused),
    /// A file was not read.
    #[error("it was not read")]
    File(#[from] FileError),
}

/// Why a bundle is refused whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleRefused {
    /// It is cut off, changed, unsigned, or no bundle.
    #[error("it is not taken")]
    Bundle(#[from] BundleError),
    /// It is for a later host.
    #[error("it needs portcullis {needed} or later, and this is {}; hint: update portcullis", env!("CARGO_PKG_VERSION"))]
    LaterHost {
        /// The earliest version that it is for.
        needed: String,
    },
    /// It needs a capability that this version does not have.
    #[error("it needs the capability `{0}`, which this version does not have")]
    UnknownCapability(String),
    /// One of its modules imports what the manifest does not say.
    #[error("`{file}` needs the capability `{capability}`, which the manifest does not name")]
    Undeclared {
        /// The module.
        file: String,
        /// The capability.
        capability: String,
    },
    /// An older version than was seen.
    #[error("version {version} of it is older than {seen}, which was seen before; hint: `portcullis policy rollback`")]
    Older {
        /// Its version.
        version: String,
        /// The version seen.
        seen: String,
    },
    /// The same version with another content.
    #[error("it differs from what was seen as version {version}; hint: raise its version")]
    SameVersion {
        /// Its version.
        version: String,
    },
    /// It has expired already when it comes. One that expires later stays, with an alarm.
    #[error("version {version} of it has expired; what is there stays")]
    Expired {
        /// Its version.
        version: String,
    },
    /// Its `expires` is no date.
    #[error("its `expires` is no date like 2027-01-31")]
    NoDate,
    /// A file of it has a name that nothing in a bundle has.
    #[error("`{0}` is no module, settings or pack")]
    Kind(String),
    /// A module of it is none that a policy can be made of.
    #[error("`{file}` is refused")]
    Module {
        /// The module.
        file: String,
        /// Why.
        #[source]
        source: InspectError,
    },
    /// Another file of it is refused.
    #[error("`{file}` is refused")]
    Member {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: Box<RefusedError>,
    },
    /// Something else in the folder, or the config, has a policy of that name.
    #[error("`{0}` is in the folder already, beside it or in another bundle")]
    Twice(PolicyName),
    /// One of its policies did not come to be.
    #[error("its policy `{policy}` is refused: {reason}")]
    Policy {
        /// The policy.
        policy: PolicyName,
        /// Why, with its causes.
        reason: String,
    },
}
