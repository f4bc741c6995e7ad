//! The suite and the Node it needs, both from npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::report::Report;
use crate::install::{cache, fill, npm_install};

/// The suite, ready to run.
#[derive(Clone, Debug)]
pub struct Suite {
    node: PathBuf,
    script: PathBuf,
}

const PACKAGES: [&str; 2] = ["node@22.23.3", "@modelcontextprotocol/conformance@0.2.0-alpha.12"];

/// A run of all scenarios takes 15 seconds; a scenario that hangs takes 30 and is reported by the suite itself.
const PATIENCE: Duration = Duration::from_mins(10);

impl Suite {
    /// Installs it into the cache folder. Returns why not where the registry cannot be reached.
    pub fn install() -> Result<Self, String> {
        let folder = cache().join("conformance");
        let modules = folder.join("node_modules");
        let suite = Self {
            node: modules.join("node").join("bin").join("node"),
            script: modules.join("@modelcontextprotocol/conformance/dist/index.js"),
        };
        fill(&folder, &PACKAGES, npm_install)?;
        if suite.node.exists() && suite.script.exists() { Ok(suite) } else { Err("npm installed no suite".to_owned()) }
    }

    /// Runs all server scenarios that a revision requires, and those it knows beside them, against a server.
    ///
    /// # Panics
    /// Where the suite does not end.
    pub fn test_server(&self, url: &str, revision: &str) -> Result<Report, String> {
        self.run(&["server", "--url", url, "--requirements", revision], &[])
    }

    /// Runs one client scenario with a revision. The suite appends the address of its server to the command.
    ///
    /// # Panics
    /// Where the suite does not end.
    pub fn test_client(
        &self,
        command: &str,
        scenario: &str,
        revision: &str,
        environment: &[(&str, &str)],
    ) -> Result<Report, String> {
        let arguments =
            ["client", "--command", command, "--scenario", scenario, "--spec-version", revision, "--timeout", "90000"];
        self.run(&arguments, environment)
    }

    /// Runs the scenarios of authorization servers against one, as a client that it knows. `browser` is called with the page
    /// that the suite wants opened, and has to be led back to the suite.
    ///
    /// # Panics
    /// Where the suite does not end.
    pub fn test_authorization(
        &self,
        (issuer, resource): (&str, &str),
        client: &str,
        revision: &str,
        browser: impl FnOnce(&str),
    ) -> Result<Report, String> {
        // Free a moment ago: the suite wants to be told one.
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| error.to_string())?.port().to_string();
        let mut arguments = vec!["authorization", "--url", issuer, "--resource", resource, "--client-id", client];
        arguments.extend(["--port", &port, "--spec-version", revision]);
        let mut browser = Some(browser);
        self.watch(&arguments, &[], |log| {
            let page = log.lines().find(|line| line.starts_with("http") && line.contains("code_challenge="));
            if let Some((page, browser)) = page.and_then(|page| Some((page, browser.take()?))) {
                browser(page);
            }
        })
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Report, String> {
        self.watch(arguments, environment, |_| {})
    }

    /// Runs the suite. What it said so far is shown to `look` now and then.
    fn watch(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
        mut look: impl FnMut(&str),
    ) -> Result<Report, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let log = std::fs::File::create(folder.path().join("log")).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let results = folder.path().join("results");
        let preload = Path::new(env!("CARGO_MANIFEST_DIR")).join("support/conformance/loopback.cjs");
        let mut child = Command::new(&self.node)
            .arg("--require")
            .arg(preload)
            .arg(&self.script)
            .args(arguments)
            .arg("--output-dir")
            .arg(&results)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("node did not start: {error}"))?;
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if Instant::now() > deadline {
                drop(child.kill());
                drop(child.wait());
                panic!("the suite did not end: {arguments:?}");
            }
            look(&std::fs::read_to_string(folder.path().join("log")).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        match Report::read(&results) {
            Ok(mut report) => {
                report.log = log;
                Ok(report)
            }
            Err(error) => Err(format!("{error}\n{log}")),
        }
    }
}
