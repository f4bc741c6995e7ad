//! The `minisign` program and this crate read each other's files. Skipped where the program is not installed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::trusted;
use crate::{PublicKey, SecretKey, SignatureError, Trust};

/// Runs the program in a folder; nothing where it is not installed.
fn minisign(folder: &Path, arguments: &[&str]) -> Option<bool> {
    let run = Command::new("minisign").args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    if let Ok(output) = run {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        return Some(output.status.success());
    }
    eprintln!("skipped: the `minisign` program is not installed (Debian: `apt install minisign`)");
    None
}

#[test]
fn the_program_verifies_what_we_sign() {
    let folder = tempfile::tempdir().unwrap();
    let secret = SecretKey::generate().unwrap();
    fs::write(folder.path().join("a.wasm"), b"bytes").unwrap();
    fs::write(folder.path().join("a.wasm.minisig"), secret.sign(b"bytes", "a.wasm").unwrap()).unwrap();
    fs::write(folder.path().join("acme.pub"), secret.public().to_file()).unwrap();
    let Some(verified) = minisign(folder.path(), &["-V", "-m", "a.wasm", "-p", "acme.pub"]) else { return };
    assert!(verified);
    fs::write(folder.path().join("a.wasm"), b"bytez").unwrap();
    assert_eq!(minisign(folder.path(), &["-V", "-m", "a.wasm", "-p", "acme.pub"]), Some(false));
}

#[test]
fn we_verify_what_the_program_signs_and_read_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let Some(made) = minisign(folder.path(), &["-G", "-W", "-p", "a.pub", "-s", "a.key"]) else { return };
    assert!(made);
    fs::write(folder.path().join("a.wasm"), b"bytes").unwrap();
    let public = PublicKey::parse(&fs::read_to_string(folder.path().join("a.pub")).unwrap()).unwrap();
    for kind in ["-S", "-Sl"] {
        assert_eq!(minisign(folder.path(), &[kind, "-m", "a.wasm", "-s", "a.key"]), Some(true));
        let signature = fs::read(folder.path().join("a.wasm.minisig")).unwrap();
        public.verify(b"bytes", &signature).unwrap();
        assert!(public.verify(b"bytez", &signature).is_err());
    }
    let secret = SecretKey::open(&fs::read_to_string(folder.path().join("a.key")).unwrap(), None).unwrap();
    assert_eq!(secret.public(), public);
    // The program names the file as we do; with a comment of the signer's own there is no name.
    let trust = Trust::new(vec![trusted("a", public)]);
    let signer = || {
        let signature = fs::read(folder.path().join("a.wasm.minisig")).unwrap();
        trust.signer_of_file("a.wasm", b"bytes", &signature).map(|key| key.name.clone())
    };
    let path = folder.path().join("a.wasm");
    assert_eq!(minisign(folder.path(), &["-S", "-m", path.to_str().unwrap(), "-s", "a.key"]), Some(true));
    assert_eq!(signer().unwrap(), "a");
    assert_eq!(minisign(folder.path(), &["-S", "-m", "a.wasm", "-s", "a.key", "-t", "ours"]), Some(true));
    assert!(matches!(signer(), Err(SignatureError::NoFile)));
}

#[test]
fn the_program_signs_with_the_keys_that_we_make() {
    let folder = tempfile::tempdir().unwrap();
    let secret = SecretKey::generate().unwrap();
    fs::write(folder.path().join("a.wasm"), b"bytes").unwrap();
    fs::write(folder.path().join("a.key"), secret.to_unprotected_file()).unwrap();
    let Some(signed) = minisign(folder.path(), &["-S", "-W", "-m", "a.wasm", "-s", "a.key"]) else { return };
    assert!(signed);
    let signature = fs::read(folder.path().join("a.wasm.minisig")).unwrap();
    secret.public().verify(b"bytes", &signature).unwrap();
}
