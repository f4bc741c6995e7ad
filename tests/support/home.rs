//! A temporary home of the gateway.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary `PORTCULLIS_HOME`; removed with the value.
#[derive(Debug)]
pub struct Home {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Home {
    /// Creates a home with that text as its config. `program` is the binary under test.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn new(program: &str, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("config.yaml"), config).expect("the config is written");
        Self { folder, program: program.into() }
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of dropped policies, creating it.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn policies(&self) -> PathBuf {
        let path = self.path().join("policies.d");
        std::fs::create_dir_all(&path).expect("the policies folder is created");
        path
    }

    /// Drops a file into the policies folder in the documented way: written beside, then renamed.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn drop_policy(&self, name: &str, bytes: &[u8]) {
        let beside = self.path().join(format!(".{name}.new"));
        std::fs::write(&beside, bytes).expect("the file is written");
        std::fs::rename(beside, self.policies().join(name)).expect("the file is renamed");
    }

    /// Returns a command of the program with this home, its standard error going to `stderr.log` there.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path().join("stderr.log"))
            .expect("the log is opened");
        let mut command = Command::new(&self.program);
        command.args(arguments).env("PORTCULLIS_HOME", self.path()).stderr(Stdio::from(log));
        command
    }

    /// Returns what the program wrote to standard error so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr.log")).unwrap_or_default()
    }
}
