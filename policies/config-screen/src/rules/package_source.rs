//! `package-source`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};
use crate::address;

/// # What it does
/// Looks at where packages and images come from: registries other than the usual, archives by URL, sources of repositories, files
/// that are built from a URL.
///
/// # Why
/// A well-known name from another registry is another package.
///
/// # Example
/// ```yaml
/// command: uvx
/// args: [mcp-server-fetch]
/// env: {UV_INDEX_URL: "http://pypi.example/simple"}
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "package-source",
    summary: "A package that comes from elsewhere than the usual registries.",
    severity: Severity::High,
    check,
};

const VARIABLES: &[&str] = &[
    "NPM_CONFIG_REGISTRY",
    "YARN_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "BUN_CONFIG_REGISTRY",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_TRUSTED_HOST",
    "UV_INSECURE_HOST",
    "GOPROXY",
    "GONOSUMDB",
    "GOFLAGS",
    "GOINSECURE",
    "NPM_REGISTRY_URL",
    "COREPACK_NPM_REGISTRY",
];
const OPTIONS: &[&str] = &[
    "--registry",
    "--index-url",
    "--extra-index-url",
    "--default-index",
    "--index",
    "--find-links",
    "--trusted-host",
    "--allow-insecure-host",
];

/// Hosts of repositories that npm takes a plain URL of for a repository.
const FORGES: &[&str] = &["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

fn check(context: &Context<'_>, hits: &mut Hits) {
    for variable in &context.entry.environment {
        let upper = variable.name.to_uppercase();
        let scoped = upper.starts_with("NPM_CONFIG_@") && upper.ends_with(":REGISTRY");
        if VARIABLES.contains(&upper.as_str()) || scoped {
            variable.value.split([' ', ',', '|']).for_each(|value| registry(context, value, &variable.name, hits));
        }
    }
    for program in &context.behaviour.programs {
        let mut words = program.arguments.iter();
        while let Some(word) = words.next() {
            let attached = OPTIONS.iter().find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
            let separate = if OPTIONS.contains(&word.as_str()) { words.next().map(String::as_str) } else { None };
            if let Some(value) = attached.or(separate)
                && context.tables.programs.runners.contains(&program.name)
            {
                registry(context, value, word, hits);
            }
        }
        by_url(program.name.as_str(), &program.arguments, hits);
    }
    for (program, package) in context.packages() {
        source(&program.name, &package, hits);
    }
}

fn registry(context: &Context<'_>, value: &str, place: &str, hits: &mut Hits) {
    let value = value.trim();
    if value.is_empty() || matches!(value, "direct" | "off") {
        return;
    }
    let url = address::url(value);
    let host = url.as_ref().map_or(value, |url| url.host).to_lowercase();
    let known = context.tables.endpoints.registries.contains(&host) || context.settings.registries.contains(&host);
    if known || address::is_loopback(&host) {
        return;
    }
    let plain = url.as_ref().is_some_and(|url| url.scheme.eq_ignore_ascii_case("http"));
    if plain || address::host(&host).is_some() {
        hits.deny(format!("`{place}` takes packages from `{host}`, where nothing proves who sends them"), value);
    } else {
        hits.ask(format!("`{place}` takes packages from `{host}`"), value);
    }
}

fn source(program: &str, package: &str, hits: &mut Hits) {
    let lower = package.to_lowercase();
    let repository = ["git+", "git://", "github:", "gitlab:", "bitbucket:", "gist:", "git@", "ssh://"];
    if repository.iter().any(|start| lower.starts_with(start)) || lower.contains("@ git+") {
        if lower.starts_with("git://") || lower.starts_with("git+http://") || lower.starts_with("gist:") {
            hits.ask(format!("`{program}` runs a package from a repository that nothing proves"), package);
        } else {
            hits.flag(format!("`{program}` runs a package straight from a repository"), package);
        }
        return;
    }
    let Some(url) = address::url(package) else {
        return;
    };
    if url.scheme.eq_ignore_ascii_case("http") || address::host(url.host).is_some() {
        hits.deny(format!("`{program}` runs a package from a URL that proves nothing"), package);
    } else if FORGES.contains(&url.host.to_lowercase().as_str()) {
        hits.flag(format!("`{program}` runs a package straight from a repository"), package);
    } else {
        hits.ask(format!("`{program}` runs a package from a URL"), package);
    }
}

/// Programs that build or run what a URL or a path of a foreign host names.
fn by_url(program: &str, arguments: &[String], hits: &mut Hits) {
    let url = arguments.iter().find(|argument| address::url(argument).is_some());
    let first = arguments.first().map(String::as_str);
    match (program, first) {
        ("docker" | "podman" | "nerdctl" | "buildah", Some("build" | "buildx" | "import" | "load" | "compose")) => {
            if let Some(url) = url {
                hits.ask(format!("`{program}` builds an image from a URL"), url);
            }
        }
        ("deno" | "bun", Some("run" | "x" | "install" | "serve")) => {
            let known = ["deno.land", "jsr.io", "esm.sh", "raw.githubusercontent.com", "unpkg.com"];
            let program_file = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
            if let Some(file) = program_file.filter(|file| address::url(file).is_some()) {
                let host = address::url(file).map(|url| url.host).unwrap_or_default();
                if known.contains(&host) {
                    hits.flag(format!("`{program}` runs a program from `{host}`"), file);
                } else {
                    hits.ask(format!("`{program}` runs a program from `{host}`"), file);
                }
            }
        }
        ("docker" | "podman" | "nerdctl", Some("run" | "pull" | "create")) => {
            let image = arguments.iter().skip(1).find(|argument| {
                let host =
                    argument.split_once('/').map(|(host, _)| host.rsplit_once(':').map_or(host, |(host, _)| host));
                host.and_then(address::host)
                    .is_some_and(|_| !argument.starts_with('-') && address::url(argument).is_none())
            });
            if let Some(image) = image {
                hits.ask(format!("`{program}` takes an image from a machine without a name"), image);
            }
        }
        ("go", Some("run" | "install")) => {
            if let Some(url) = url {
                hits.ask("`go` runs a program from a URL", url);
            }
            let known = [
                "github.com",
                "gitlab.com",
                "bitbucket.org",
                "golang.org",
                "go.dev",
                "google.golang.org",
                "k8s.io",
                "gopkg.in",
            ];
            for argument in arguments.iter().skip(1).filter(|argument| argument.contains('@') && argument.contains('/'))
            {
                let host = argument.split('/').next().unwrap_or_default();
                if !known.contains(&host) {
                    hits.ask(format!("`go` runs a program from `{host}`"), argument);
                }
            }
        }
        ("cargo", Some("install" | "run")) => {
            if let Some(url) = url {
                hits.ask("`cargo` builds a program from a repository", url);
            }
            let manifest = arguments.iter().skip_while(|argument| *argument != "--manifest-path").nth(1);
            if let Some(manifest) =
                manifest.filter(|path| super::loader_variable::is_foreign_place(&path.to_lowercase()))
            {
                hits.ask("`cargo` builds a program in a place where anybody can put it", manifest);
            }
        }
        ("java", _) => {
            if let Some(url) = url.filter(|url| url.to_lowercase().ends_with(".jar")) {
                hits.ask("`java` runs an archive from a URL", url);
            }
        }
        _ => {}
    }
}
