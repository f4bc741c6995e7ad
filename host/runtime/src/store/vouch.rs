//! Whether anybody whom the operator trusts vouches for what is in the folder.

use portcullis_model::{GateName, PolicyName};
use portcullis_signatures::{BundleError, SignatureError, TrustedKey};

use super::config::{StoreConfig, Unsigned};
use super::folder::Dropped;
use super::refused::RefusedError;
use crate::inspect::{Inspection, is_cut_off};

/// Who vouches for something, and what it may do therefore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signer {
    /// What the operator calls the key; nothing where nobody signed and the config takes it all the same.
    pub(crate) key: Option<String>,
    /// True where the key may put a module in the place of one of the default bundle.
    pub(crate) may_loosen: bool,
}

impl Signer {
    fn of(key: Option<&TrustedKey>) -> Self {
        Self { key: key.map(|key| key.name.clone()), may_loosen: key.is_some_and(|key| key.may_loosen) }
    }
}

/// Returns the trusted key that signed bytes, or nothing where nobody whom the config knows did.
///
/// A trusted key that did not sign exactly this is a refusal whatever the config takes unsigned: somebody changed it.
fn signer<'c>(
    config: &'c StoreConfig,
    bytes: &[u8],
    signature: Option<&[u8]>,
) -> Result<Option<&'c TrustedKey>, SignatureError> {
    let Some(signature) = signature else { return Ok(None) };
    config.trust.signer(bytes, signature).map(Some)
}

/// Takes a signature of nobody for none, where the config takes what has none.
fn or_unsigned(
    found: Result<Option<&TrustedKey>, SignatureError>,
    takes_unsigned: bool,
) -> Result<Option<&TrustedKey>, SignatureError> {
    match found {
        Err(SignatureError::UnknownKey { .. }) if takes_unsigned => Ok(None),
        found => found,
    }
}

/// Vouches for a module.
pub(crate) fn module(config: &StoreConfig, name: &PolicyName, dropped: &Dropped) -> Result<Signer, RefusedError> {
    let takes_unsigned = config.unsigned == Unsigned::All;
    let signer = signer(config, &dropped.bytes, dropped.signature.as_deref());
    // That part of it is missing says more than that the rest is not what was signed.
    if matches!(signer, Err(SignatureError::Changed { .. })) && is_cut_off(&dropped.bytes) {
        return Err(RefusedError::CutOff);
    }
    let key = or_unsigned(signer, takes_unsigned)?;
    match key {
        Some(key) => key.covers(name, &gates_of(key, &dropped.bytes))?,
        None if takes_unsigned => {}
        None => return Err(RefusedError::Unsigned),
    }
    Ok(Signer::of(key))
}

/// Vouches for the settings beside a module. Nothing in them says whose they are, so the signature has to.
pub(crate) fn settings(config: &StoreConfig, name: &PolicyName, dropped: &Dropped) -> Result<(), RefusedError> {
    let takes_unsigned = config.unsigned == Unsigned::All;
    let signature = dropped.signature.as_deref();
    let signer = signature.map(|signature| config.trust.signer_of_file(&dropped.file, &dropped.bytes, signature));
    let key = or_unsigned(signer.transpose(), takes_unsigned)?;
    match key {
        Some(key) => Ok(key.covers(name, &[])?),
        None if takes_unsigned => Ok(()),
        None => Err(RefusedError::UnsignedSettings(dropped.file.clone())),
    }
}

/// Vouches for a pack of a policy that has this module, where it has one. Returns true where the pack may take the place of one
/// of the default bundle.
pub(crate) fn pack(
    config: &StoreConfig,
    policy: &PolicyName,
    module: Option<&[u8]>,
    dropped: &Dropped,
) -> Result<bool, RefusedError> {
    let takes_unsigned = config.unsigned != Unsigned::Nothing;
    let key = or_unsigned(signer(config, &dropped.bytes, dropped.signature.as_deref()), takes_unsigned)?;
    match key {
        Some(key) => {
            key.covers(policy, &module.map_or_else(Vec::new, |wasm| gates_of(key, wasm)))?;
            Ok(key.may_loosen)
        }
        None if takes_unsigned => Ok(false),
        None => Err(RefusedError::UnsignedPack),
    }
}

/// Vouches for the manifest of a bundle.
pub(crate) fn manifest<'c>(
    config: &'c StoreConfig,
    bytes: &[u8],
    signature: Option<&[u8]>,
) -> Result<Option<&'c TrustedKey>, BundleError> {
    let takes_unsigned = config.unsigned == Unsigned::All;
    match or_unsigned(signer(config, bytes, signature), takes_unsigned)? {
        None if !takes_unsigned => Err(BundleError::UnsignedManifest),
        key => Ok(key),
    }
}

/// Vouches for a policy of a bundle, or for a pack of it, by the key of the bundle.
pub(crate) fn member(
    key: Option<&TrustedKey>,
    policy: &PolicyName,
    module: Option<&[u8]>,
) -> Result<Signer, RefusedError> {
    if let Some(key) = key {
        key.covers(policy, &module.map_or_else(Vec::new, |wasm| gates_of(key, wasm)))?;
    }
    Ok(Signer::of(key))
}

/// Returns the gates of a module, where the key is not trusted for all. A module that cannot be read is refused for that.
fn gates_of(key: &TrustedKey, wasm: &[u8]) -> Vec<GateName> {
    if key.gates.is_none() {
        return Vec::new();
    }
    Inspection::of(wasm).map(|inspection| inspection.gates).unwrap_or_default()
}
