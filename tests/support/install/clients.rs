//! Real clients.

use std::path::{Path, PathBuf};

use super::{cache, fill, npm_install, python_servers};

/// Clients from npm with the Node that all of them run on, and the official Python client.
const NPM: [&str; 5] = [
    "node@22.23.3",
    "mcporter@0.9.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.3.1",
];

/// Real clients, ready to be started.
#[derive(Clone, Debug)]
pub struct RealClients {
    /// Where the npm packages are.
    pub folder: PathBuf,
    /// Node.
    pub node: PathBuf,
    /// The script of mcporter.
    pub mcporter: PathBuf,
    /// The script of the inspector.
    pub inspector: PathBuf,
    /// A script of ours for both generations of the TypeScript SDK.
    pub typescript: PathBuf,
    /// The Python that has the official client.
    pub python: PathBuf,
    /// A script of ours for it.
    pub official: PathBuf,
}

impl RealClients {
    /// Installs them into the cache folder. Returns why not where the registries cannot be reached.
    pub fn install() -> Result<Self, String> {
        let folder = cache().join("clients");
        fill(&folder, &NPM, npm_install)?;
        let modules = folder.join("node_modules");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("support/clients");
        Ok(Self {
            node: modules.join("node/bin/node"),
            mcporter: modules.join("mcporter/dist/cli.js"),
            inspector: modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
            typescript: scripts.join("typescript.cjs"),
            python: python_servers()?.join("python"),
            official: scripts.join("official.py"),
            folder,
        })
    }
}
