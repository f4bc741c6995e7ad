//! The packages that an entry would fetch and run.

use portcullis_sdk::config_gate::{Entry, Launch};

/// Packages of one entry that are looked at; further ones count as not answered about.
pub(crate) const MOST: usize = 8;

/// Programs around programs that are seen through.
const DEEPEST: usize = 6;

/// Where packages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecosystem {
    Npm,
    PyPi,
}

impl Ecosystem {
    /// Returns the name that advisories have for it (OSV schema, `affected[].package.ecosystem`).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::PyPi => "PyPI",
        }
    }
}

/// One package, with its version where the entry says exactly which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) ecosystem: Ecosystem,
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

/// How the arguments of a program that fetches packages are read.
struct Runner {
    ecosystem: Ecosystem,
    /// Options whose value is the package that is run.
    package: &'static [&'static str],
    /// Options whose value is another package beside it.
    beside: &'static [&'static str],
    /// Options with another value.
    valued: &'static [&'static str],
    /// True where the first argument that is no option names a package.
    positional: bool,
}

const NPM: Runner = Runner {
    ecosystem: Ecosystem::Npm,
    package: &["-p", "--package"],
    beside: &[],
    valued: &["-c", "--call", "--registry", "--cache", "--prefix", "--userconfig", "-w", "--workspace", "--loglevel"],
    positional: true,
};

const UV: Runner = Runner {
    ecosystem: Ecosystem::PyPi,
    package: &["--from"],
    beside: &["--with", "-w"],
    valued: &[
        "-p",
        "--python",
        "--index",
        "--default-index",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--with-requirements",
        "--with-editable",
        "-c",
        "--constraints",
        "--overrides",
        "--cache-dir",
        "--directory",
        "--project",
        "--env-file",
        "--config-file",
        "--refresh-package",
        "--python-platform",
        "--exclude-newer",
    ],
    positional: true,
};

/// `uv run` starts a program of a project; only what is beside it is fetched by name.
const UV_RUN: Runner = Runner { positional: false, ..UV };

const PIPX: Runner = Runner {
    ecosystem: Ecosystem::PyPi,
    package: &["--spec"],
    beside: &["--with"],
    valued: &["--python", "--index-url", "-i", "--pip-args", "--backend"],
    positional: true,
};

/// Returns the packages of an entry, each once.
pub(crate) fn of(entry: &Entry) -> Vec<Package> {
    let Launch::Stdio(launch) = &entry.launch else { return Vec::new() };
    let mut words = vec![launch.command.clone()];
    words.extend(launch.arguments.iter().cloned());
    let mut found = Vec::new();
    command(&words, DEEPEST, &mut found);
    let mut packages: Vec<Package> = Vec::new();
    for package in found {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages
}

/// Returns the name of a program without folder, ending and case.
fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    let bare = [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|ending| name.strip_suffix(ending));
    bare.map(str::to_owned).unwrap_or(name)
}

fn command(words: &[String], depth: usize, found: &mut Vec<Package>) {
    let (Some((first, rest)), Some(depth)) = (words.split_first(), depth.checked_sub(1)) else { return };
    let second = rest.first().map(String::as_str).unwrap_or_default();
    let after = rest.get(1..).unwrap_or_default();
    match (program(first).as_str(), second) {
        ("npx" | "pnpx" | "bunx", _) => run(&NPM, rest, found),
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => run(&NPM, after, found),
        ("uvx", _) => run(&UV, rest, found),
        ("uv", "run") => run(&UV_RUN, after, found),
        ("uv", "tool") => run(&UV, after.get(1..).unwrap_or_default(), found),
        ("pipx", "run") => run(&PIPX, after, found),
        ("sh" | "bash" | "zsh" | "dash" | "ash" | "ksh" | "fish", _) => script(rest, depth, found),
        ("cmd", _) => {
            let rest: Vec<_> = rest.iter().skip_while(|word| word.starts_with('/')).cloned().collect();
            let words = if let [only] = rest.as_slice() { split(only) } else { rest };
            command(&words, depth, found);
        }
        (
            "env" | "sudo" | "doas" | "nohup" | "setsid" | "exec" | "command" | "time" | "nice" | "ionice" | "stdbuf"
            | "timeout",
            _,
        ) => {
            wrapped(rest, depth, found);
        }
        _ => {}
    }
}

/// Looks at what a wrapper starts: its own options, their values and assignments come before, and which option has a value
/// differs from wrapper to wrapper. So the first word that is a known runner counts.
fn wrapped(words: &[String], depth: usize, found: &mut Vec<Package>) {
    for start in 0..words.len().min(12) {
        let before = found.len();
        command(words.get(start..).unwrap_or_default(), depth, found);
        if found.len() > before {
            return;
        }
    }
}

