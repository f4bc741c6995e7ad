//! Real servers, installed once into a cache folder from the registries.

mod clients;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use clients::RealClients;

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

/// Its server is an extra of the package, without which the program is there and does not start.
const MORE_PYPI: [Package; 1] = [("xactions", "xactions-py[mcp]==1.9.0", "xactions-mcp")];

/// Returns the cache folder: `PORTCULLIS_TEST_CACHE`, else one in the system's folder for temporary files.
pub fn cache() -> PathBuf {
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

fn pip_install(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let pip = folder.join("bin").join("pip");
    if !pip.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    run(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

/// A way to install packages into a folder.
type Install = fn(&Path, &[&str]) -> Result<(), String>;

/// Fills a folder of the cache with exactly these packages, once. Tests that want the same folder wait for each other.
pub(crate) fn fill(folder: &Path, packages: &[&str], install: Install) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let lock = std::fs::File::create(folder.join("install.lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    // Written last: an installation that broke off, or that was for other packages, is done again.
    let (mark, wanted) = (folder.join("installed.txt"), packages.join("\n"));
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install(folder, packages)?;
    std::fs::write(&mark, wanted).map_err(|error| error.to_string())
}

fn npm_programs(folder: &Path) -> PathBuf {
    folder.join("node_modules").join(".bin")
}

/// Installs the `PyPI` servers with the official client and returns the folder with their programs.
pub(crate) fn python_servers() -> Result<PathBuf, String> {
    let folder = cache().join("python");
    let servers = PYPI.iter().map(|(_, package, _)| *package);
    fill(&folder, &servers.chain(["mcp==2.3.0"]).collect::<Vec<_>>(), pip_install)?;
    Ok(folder.join("bin"))
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

/// Installs eight more real servers, and says of each that cannot be had why not. One that the registries do not give does
/// not take the others with it.
pub fn more_servers() -> Vec<(&'static str, Result<Installed, String>)> {
    let npm = one_by_one("npm-more", &MORE_NPM, npm_install, npm_programs);
    npm.into_iter().chain(one_by_one("python-more", &MORE_PYPI, pip_install, |folder| folder.join("bin"))).collect()
}

fn one_by_one(
    folder: &str,
    packages: &[Package],
    install: Install,
    programs: fn(&Path) -> PathBuf,
) -> Vec<(&'static str, Result<Installed, String>)> {
    let folder = cache().join(folder);
    let all = fill(&folder, &packages.iter().map(|(_, package, _)| *package).collect::<Vec<_>>(), install);
    let programs = programs(&folder);
    let one = |&(name, package, program): &Package| {
        let had = all.clone().or_else(|_| install(&folder, &[package])).and_then(|()| {
            let found = programs.join(program).exists();
            found.then_some(()).ok_or_else(|| format!("{package} brings no program {program}"))
        });
        (name, had.map(|()| installed(&programs, (name, package, program), Vec::new())))
    };
    packages.iter().map(one).collect()
}

/// Installs six real servers. `folder` is what the filesystem server may see, `repository` what the git server serves.
/// Returns why not where the registries cannot be reached.
pub fn real_servers(folder: &Path, repository: &Path) -> Result<Vec<Installed>, String> {
    let npm = cache().join("npm");
    fill(&npm, &NPM.map(|(_, package, _)| package), npm_install)?;
    let (npm, python) = (npm_programs(&npm), python_servers()?);
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
