//! Where lines of a server's standard error are kept: one bounded file for each server.

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use portcullis_mcp::{StderrLog, transport::stdio::StderrSink};
use portcullis_model::{Digest, ServerName};
use tracing_subscriber::fmt::MakeWriter as _;

use crate::failure::one_line;
use crate::log_file::LogFile;

/// Returns what makes the logs in a folder.
pub(crate) fn in_folder(folder: PathBuf) -> StderrLog {
    Arc::new(move |server| {
        let path = folder.join(file_name(server));
        match LogFile::open(&path) {
            Ok(file) => Some(Arc::new(Sink { file }) as Arc<dyn StderrSink>),
            Err(error) => {
                tracing::warn!(%server, %error, "the log of a server's standard error could not be opened");
                None
            }
        }
    })
}

/// A name of the config may be any text: letters, digits and hyphens stay, and where that loses anything a digest tells
/// two names apart.
fn file_name(server: &ServerName) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let name = server.as_str();
    if name.len() <= 64 && name.chars().all(plain) {
        return format!("{name}.stderr.log");
    }
    let kept: String = name.chars().map(|character| if plain(character) { character } else { '_' }).take(40).collect();
    format!("{kept}-{}.stderr.log", Digest::of(name.as_bytes()).short())
}

struct Sink {
    file: LogFile,
}

impl fmt::Debug for Sink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sink").finish_non_exhaustive()
    }
}

impl StderrSink for Sink {
    fn line(&self, line: &str) {
        // A full disk must not stop the server; the lines are a convenience.
        let _lost = self.file.make_writer().write_all(format!("{}\n", one_line(line)).as_bytes());
    }

    fn dropped(&self, count: u64) {
        let _lost = self.file.make_writer().write_all(format!("[{count} lines dropped]\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_server_leaves_the_folder_or_meets_another() {
        let name = |text: &str| file_name(&ServerName::parse(text).unwrap());
        assert_eq!(name("files"), "files.stderr.log");
        let names = ["../../etc/passwd", ".._.._etc_passwd", "файлы", "фaйлы", "a b", "a_b", ".", ".."].map(name);
        for (index, first) in names.iter().enumerate() {
            assert!(!first.contains('/') && !first.starts_with('.'), "{first}");
            assert!(names.iter().skip(index + 1).all(|second| second != first), "{first}");
        }
    }
}
