//! Finding a bare command on the path that the server will have, not on the gateway's own.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Why a command cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The command is empty.
    #[error("the command is empty")]
    Empty,
    /// The server has no `PATH` to look on.
    #[error("`{command}` is not an absolute path and the server's environment has no PATH to find it on")]
    NoPath {
        /// The command.
        command: String,
    },
    /// Nothing of that name can be run.
    #[error("`{command}` was not found on the server's PATH: {searched}")]
    NotFound {
        /// The command.
        command: String,
        /// The path that was searched.
        searched: String,
    },
    /// The file does not exist.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be run.
    #[error("`{}` is not an executable file", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
}

/// Finds the file of a command as the system would: one with a slash from the working directory, a bare one on `path`.
pub fn find(command: &str, path: Option<&str>, working_directory: Option<&Path>) -> Result<PathBuf, LookupError> {
    if command.is_empty() {
        return Err(LookupError::Empty);
    }
    let from_directory = |file: &Path| working_directory.map_or_else(|| file.to_path_buf(), |base| base.join(file));
    if command.contains('/') {
        let file = from_directory(Path::new(command));
        return match (file.exists(), is_executable(&file)) {
            (_, true) => Ok(file),
            (true, false) => Err(LookupError::NotExecutable { path: file }),
            (false, false) => Err(LookupError::Missing { path: file }),
        };
    }
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Err(LookupError::NoPath { command: command.to_owned() });
    };
    // An empty element means the working directory, as POSIX has it; a server's PATH should not have one, and files
    // of whatever folder the gateway stands in are not what anybody means.
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| from_directory(&Path::new(folder).join(command)))
        .find(|file| is_executable(file))
        .ok_or_else(|| LookupError::NotFound { command: command.to_owned(), searched: path.to_owned() })
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_command_is_found_on_the_given_path() {
        assert_eq!(find("sh", Some("/nowhere::/bin"), None).unwrap(), Path::new("/bin/sh"));
    }

    #[test]
    fn the_error_lists_the_path_that_was_searched() {
        let error = find("no-such-command", Some("/bin:/usr/bin"), None).unwrap_err();
        assert_eq!(error.to_string(), "`no-such-command` was not found on the server's PATH: /bin:/usr/bin");
        assert_eq!(find("sh", None, None), Err(LookupError::NoPath { command: "sh".to_owned() }));
        assert_eq!(find("", None, None), Err(LookupError::Empty));
    }

    #[test]
    fn a_command_with_a_slash_is_taken_from_the_working_directory() {
        assert_eq!(find("./sh", None, Some(Path::new("/bin"))).unwrap(), Path::new("/bin/./sh"));
        assert!(matches!(find("/no/such", None, None), Err(LookupError::Missing { .. })));
        assert!(matches!(find("/etc/passwd", None, None), Err(LookupError::NotExecutable { .. })));
    }
}
