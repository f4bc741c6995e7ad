//! A registry, spoken to.

use std::fmt;
use std::sync::Once;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::HeaderValue;
use oci_client::RegistryOperation;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use portcullis_model::Digest;
use tokio::time::timeout;

use crate::kept::Kept;
use crate::layout::{Artifact, Described, LayoutError, MANIFEST, digest_text};
use crate::place::Place;

/// Connecting takes a round trip or three; a registry that needs longer is not there.
const CONNECT: Duration = Duration::from_secs(10);

/// A registry that sends nothing for so long has stopped.
const SILENCE: Duration = Duration::from_secs(30);

/// Signing in and reading a manifest: three small requests.
const LONGEST_ASKING: Duration = Duration::from_mins(1);

/// Moving the largest artifact at 2 MB/s takes two minutes.
const LONGEST_MOVING: Duration = Duration::from_mins(10);

/// Something went wrong between here and a registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The client could not be built: no certificates of the system, for instance.
    #[error("the client of registries could not be started")]
    Client(#[source] OciDistributionError),
    /// The registry lets nobody in with these credentials.
    #[error("signing in to the registry failed")]
    SignIn(#[source] OciDistributionError),
    /// The manifest could not be had.
    #[error("the registry gave no manifest")]
    Manifest(#[source] OciDistributionError),
    /// The manifest is none of an artifact that is taken.
    #[error("it is no artifact that is taken")]
    Layout(#[from] LayoutError),
    /// The registry gave a manifest of another digest than was asked for.
    #[error("the registry gave something else than was asked for: its digest is {0}")]
    OtherManifest(Digest),
    /// The layer could not be had.
    #[error("the registry gave no layer")]
    Layer(#[source] OciDistributionError),
    /// The layer broke off, or is not what its digest says.
    #[error("the layer broke off or has another digest than the manifest says")]
    Broken(#[source] std::io::Error),
    /// The layer has another size than the manifest says.
    #[error("the layer has another size than the manifest says, {0} bytes")]
    Size(usize),
    /// Something was not taken by the registry.
    #[error("the registry did not take it")]
    Push(#[source] OciDistributionError),
    /// It takes too long.
    #[error("the registry took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    /// A place with a digest is what is there already.
    #[error("a place with a digest cannot be pushed to; hint: name a tag")]
    PushToDigest,
}

/// Who asks a registry. Shown without the password.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub username: String,
    /// The password, or a token in its place.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}

/// An artifact that was pulled. Nobody has vouched for it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// Digest of the manifest: the place at this digest is the same for ever.
    pub digest: Digest,
    /// What was pulled.
    pub artifact: Artifact,
    /// True where the registry was not asked.
    pub offline: bool,
}

/// The registry of a place.
pub struct Registry {
    client: Client,
    place: Place,
    auth: RegistryAuth,
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registry").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Registry {
    /// Makes ready to speak to the registry of a place: by TLS, or by plain HTTP where it is on this machine.
    pub fn of(place: &Place, credentials: Option<Credentials>) -> Result<Self, RegistryError> {
        install_provider();
        let registry = place.reference().resolve_registry().to_owned();
        let protocol =
            if place.is_loopback() { ClientProtocol::HttpsExcept(vec![registry]) } else { ClientProtocol::Https };
        let config = ClientConfig {
            protocol,
            connect_timeout: Some(CONNECT),
            read_timeout: Some(SILENCE),
            platform_resolver: None,
            user_agent: concat!("portcullis/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(RegistryError::Client)?;
        let auth = credentials.map_or(RegistryAuth::Anonymous, |Credentials { username, password }| {
            RegistryAuth::Basic(username, password)
        });
        Ok(Self { client, place: place.clone(), auth })
    }

    /// Pushes an artifact, and returns the digest of its manifest. `moved` is told how many bytes of how many are there.
    pub async fn push(&self, artifact: &Artifact, moved: impl Fn(usize, usize)) -> Result<Digest, RegistryError> {
        if self.place.digest().is_some() {
            return Err(RegistryError::PushToDigest);
        }
        let (manifest, config) = artifact.manifest()?;
        let reference = self.place.reference();
        let sign_in = self.client.auth(reference, &self.auth, RegistryOperation::Push);
        within(LONGEST_ASKING, sign_in).await?.map_err(RegistryError::SignIn)?;
        let total = artifact.bytes.len();
        moved(0, total);
        for bytes in [&artifact.bytes, &config] {
            let digest = digest_text(Digest::of(bytes));
            let known = within(LONGEST_ASKING, self.client.blob_exists(reference, &digest)).await?;
            // A registry that does not say is given the bytes.
            if !known.unwrap_or_default() {
                let pushing = self.client.push_blob(reference, bytes.clone(), &digest);
                within(LONGEST_MOVING, pushing).await?.map_err(RegistryError::Push)?;
            }
            moved(total, total);
        }
        let digest = Digest::of(&manifest);
        let pushing = self.client.push_manifest_raw(reference, manifest, HeaderValue::from_static(MANIFEST));
        within(LONGEST_ASKING, pushing).await?.map_err(RegistryError::Push)?;
        Ok(digest)
    }

    /// Pulls the artifact. What is kept is not asked for again: a place with a digest needs no registry then, one with a tag
    /// only to hear which digest it stands for. `moved` is told how many bytes of how many are there.
    pub async fn pull(&self, kept: &Kept, moved: impl Fn(usize, usize)) -> Result<Pulled, RegistryError> {
        let known = self.place.digest().and_then(|digest| kept.get(digest));
        let mut offline = known.is_some();
        let manifest = match known {
            Some(manifest) => manifest,
            None => self.manifest().await?,
        };
        let digest = Digest::of(&manifest);
        let described = Described::parse(&manifest, self.place.stem())?;
        let known = kept.get(described.layer).filter(|bytes| bytes.len() == described.size);
        let bytes = if let Some(bytes) = known {
            bytes
        } else {
            offline = false;
            let bytes = within(LONGEST_MOVING, self.layer(&described, moved)).await??;
            keep(kept, &bytes);
            bytes
        };
        if !offline {
            keep(kept, &manifest);
        }
        let Described { kind, name, signature, .. } = described;
        let artifact = Artifact { kind, name, bytes, signature, imports: Vec::new(), exports: Vec::new() };
        Ok(Pulled { digest, artifact, offline })
    }

    async fn manifest(&self) -> Result<Vec<u8>, RegistryError> {
        let pulling = self.client.pull_manifest_raw(self.place.reference(), &self.auth, &[MANIFEST]);
        let (manifest, _) = within(LONGEST_ASKING, pulling).await?.map_err(RegistryError::Manifest)?;
        let digest = Digest::of(&manifest);
        match self.place.digest() {
            Some(wanted) if wanted != digest => Err(RegistryError::OtherManifest(digest)),
            Some(_) | None => Ok(manifest.into()),
        }
    }

    /// Reads the layer, and never more of it than the manifest says.
    async fn layer(&self, described: &Described, moved: impl Fn(usize, usize)) -> Result<Vec<u8>, RegistryError> {
        let digest = digest_text(described.layer);
        // Without the addresses that a manifest may name besides: the registry is what was asked.
        let stream = self.client.pull_blob_stream(self.place.reference(), digest.as_str()).await;
        let mut stream = stream.map_err(RegistryError::Layer)?;
        // Not reserved ahead: the size is a claim until the bytes are there.
        let mut bytes = Vec::new();
        moved(0, described.size);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(RegistryError::Broken)?;
            if bytes.len() + chunk.len() > described.size {
                return Err(RegistryError::Size(described.size));
            }
            bytes.extend_from_slice(&chunk);
            moved(bytes.len(), described.size);
        }
        if bytes.len() != described.size || Digest::of(&bytes) != described.layer {
            return Err(RegistryError::Size(described.size));
        }
        Ok(bytes)
    }
}

/// A full disk is no reason not to use what was pulled.
fn keep(kept: &Kept, bytes: &[u8]) {
    if let Err(error) = kept.put(bytes) {
        tracing::warn!(error = &error as &dyn std::error::Error, "what was pulled is not kept");
    }
}

async fn within<T>(longest: Duration, work: impl Future<Output = T>) -> Result<T, RegistryError> {
    timeout(longest, work).await.map_err(|_| RegistryError::TimedOut(longest))
}

/// Makes *ring* the provider of rustls. Several may be compiled in by way of dependencies, and rustls refuses to choose.
fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
