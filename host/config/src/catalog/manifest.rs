//! One manifest.

use std::collections::BTreeMap;

use portcullis_model::ServerName;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use crate::{ConfigText, EditError, ToolFilter};

/// A server that can be installed.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Its name in the catalog, and in the config where no other is given.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// Where its source is.
    pub source: String,
    /// The exact version, or the full commit; nothing for an endpoint.
    pub version: Option<String>,
    /// What has to be known before it can be installed.
    pub parameters: Vec<Parameter>,
    /// Variables that it takes, most of them secrets.
    pub variables: Vec<Asked>,
    /// Which tools are used where nothing else was chosen.
    pub tools: ToolFilter,
    /// What it needs of the machine.
    pub sandbox: SandboxNeeds,
    /// What to know after it was installed.
    pub post_install: Option<String>,
    launch: Object,
}

/// Something that stands as `{name}` in arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What is asked for.
    pub prompt: String,
    /// What is taken where nothing is said.
    pub default: Option<String>,
}

/// A variable that the server takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// What is asked for.
    pub prompt: String,
    /// False where it works without.
    pub required: bool,
    /// True where it is not shown when it is typed, and not written into the config.
    pub secret: bool,
    /// What is taken where nothing is said.
    pub default: Option<String>,
}

/// What a server needs of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxNeeds {
    /// Hosts that it talks to; `*` for any. Nothing for none.
    pub network: Vec<String>,
    /// Folders that it reads, besides those of its own package.
    pub read: Vec<String>,
    /// Folders that it writes to.
    pub write: Vec<String>,
}

/// A manifest can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is no YAML.
    #[error("it can't be read")]
    Unreadable(#[source] EditError),
    /// It is of a later version of manifests.
    #[error("it is of version {0} of manifests, and 1 is known; hint: a newer portcullis may know it")]
    Future(String),
    /// A key is missing or has a value of another kind.
    #[error("`{key}` is not {expected}")]
    Value {
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// No argument names the version, so that another one could run.
    #[error("no argument pins the version {0}; hint: write `package@{0}`, `package=={0}` or a full commit")]
    NotPinned(String),
}

fn wrong(key: impl Into<String>, expected: &'static str) -> ManifestError {
    ManifestError::Value { key: key.into(), expected }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// It is of another version, lacks something, or pins no version.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let root = ConfigText::parse(text).map_err(ManifestError::Unreadable)?.to_value();
        let version = root.get("manifest_version").and_then(Value::as_u64);
        if version != Some(1) {
            let shown = root.get("manifest_version").map_or_else(|| "none".to_owned(), Value::to_json);
            return Err(ManifestError::Future(shown));
        }
        let name = required(&root, "name")?;
        ServerName::parse(&name).map_err(|_| wrong("name", "a short word"))?;
        let transport = root.get("transport").ok_or_else(|| wrong("transport", "a map"))?;
        let launch = launch(transport)?;
        let manifest = Self {
            name,
            description: required(&root, "description")?,
            source: required(&root, "source")?,
            version: text_of(transport, "version"),
            parameters: list(&root, "parameters")?.iter().map(parameter).collect::<Result<_, _>>()?,
            variables: variables(&root)?,
            tools: tools(&root)?,
            sandbox: sandbox(&root)?,
            post_install: text_of(&root, "post_install"),
            launch,
        };
        manifest.check_pinned()?;
        Ok(manifest)
    }

    /// Refuses a command of which another version could run tomorrow.
    fn check_pinned(&self) -> Result<(), ManifestError> {
        if self.launch.contains_key("url") {
            return Ok(());
        }
        let version = self.version.clone().ok_or_else(|| wrong("transport.version", "a version or a full commit"))?;
        let has_digit = version.contains(|one: char| one.is_ascii_digit());
        if !has_digit || version.contains(['*', '^', '~', '>', '<', ' ']) {
            return Err(wrong("transport.version", "a version or a full commit"));
        }
        let ends = [format!("@{version}"), format!("=={version}")];
        let arguments = self.launch.get("args").and_then(Value::as_array).unwrap_or_default();
        let is_pinned = |argument: &Value| {
            let text = argument.as_str().unwrap_or_default();
            // A short commit or a branch can become another one.
            let is_commit = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
            ends.iter().any(|end| text.ends_with(end)) && (is_commit || !text.contains("git+"))
        };
        if arguments.iter().any(is_pinned) { Ok(()) } else { Err(ManifestError::NotPinned(version)) }
    }

    /// Returns what is started or reached, in a line.
    pub fn command_line(&self) -> String {
        if let Some(url) = self.launch.get("url").and_then(Value::as_str) {
            return url.to_owned();
        }
        let command = self.launch.get("command").and_then(Value::as_str).unwrap_or_default();
        let arguments = self.launch.get("args").and_then(Value::as_array).unwrap_or_default();
        let words = std::iter::once(command).chain(arguments.iter().filter_map(Value::as_str));
        shell_words::join(words)
    }

    /// Returns the entry for the config, with parameters and variables put in.
    pub fn entry(&self, parameters: &BTreeMap<String, String>, variables: &BTreeMap<String, String>) -> Value {
        let mut entry = self.launch.clone();
        if let Some(Value::Array(arguments)) = entry.get_mut("args") {
            for argument in arguments {
                if let Value::String(text) = argument {
                    for (name, value) in parameters {
                        *text = text.replace(&format!("{{{name}}}"), value);
                    }
                }
            }
        }
        if !variables.is_empty() {
            let mut environment = Object::new();
            for (name, value) in variables {
                environment.insert(name.as_str(), value.as_str());
            }
            entry.insert("env", environment);
        }
        let names = |names: &[String]| names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>();
        if let Some(include) = &self.tools.include {
            entry.insert("tools", object! { "include" => names(include) });
        } else if !self.tools.exclude.is_empty() {
            entry.insert("tools", object! { "exclude" => names(&self.tools.exclude) });
        }
        entry.into()
    }
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.as_str().to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn required(value: &Value, key: &'static str) -> Result<String, ManifestError> {
    text_of(value, key).filter(|text| !text.trim().is_empty()).ok_or_else(|| wrong(key, "a text"))
}

fn list<'a>(value: &'a Value, key: &'static str) -> Result<&'a [Value], ManifestError> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(list) => list.as_array().ok_or_else(|| wrong(key, "a list")),
    }
}

