//! # often-needed
//!
//! **What it does.** Tells the operator that a withheld variable is one that servers often need: proxies, certificates, and what
//! desktop programs use to find each other.
//!
//! **Why.** Behind a company proxy nothing works without them, and the reason is hard to see from the outside.
//!
//! **Example.** `HTTPS_PROXY is often needed; name it under pass if the server has to have it`.

use portcullis_sdk::{Finding, Rule, Severity};

use super::list;

const ID: &str = "often-needed";

/// Names that programs read of themselves, in upper case; proxies are read in lower case too.
const NAMES: [&str; 15] = [
    "ALL_PROXY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LC_CTYPE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "WAYLAND_DISPLAY",
];

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Info, "Names withheld variables that servers often need.")
}

pub(super) fn finding(removed: &[String], windows: bool) -> Option<Finding> {
    let proxy = |name: &str| name.ends_with("_proxy") || windows;
    let needed = |name: &&str| {
        NAMES.iter().any(|known| if proxy(name) { known.eq_ignore_ascii_case(name) } else { known == name })
    };
    let names = list(removed.iter().map(String::as_str).filter(needed));
    if names.is_empty() {
        return None;
    }
    let text = ["often needed by servers: ", &names, "; name under `pass` what this one has to have"].concat();
    Some(Finding::new(ID, Severity::Info, text))
}
