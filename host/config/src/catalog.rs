//! The catalog: servers that are installed by their name, each described by a manifest.
//!
//! A manifest names exactly one version of one package, or a full commit: what is installed today is what is installed
//! tomorrow. Those that are built in are vouched for by the program that holds them; those of a folder by a signature.

mod manifest;

pub use manifest::{Asked, Manifest, ManifestError, Parameter, SandboxNeeds};

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../catalog/", $name, ".yaml"))),*]
    };
}

const BUILT_IN: &[&str] = built_in![
    "atlassian",
    "aws-documentation",
    "brave-search",
    "chrome-devtools",
    "context7",
    "exa",
    "fetch",
    "filesystem",
    "firecrawl",
    "git",
    "kubernetes",
    "memory",
    "mongodb",
    "notion",
    "playwright",
    "sentry",
    "sequential-thinking",
    "supabase",
    "tavily",
    "time",
];

/// Returns the manifests that are built in, by name.
pub fn built_in() -> impl Iterator<Item = Manifest> {
    // Each is read by a test; one that could not be read would not be there.
    BUILT_IN.iter().filter_map(|text| Manifest::parse(text).ok())
}

#[cfg(test)]
mod tests;
