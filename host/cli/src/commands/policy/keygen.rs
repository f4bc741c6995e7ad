//! `portcullis policy keygen`: makes a key that signs policies.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_signatures::{PublicKey, SecretKey};

use crate::arguments::Keygen;
use crate::failure::OrExit as _;
use crate::report::{self, Report};
use crate::{Exit, Failure};

pub(crate) fn run(arguments: &Keygen) -> Result<Exit, Failure> {
    let secret_file = &arguments.file;
    let public_file = secret_file.with_extension("pub");
    if public_file == *secret_file {
        return Err(Failure::new(Exit::Usage, "a file that ends in `.pub` is for the public key"));
    }
    // Before somebody thinks of a password for nothing.
    for file in [secret_file, &public_file] {
        if file.symlink_metadata().is_ok() {
            let failure = Failure::new(Exit::Usage, format!("`{}` exists already", file.display()));
            return Err(failure.hint("a key is never overwritten: name another file, or remove it yourself"));
        }
    }
    let doing = "making the key";
    let key = SecretKey::generate().or_exit(Exit::Internal, doing)?;
    let text = if arguments.no_password {
        key.to_unprotected_file()
    } else {
        let password = super::sign::new_password(arguments.password_file.as_deref())?;
        report::progress("deriving a key from the password", arguments.format);
        key.to_protected_file(&password).or_exit(Exit::Usage, doing)?
    };
    let public = key.public();
    write_new(&public_file, &public.to_file(), 0o644)?;
    if let Err(failure) = write_new(secret_file, &text, 0o600) {
        // It was made by us a moment ago, and is of no use.
        let _left = std::fs::remove_file(&public_file);
        return Err(failure);
    }
    report::print(&Made { secret_file: secret_file.clone(), public_file, public }, arguments.format)?;
    Ok(Exit::Success)
}

/// Writes a file that must not exist.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _: u32 = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.or_exit(Exit::Usage, format!("writing `{}`", path.display()))
}

struct Made {
    secret_file: PathBuf,
    public_file: PathBuf,
    public: PublicKey,
}

impl Report for Made {
    fn to_value(&self) -> Value {
        object! {
            "id" => self.public.id(),
            "key" => self.public.encoded(),
            "secret_file" => self.secret_file.display().to_string(),
            "public_file" => self.public_file.display().to_string(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "key {}", self.public.id())?;
        writeln!(out, "secret: {} (keep it to yourself)", self.secret_file.display())?;
        writeln!(out, "public: {}", self.public_file.display())?;
        writeln!(out, "\nin the config of gateways that are to trust it:\n")?;
        writeln!(out, "policies:\n  keys:")?;
        writeln!(out, "    - {{name: NAME, key: {}, names: [\"POLICY-*\"]}}", self.public.encoded())
    }
}
