//! What a server said of itself.

use portcullis_model::Era;
use portcullis_model::json::Value;
use rmcp::model::ProtocolVersion;

use super::era::{SERVER_INFO, VERSION};

/// What a server said of itself in the handshake. Foreign text, which no gate has seen yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    /// The protocol version that is spoken.
    pub protocol_version: String,
    /// The era that is spoken.
    pub era: Era,
    /// The whole result of `initialize` or `server/discover`.
    pub document: Value,
}

impl Hello {
    /// Reads the result of `initialize`; fails with the version where it is none that has this handshake.
    pub(super) fn from_result(document: Value) -> Result<Self, String> {
        let version = document.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let spoken = ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .find(|known| known.has_initialize() && known.as_str() == version)
            .map(|known| known.as_str().to_owned());
        match spoken {
            Some(protocol_version) => Ok(Self { protocol_version, era: Era::Initialize, document }),
            None => Err(version.chars().take(64).collect()),
        }
    }

    /// Takes the result of `server/discover` of a server that speaks the stateless era.
    pub(super) fn from_discovery(document: Value) -> Self {
        Self { protocol_version: VERSION.to_owned(), era: Era::Stateless, document }
    }

    /// Returns the capability of that name, where the server has it.
    pub fn capability(&self, name: &str) -> Option<&Value> {
        self.document.get("capabilities")?.get(name).filter(|value| !value.is_null())
    }

    /// Returns true where the server has that capability with that flag, as in `tools`, `listChanged`.
    pub fn has_flag(&self, capability: &str, flag: &str) -> bool {
        self.capability(capability).and_then(|value| value.get(flag)).and_then(Value::as_bool) == Some(true)
    }

    /// Returns the `capabilities` object.
    pub fn capabilities(&self) -> Option<&Value> {
        self.document.get("capabilities")
    }

    /// Returns the `serverInfo` object.
    pub fn server_info(&self) -> Option<&Value> {
        match self.era {
            Era::Initialize => self.document.get("serverInfo"),
            Era::Stateless => self.document.get("_meta")?.get(SERVER_INFO),
        }
    }

    /// Returns the instructions for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.document.get("instructions").and_then(Value::as_str)
    }
}
