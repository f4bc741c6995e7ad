//! What bundles are taken, and what each refusal is called.

use portcullis_model::{Digest, PolicyName};

use super::trusted;
use crate::{Bundle, BundleError, BundleFile, Manifest, ManifestError, ManifestFile, SecretKey, SignatureError, Trust};

fn manifest() -> Manifest {
    Manifest {
        name: PolicyName::parse("acme-site").unwrap(),
        version: "1.2.0".to_owned(),
        minimum_host: Some("0.1.0".to_owned()),
        expires: Some("2099-01-31".to_owned()),
        capabilities: vec!["inert-wasi".to_owned()],
        files: Vec::new(),
    }
}

fn files() -> Vec<BundleFile> {
    let file = |name: &str, bytes: &[u8]| BundleFile { name: name.to_owned(), bytes: bytes.to_vec() };
    vec![file("acme-a.wasm", &[7; 5_000]), file("acme-a.yaml", b"root: /srv"), file("iocs.pack.yaml", b"data: []")]
}

struct Made {
    archive: Vec<u8>,
    trust: Trust,
}

fn made() -> Made {
    let secret = SecretKey::generate().unwrap();
    let sign = |bytes: &[u8]| secret.sign(bytes, "manifest.json");
    let archive = Bundle::archive(manifest(), &files(), sign).unwrap();
    Made { archive, trust: Trust::new(vec![trusted("acme", secret.public())]) }
}

fn open(archive: &[u8], trust: &Trust) -> Result<(Bundle, String), BundleError> {
    Bundle::open(archive, |manifest, signature| {
        let signature = signature.ok_or(BundleError::UnsignedManifest)?;
        Ok(trust.signer(manifest, signature)?.name.clone())
    })
}

/// Makes an archive of any entries, as an attacker could.
fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        // Not by the builder, which refuses such names.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_bundle_comes_back_as_it_was_made() {
    let Made { archive, trust } = made();
    let (bundle, signer) = open(&archive, &trust).unwrap();
    assert_eq!((bundle.files, signer.as_str()), (files(), "acme"));
    assert_eq!(bundle.manifest.files.len(), 3);
    assert_eq!(Manifest { files: Vec::new(), ..bundle.manifest }, manifest());
}

#[test]
fn a_bundle_that_is_cut_off_anywhere_is_refused() {
    let Made { archive, trust } = made();
    // Two empty blocks end an archive; what is there before them is the bundle.
    let end = archive.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for length in (0..end).step_by(37).chain([0, 512, 1_024, end - 1]) {
        assert!(open(&archive[..length], &trust).is_err(), "cut after {length} bytes of {end}");
    }
    let second = archive.windows(11).rposition(|bytes| bytes == b"acme-a.yaml").unwrap();
    let error = open(&archive[..second], &trust).unwrap_err();
    assert!(matches!(&error, BundleError::CutOff(name) if name == "acme-a.yaml"), "{error}");
}

#[test]
fn a_changed_byte_anywhere_in_the_files_is_found() {
    let Made { archive, trust } = made();
    let first = archive.windows(4).position(|bytes| bytes == [7; 4]).unwrap();
    for place in [first, first + 2_500, first + 4_999] {
        let mut changed = archive.clone();
        changed[place] ^= 1;
        let error = open(&changed, &trust).unwrap_err();
        assert!(matches!(&error, BundleError::Changed(name) if name == "acme-a.wasm"), "{error}");
    }
    let version = archive.windows(5).position(|bytes| bytes == b"1.2.0").unwrap();
    let mut changed = archive.clone();
    changed[version] = b'2';
    let error = open(&changed, &trust).unwrap_err();
    assert!(matches!(error, BundleError::Signature(SignatureError::Changed { .. })), "{error}");
}

#[test]
fn a_manifest_that_nobody_signed_is_refused_though_each_file_is_signed() {
    let Made { trust, .. } = made();
    let secret = SecretKey::generate().unwrap();
    let module = b"a module";
    let signature = secret.sign(module, "acme-a.wasm").unwrap();
    let files = [
        BundleFile { name: "acme-a.wasm".to_owned(), bytes: module.to_vec() },
        BundleFile { name: "acme-a.wasm.minisig".to_owned(), bytes: signature.clone().into_bytes() },
    ];
    let unsigned = Bundle::archive(manifest(), &files, |_| Ok(String::new())).unwrap();
    assert!(matches!(open(&unsigned, &trust), Err(BundleError::UnsignedManifest)));
    let text = manifest().to_text();
    let without = archive(&[
        ("manifest.json", tar::EntryType::Regular, text.as_bytes()),
        ("acme-a.wasm", tar::EntryType::Regular, module),
        ("acme-a.wasm.minisig", tar::EntryType::Regular, signature.as_bytes()),
    ]);
    assert!(matches!(open(&without, &trust), Err(BundleError::UnsignedManifest)));
}

