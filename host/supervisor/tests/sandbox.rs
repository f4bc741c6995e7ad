//! What a hostile server gets at inside of its sandbox.
//!
//! This program is its own cast: it plays the supervisor and the server, besides running the tests. A test of what the
//! running kernel cannot do passes with a word about it.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test without the usual harness"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use portcullis_supervisor::sandbox::{Network, Sandbox, Support};
use portcullis_supervisor::{Command, Launcher};
use tempfile::TempDir;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|role| role.to_str()) {
        Some("supervise") => return portcullis_supervisor::run(arguments),
        Some("hostile") => return hostile(arguments.map(|argument| argument.into_string().unwrap())),
        _ => {}
    }
    let tests: [(&str, fn()); 7] = [
        ("a_server_without_a_sandbox_gets_at_everything", a_server_without_a_sandbox_gets_at_everything),
        ("files_outside_of_a_sandbox_cannot_be_reached", files_outside_of_a_sandbox_cannot_be_reached),
        ("what_is_given_to_read_cannot_be_changed", what_is_given_to_read_cannot_be_changed),
        ("no_socket_is_opened_without_a_network", no_socket_is_opened_without_a_network),
        ("only_the_ports_that_are_given_are_connected", only_the_ports_that_are_given_are_connected),
        ("other_processes_cannot_be_reached", other_processes_cannot_be_reached),
        ("a_path_that_went_away_keeps_a_server_from_starting", a_path_that_went_away_keeps_a_server_from_starting),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || std::panic::catch_unwind(test).map_err(|_| Failed::from("the test panicked")))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// The server: tries each thing that it is told and prints `THING yes` or `THING no` with the reason.
fn hostile(attempts: impl Iterator<Item = String>) -> ExitCode {
    for attempt in attempts {
        let (what, of) = attempt.split_once('=').unwrap();
        let path = Path::new(of);
        let address = format!("127.0.0.1:{of}");
        let outcome = match what {
            "read" => fs::read(path).map(drop),
            "list" => fs::read_dir(path).map(drop),
            "create" => fs::write(path, "new"),
            "append" => fs::File::options().append(true).open(path).map(drop),
            "truncate" => fs::File::options().write(true).truncate(true).open(path).map(drop),
            "remove" => fs::remove_file(path),
            "rename" => fs::rename(path, path.with_extension("moved")),
            "run" => std::process::Command::new(path).output().map(drop),
            // What comes from the server is confined as it is.
            "child" => {
                let output = std::process::Command::new("/bin/cat").arg(path).output();
                output.and_then(|output| output.status.success().then_some(()).ok_or(std::io::ErrorKind::Other.into()))
            }
            "tcp" => TcpStream::connect(address).map(drop),
            "listen" => TcpListener::bind(address).map(drop),
            "udp" => UdpSocket::bind(address).map(drop),
            "local" => UnixStream::connect(path).map(drop),
            "datagram" => UnixDatagram::pair().map(drop),
            "pair" => UnixStream::pair().map(drop),
            "signal" => kill(Pid::from_raw(of.parse().unwrap()), None).map_err(std::io::Error::from),
            other => panic!("no such attempt: {other}"),
        };
        match outcome {
            Ok(()) => println!("{what}={of} yes"),
            Err(error) => println!("{what}={of} no {error}"),
        }
    }
    ExitCode::SUCCESS
}

/// A folder with what a home has: a key, a folder to read, one to write, and the server's own.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["given", "work", "own", "gateway"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), "text").unwrap();
        }
        fs::write(folder.path().join("id_key"), "secret").unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sandbox(&self, network: Network) -> Sandbox {
        Sandbox {
            network,
            read: vec![self.path("given")],
            write: vec![self.path("work")],
            local_sockets: false,
            strict: true,
            own: self.path("own"),
            protected: vec![self.path("gateway")],
        }
    }
}

