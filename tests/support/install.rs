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
}

const NPM: [(&str, &str, &str); 3] = [
    ("everything", "@modelcontextprotocol/server-everything@2026.8.31", "mcp-server-everything"),
    ("filesystem", "@modelcontextprotocol/server-filesystem@2026.8.31", "mcp-server-filesystem"),
    ("memory", "@modelcontextprotocol/server-memory@2026.8.31", "mcp-server-memory"),
];

const PYPI: [(&str, &str, &str); 3] = [
    ("time", "mcp-server-time==2026.10.19", "mcp-server-time"),
    ("git", "mcp-server-git==2026.10.19", "mcp-server-git"),
    ("fetch", "mcp-server-fetch==2026.10.24", "mcp-server-fetch"),
];

/// Returns the cache folder: `PORTCULLIS_TEST_CACHE`, else one in the system's folder for temporary files.
fn cache() -> PathBuf {
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

/// Installs the npm servers and returns the folder with their programs.
fn npm_servers() -> Result<PathBuf, String> {
    let folder = cache().join("npm");
    let programs = folder.join("node_modules").join(".bin");
    if NPM.iter().all(|(_, _, program)| programs.join(program).exists()) {
        return Ok(programs);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let packages = NPM.iter().map(|(_, package, _)| *package);
    run(Command::new("npm").args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).args(packages))?;
    Ok(programs)
}

/// Installs the `PyPI` servers with the official client and returns the folder with their programs.
pub fn python_servers() -> Result<PathBuf, String> {
    let folder = cache().join("python");
    let programs = folder.join("bin");
    if PYPI.iter().all(|(_, _, program)| programs.join(program).exists()) {
        return Ok(programs);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let packages = PYPI.iter().map(|(_, package, _)| *package).chain(["mcp==2.3.0"]);
    run(Command::new(programs.join("pip")).args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))?;
    Ok(programs)
}

/// Installs six real servers. `folder` is what the filesystem server may see, `repository` what the git server serves.
/// Returns why not where the registries cannot be reached.
pub fn real_servers(folder: &Path, repository: &Path) -> Result<Vec<Installed>, String> {
    let (npm, python) = (npm_servers()?, python_servers()?);
    let extra = |name: &str| match name {
        "filesystem" => vec![folder.display().to_string()],
        "git" => vec!["--repository".to_owned(), repository.display().to_string()],
        // The page that tests fetch is served on loopback.
        "fetch" => vec!["--allow-private-ips".to_owned()],
        _ => Vec::new(),
    };
    let from = |programs: &Path, (name, _, program): (&'static str, &str, &str)| Installed {
        name,
        command: programs.join(program).display().to_string(),
        arguments: extra(name),
    };
    Ok(NPM.map(|server| from(&npm, server)).into_iter().chain(PYPI.map(|server| from(&python, server))).collect())
}
