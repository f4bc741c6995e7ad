//! `portcullis policy pull`: gets a module, pack or bundle from an OCI registry, once somebody who is trusted vouches for it.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_oci::{Kept, Pulled};
use portcullis_signatures::Trust;

use super::sign::{signature_of, write_whole};
use super::verify::{is_bundle, trust, vouched};
use crate::arguments::Pull;
use crate::failure::{OrExit as _, chain, one_line};
use crate::gateway::runtime;
use crate::progress::Bar;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Where what was pulled is kept, in the home folder.
const KEPT: &str = "cache/oci";

pub(crate) fn run(settings: &Settings, arguments: &Pull) -> Result<Exit, Failure> {
    let place = super::registry::place(&arguments.place)?;
    let trust = if arguments.unsigned {
        None
    } else {
        Some(trust(settings, arguments.public_key.as_deref(), &arguments.config)?)
    };
    let kept = settings.open_home()?.folder(KEPT).or_exit(Exit::State, "opening the folder of pulled artifacts")?;
    let registry = super::registry::registry(&place, &arguments.access)?;
    let runtime = runtime()?;
    let bar = Bar::start("pulling", arguments.format);
    let kept = Kept::in_folder(kept);
    let pulled = runtime.block_on(registry.pull(&kept, |now, total| bar.moved(now, total)));
    drop(bar);
    runtime.shutdown_background();
    let pulled = pulled.or_exit(Exit::Failed, format!("pulling {place}")).map_err(|failure| {
        if place.digest().is_some() {
            failure
        } else {
            failure.hint("without network, a place with its digest is taken from what was pulled before")
        }
    })?;
    let digest = pulled.digest.to_string();
    let mut taken = Taken {
        place: place.at(pulled.digest).to_string(),
        is_same: arguments.unless.as_ref() == Some(&digest),
        digest,
        file: arguments.into.join(&pulled.artifact.name),
        says: None,
        offline: pulled.offline,
    };
    if !taken.is_same {
        taken.says = trust
            .map(|trust| vouch(&trust, &pulled))
            .transpose()
            .or_exit(Exit::Failed, format!("{} is refused", taken.place))?;
        write(&taken.file, &pulled)?;
    }
    report::print(&taken, arguments.format)?;
    Ok(Exit::Success)
}

/// Nobody who is trusted vouches for what was pulled.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unvouched(String);

fn vouch(trust: &Trust, pulled: &Pulled) -> Result<String, Unvouched> {
    let artifact = &pulled.artifact;
    if artifact.signature.is_none() && !is_bundle(&artifact.name) {
        return Err(Unvouched("nobody signed it; hint: `--unsigned` takes it all the same".to_owned()));
    }
    let signature = artifact.signature.as_deref().map(str::as_bytes);
    let vouched = vouched(trust, &artifact.name, &artifact.bytes, signature);
    vouched.map_err(|error: Box<dyn Error>| Unvouched(chain(&*error)))
}

/// Writes the file, its signature first: a gateway that watches the folder then finds both.
fn write(file: &Path, pulled: &Pulled) -> Result<(), Failure> {
    let doing = || format!("writing `{}`", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).or_exit(Exit::Usage, format!("creating `{}`", folder.display()))?;
    }
    match &pulled.artifact.signature {
        Some(signature) => write_whole(&signature_of(file), signature.as_bytes()).or_exit(Exit::Usage, doing())?,
        // One of a former file would say that this one was changed.
        None => match std::fs::remove_file(signature_of(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).or_exit(Exit::Usage, doing()),
            Ok(()) | Err(_) => {}
        },
    }
    write_whole(file, &pulled.artifact.bytes).or_exit(Exit::Usage, doing())
}

struct Taken {
    place: String,
    digest: String,
    file: PathBuf,
    /// Who vouches for it, and for what.
    says: Option<String>,
    offline: bool,
    /// True where it was not wanted, being what is there already.
    is_same: bool,
}

impl Report for Taken {
    fn to_value(&self) -> Value {
        object! {
            "place" => self.place.as_str(),
            "digest" => self.digest.as_str(),
            "file" => self.file.display().to_string(),
            "vouched" => self.says.as_deref().map_or(Value::Null, Value::from),
            "offline" => self.offline,
            "same" => self.is_same,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_same {
            return writeln!(out, "{}: the same as before", self.place);
        }
        let says = self
            .says
            .as_ref()
            .map_or("nobody was asked to vouch for it".to_owned(), |says| format!("vouched for: {}", one_line(says)));
        let kept = if self.offline { ", kept from before" } else { "" };
        writeln!(out, "{}{kept}", self.place)?;
        writeln!(out, "{}: {says}", one_line(&self.file.display().to_string()))
    }
}
