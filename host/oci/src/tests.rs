//! Places, manifests, and what is kept.

use portcullis_model::Digest;

use crate::layout::Described;
use crate::{Artifact, Kept, Kind, LayoutError, Place, PlaceError};

#[test]
fn a_place_names_its_registry_and_is_read_back() {
    let digest = Digest::of(b"a manifest");
    for text in [
        "oci://registry.example/acme/policies:1.0.0".to_owned(),
        "oci://127.0.0.1:5000/site:latest".to_owned(),
        format!("oci://localhost:5000/site@sha256:{digest}"),
    ] {
        let place = Place::parse(&text).unwrap();
        assert_eq!(place.to_string(), text);
        assert_eq!(place.digest().is_some(), text.contains('@'));
    }
    let place = Place::parse("oci://registry.example/acme/policies").unwrap();
    assert_eq!((place.to_string().as_str(), place.stem()), ("oci://registry.example/acme/policies:latest", "policies"));
    assert_eq!(place.at(digest).digest(), Some(digest));
}

#[test]
fn what_is_no_place_or_would_be_looked_for_elsewhere_is_refused() {
    assert!(matches!(Place::parse("registry.example/acme"), Err(PlaceError::Scheme)));
    assert!(matches!(Place::parse("https://registry.example/acme"), Err(PlaceError::Scheme)));
    for text in ["oci://acme/policies", "oci://policies", "oci://", "oci:///acme"] {
        assert!(matches!(Place::parse(text), Err(PlaceError::NoRegistry(_))), "{text}");
    }
    for text in ["oci://r.example/Acme", "oci://r.example/a b", "oci://r.example/a@sha256:12", "oci://u@r.example/a"] {
        assert!(matches!(Place::parse(text), Err(PlaceError::Reference(_))), "{text}");
    }
    let other = format!("oci://r.example/a@sha512:{}", "0".repeat(128));
    assert!(matches!(Place::parse(&other), Err(PlaceError::Digest)));
}

#[test]
fn plain_http_is_for_this_machine_only() {
    for (text, expected) in [
        ("oci://127.0.0.1:5000/a", true),
        ("oci://127.9.9.9/a", true),
        ("oci://localhost/a", true),
        ("oci://localhost:5000/a", true),
        ("oci://127.0.0.1.example/a", false),
        ("oci://localhost.example:5000/a", false),
        ("oci://10.0.0.1:5000/a", false),
        ("oci://registry.example/a", false),
    ] {
        assert_eq!(Place::parse(text).unwrap().is_loopback(), expected, "{text}");
    }
}

fn artifact(name: &str) -> Artifact {
    Artifact {
        kind: Kind::of(name).unwrap(),
        name: name.to_owned(),
        bytes: b"content".to_vec(),
        signature: Some("a signature".to_owned()),
        imports: vec!["portcullis:policy/types@0.1.0".to_owned()],
        exports: Vec::new(),
    }
}

#[test]
fn an_artifact_is_described_by_its_manifest() {
    for name in ["acme-paths.wasm", "site.bundle", "iocs.pack.yaml"] {
        let artifact = artifact(name);
        let (manifest, config) = artifact.manifest().unwrap();
        assert_eq!(artifact.manifest().unwrap(), (manifest.clone(), config));
        let described = Described::parse(&manifest, "policies").unwrap();
        assert_eq!((described.kind, described.name.as_str()), (artifact.kind, name));
        assert_eq!((described.layer, described.size), (Digest::of(b"content"), 7));
        assert_eq!(described.signature.as_deref(), Some("a signature"));
    }
    let (manifest, config) = artifact("acme-paths.wasm").manifest().unwrap();
    let text = String::from_utf8(manifest).unwrap();
    assert!(text.contains("application/vnd.wasm.config.v0+json") && text.contains(r#""application/wasm""#), "{text}");
    let config = String::from_utf8(config).unwrap();
    assert!(config.contains("portcullis:policy/types@0.1.0") && config.contains("layerDigests"), "{config}");
}

#[test]
fn a_module_that_another_program_pushed_is_named_after_its_repository() {
    let digest = Digest::of(b"");
    let manifest = format!(
        r#"{{"schemaVersion":2,"config":{{}},"layers":[{{"mediaType":"application/wasm","digest":"sha256:{digest}","size":0}}]}}"#
    );
    let described = Described::parse(manifest.as_bytes(), "acme-paths").unwrap();
    assert_eq!((described.name.as_str(), described.signature), ("acme-paths.wasm", None));
}

#[test]
fn a_manifest_that_lies_or_is_of_something_else_is_refused() {
    let (manifest, _) = artifact("site.bundle").manifest().unwrap();
    let text = String::from_utf8(manifest).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        Described::parse(text.replace(from, to).as_bytes(), "a").unwrap_err()
    };
    for name in ["../site.bundle", "/site.bundle", ".site.bundle", "site.wasm", "site", "a b.bundle", ""] {
        let error = with(r#":"site.bundle""#, &format!(r#":"{name}""#));
        assert!(matches!(error, LayoutError::Name(_)), "{name}: {error}");
    }
    assert!(matches!(with(r#""size":7"#, r#""size":268435457"#), LayoutError::Size));
    assert!(matches!(with(r#""size":7"#, r#""size":-1"#), LayoutError::Size));
    assert!(matches!(with(r#""layers":[{"#, r#""layers":[{},{"#), LayoutError::Layers(2)));
    assert!(matches!(with(r#""layers""#, r#""manifests""#), LayoutError::NoManifest));
    assert!(matches!(with("bundle.v1.tar", "bundle.v2.tar"), LayoutError::MediaType(_)));
    assert!(matches!(with("a signature", &"a".repeat(9_000)), LayoutError::Signature));
    let digest = Digest::of(b"content").to_string();
    assert!(matches!(with(&digest, "abc"), LayoutError::Digest));
    let large = format!("{{\"a\":\"{}\"}}", "a".repeat(70_000));
    assert!(matches!(Described::parse(large.as_bytes(), "a"), Err(LayoutError::Json(_))));
    assert!(matches!(Described::parse(b"[[[[[[[[[[[[[[[[[[[[", "a"), Err(LayoutError::Json(_))));
}

#[test]
fn what_is_kept_is_believed_for_its_content_and_not_for_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(folder.path());
    kept.put(b"a layer").unwrap();
    let digest = Digest::of(b"a layer");
    assert_eq!(kept.get(digest).as_deref(), Some(&b"a layer"[..]));
    std::fs::write(folder.path().join(format!("sha256-{digest}")), b"another").unwrap();
    assert_eq!(kept.get(digest), None);
    for number in 0..100_u8 {
        kept.put(&[number]).unwrap();
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 32);
    assert!(kept.get(Digest::of(&[99])).is_some());
}
