//! What an artifact looks like in a registry.

use portcullis_model::json::{Limits, Object, ParseError, Value, parse_with};
use portcullis_model::{Digest, object};

use crate::place::parse_digest;

/// The largest artifact in bytes: as much as the largest bundle.
pub const LARGEST: usize = 256 * 1024 * 1024;

/// A manifest names one layer. The distribution specification lets registries refuse those above 4 MiB; ours has 2 KiB.
const LARGEST_MANIFEST: usize = 64 * 1024;

/// Nothing in a manifest is nested deeper than the annotations of a layer.
const DEEPEST: usize = 16;

/// A signature file with its comments is a few hundred bytes.
const LONGEST_SIGNATURE: usize = 8 * 1024;

/// So long is the name of a file at most, as in the policies folder.
const LONGEST_NAME: usize = 128;

/// Media type of manifests (OCI image specification 1.1).
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Config and layer of the CNCF's layout of WebAssembly artifacts, version 0.
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const WASM: &str = "application/wasm";

/// The config of what needs none (OCI image specification 1.1, "guidance for an empty descriptor").
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

const BUNDLE: &str = "application/vnd.portcullis.bundle.v1.tar";
const PACK: &str = "application/vnd.portcullis.pack.v1+yaml";

/// The name of the file (OCI image specification, pre-defined annotation keys).
const TITLE: &str = "org.opencontainers.image.title";

/// The detached signature of the file, as text.
const SIGNATURE: &str = "dev.portcullis.signature.minisign";

/// What an artifact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A module: a WebAssembly component.
    Module,
    /// A bundle, which has its signature inside.
    Bundle,
    /// A data pack.
    Pack,
}

impl Kind {
    /// Returns what a file is by its name, where it is any.
    pub fn of(name: &str) -> Option<Self> {
        let mut parts = name.rsplit('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("wasm"), Some(_), _) => Some(Self::Module),
            (Some("bundle"), Some(_), _) => Some(Self::Bundle),
            (Some("yaml" | "yml"), Some("pack"), Some(_)) => Some(Self::Pack),
            _ => None,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Module => WASM,
            Self::Bundle => BUNDLE,
            Self::Pack => PACK,
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Module => "wasm",
            Self::Bundle => "bundle",
            Self::Pack => "pack.yaml",
        }
    }
}

/// One file on its way into a registry or out of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What it is.
    pub kind: Kind,
    /// Its name as in the policies folder: one component, of plain characters, ending as its kind does.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The text of its detached signature, where it has one.
    pub signature: Option<String>,
    /// What a module imports, for its config.
    pub imports: Vec<String>,
    /// What a module exports, for its config.
    pub exports: Vec<String>,
}

/// A manifest is none of an artifact of ours, or a file cannot be one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// It is no JSON, or too much of it.
    #[error("the manifest is no JSON of at most {LARGEST_MANIFEST} bytes")]
    Json(#[source] ParseError),
    /// It is a manifest of something else, such as an index of platforms.
    #[error("the manifest is none of an artifact")]
    NoManifest,
    /// It has no layer, or several.
    #[error("an artifact has one layer; this one has {0}")]
    Layers(usize),
    /// Its layer is something else.
    #[error("its layer has the media type `{0}`, which is no policy, pack or bundle")]
    MediaType(String),
    /// Its layer has no digest of SHA-256.
    #[error("its layer has no digest of SHA-256")]
    Digest,
    /// Its layer has no size, or a larger one than is read.
    #[error("its layer has no size of at most {LARGEST} bytes")]
    Size,
    /// Its file has a name that cannot be one.
    #[error("`{0}` is no plain name of a module, pack or bundle")]
    Name(String),
    /// Its signature is too long to be one.
    #[error("its signature has more than {LONGEST_SIGNATURE} bytes")]
    Signature,
}

/// What a manifest says of an artifact.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) signature: Option<String>,
    pub(crate) layer: Digest,
    pub(crate) size: usize,
}

