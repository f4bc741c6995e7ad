//! A real OCI registry on this machine, ended with the value.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use tempfile::TempDir;

/// Starting takes a moment; a busy machine takes longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Debian's `docker-registry`, with an empty storage, on a free port of the loopback interface.
#[derive(Debug)]
pub struct Registry {
    process: Child,
    address: String,
    folder: TempDir,
}

impl Registry {
    /// Starts one; nothing where the program is not installed, which it says.
    ///
    /// # Panics
    /// Where it is installed and does not start.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    pub fn start() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"127.0.0.1:0\"}}\n",
            folder.path().join("data").display()
        );
        std::fs::write(&config, text).expect("the config of the registry is written");
        let spawned = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut process) = spawned else {
            println!("skipped: `docker-registry` is not installed (Debian: `apt install docker-registry`)");
            return None;
        };
        // It tells the port that it was given. What it logs besides is read on, so that it never waits for us.
        let lines = BufReader::new(process.stderr.take().expect("standard error is piped"));
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once("listening on ") {
                    let address = rest.split(['"', ' ', ',']).next().unwrap_or_default().to_owned();
                    // Told once; later lines say something else.
                    let _told = sender.send(address);
                }
            }
        });
        let Ok(address) = receiver.recv_timeout(PATIENCE) else {
            let _ended = process.kill();
            panic!("the registry did not start");
        };
        Some(Self { process, address, folder })
    }

    /// Returns a place in it, of a repository with tag or digest.
    pub fn place(&self, repository: &str) -> String {
        format!("oci://{}/{repository}", self.address)
    }

    /// Returns the folder of its storage.
    pub fn storage(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    /// Ends it: from now on nobody answers there.
    pub fn stop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
