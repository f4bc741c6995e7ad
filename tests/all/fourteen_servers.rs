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
    let home = Home::new(PROGRAM, &config_of(&servers, &folder.path().join("memory.jsonl")));
    let none = || Value::from(object! {});
    let mut handshake = Client::connect(&mut home.command(&["run"]), none());
    let mut stateless = Client::connect_stateless(&mut home.command(&["run"]), none()).expect("the gateway speaks it");
    let (of_handshake, of_stateless) = (handshake.tools(), stateless.tools());
    let mut wrong = Vec::new();
    for server in &servers {
        let direct = Client::connect(&mut command(server), none()).tools().len();
        let found = through(&of_handshake, server.name).len();
        println!("{}: {direct} tools directly, {found} through the gateway, with a handshake", server.name);
        if found != direct {
            wrong.push(format!("{} with a handshake: {:?}", server.name, names(&through(&of_handshake, server.name))));
        }
        let Some(mut alone) = Client::connect_stateless(&mut command(server), none()) else {
            // The gateway bridges: its clients of the stateless era see what the server lists to others.
            if through(&of_stateless, server.name).len() != direct {
                wrong.push(format!("{}, bridged", server.name));
            }
            continue;
        };
        let (direct, found) = (alone.tools().len(), through(&of_stateless, server.name).len());
        println!("{}: {direct} tools directly, {found} through the gateway, stateless", server.name);
        if found != direct {
            wrong.push(format!("{} stateless: {:?}", server.name, names(&through(&of_stateless, server.name))));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", home.stderr());
}