impl Described {
    /// Reads a manifest. `stem` is what a file without a name of its own is called.
    pub(crate) fn parse(manifest: &[u8], stem: &str) -> Result<Self, LayoutError> {
        let limits = Limits { bytes: LARGEST_MANIFEST, depth: DEEPEST };
        let manifest = parse_with(manifest.trim_ascii(), limits).map_err(LayoutError::Json)?;
        let layers = manifest.get("layers").and_then(Value::as_array).ok_or(LayoutError::NoManifest)?;
        let [layer] = layers else { return Err(LayoutError::Layers(layers.len())) };
        let text = |key: &str| layer.get(key).and_then(Value::as_str);
        let media_type = text("mediaType").unwrap_or_default();
        let kind = [Kind::Module, Kind::Bundle, Kind::Pack].into_iter().find(|kind| kind.media_type() == media_type);
        let kind = kind.ok_or_else(|| LayoutError::MediaType(media_type.chars().take(LONGEST_NAME).collect()))?;
        let size = layer.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let annotation = |key: &str| layer.get("annotations").and_then(|all| all.get(key)).and_then(Value::as_str);
        let name = annotation(TITLE).map_or_else(|| format!("{stem}.{}", kind.ending()), str::to_owned);
        check_name(kind, &name)?;
        let signature = annotation(SIGNATURE);
        if signature.is_some_and(|text| text.len() > LONGEST_SIGNATURE) {
            return Err(LayoutError::Signature);
        }
        Ok(Self {
            kind,
            name,
            signature: signature.map(str::to_owned),
            layer: text("digest").and_then(parse_digest).ok_or(LayoutError::Digest)?,
            size: size.filter(|size| *size <= LARGEST).ok_or(LayoutError::Size)?,
        })
    }
}

/// Refuses a name that is more than one component of plain characters, hidden, or of another kind of file.
fn check_name(kind: Kind, name: &str) -> Result<(), LayoutError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_plain = (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain);
    if is_plain && Kind::of(name) == Some(kind) {
        Ok(())
    } else {
        Err(LayoutError::Name(name.chars().take(LONGEST_NAME).collect()))
    }
}

impl Artifact {
    /// Returns the manifest and the config of it. The same file makes the same bytes, and so the same digest.
    pub(crate) fn manifest(&self) -> Result<(Vec<u8>, Vec<u8>), LayoutError> {
        check_name(self.kind, &self.name)?;
        if self.bytes.len() > LARGEST {
            return Err(LayoutError::Size);
        }
        if self.signature.as_ref().is_some_and(|text| text.len() > LONGEST_SIGNATURE) {
            return Err(LayoutError::Signature);
        }
        let layer = digest_text(Digest::of(&self.bytes));
        let (config_type, config) = match self.kind {
            Kind::Module => (WASM_CONFIG, Value::from(self.wasm_config(&layer)).to_json().into_bytes()),
            Kind::Bundle | Kind::Pack => (EMPTY_CONFIG, b"{}".to_vec()),
        };
        let mut annotations = object! { TITLE => self.name.as_str() };
        if let Some(signature) = &self.signature {
            annotations.insert(SIGNATURE, signature.as_str());
        }
        let mut manifest = object! { "schemaVersion" => 2_u64, "mediaType" => MANIFEST };
        if self.kind != Kind::Module {
            manifest.insert("artifactType", self.kind.media_type());
        }
        manifest.insert(
            "config",
            object! {
                "mediaType" => config_type,
                "digest" => digest_text(Digest::of(&config)),
                "size" => config.len() as u64,
            },
        );
        let layer = object! {
            "mediaType" => self.kind.media_type(),
            "digest" => layer,
            "size" => self.bytes.len() as u64,
            "annotations" => annotations,
        };
        manifest.insert("layers", vec![Value::from(layer)]);
        Ok((Value::from(manifest).to_json().into_bytes(), config))
    }

    fn wasm_config(&self, layer: &str) -> Object {
        let list = |names: &[String]| names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>();
        object! {
            // The layout wants a time; one that does not change leaves the digest to the content.
            "created" => "1970-01-01T00:00:00Z",
            "architecture" => "wasm",
            "os" => "wasip2",
            "layerDigests" => vec![Value::from(layer)],
            "component" => object! { "exports" => list(&self.exports), "imports" => list(&self.imports) },
        }
    }
}

pub(crate) fn digest_text(digest: Digest) -> String {
    format!("sha256:{digest}")
}