/// Runs the server with these attempts and returns which of them it got through.
fn attempt(sandbox: Option<Sandbox>, attempts: &[String]) -> BTreeMap<String, bool> {
    let text = run(sandbox, attempts);
    let outcomes: BTreeMap<String, bool> = text
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap().to_owned(), words.next() == Some("yes"))
        })
        .collect();
    assert_eq!(outcomes.len(), attempts.len(), "{text}");
    outcomes
}

/// Runs the server and returns all that it and its supervisor said.
fn run(sandbox: Option<Sandbox>, attempts: &[String]) -> String {
    let program = std::env::current_exe().unwrap();
    let launcher = Launcher { program: program.clone(), arguments: vec!["supervise".into()] };
    let command = Command {
        command: program.to_str().unwrap().to_owned(),
        arguments: std::iter::once("hostile".to_owned()).chain(attempts.iter().cloned()).collect(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        working_directory: Some("/".into()),
        sandbox,
    };
    let mut prepared = command.prepare(&launcher).unwrap();
    prepared.control.set_nonblocking(false).unwrap();
    let mut supervisor = prepared.process.spawn().unwrap();
    drop(prepared.process);
    prepared.control.write_all(&prepared.launch).unwrap();
    let mut text = String::new();
    supervisor.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    supervisor.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    supervisor.wait().unwrap();
    text
}

/// Returns true where the kernel has so much, and says so where it has not.
fn can(landlock: u8, seccomp: bool) -> bool {
    let support = Support::probe();
    let has = support.landlock >= landlock && (support.seccomp || !seccomp);
    if !has {
        println!("skipped: this kernel has no more than {support:?}");
    }
    has
}

fn named(what: &str, path: &Path) -> String {
    format!("{what}={}", path.display())
}

fn a_server_without_a_sandbox_gets_at_everything() {
    // The proof that the attempts of the other tests would succeed.
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _local = UnixListener::bind(place.path("socket")).unwrap();
    let attempts = [
        named("read", &place.path("id_key")),
        named("list", &place.path("")),
        named("create", &place.path("made")),
        named("truncate", &place.path("id_key")),
        named("child", &place.path("id_key")),
        format!("tcp={}", listener.local_addr().unwrap().port()),
        "listen=0".to_owned(),
        "udp=0".to_owned(),
        named("local", &place.path("socket")),
        "datagram=x".to_owned(),
        "pair=x".to_owned(),
        format!("signal={}", std::process::id()),
        format!("read=/proc/{}/environ", std::process::id()),
    ];
    let outcomes = attempt(None, &attempts);
    assert!(outcomes.values().all(|yes| *yes), "{outcomes:?}");
}

fn files_outside_of_a_sandbox_cannot_be_reached() {
    if !can(3, true) {
        return;
    }
    let place = Place::new();
    let link = place.path("own/link");
    std::os::unix::fs::symlink(place.path("id_key"), &link).unwrap();
    let program = place.path("program");
    fs::copy("/bin/true", &program).unwrap();
    let refused = [
        named("read", &place.path("id_key")),
        named("read", &link),
        named("read", &place.path("gateway/file")),
        named("list", &place.path("")),
        named("create", &place.path("made")),
        named("append", &place.path("id_key")),
        named("truncate", &place.path("id_key")),
        named("remove", &place.path("id_key")),
        named("rename", &place.path("id_key")),
        named("child", &place.path("id_key")),
        named("run", &program),
        named("create", &std::env::temp_dir().join("portcullis-sandbox-test")),
    ];
    let allowed = [
        named("read", &place.path("given/file")),
        named("list", &place.path("given")),
        named("create", &place.path("own/made")),
        named("append", &place.path("own/file")),
        named("truncate", &place.path("work/file")),
        named("remove", &place.path("work/file")),
        named("run", Path::new("/bin/true")),
        named("create", Path::new("/dev/null")),
    ];
    let all: Vec<String> = refused.iter().chain(&allowed).cloned().collect();
    let outcomes = attempt(Some(place.sandbox(Network::All)), &all);
    for refused in &refused {
        assert!(!outcomes[refused], "{refused}: {outcomes:?}");
    }
    for allowed in &allowed {
        assert!(outcomes[allowed], "{allowed}: {outcomes:?}");
    }
    assert_eq!(fs::read_to_string(place.path("id_key")).unwrap(), "secret");
}

fn what_is_given_to_read_cannot_be_changed() {
    if !can(3, true) {
        return;
    }
    let place = Place::new();
    let file = place.path("given/file");
    let changes = ["create", "append", "truncate", "remove", "rename"].map(|what| named(what, &file));
    let outcomes = attempt(Some(place.sandbox(Network::None)), &changes);
    assert!(outcomes.values().all(|yes| !yes), "{outcomes:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), "text");
}

fn no_socket_is_opened_without_a_network() {
    if !can(0, true) {
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _local = UnixListener::bind(place.path("work/socket")).unwrap();
    let refused = [
        format!("tcp={}", listener.local_addr().unwrap().port()),
        "listen=0".to_owned(),
        "udp=0".to_owned(),
        named("local", &place.path("work/socket")),
        "datagram=x".to_owned(),
    ];
    // Runtimes talk to their children by such pairs.
    let all: Vec<String> = refused.iter().cloned().chain(["pair=x".to_owned()]).collect();
    // Sockets are confined even where files are not.
    for strict in [true, false] {
        let sandbox = Sandbox { strict: strict && can(3, true), ..place.sandbox(Network::None) };
        let outcomes = attempt(Some(sandbox), &all);
        assert!(refused.iter().all(|refused| !outcomes[refused]) && outcomes["pair=x"], "{outcomes:?}");
    }
    let open = Sandbox { local_sockets: true, strict: false, ..place.sandbox(Network::None) };
    let outcomes = attempt(Some(open), &all);
    assert!(outcomes[&refused[3]] && outcomes[&refused[4]], "{outcomes:?}");
    assert!(refused[..3].iter().all(|refused| !outcomes[refused]), "{outcomes:?}");
}

fn only_the_ports_that_are_given_are_connected() {
    if !can(4, true) {
        return;
    }
    let place = Place::new();
    let [given, other] = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let _local = UnixListener::bind(place.path("work/socket")).unwrap();
    let allowed = format!("tcp={}", port(&given));
    let refused = [
        format!("tcp={}", port(&other)),
        "listen=0".to_owned(),
        named("local", &place.path("work/socket")),
        "datagram=x".to_owned(),
    ];
    let all: Vec<String> = refused.iter().cloned().chain([allowed.clone()]).collect();
    let outcomes = attempt(Some(place.sandbox(Network::Ports(vec![port(&given)]))), &all);
    assert!(refused.iter().all(|refused| !outcomes[refused]), "{outcomes:?}");
    assert!(outcomes[&allowed], "{outcomes:?}");
}

fn other_processes_cannot_be_reached() {
    if !can(6, true) {
        return;
    }
    let place = Place::new();
    let own = std::process::id();
    let attempts = ["environ", "maps", "auxv", "mem"].map(|file| format!("read=/proc/{own}/{file}"));
    let attempts: Vec<String> = attempts.into_iter().chain([format!("signal={own}")]).collect();
    let outcomes = attempt(Some(place.sandbox(Network::All)), &attempts);
    assert!(outcomes.values().all(|yes| !yes), "{outcomes:?}");
    // Of itself it may see all.
    let outcomes = attempt(Some(place.sandbox(Network::All)), &["read=/proc/self/environ".to_owned()]);
    assert!(outcomes.values().all(|yes| *yes), "{outcomes:?}");
}

fn a_path_that_went_away_keeps_a_server_from_starting() {
    if !can(3, true) {
        return;
    }
    let place = Place::new();
    let sandbox = Sandbox { own: place.path("gone"), ..place.sandbox(Network::None) };
    let text = run(Some(sandbox), &["pair=x".to_owned()]);
    assert!(!text.contains("pair=x"), "{text}");
}