#[test]
fn nothing_after_the_manifest_is_looked_at_before_somebody_vouches() {
    let archive = archive(&[
        ("manifest.json", tar::EntryType::Regular, b"no json"),
        ("manifest.json.minisig", tar::EntryType::Regular, b"no signature"),
        ("../../etc/passwd", tar::EntryType::Symlink, b""),
    ]);
    let Made { trust, .. } = made();
    let error = open(&archive, &trust).unwrap_err();
    assert!(matches!(error, BundleError::Signature(SignatureError::Malformed)), "{error}");
}

/// Signs a manifest that lists these, and puts other entries behind it.
fn forged(
    listed: &[(&str, &[u8])],
    entries: &[(&str, tar::EntryType, &[u8])],
) -> Result<(Bundle, String), BundleError> {
    let secret = SecretKey::generate().unwrap();
    let list = |(name, bytes): &(&str, &[u8])| ManifestFile {
        name: (*name).to_owned(),
        bytes: bytes.len(),
        digest: Digest::of(bytes),
    };
    let manifest = Manifest { files: listed.iter().map(list).collect(), ..manifest() }.to_text();
    let signature = secret.sign(manifest.as_bytes(), "manifest.json").unwrap();
    let mut all = vec![
        ("manifest.json", tar::EntryType::Regular, manifest.as_bytes()),
        ("manifest.json.minisig", tar::EntryType::Regular, signature.as_bytes()),
    ];
    all.extend_from_slice(entries);
    open(&archive(&all), &Trust::new(vec![trusted("acme", secret.public())]))
}

#[test]
fn an_archive_holds_what_its_manifest_lists_and_nothing_else() {
    let regular = tar::EntryType::Regular;
    assert!(forged(&[("a.wasm", b"a")], &[("a.wasm", regular, b"a")]).is_ok());
    let error = forged(&[("a.wasm", b"a")], &[("a.wasm", regular, b"a"), ("b.wasm", regular, b"b")]).unwrap_err();
    assert!(matches!(error, BundleError::Unlisted(_)), "{error}");
    let error = forged(&[("a.wasm", b"a")], &[("b.wasm", regular, b"a")]).unwrap_err();
    assert!(matches!(error, BundleError::Unlisted(_)), "{error}");
    let error = forged(&[("a.wasm", b"a")], &[("a.wasm", regular, b"a"), ("a.wasm", regular, b"a")]).unwrap_err();
    assert!(matches!(error, BundleError::Unlisted(_)), "{error}");
    let error = forged(&[("a.wasm", b"a")], &[("a.wasm", regular, b"longer than listed")]).unwrap_err();
    assert!(matches!(error, BundleError::Changed(_)), "{error}");
    for (name, kind) in [
        ("../a.wasm", regular),
        ("/a.wasm", regular),
        (".a.wasm", regular),
        ("a/b.wasm", regular),
        ("a.wasm", tar::EntryType::Symlink),
        ("a.wasm", tar::EntryType::Link),
        ("a.wasm", tar::EntryType::Directory),
        ("a.wasm", tar::EntryType::Fifo),
        ("a.wasm", tar::EntryType::Char),
    ] {
        let error = forged(&[("a.wasm", b"")], &[(name, kind, b"")]).unwrap_err();
        assert!(matches!(error, BundleError::Entry), "{name} {kind:?}: {error}");
    }
}

#[test]
fn a_manifest_with_something_unknown_is_refused_whole() {
    let text = Manifest { files: vec![listed("a.wasm")], ..manifest() }.to_text();
    assert!(Manifest::parse(text.as_bytes()).is_ok());
    let with = |from: &str, to: &str| Manifest::parse(text.replace(from, to).as_bytes()).unwrap_err();
    let error = with(r#""capabilities""#, r#""must_have": true, "capabilities""#);
    assert!(matches!(&error, ManifestError::Unknown(name) if name == "must_have"), "{error}");
    assert!(matches!(with("portcullis-bundle-1", "portcullis-bundle-2"), ManifestError::Format));
    assert!(matches!(with("acme-site", "Acme"), ManifestError::Name(_)));
    assert!(matches!(with(r#""1.2.0""#, r#""""#), ManifestError::Member("version")));
    assert!(matches!(with("a.wasm", "../a.wasm"), ManifestError::Member("files")));
    assert!(matches!(with("a.wasm", ".a"), ManifestError::Member("files")));
    let twice = Manifest { files: vec![listed("a.wasm"), listed("a.wasm")], ..manifest() }.to_text();
    assert!(matches!(Manifest::parse(twice.as_bytes()), Err(ManifestError::Twice(_))));
    assert!(matches!(Manifest::parse(b"[]"), Err(ManifestError::Format)));
    assert!(matches!(Manifest::parse(b"{"), Err(ManifestError::Json(_))));
}

fn listed(name: &str) -> ManifestFile {
    ManifestFile { name: name.to_owned(), bytes: 1, digest: Digest::of(b"a") }
}

#[test]
fn the_same_files_make_the_same_archive() {
    let archive = || Bundle::archive(manifest(), &files(), |_| Ok(String::new())).unwrap();
    assert_eq!(archive(), archive());
}
