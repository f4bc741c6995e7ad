//! What the kernel is to keep a server to.

use super::*;
use crate::{Network, Sandbox};

#[test]
fn a_sandbox_is_read_and_an_empty_one_is_the_narrowest() {
    let config = parse(
        r#"mcp_servers:
  free: {command: server}
  off: {command: server, sandbox: off}
  empty:
    command: server
    sandbox:
  plain: {command: server, sandbox: true}
  whole: {command: server, sandbox: {network: [443, "5432"], read: ~/notes, write: [/srv/work], local_sockets: yes, strict: no}}
  all: {command: server, sandbox: {network: ALL}}
"#,
    );
    assert_eq!(config.diagnostics, []);
    let of = |name: &str| config.server(name).unwrap().options.sandbox.clone();
    assert_eq!((of("free"), of("off")), (None, None));
    let narrowest = Sandbox { network: Network::None, read: vec![], write: vec![], local_sockets: false, strict: true };
    assert_eq!((of("empty"), of("plain")), (Some(narrowest.clone()), Some(narrowest.clone())));
    let whole = Sandbox {
        network: Network::Ports(vec![443, 5432]),
        read: vec!["/home/u/notes".into()],
        write: vec!["/srv/work".into()],
        local_sockets: true,
        strict: false,
    };
    assert_eq!(of("whole"), Some(whole));
    assert_eq!(of("all"), Some(Sandbox { network: Network::All, ..narrowest }));
}

#[test]
fn a_server_whose_sandbox_has_a_mistake_does_not_run_without_it() {
    for (sandbox, wanted) in [
        ("{network: [api.example.com]}", "hosts are not offered"),
        ("{network: [0]}", "a port from 1 to 65535"),
        ("{network: [443, {a: b}]}", "a port from 1 to 65535"),
        ("{network: some}", "expected one of"),
        ("{write: work}", "does not begin at the root"),
        ("{netwrok: none}", "this key of a sandbox is not known"),
        ("{strict: maybe}", "expected true or false"),
        ("[none]", "expected a map, true or false"),
    ] {
        let config = parse(&format!("mcp_servers:\n  a: {{command: server, sandbox: {sandbox}}}\n"));
        assert_eq!(config.left_out, ["a"], "{sandbox}");
        assert!(config.diagnostics[0].message.contains(wanted), "{sandbox}: {:?}", config.diagnostics);
    }
    let config = parse("mcp_servers:\n  a: {url: https://example.com/mcp, sandbox: {network: none}}\n");
    assert_eq!((names(&config), config.diagnostics.len()), (vec!["a"], 1));
}
