//! Nothing of a server outlives its gateway.
//!
//! This program is its own cast: it plays the supervisor and a gateway that gets killed, besides running the tests.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test without the usual harness")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portcullis_supervisor::control::{Event, STOP};
use portcullis_supervisor::{Command, Launcher};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|role| role.to_str()) {
        Some("supervise") => return portcullis_supervisor::run(arguments),
        Some("gateway") => return gateway(&arguments.next().unwrap().into_string().unwrap()),
        _ => {}
    }
    let tests: [(&str, fn()); 12] = [
        ("nothing_survives_a_stop", nothing_survives_a_stop),
        ("nothing_survives_the_crash_of_a_server", nothing_survives_the_crash_of_a_server),
        ("nothing_survives_a_gateway_that_is_killed", nothing_survives_a_gateway_that_is_killed),
        ("nothing_survives_its_own_refusal_to_end", nothing_survives_its_own_refusal_to_end),
        ("a_server_dies_with_its_supervisor", a_server_dies_with_its_supervisor),
        ("end_of_file_reaches_the_server", end_of_file_reaches_the_server),
        ("end_of_file_reaches_the_gateway", end_of_file_reaches_the_gateway),
        ("the_exit_code_is_passed_on", the_exit_code_is_passed_on),
        ("a_server_sees_its_own_environment_and_no_other", a_server_sees_its_own_environment_and_no_other),
        ("a_server_inherits_its_three_streams_and_nothing_else", a_server_inherits_its_three_streams_and_nothing_else),
        ("a_server_that_cannot_start_is_reported", a_server_that_cannot_start_is_reported),
        ("a_signal_for_the_supervisor_ends_the_server", a_signal_for_the_supervisor_ends_the_server),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || std::panic::catch_unwind(test).map_err(|_| Failed::from("the test panicked")))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A server with a child in its group, one in a session of its own, and a daemon that nobody waits for. Each writes its
/// id into the folder `$FOLDER`.
const FAMILY: &str = r#"
sleep 300 & echo $! > "$FOLDER/group"
setsid sh -c 'echo $$ > "$FOLDER/session"; exec sleep 300' &
(setsid sh -c 'echo $$ > "$FOLDER/daemon"; exec sleep 300' &)
echo $$ > "$FOLDER/server"
"#;
const MEMBERS: [&str; 4] = ["group", "session", "daemon", "server"];

struct Server {
    process: Child,
    control: UnixStream,
    folder: PathBuf,
}

