use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use portcullis_config::{Approvals, Config, OperatorProof};
use portcullis_gates::{Gates, NoJournal, PolicySet};
use portcullis_mcp::{Gateway, GatewayOptions};
use portcullis_store::Home;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{AnswerRequest, Connection, Gateways, Surface, Watched};
use crate::gateway::open_store;
use crate::policies;
use crate::updates::UpdateState;

struct Heard {
    folder: tempfile::TempDir,
    home: Home,
    gates: Arc<Gates>,
    surface: Surface,
}

fn heard(approvals: &Approvals) -> Heard {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(&folder.path().join("home")).unwrap();
    let gates = Arc::new(Gates::new(PolicySet::default(), Arc::new(NoJournal)));
    let gateway = Gateway::new(&Config::default(), Arc::clone(&gates), GatewayOptions::default());
    let store = open_store(&home, &Config::default().journal).unwrap();
    let policies = Arc::new(policies::store(&home, &Config::default(), &store).unwrap());
    let front = Arc::default();
    let (look, since) = (Arc::default(), SystemTime::now());
    let watched = Watched {
        gates: Arc::clone(&gates),
        gateway,
        policies,
        config: None,
        front,
        look,
        since,
        updates: UpdateState::default(),
    };
    let surface = Surface::open(&home, watched, approvals, None).unwrap();
    Heard { folder, home, gates, surface }
}

fn socket(home: &Home) -> PathBuf {
    Gateways::of(home).unwrap().sockets().unwrap().remove(0)
}

/// Sends bytes and returns all that comes back until the connection ends.
async fn said(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    // The other side may end the connection before it has read all.
    let _ended = stream.write_all(bytes).await;
    let _ended = stream.shutdown().await;
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn what_is_no_request_is_answered_or_ends_the_connection_and_nothing_else() {
    let heard = heard(&Approvals::default());
    let path = socket(&heard.home);
    assert!(said(&path, b"{\"do\":\"dance\"}\n").await.contains("unknown-request"));
    assert!(said(&path, b"{\"do\":\"answer\",\"id\":\"a\"}\n").await.contains("malformed"));
    let unlimited = b"{\"do\":\"answer\",\"id\":\"a\",\"allow\":true,\"constrain\":[{}]}\n";
    assert!(said(&path, unlimited).await.contains("malformed"), "a clause that is not understood is not left out");
    assert!(
        said(&path, b"{\"do\":\"answer\",\"id\":\"a\",\"allow\":true,\"for\":\"ever\"}\n").await.contains("malformed")
    );
    assert!(said(&path, b"{\"do\":\"answer\",\"id\":\"a\",\"allow\":true}\n").await.contains("unknown"));
    assert_eq!(said(&path, b"not json\n").await, "");
    assert_eq!(said(&path, &vec![b'x'; 300 * 1024]).await, "");
    assert_eq!(said(&path, b"{\"do\":\"list\"}\n").await, "{\"end\":true}\n");
}

#[tokio::test]
async fn another_user_is_turned_away_even_where_the_file_is_open_to_them() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let heard = heard(&Approvals::default());
    let path = socket(&heard.home);
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    for folder in [heard.folder.path(), heard.home.path(), path.parent().unwrap(), &path] {
        open(folder);
    }
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  try:\n s.sendall(b'{\"do\":\"list\"}\\n')\n print(s.recv(100))\nexcept OSError: print(b'')";
    for (user, expected) in [(0, "b'{\"end\":true}\\n'\n"), (65_534, "b''\n")] {
        let mut command = tokio::process::Command::new("python3");
        let output = command.args(["-c", script]).arg(&path).uid(user).output().await.unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[tokio::test]
async fn an_approval_needs_another_terminal_where_the_config_says_so_and_a_refusal_does_not() {
    let heard = heard(&Approvals { proof: OperatorProof::Terminal, ..Approvals::default() });
    let mut connection = Connection::open(&socket(&heard.home)).await.unwrap();
    let answer = |allow| AnswerRequest {
        id: "k3f9x2".to_owned(),
        allow,
        scope: None,
        constraint: portcullis_gates::Constraint::default(),
        passphrase: None,
    };
    assert_eq!(connection.answer(&answer(true)).await.unwrap().unwrap_err().0, "no-terminal");
    assert_eq!(connection.answer(&answer(false)).await.unwrap().unwrap_err().0, "unknown");
}

#[tokio::test]
async fn a_passphrase_that_the_config_wants_and_nobody_set_lets_nobody_approve() {
    let heard = heard(&Approvals { proof: OperatorProof::Passphrase, ..Approvals::default() });
    let answer = said(&socket(&heard.home), b"{\"do\":\"answer\",\"id\":\"a\",\"allow\":true}\n").await;
    assert!(answer.contains("no-passphrase"), "{answer}");
}

#[tokio::test]
async fn a_surface_that_ends_takes_its_socket_with_it_and_a_dead_one_is_cleared_away() {
    let heard = heard(&Approvals::default());
    let gateways = Gateways::of(&heard.home).unwrap();
    let dead = socket(&heard.home).with_file_name("1-dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    assert_eq!(gateways.sockets().unwrap().len(), 2);
    assert_eq!(gateways.connect().await.unwrap().len(), 1);
    assert_eq!(gateways.sockets().unwrap().len(), 1);
    drop(heard.surface);
    assert!(gateways.sockets().unwrap().is_empty());
    drop(heard.gates);
}
