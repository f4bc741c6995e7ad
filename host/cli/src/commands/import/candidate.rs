//! One entry of a client on its way into the config.

use portcullis_config::{Concealed, Config, ConfigText, FoundEntry, Place, Server, Surroundings, conceal};
use portcullis_model::json::Value;
use portcullis_model::{Origin, ServerName, object};

use crate::screening::Screened;

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not judged yet.
    Open,
    /// The gate clears it: it is written on a yes.
    Allowed,
    /// A policy asks about it and nobody answered: it is not written.
    Asks,
    /// A policy refuses it: it is not written.
    Refused,
    /// It could not run as it is.
    Broken,
    /// The config has the same server already.
    Present,
    /// It is the gateway itself.
    Itself,
    /// It is no MCP server.
    Foreign,
}

impl Kind {
    /// Returns the name used in output.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Allowed => "allowed",
            Self::Asks => "asks",
            Self::Refused => "refused",
            Self::Broken => "broken",
            Self::Present => "present",
            Self::Itself => "itself",
            Self::Foreign => "foreign",
        }
    }

    /// Returns true where nothing is left to be done about it.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Self::Allowed | Self::Present | Self::Itself | Self::Foreign)
    }
}

/// One entry of a client on its way into the config.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Where it was found.
    pub(crate) place: Place,
    /// The project that it is for, where the file says so.
    pub(crate) scope: Option<String>,
    /// The client's name for it.
    pub(crate) found_as: String,
    /// The name that it gets.
    pub(crate) name: String,
    /// The entry as it is written, without secrets.
    pub(crate) entry: Value,
    /// The secrets that it names.
    pub(crate) secrets: Vec<Concealed>,
    /// Variables that it names and that are not set.
    pub(crate) needs: Vec<String>,
    /// What of the client's entry was left out, and what is wrong with it.
    pub(crate) notes: Vec<String>,
    pub(crate) kind: Kind,
    pub(crate) screened: Option<Screened>,
}

impl Candidate {
    /// Makes one of what was found.
    pub(crate) fn of(place: &Place, found: &FoundEntry) -> Self {
        let mut notes = found.notes.clone();
        let (entry, kind) = match &found.entry {
            Ok(entry) if is_ourselves(entry) => (entry.clone(), Kind::Itself),
            Ok(entry) => (entry.clone(), Kind::Open),
            Err(foreign) => {
                notes.push(foreign.to_string());
                let is_part = matches!(foreign, portcullis_config::Foreign::Part(_));
                (Value::Null, if is_part { Kind::Foreign } else { Kind::Broken })
            }
        };
        let mut candidate = Self {
            place: place.clone(),
            scope: found.scope.clone(),
            found_as: found.name.clone(),
            name: found.name.clone(),
            entry,
            secrets: Vec::new(),
            needs: Vec::new(),
            notes,
            kind,
            screened: None,
        };
        if let Err(error) = ServerName::parse(&candidate.name)
            && candidate.kind == Kind::Open
        {
            candidate.break_with(format!("the server name {error}"));
        }
        candidate
    }

    fn break_with(&mut self, why: String) {
        self.kind = Kind::Broken;
        self.notes.push(why);
    }

    /// Returns whose config it is from.
    fn origin(&self) -> Origin {
        if self.place.of_project { Origin::ProjectFile } else { Origin::ClientConfig }
    }

    /// Reads the entry as it would be read when it is used. Nothing where it could not run; the notes say why.
    pub(crate) fn read(&mut self, surroundings: &Surroundings) -> Option<Server> {
        let document = object! { "mcp_servers" => object! { self.name.as_str() => self.entry.clone() } };
        let file = self.place.path.display().to_string();
        let config = Config::parse(&Value::from(document).to_json(), &file, self.origin(), surroundings);
        for diagnostic in config.diagnostics.iter().filter(|diagnostic| diagnostic.server.is_some()) {
            self.notes.push(format!("{}: {}", diagnostic.key_path, diagnostic.message));
        }
        let server = config.server(&self.name).cloned();
        if server.is_none() {
            self.kind = Kind::Broken;
        }
        server
    }
}

/// Gives every candidate a name that no other server has, and takes its secrets out. What the config has already, or an
/// earlier candidate, is not taken twice.
pub(crate) fn name(candidates: &mut [Candidate], config: &ConfigText) {
    let mut taken: Vec<(String, Value)> =
        config.server_names().into_iter().filter_map(|name| config.server(&name).map(|entry| (name, entry))).collect();
    for candidate in candidates.iter_mut().filter(|candidate| candidate.kind == Kind::Open) {
        let client = candidate.place.client.as_str();
        let base = format!("{}-{client}", candidate.found_as);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let names = [candidate.found_as.clone(), base.clone()].into_iter().chain(numbered);
        for name in names {
            let mut entry = candidate.entry.clone();
            // The names of variables hold that of the server.
            let secrets = conceal(&name, &mut entry);
            let known = taken.iter().find(|(known, _)| *known == name);
            if known.is_some_and(|(_, known)| known.to_canonical() != entry.to_canonical()) {
                continue;
            }
            if known.is_some() {
                candidate.kind = Kind::Present;
            } else {
                taken.push((name.clone(), entry.clone()));
            }
            (candidate.name, candidate.entry, candidate.secrets) = (name, entry, secrets);
            break;
        }
    }
}

/// Returns true for an entry that starts this program as a gateway.
pub(crate) fn is_ourselves(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let arguments = entry.get("args").and_then(Value::as_array).unwrap_or_default();
    let is_gateway = |argument: &Value| matches!(argument.as_str(), Some("run" | "wrap"));
    matches!(program, "portcullis" | "portcullis.exe" | "portcullis-tested") && arguments.iter().any(is_gateway)
}
