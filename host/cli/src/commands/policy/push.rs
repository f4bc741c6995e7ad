//! `portcullis policy push`: puts a module, pack or bundle into an OCI registry.

use std::io::{self, Write};
use std::path::Path;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_oci::{Artifact, Kind, LARGEST};
use portcullis_runtime::{Inspection, PackFile};
use portcullis_signatures::{Bundle, BundleError};

use super::sign::signature_of;
use crate::arguments::Push;
use crate::failure::OrExit as _;
use crate::gateway::runtime;
use crate::progress::Bar;
use crate::report::{self, Report};
use crate::{Exit, Failure};

pub(crate) fn run(arguments: &Push) -> Result<Exit, Failure> {
    let place = super::registry::place(&arguments.place)?;
    let artifact = artifact(&arguments.file, arguments.unsigned)?;
    let registry = super::registry::registry(&place, &arguments.access)?;
    let runtime = runtime()?;
    let bar = Bar::start("pushing", arguments.format);
    let digest = runtime.block_on(registry.push(&artifact, |now, total| bar.moved(now, total)));
    drop(bar);
    runtime.shutdown_background();
    let digest = digest.or_exit(Exit::Failed, format!("pushing to {place}"))?;
    let pushed =
        Pushed { place: place.at(digest).to_string(), digest: digest.to_string(), bytes: artifact.bytes.len() };
    report::print(&pushed, arguments.format)?;
    Ok(Exit::Success)
}

/// Reads a file with its signature, and refuses what every gateway would refuse.
fn artifact(file: &Path, unsigned: bool) -> Result<Artifact, Failure> {
    let doing = || format!("reading `{}`", file.display());
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(kind) = Kind::of(&name) else {
        let failure = Failure::new(Exit::Usage, format!("`{}` is no module, pack or bundle", file.display()));
        return Err(failure.hint("their names end in `.wasm`, `.pack.yaml` and `.bundle`; settings travel in a bundle"));
    };
    let size = std::fs::metadata(file).or_exit(Exit::Usage, doing())?.len();
    if size > LARGEST as u64 {
        return Err(Failure::new(Exit::Usage, format!("`{}` has more than {LARGEST} bytes", file.display())));
    }
    let bytes = std::fs::read(file).or_exit(Exit::Usage, doing())?;
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let signature = match std::fs::read_to_string(signature_of(file)) {
        Ok(signature) => Some(signature),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).or_exit(Exit::Usage, format!("reading the signature of `{}`", file.display())),
    };
    let mut is_signed = signature.is_some();
    match kind {
        Kind::Module => {
            let inspection = Inspection::of(&bytes).or_exit(Exit::Policies, doing())?;
            (imports, exports) = (inspection.imports, inspection.exports);
        }
        Kind::Pack => drop(PackFile::parse(&bytes).or_exit(Exit::Policies, doing())?),
        Kind::Bundle => {
            let vouch = |_: &[u8], signature: Option<&[u8]>| Ok::<_, BundleError>(signature.is_some());
            is_signed = Bundle::open(&bytes, vouch).or_exit(Exit::Policies, doing())?.1;
        }
    }
    if !is_signed && !unsigned {
        let failure = Failure::new(Exit::Usage, format!("nobody signed `{}`", file.display()));
        return Err(
            failure.hint("`portcullis policy sign`, `policy bundle --key`, or push it as it is with `--unsigned`")
        );
    }
    let signature = signature.filter(|_| kind != Kind::Bundle);
    Ok(Artifact { kind, name, bytes, signature, imports, exports })
}

struct Pushed {
    place: String,
    digest: String,
    bytes: usize,
}

impl Report for Pushed {
    fn to_value(&self) -> Value {
        object! { "place" => self.place.as_str(), "digest" => self.digest.as_str(), "bytes" => self.bytes as u64 }
            .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {} KiB", self.place, self.bytes.div_ceil(1_024))
    }
}