/// Looks at the commands of `sh -c SCRIPT`.
fn script(words: &[String], depth: usize, found: &mut Vec<Package>) {
    let flag = words.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'));
    let Some(script) = flag.and_then(|flag| words.get(flag + 1)) else { return };
    let mut part = Vec::new();
    for word in split(script) {
        let end = word.ends_with(';') || matches!(word.as_str(), "&&" | "||" | "|" | "&");
        let word = word.trim_end_matches(';');
        if !word.is_empty() && !matches!(word, "&&" | "||" | "|" | "&") {
            part.push(word.to_owned());
        }
        if end {
            wrapped(&std::mem::take(&mut part), depth, found);
        }
    }
    wrapped(&part, depth, found);
}

fn split(text: &str) -> Vec<String> {
    shell_words::split(text).unwrap_or_else(|_| text.split_whitespace().map(str::to_owned).collect())
}

fn run(runner: &Runner, words: &[String], found: &mut Vec<Package>) {
    let mut named = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value)),
            _ => (word.as_str(), None),
        };
        if word == "--" {
            continue;
        }
        if !word.starts_with('-') {
            if runner.positional && !named {
                add(runner, word, found);
            }
            // What follows are arguments of the package.
            return;
        }
        let is = |options: &[&str]| options.contains(&option);
        if is(runner.package) || is(runner.beside) {
            named |= is(runner.package);
            let value = attached.or_else(|| rest.next().map(String::as_str)).unwrap_or_default();
            value.split(',').for_each(|value| add(runner, value, found));
        } else if is(runner.valued) && attached.is_none() {
            rest.next();
        }
    }
}

fn add(runner: &Runner, specification: &str, found: &mut Vec<Package>) {
    let package = match runner.ecosystem {
        Ecosystem::Npm => npm(specification),
        Ecosystem::PyPi => pypi(specification),
    };
    found.extend(package);
}

/// Reads a specification of npm: `name`, `@scope/name`, each with `@version`. Paths, URLs and repositories are no packages of
/// the registry; an alias is the package that it stands for.
fn npm(specification: &str) -> Option<Package> {
    let specification = specification.trim();
    let at = specification.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
    let (name, version) = match at {
        Some(at) => (specification.get(..at)?, specification.get(at + 1..)),
        None => (specification, None),
    };
    if let Some(other) = version.and_then(|version| version.strip_prefix("npm:")) {
        return npm(other);
    }
    let parts: Vec<&str> = name.split('/').collect();
    let named = match parts.as_slice() {
        [name] => is_name(name),
        [scope, name] => scope.strip_prefix('@').is_some_and(is_name) && is_name(name),
        _ => false,
    };
    let version =
        version.filter(|version| is_exact(version, 3)).map(|version| version.trim_start_matches('v').to_owned());
    named.then(|| Package { ecosystem: Ecosystem::Npm, name: name.to_owned(), version })
}

/// Reads a requirement: `name`, `name[extra]`, each with `==version` or, as uv has it, `@version`. Names are compared in the
/// form that the index has for them (the specification of names and normalization of Python packages).
fn pypi(requirement: &str) -> Option<Package> {
    let requirement = requirement.split(';').next().unwrap_or_default().trim();
    let end = requirement.find(['[', '=', '<', '>', '!', '~', '@', ' ']).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    if !is_name(name) {
        return None;
    }
    let rest = match rest.split_once(']') {
        Some((extras, rest)) if extras.starts_with('[') => rest,
        _ => rest,
    };
    let rest = rest.trim();
    if rest.strip_prefix('@').is_some_and(|source| source.contains(['/', ':'])) {
        return None;
    }
    let version = rest.strip_prefix("===").or_else(|| rest.strip_prefix("==")).or_else(|| rest.strip_prefix('@'));
    let version = version.map(str::trim).filter(|version| is_exact(version, 1)).map(str::to_owned);
    let mut normal = String::new();
    for part in name.to_lowercase().split(['-', '_', '.']).filter(|part| !part.is_empty()) {
        if !normal.is_empty() {
            normal.push('-');
        }
        normal.push_str(part);
    }
    Some(Package { ecosystem: Ecosystem::PyPi, name: normal, version })
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 214 && text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(allowed)
}

/// Returns true for one version, false for a range, a tag or a wildcard. Of npm's, one has all three numbers.
fn is_exact(version: &str, numbers: usize) -> bool {
    let version = version.strip_prefix('v').unwrap_or(version);
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'!' | b'_');
    let wild = |part: &str| matches!(part, "x" | "X" | "*" | "");
    version.starts_with(|first: char| first.is_ascii_digit())
        && version.bytes().all(allowed)
        && core.split('.').count() >= numbers
        && !core.split('.').any(wild)
}

#[cfg(test)]
mod tests;
