//! A temporary home of the gateway.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A temporary `PORTCULLIS_HOME`; removed with the value.
#[derive(Debug)]
pub struct Home {
    folder: tempfile::TempDir,
    program: PathBuf,
}

/// Compiling the default policies takes most of a short test, so that it is done once for all homes of a test run.
fn warmed(program: &Path) -> &'static Path {
    static WARMED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let warm = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let warm =
            Command::new(program).arg("warm").arg("--home").arg(folder.path()).output().expect("the program runs");
        assert!(warm.status.success(), "warm failed: {}", String::from_utf8_lossy(&warm.stderr));
        folder
    };
    WARMED.get_or_init(warm).path()
}

impl Home {
    /// Creates a home with that text as its config and a filled cache. `program` is the binary under test.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn new(program: &str, config: &str) -> Self {
        let home = Self::cold(program, config);
        let cache = home.path().join("cache");
        std::fs::create_dir(&cache).expect("the cache is created");
        make_private(&cache);
        for entry in std::fs::read_dir(warmed(&home.program).join("cache")).expect("a warmed cache").flatten() {
            // Copying keeps the mode, which the gateway checks.
            std::fs::copy(entry.path(), cache.join(entry.file_name())).expect("the entry is copied");
        }
        home
    }

    /// Creates a home with that text as its config and an empty cache.
    ///
    /// # Panics
    /// Where the file system refuses.
    pub fn cold(program: &str, config: &str) -> Self {
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

#[cfg(unix)]
fn make_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).expect("the mode is set");
}

#[cfg(not(unix))]
fn make_private(_folder: &Path) {}