fn texts(value: &Value, key: &'static str) -> Result<Vec<String>, ManifestError> {
    list(value, key)?
        .iter()
        .map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(key, "a list of texts")))
        .collect()
}

fn launch(transport: &Value) -> Result<Object, ManifestError> {
    let mut launch = Object::new();
    match text_of(transport, "type").as_deref() {
        Some("stdio") => {
            launch.insert("command", required(transport, "command")?);
            let arguments = texts(transport, "args")?;
            launch.insert("args", arguments.into_iter().map(Value::from).collect::<Vec<_>>());
        }
        Some("http") => {
            let url = required(transport, "url")?;
            if !url.starts_with("https://") {
                return Err(wrong("transport.url", "an https URL"));
            }
            launch.insert("url", url);
        }
        Some(_) | None => return Err(wrong("transport.type", "`stdio` or `http`")),
    }
    Ok(launch)
}

fn parameter(value: &Value) -> Result<Parameter, ManifestError> {
    let name = required(value, "name")?;
    Ok(Parameter {
        prompt: text_of(value, "prompt").unwrap_or_else(|| name.clone()),
        default: text_of(value, "default"),
        name,
    })
}

fn variables(root: &Value) -> Result<Vec<Asked>, ManifestError> {
    let Some(auth) = root.get("auth") else {
        return Ok(Vec::new());
    };
    let flag = |value: &Value, key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(true);
    let asked = |value: &Value| {
        let name = required(value, "name")?;
        let is_name = name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        if !is_name || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(wrong("auth.env.name", "the name of a variable"));
        }
        Ok(Asked {
            prompt: text_of(value, "prompt").unwrap_or_else(|| name.clone()),
            required: flag(value, "required"),
            secret: flag(value, "secret"),
            default: text_of(value, "default").filter(|text| !text.is_empty()),
            name,
        })
    };
    list(auth, "env")?.iter().map(asked).collect()
}

fn tools(root: &Value) -> Result<ToolFilter, ManifestError> {
    let Some(tools) = root.get("tools") else {
        return Ok(ToolFilter::default());
    };
    let include = tools.get("default_enabled").map(|_| texts(tools, "default_enabled")).transpose()?;
    let exclude = texts(tools, "default_excluded")?;
    if include.is_some() && !exclude.is_empty() {
        return Err(wrong("tools", "one of `default_enabled` and `default_excluded`"));
    }
    Ok(ToolFilter { include, exclude, ..ToolFilter::default() })
}

fn sandbox(root: &Value) -> Result<SandboxNeeds, ManifestError> {
    let Some(sandbox) = root.get("sandbox") else {
        return Err(wrong("sandbox", "a map of what the server needs"));
    };
    let network = match sandbox.get("network") {
        Some(Value::String(word)) if word == "none" => Vec::new(),
        Some(Value::Array(_)) => texts(sandbox, "network")?,
        Some(_) | None => return Err(wrong("sandbox.network", "`none` or a list of hosts")),
    };
    Ok(SandboxNeeds { network, read: texts(sandbox, "read")?, write: texts(sandbox, "write")? })
}
