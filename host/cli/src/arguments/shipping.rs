//! Options of the commands that ship policies.

use std::path::PathBuf;

use clap::Args;

use super::{ConfigFile, Format};

/// A secret key, and the password that opens it.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct SecretKeyFile {
    /// File with the secret key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// File with the password on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Keygen {
    /// File for the secret key; the public key goes beside it, ending in `.pub`. Neither may exist
    #[arg(value_name = "FILE", default_value = "policies.key")]
    pub(crate) file: PathBuf,
    /// Makes a key that no password protects: whoever reads the file can sign
    #[arg(long, conflicts_with = "password_file")]
    pub(crate) no_password: bool,
    /// File with the password on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Sign {
    /// Files to sign; each signature goes beside its file, ending in `.minisig`
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) key: SecretKeyFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Verify {
    /// Files to verify: modules, settings and packs with their signature beside them, or bundles
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Public key, or a file with one, instead of the keys of the config
    #[arg(long, value_name = "KEY", conflicts_with = "config")]
    pub(crate) public_key: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct MakeBundle {
    /// Folder with modules (`NAME.wasm`), their settings (`NAME.yaml`) and packs (`*.pack.yaml`)
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Name of the bundle
    #[arg(long)]
    pub(crate) name: String,
    /// Version of the bundle; gateways refuse one that is older than what they have seen
    // Not `version`, which would be taken for the one of the program.
    #[arg(long = "bundle-version", value_name = "VERSION")]
    pub(crate) bundle_version: String,
    /// Day from which on it is not taken any more, as 2027-01-31; where it is live it stays, with an alarm
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<String>,
    /// Earliest version of portcullis that it is for [default: this one]
    #[arg(long, value_name = "VERSION")]
    pub(crate) minimum_host: Option<String>,
    /// File to write [default: the name, ending in `.bundle`]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// File with the secret key
    #[arg(long, value_name = "FILE", required_unless_present = "unsigned")]
    pub(crate) key: Option<PathBuf>,
    /// File with the password on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Makes a bundle that only gateways with `allow_unsigned: true` take
    #[arg(long, conflicts_with = "key")]
    pub(crate) unsigned: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Who asks a registry.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct RegistryAccess {
    /// Name to sign in to the registry with
    #[arg(long, value_name = "NAME", requires = "registry_password_file")]
    pub(crate) registry_user: Option<String>,
    /// File with the password or token for the registry on its first line, `-` for standard input
    #[arg(long, value_name = "FILE", requires = "registry_user")]
    pub(crate) registry_password_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Push {
    /// Module (`NAME.wasm`) or pack (`*.pack.yaml`) with its signature beside it, or bundle (`*.bundle`)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to, as `oci://registry.example/acme/policies:1.0.0`
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,
    /// Pushes what nobody signed
    #[arg(long)]
    pub(crate) unsigned: bool,
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Pull {
    /// Where from, as `oci://registry.example/acme/policies:1.0.0` or, for exactly that one, `oci://…@sha256:…`
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,
    /// Folder to put the file into; the policies folder of a gateway makes it live
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) into: PathBuf,
    /// Public key, or a file with one, instead of the keys of the config
    #[arg(long, value_name = "KEY", conflicts_with = "config")]
    pub(crate) public_key: Option<String>,
    /// Takes what no trusted key vouches for
    #[arg(long, conflicts_with = "public_key")]
    pub(crate) unsigned: bool,
    /// Does nothing where the place stands for this digest
    #[arg(long, value_name = "DIGEST", hide = true)]
    pub(crate) unless: Option<String>,
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// A policy of running gateways.
#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct MovePolicy {
    /// Name of the policy
    pub(crate) policy: String,
    /// File with the passphrase of approvals on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}
