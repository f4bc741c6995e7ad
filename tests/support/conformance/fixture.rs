//! Our own server with what the suite asks for, a crate of its own.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A running fixture server over HTTP. It ends with the value: its standard input is closed then.
#[derive(Debug)]
pub struct Fixture {
    child: Child,
    /// Where it listens.
    pub url: String,
}

impl Fixture {
    /// Builds the fixture where that was not done yet, and returns its path. `program` is the binary under test, beside
    /// which cargo puts it.
    pub fn build(program: &str) -> Result<PathBuf, String> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        BUILT.get_or_init(|| build(program)).clone()
    }

    /// Starts it over HTTP with the revisions of `era`: `both`, `legacy` or `modern`.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(program: &str, era: &str) -> Result<Self, String> {
        let path = Self::build(program)?;
        let mut child = Command::new(path)
            .args(["http", era])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the fixture did not start: {error}"))?;
        let mut url = String::new();
        let output = child.stdout.take().expect("the output was piped");
        BufReader::new(output).read_line(&mut url).map_err(|error| format!("the fixture said nothing: {error}"))?;
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn build(program: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(program).parent().map(PathBuf::from).ok_or("the program lies in no folder")?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--package", "portcullis-conformance-fixture"]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    if folder.ends_with("release") {
        command.arg("--release");
    }
    let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("the fixture was not built: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let path = folder.join("portcullis-conformance-fixture").with_extension(std::env::consts::EXE_EXTENSION);
    path.exists().then_some(path).ok_or_else(|| "cargo put the fixture elsewhere".to_owned())
}
