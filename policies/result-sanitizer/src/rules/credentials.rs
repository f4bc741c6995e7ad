//! Credentials.
//!
//! **What it does.** Blanks credentials in results, errors, structured content, metadata and log lines: shapes of many
//! providers (the pack `credentials`), values behind names such as `token=` or `"apiKey":`, authorization headers, JSON
//! web tokens, private keys, passwords in URLs.
//!
//! **Why.** A key that reaches the model reaches its provider, its logs, and whoever steers it next. A marker takes its
//! place, so that the text stays readable.
//!
//! **Example.** `connect to postgres://app:…@db failed` loses the part between the colon and the `@`.
//!
//! In errors and log lines any value behind such a name goes; in results it must look like a secret, since documents and
//! code speak of tokens all the time (see `credentials` in the settings).

use portcullis_sdk::result_gate::{Kind, Subject};
use portcullis_sdk::{ConfigureError, Pack, Replacement, Role, Segment, Severity};

use super::Declared;
use crate::credentials::{Credentials, Strictness};
use crate::report::{Found, Report};
use crate::settings::CredentialMode;

/// A credential of a provider's shape.
pub(crate) const TOKEN: &str = "credential-token";
/// The value of a secret name.
pub(crate) const ASSIGNMENT: &str = "credential-assignment";
/// An authorization header or login.
pub(crate) const HEADER: &str = "credential-header";
/// A JSON web token.
pub(crate) const JWT: &str = "json-web-token";
/// A private key.
pub(crate) const PRIVATE_KEY: &str = "private-key";
/// A password in a URL.
pub(crate) const USERINFO: &str = "credential-in-url";

pub(super) const RULES: &[Declared] = &[
    (TOKEN, Severity::High, "A credential of a known provider."),
    (ASSIGNMENT, Severity::High, "The value behind a name such as `token` or `password`."),
    (HEADER, Severity::High, "An authorization header or the login of a command."),
    (JWT, Severity::High, "A JSON web token."),
    (PRIVATE_KEY, Severity::Critical, "A private key."),
    (USERINFO, Severity::High, "A password in a URL."),
];

/// Compiles the pack.
pub(crate) fn compile(pack: &Pack) -> Result<Credentials, ConfigureError> {
    Credentials::compile(pack.parse()?).map_err(|error| pack.error("/tokens", error.to_string()))
}

/// Looks at one segment.
pub(crate) fn look(
    index: usize,
    segment: &Segment,
    subject: &Subject,
    credentials: &Credentials,
    report: &mut Report<'_>,
) {
    let Some(strictness) = strictness(report.settings.credentials, segment, subject) else { return };
    let mut secrets = credentials.scan(&segment.text, strictness);
    if secrets.is_empty()
        && !segment.key
        && let Some(name) = segment.pointer.rsplit('/').next()
    {
        secrets.extend(credentials.member(name, &segment.text, strictness));
    }
    for secret in secrets {
        let severity = if secret.rule == PRIVATE_KEY { Severity::Critical } else { Severity::High };
        report.blank(&Found {
            rule: secret.rule,
            severity,
            message: secret.name,
            index,
            segment,
            ranges: vec![(secret.range, Replacement::Marker)],
        });
    }
}

fn strictness(mode: CredentialMode, segment: &Segment, subject: &Subject) -> Option<Strictness> {
    let failing = subject.is_error || subject.kind != Kind::Result || matches!(segment.role, Role::Error | Role::Log);
    match (mode, failing) {
        (CredentialMode::Off, _) => None,
        (CredentialMode::Careful, _) | (CredentialMode::Auto, false) => Some(Strictness::Careful),
        (CredentialMode::Auto, true) | (CredentialMode::Eager, _) => Some(Strictness::Eager),
    }
}
