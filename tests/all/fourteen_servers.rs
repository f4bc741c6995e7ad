//! Fourteen real servers behind one gateway, in both eras where they speak them: as many tools as directly. Eight of them
//! are big, and some want a browser or an account before they do anything, so that they are only listed.

use std::process::{Command, Stdio};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_tests::{Client, Home, Installed, more_servers, real_servers};

use crate::PROGRAM;
use crate::real_servers::{config_of, git, through};

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect()
}

fn command(server: &Installed) -> Command {
    let mut command = Command::new(&server.command);
    command.args(&server.arguments).stderr(Stdio::null());
    command.envs(server.environment.iter().map(|(name, value)| (name, value)));
    command
}

#[test]
#[ignore = "installs and starts fourteen servers, some of them big: cargo test -p portcullis-tests fourteen -- --ignored"]
fn fourteen_real_servers_list_as_many_tools_as_directly_in_both_eras() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    git(folder.path(), &["init", "--quiet"]);
    let servers = match real_servers(folder.path(), folder.path()).and_then(|six| Ok((six, more_servers()?))) {
        Ok((six, eight)) => six.into_iter().chain(eight).collect::<Vec<_>>(),
        Err(reason) => return println!("skipped: the registries cannot be reached: {reason}"),
    };
    let none = || Value::from(object! {});
    // One after the other: all of them at once take minutes to start on a small machine.
    let direct = |server: &Installed| {
        let handshake = Client::connect(&mut command(server), none()).tools().len();
        let stateless = Client::connect_stateless(&mut command(server), none());
        (handshake, stateless.map(|mut client| client.tools().len()))
    };
    let direct: Vec<(usize, Option<usize>)> = servers.iter().map(direct).collect();
    let home = Home::new(PROGRAM, &config_of(&servers, &folder.path().join("memory.jsonl"), "auto"));
    let of_handshake = Client::connect(&mut home.command(&["run"]), none()).tools();
    let stateless = Client::connect_stateless(&mut home.command(&["run"]), none());
    let of_stateless = stateless.expect("the gateway speaks the era").tools();
    let mut wrong = Vec::new();
    for (server, (handshake, stateless)) in servers.iter().zip(direct) {
        // The gateway bridges: where a server lacks an era, its clients see what the server lists in the other.
        for (era, expected, tools) in
            [("handshake", handshake, &of_handshake), ("stateless", stateless.unwrap_or(handshake), &of_stateless)]
        {
            let found = through(tools, server.name);
            println!("{}, {era}: {expected} tools directly, {} through the gateway", server.name, found.len());
            if found.len() != expected {
                wrong.push(format!("{}, {era}: {expected} tools, but {:?}", server.name, names(&found)));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", home.stderr());
}
