//! `portcullis policy verify`: whether somebody who is trusted vouches for files, and for what.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use portcullis_model::json::Value;
use portcullis_model::{GateName, PolicyName, object};
use portcullis_runtime::{Inspection, PackFile};
use portcullis_signatures::{Bundle, BundleError, Names, PublicKey, Trust, TrustedKey};

use super::sign::signature_of;
use crate::arguments::{ConfigFile, Verify};
use crate::failure::{OrExit as _, chain, one_line};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

pub(crate) fn run(settings: &Settings, arguments: &Verify) -> Result<Exit, Failure> {
    let trust = trust(settings, arguments.public_key.as_deref(), &arguments.config)?;
    let mut lines = Vec::new();
    for file in &arguments.files {
        let outcome = verify(&trust, file).map_err(|error| chain(&*error));
        lines.push(Line { file: file.display().to_string(), outcome });
    }
    let sound = lines.iter().all(|line| line.outcome.is_ok());
    report::print(&Verified(lines), arguments.format)?;
    Ok(if sound { Exit::Success } else { Exit::Failed })
}

/// Returns the keys of the config, or the one that was named instead.
pub(super) fn trust(settings: &Settings, key: Option<&str>, config: &ConfigFile) -> Result<Trust, Failure> {
    let trust = match key {
        Some(key) => trust_in(key)?,
        None => Trust::new(settings.read_config(config)?.1.policies.keys),
    };
    if trust.keys().is_empty() {
        let failure = Failure::new(Exit::Config, "the config trusts no key");
        return Err(failure.hint("list keys under `policies.keys`, or name one with `--public-key`"));
    }
    Ok(trust)
}

/// Trusts one key for everything.
fn trust_in(key: &str) -> Result<Trust, Failure> {
    let text = if Path::new(key).exists() {
        std::fs::read_to_string(key).or_exit(Exit::Usage, "reading the public key")?
    } else {
        key.to_owned()
    };
    let key = PublicKey::parse(&text).or_exit(Exit::Usage, "reading the public key")?;
    let names = Names::parse(["*"]).or_exit(Exit::Internal, "trusting the public key")?;
    Ok(Trust::new(vec![TrustedKey { name: key.id(), key, names, gates: None, may_loosen: true }]))
}

/// Returns who vouches for a file, and for what.
fn verify(trust: &Trust, file: &Path) -> Result<String, Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let signature = if is_bundle(&name) { None } else { Some(std::fs::read(signature_of(file))?) };
    vouched(trust, &name, &bytes, signature.as_deref())
}

/// Returns true for the name of a file that has its signature in it.
pub(super) fn is_bundle(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "bundle")
}

/// Returns who vouches for the bytes of a file of that name, and for what. A bundle is unpacked once somebody does.
pub(super) fn vouched(
    trust: &Trust,
    name: &str,
    bytes: &[u8],
    signature: Option<&[u8]>,
) -> Result<String, Box<dyn Error>> {
    if is_bundle(name) {
        let (bundle, key) = Bundle::open(bytes, |manifest, signature| {
            Ok(trust.signer(manifest, signature.ok_or(BundleError::UnsignedManifest)?)?)
        })?;
        for file in &bundle.files {
            covers(key, &file.name, &file.bytes)?;
        }
        let files = report::count(bundle.files.len(), "file");
        return Ok(format!("{} {}, {files}, by {}", bundle.manifest.name, bundle.manifest.version, key.name));
    }
    let signature = signature.unwrap_or_default();
    let key = if is_settings(name) {
        trust.signer_of_file(name, bytes, signature)?
    } else {
        trust.signer(bytes, signature)?
    };
    covers(key, name, bytes)?;
    Ok(format!("by {}", key.name))
}

fn is_pack(name: &str) -> bool {
    name.ends_with(".pack.yaml") || name.ends_with(".pack.yml")
}

/// Returns true for settings of a policy, whose name alone says whose they are.
fn is_settings(name: &str) -> bool {
    !is_pack(name) && Path::new(name).extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// Checks that the key is trusted for the policy that a file is of.
fn covers(key: &TrustedKey, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    if is_pack(name) {
        return match PackFile::parse(bytes)?.policy {
            Some(policy) => Ok(key.covers(&policy, &[])?),
            None => Ok(()),
        };
    }
    let Some((stem, end)) = name.rsplit_once('.') else { return Ok(()) };
    let gates: Vec<GateName> = if end == "wasm" { Inspection::of(bytes)?.gates } else { Vec::new() };
    Ok(key.covers(&PolicyName::parse(stem)?, &gates)?)
}

struct Line {
    file: String,
    outcome: Result<String, String>,
}

struct Verified(Vec<Line>);

impl Report for Verified {
    fn to_value(&self) -> Value {
        let line = |line: &Line| -> Value {
            let (sound, text) = match &line.outcome {
                Ok(text) => (true, text),
                Err(text) => (false, text),
            };
            object! { "file" => line.file.as_str(), "vouched" => sound, "says" => text.as_str() }.into()
        };
        object! { "files" => self.0.iter().map(line).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for Line { file, outcome } in &self.0 {
            match outcome {
                Ok(text) => writeln!(out, "{}: vouched for: {}", one_line(file), one_line(text))?,
                Err(text) => writeln!(out, "{}: refused: {}", one_line(file), one_line(text))?,
            }
        }
        Ok(())
    }
}
