//! The command line of the front door: `serve`, `token`, `client`, `approve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use portcullis_door::{AddressRange, PublicUrl};

use super::{ConfigFile, Format};

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    /// Address and port to listen on; port 0 takes any that is free [default: 127.0.0.1:8765]
    #[arg(long, visible_alias = "listen", value_name = "IP:PORT")]
    pub(crate) address: Option<SocketAddr>,
    /// For tests: lets in every process of this machine, whoever runs it
    #[arg(long)]
    pub(crate) without_token: bool,
    /// URL under which clients reach it, through a proxy or tunnel if need be [default: the address]
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
    /// Address or range of a proxy whose word is taken for where a request comes from; may be given several times
    #[arg(long = "trusted-proxy", value_name = "IP[/BITS]")]
    pub(crate) trusted_proxies: Vec<AddressRange>,
    /// Header in which these proxies write it [default: x-forwarded-for]
    #[arg(long, value_name = "NAME")]
    pub(crate) proxy_header: Option<String>,
    /// Certificates in PEM, the server's own first; with `--tls-key` connections are encrypted
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, in PEM, readable by its owner alone
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Lets clients get tokens by OAuth once you consent: by `portcullis approve` alone, also by the passphrase for
    /// approvals on the page, or not at all [default: approve]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) consent: Option<Consent>,
    /// Lets OAuth clients register themselves; each still needs your consent
    #[arg(long)]
    pub(crate) register_clients: bool,
    /// Host whose descriptions of OAuth clients are fetched whoever asks, not only once you are there; may be given
    /// several times
    #[arg(long = "client-host", value_name = "HOST")]
    pub(crate) client_hosts: Vec<String>,
    /// Loopback address and port for `/health` and `/metrics`
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// How the operator consents to OAuth clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Consent {
    Approve,
    Passphrase,
    Off,
}

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Token {
    /// Prints the token of this installation, making one where there is none
    Show,
    /// Makes a token with a name of its own and prints it, once
    Mint(Mint),
    /// Shows the tokens with names
    List(Format),
    /// Takes tokens back; running gateways obey within two seconds
    Revoke(RevokeToken),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Mint {
    /// Its name: whom its calls are counted, remembered and approved for
    pub(crate) name: String,
    /// Opens only the address of this server; may be given several times
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Ends after so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=3650))]
    pub(crate) days: Option<u64>,
    /// Opens only from this address or range; may be given several times
    #[arg(long = "from", value_name = "IP[/BITS]")]
    pub(crate) sources: Vec<AddressRange>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct RevokeToken {
    /// Names of tokens
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Client {
    /// Registers an OAuth client and prints its id, and its secret, once
    Add(AddClient),
    /// Shows the registered clients
    List(Format),
    /// Removes clients and ends their tokens
    Remove(RemoveClient),
    /// Shows the clients that hold tokens of running gateways
    #[cfg(unix)]
    Consents(Format),
    /// Ends tokens of clients
    #[cfg(unix)]
    Revoke(RevokeConsent),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct AddClient {
    /// What you call it; it is shown when you are asked to consent
    pub(crate) name: String,
    /// Exact URL that it may be answered at (on the machine of the browser any port); may be given several times
    #[arg(long = "redirect", value_name = "URL", required_unless_present = "preset")]
    pub(crate) redirects: Vec<String>,
    /// URLs of a known client; check them against its documentation
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) preset: Option<Preset>,
    /// Gives it a secret, which it then must show
    #[arg(long)]
    pub(crate) confidential: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// A client whose redirect URLs are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    Claude,
    ClaudeCode,
    Cursor,
    Inspector,
}

impl Preset {
    /// Returns the URLs, as the clients' users report them.
    pub(crate) fn redirects(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
            Self::ClaudeCode => &["http://localhost/callback", "http://127.0.0.1/callback"],
            Self::Cursor => &[
                "cursor://anysphere.cursor-mcp/oauth/callback",
                "https://www.cursor.com/agents/mcp/oauth/callback",
                "http://localhost:8787/callback",
            ],
            Self::Inspector => &["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct RemoveClient {
    /// Ids of clients
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct RevokeConsent {
    /// Names, as `portcullis client consents` shows them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Approve {
    /// The code that the page shows
    pub(crate) code: String,
    /// Says yes without asking
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,
    /// Says no
    #[arg(long)]
    pub(crate) deny: bool,
    /// File with the passphrase on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}
