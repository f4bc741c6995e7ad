//! Certificates towards an endpoint.

use std::path::PathBuf;

use portcullis_model::Secret;

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, boolish, wrong_type};
use crate::sink::Mistake;
use crate::surroundings::Surroundings;
use crate::tree::{Kind, Node};
use crate::{ClientIdentity, TlsVerification};

/// Reads `ssl_verify`: a boolean, or the path of a file with authorities.
pub(crate) fn verification(fields: &mut Fields<'_, '_>, surroundings: &Surroundings) -> TlsVerification {
    let Some(node) = fields.get("ssl_verify") else {
        return TlsVerification::System;
    };
    match (boolish(node), &node.kind) {
        (Some(true), _) => TlsVerification::System,
        (Some(false), _) => {
            let message = "certificates are not checked: whoever is on the way can read and change everything";
            let mistake = Mistake::warning(DiagnosticKind::BadValue, message)
                .hint("give the path of a PEM file with your own authority instead");
            fields.report("ssl_verify", node.place, mistake);
            TlsVerification::Off
        }
        (None, Kind::Text { text, .. }) if !text.trim().is_empty() => {
            TlsVerification::Authorities(PathBuf::from(surroundings.expand(text)))
        }
        (None, _) => {
            fields.report("ssl_verify", node.place, wrong_type("true, false or the path of a PEM file", node));
            TlsVerification::System
        }
    }
}

/// Reads `client_cert` and `client_key`. The files are read when the server is connected.
pub(crate) fn client_identity(fields: &mut Fields<'_, '_>, surroundings: &Surroundings) -> Option<ClientIdentity> {
    let key = fields.text("client_key");
    let Some(node) = fields.get("client_cert") else {
        if key.is_some() {
            let place = fields.key_place("client_key");
            let mistake = Mistake::error(DiagnosticKind::Conflict, "`client_key` needs `client_cert`");
            fields.report("client_key", place, mistake);
        }
        return None;
    };
    let Some(mut identity) = identity(node, surroundings) else {
        let mistake = wrong_type("the path of a certificate, or a list of certificate, key and passphrase", node);
        fields.report("client_cert", node.place, mistake);
        return None;
    };
    if let Some(key) = key {
        if identity.key.is_some() {
            let place = fields.key_place("client_key");
            let mistake = Mistake::error(DiagnosticKind::Conflict, "the key is set twice, in `client_cert` and here");
            fields.report("client_key", place, mistake);
            return None;
        }
        identity.key = Some(PathBuf::from(surroundings.expand(&key)));
    }
    if identity.passphrase.is_some() {
        let message = "encrypted keys are not supported yet: the server will not be connected with one";
        let place = fields.key_place("client_cert");
        let mistake = Mistake::warning(DiagnosticKind::NotSupported, message)
            .hint("use a key file without passphrase that only you can read");
        fields.report("client_cert", place, mistake);
    }
    Some(identity)
}

fn identity(node: &Node, surroundings: &Surroundings) -> Option<ClientIdentity> {
    let path = |node: &Node| {
        let Kind::Text { text, .. } = &node.kind else {
            return None;
        };
        let path = surroundings.expand(text);
        (!path.is_empty()).then(|| PathBuf::from(path))
    };
    let Kind::List(items) = &node.kind else {
        return Some(ClientIdentity { certificate: path(node)?, key: None, passphrase: None });
    };
    let passphrase = match items.get(2) {
        None => None,
        Some(item) => match &item.kind {
            Kind::Text { text, .. } => Some(Secret::new(text.clone())),
            Kind::Null | Kind::Plain(..) | Kind::List(_) | Kind::Map(_) => return None,
        },
    };
    match items.as_slice() {
        [certificate, key] | [certificate, key, _] => {
            Some(ClientIdentity { certificate: path(certificate)?, key: Some(path(key)?), passphrase })
        }
        _ => None,
    }
}
