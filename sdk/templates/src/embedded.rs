//! The files of the project that are embedded.

/// Every file, by its place in the project.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Returns the files of a folder, by their place in it.
pub(crate) fn folder(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> + use<'_> {
    FILES.iter().filter_map(move |(path, text)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}

/// Returns the text of one file; empty where there is none.
pub(crate) fn file(path: &str) -> &'static str {
    FILES.iter().find(|(place, _)| *place == path).map_or("", |(_, text)| text)
}
