//! Real servers, installed once into a cache folder from the registries.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A real server that can be started without the network.
#[derive(Clone, Debug)]
pub struct Installed {
    /// What it is called in configs.
    pub name: &'static str,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables it does not start without, with made-up values.
    pub environment: Vec<(&'static str, String)>,
}

/// The name in configs, the package with its exact version, and the program.
type Package = (&'static str, &'static str, &'static str);

const NPM: [Package; 3] = [
    ("everything", "@modelcontextprotocol/server-everything@2026.8.31", "mcp-server-everything"),
    ("filesystem", "@modelcontextprotocol/server-filesystem@2026.8.31", "mcp-server-filesystem"),
    ("memory", "@modelcontextprotocol/server-memory@2026.8.31", "mcp-server-memory"),
];

const PYPI: [Package; 3] = [
    ("time", "mcp-server-time==2026.10.19", "mcp-server-time"),
    ("git", "mcp-server-git==2026.10.19", "mcp-server-git"),
    ("fetch", "mcp-server-fetch==2026.10.24", "mcp-server-fetch"),
];

/// Bigger ones, of other hands.
const MORE_NPM: [Package; 7] = [
    ("thinking", "@modelcontextprotocol/server-sequential-thinking@2026.8.31", "mcp-server-sequential-thinking"),
    ("playwright", "@playwright/mcp@0.0.83", "playwright-mcp"),
    ("devtools", "chrome-devtools-mcp@1.11.0", "chrome-devtools-mcp"),
    ("github", "@modelcontextprotocol/server-github@2025.4.8", "mcp-server-github"),
    ("notion", "@notionhq/notion-mcp-server@2.5.2", "notion-mcp-server"),
    ("context7", "@upstash/context7-mcp@4.1.1", "context7-mcp"),
    ("tavily", "tavily-mcp@0.2.22", "tavily-mcp"),
];

const MORE_PYPI: [Package; 1] = [("xactions", "xactions-py==1.9.0", "xactions-mcp")];

/// Returns the cache folder: `PORTCULLIS_TEST_CACHE`, else one in the system's folder for temporary files.
pub(crate) fn cache() -> PathBuf {
    std::env::var_os("PORTCULLIS_TEST_CACHE")
        .map_or_else(|| std::env::temp_dir().join("portcullis-test-cache"), PathBuf::from)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}", command.get_program().display(), stderr.lines().next_back().unwrap_or("no message")))
}

/// Installs packages from npm into a folder.
pub(crate) fn npm_install(folder: &Path, packages: &[&str]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    run(Command::new("npm").args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(packages))
}

/// Installs npm packages into a folder of the cache and returns the folder with their programs.
fn npm_programs(folder: &str, packages: &[Package]) -> Result<PathBuf, String> {
    let folder = cache().join(folder);
    let programs = folder.join("node_modules").join(".bin");
    if !packages.iter().all(|(_, _, program)| programs.join(program).exists()) {
        npm_install(&folder, &packages.iter().map(|(_, package, _)| *package).collect::<Vec<_>>())?;
    }
    Ok(programs)
}

/// Installs `PyPI` packages into a folder of the cache and returns the folder with their programs.
fn python_programs(folder: &str, packages: &[Package], others: &[&str]) -> Result<PathBuf, String> {
    let folder = cache().join(folder);
    let programs = folder.join("bin");
    if !packages.iter().all(|(_, _, program)| programs.join(program).exists()) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let packages = packages.iter().map(|(_, package, _)| package).chain(others);
        let quiet = ["install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(programs.join("pip")).args(quiet).args(packages))?;
    }
    Ok(programs)
}

/// Installs the `PyPI` servers with the official client and returns the folder with their programs.
pub fn python_servers() -> Result<PathBuf, String> {
    python_programs("python", &PYPI, &["mcp==2.3.0"])
}

/// Returns credentials that servers want to see before they list anything. They open nothing.
fn made_up(server: &str) -> Vec<(&'static str, String)> {
    let nothing = || ["none", "of", "any", "worth"].join("-");
    match server {
        "github" => vec![("GITHUB_PERSONAL_ACCESS_TOKEN", nothing())],
        "notion" => vec![("NOTION_TOKEN", nothing())],
        "tavily" => vec![("TAVILY_API_KEY", nothing())],
        _ => Vec::new(),
    }
}

fn installed(programs: &Path, (name, _, program): Package, arguments: Vec<String>) -> Installed {
    let command = programs.join(program).display().to_string();
    Installed { name, command, arguments, environment: made_up(name) }
}

/// Installs eight more real servers. Returns why not where the registries cannot be reached.
pub fn more_servers() -> Result<Vec<Installed>, String> {
    let npm = npm_programs("npm-more", &MORE_NPM)?;
    let python = python_programs("python-more", &MORE_PYPI, &[])?;
    let npm = MORE_NPM.map(|package| installed(&npm, package, Vec::new()));
    let python = MORE_PYPI.map(|package| installed(&python, package, Vec::new()));
    Ok(npm.into_iter().chain(python).collect())
}

/// Installs six real servers. `folder` is what the filesystem server may see, `repository` what the git server serves.
/// Returns why not where the registries cannot be reached.
pub fn real_servers(folder: &Path, repository: &Path) -> Result<Vec<Installed>, String> {
    let (npm, python) = (npm_programs("npm", &NPM)?, python_servers()?);
    let extra = |name: &str| match name {
        "filesystem" => vec![folder.display().to_string()],
        "git" => vec!["--repository".to_owned(), repository.display().to_string()],
        // The page that tests fetch is served on loopback.
        "fetch" => vec!["--allow-private-ips".to_owned()],
        _ => Vec::new(),
    };
    let npm = NPM.map(|package| installed(&npm, package, extra(package.0)));
    let python = PYPI.map(|package| installed(&python, package, extra(package.0)));
    Ok(npm.into_iter().chain(python).collect())
}