impl Server {
    fn start(test: &str, script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("portcullis-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self::start_in(folder, script)
    }

    fn start_in(folder: PathBuf, script: &str) -> Self {
        let launcher = Launcher { program: std::env::current_exe().unwrap(), arguments: vec!["supervise".into()] };
        let command = Command {
            command: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: vec![
                ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("FOLDER".to_owned(), folder.to_str().unwrap().to_owned()),
            ],
            working_directory: None,
            sandbox: None,
        };
        let mut prepared = command.prepare(&launcher).unwrap();
        let process = prepared.process.spawn().unwrap();
        drop(prepared.process);
        prepared.control.set_nonblocking(false).unwrap();
        prepared.control.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        prepared.control.write_all(&prepared.launch).unwrap();
        Self { process, control: prepared.control, folder }
    }

    fn event(&mut self) -> Event {
        let mut bytes = [0; Event::LENGTH];
        self.control.read_exact(&mut bytes).unwrap();
        Event::decode(bytes).unwrap()
    }

    fn stop(&mut self) {
        self.control.write_all(&[STOP]).unwrap();
    }

    fn wait(&mut self) -> i32 {
        self.process.wait().unwrap().code().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    condition()
}

fn pids(folder: &Path) -> Vec<Pid> {
    let read = |member: &str| {
        let mut found = None;
        within(Duration::from_secs(10), || {
            found = fs::read_to_string(folder.join(member)).ok().and_then(|text| text.trim().parse().ok());
            found.is_some()
        });
        Pid::from_raw(found.unwrap())
    };
    let pids: Vec<_> = MEMBERS.iter().map(|member| read(member)).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    pids
}

fn is_alive(pid: Pid) -> bool {
    kill(pid, None).is_ok()
}

fn assert_gone(pids: &[Pid], limit: Duration) {
    assert!(
        within(limit, || !pids.iter().any(|pid| is_alive(*pid))),
        "left over: {:?}",
        pids.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/stat"))).collect::<Vec<_>>()
    );
}

fn nothing_survives_a_stop() {
    let mut server = Server::start("stop", &format!("{FAMILY} wait"));
    let pids = pids(&server.folder);
    assert_eq!(server.event(), Event::Started(pids[3].as_raw()));
    server.stop();
    assert_eq!(server.event(), Event::Killed(15));
    assert_eq!(server.wait(), 128 + 15);
    assert_gone(&pids, Duration::ZERO);
}

fn nothing_survives_the_crash_of_a_server() {
    let mut server = Server::start("crash", &format!("{FAMILY} read line; kill -SEGV $$"));
    let pids = pids(&server.folder);
    server.event();
    server.process.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(server.event(), Event::Killed(11));
    assert_eq!(server.wait(), 128 + 11);
    assert_gone(&pids, Duration::ZERO);
}

fn gateway(folder: &str) -> ExitCode {
    let mut server = Server::start_in(folder.into(), &format!("{FAMILY} wait"));
    server.event();
    std::thread::sleep(Duration::from_mins(5));
    ExitCode::FAILURE
}

fn nothing_survives_a_gateway_that_is_killed() {
    let folder = std::env::temp_dir().join(format!("portcullis-killed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut gateway =
        std::process::Command::new(std::env::current_exe().unwrap()).arg("gateway").arg(&folder).spawn().unwrap();
    let pids = pids(&folder);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert_gone(&pids, Duration::from_secs(3));
    fs::remove_dir_all(folder).unwrap();
}

fn nothing_survives_its_own_refusal_to_end() {
    let script = format!(
        "trap '' TERM; {FAMILY} setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & while :; do sleep 1; done"
    );
    let mut server = Server::start("stubborn", &script);
    let pids = pids(&server.folder);
    server.event();
    let from = Instant::now();
    server.stop();
    assert_eq!(server.event(), Event::Killed(9));
    assert!(from.elapsed() >= Duration::from_secs(3), "killed after {:?}", from.elapsed());
    server.wait();
    assert!(from.elapsed() < Duration::from_secs(6), "took {:?}", from.elapsed());
    assert_gone(&pids, Duration::ZERO);
}

fn a_server_dies_with_its_supervisor() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut server = Server::start("orphan", "exec sleep 300");
    let Event::Started(pid) = server.event() else { panic!("not started") };
    server.process.kill().unwrap();
    assert_gone(&[Pid::from_raw(pid)], Duration::from_secs(2));
}

fn end_of_file_reaches_the_server() {
    let mut server = Server::start("eof", "cat");
    let mut stdin = server.process.stdin.take().unwrap();
    stdin.write_all(b"through\n").unwrap();
    drop(stdin);
    let mut text = String::new();
    server.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "through\n");
    assert_eq!(server.wait(), 0);
}

fn end_of_file_reaches_the_gateway() {
    // The server lives on with its output closed: the supervisor must not hold the pipe open in its place.
    let mut server = Server::start("closed", "exec >&- 2>&-; sleep 300");
    let mut text = String::new();
    server.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
    server.stop();
    server.wait();
}

fn the_exit_code_is_passed_on() {
    let mut server = Server::start("code", "exit 42");
    server.event();
    assert_eq!(server.event(), Event::Exited(42));
    assert_eq!(server.wait(), 42);
}

fn a_server_sees_its_own_environment_and_no_other() {
    let mut server = Server::start("environment", "env; tr '\\0' '\\n' < /proc/$PPID/environ");
    let mut text = String::new();
    server.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // What the shell sets by itself.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["FOLDER", "PATH"], "{text}");
}

fn a_server_inherits_its_three_streams_and_nothing_else() {
    let mut server = Server::start("descriptors", "for fd in /proc/$$/fd/*; do [ -e $fd ] && echo ${fd##*/}; done");
    let mut text = String::new();
    server.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let mut numbers: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    // Shells keep a duplicate of their own at 10 or above.
    numbers.retain(|number| *number < 10);
    assert_eq!(numbers, [0, 1, 2]);
}

fn a_server_that_cannot_start_is_reported() {
    use std::os::unix::fs::PermissionsExt;

    let folder = std::env::temp_dir().join(format!("portcullis-cannot-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let launcher = Launcher { program: std::env::current_exe().unwrap(), arguments: vec!["supervise".into()] };
    let command = Command {
        command: script.to_str().unwrap().to_owned(),
        arguments: Vec::new(),
        environment: Vec::new(),
        working_directory: None,
        sandbox: None,
    };
    let mut prepared = command.prepare(&launcher).unwrap();
    let process = prepared.process.spawn().unwrap();
    prepared.control.set_nonblocking(false).unwrap();
    prepared.control.write_all(&prepared.launch).unwrap();
    let mut server = Server { process, control: prepared.control, folder };
    assert_eq!(server.event(), Event::Failed(2));
    assert_eq!(server.wait(), 127);
}

fn a_signal_for_the_supervisor_ends_the_server() {
    let mut server = Server::start("signal", &format!("{FAMILY} wait"));
    let pids = pids(&server.folder);
    kill(Pid::from_raw(server.process.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    server.wait();
    assert_gone(&pids, Duration::ZERO);
}
