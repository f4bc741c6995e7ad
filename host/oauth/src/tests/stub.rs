//! A server and its authorization server in one, which does what a test wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::pairs;

/// What was sent: method and path with query, and the form or the document.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) head: String,
    pub(super) body: String,
}

impl Asked {
    pub(super) fn member(&self, name: &str) -> Option<String> {
        pairs(&self.body).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// What a test sets.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Members of the metadata of the authorization server besides, or instead.
    pub(super) metadata: Vec<(&'static str, Value)>,
    /// What the resource calls itself; its own address where nothing is set.
    pub(super) resource: Option<String>,
    /// The issuer that the resource names; its own address where nothing is set.
    pub(super) issuer: Option<String>,
    /// Replies of the token endpoint, one after the other; the last one stays.
    pub(super) tokens: VecDeque<(u16, String)>,
    pub(super) asked: Vec<Asked>,
}

#[derive(Clone, Debug)]
pub(super) struct Stub {
    pub(super) address: String,
    script: Arc<Mutex<Script>>,
}

impl Stub {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { address, script: Arc::default() };
        let serving = stub.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stub = serving.clone();
                tokio::spawn(async move { stub.serve(stream).await });
            }
        });
        stub
    }

    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// Has the token endpoint give these replies.
    pub(super) fn give(&self, replies: &[(u16, &str)]) {
        self.script().tokens = replies.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
    }

    /// Returns what was sent to a path.
    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        let is_there = |asked: &&Asked| asked.line.split(' ').nth(1).unwrap().split('?').next() == Some(path);
        self.script().asked.iter().filter(is_there).cloned().collect()
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        let (head, body) = loop {
            let mut piece = [0; 4096];
            let length = stream.read(&mut piece).await.unwrap_or(0);
            if length == 0 {
                return;
            }
            bytes.extend_from_slice(&piece[..length]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let wanted =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= wanted.unwrap_or(0_usize) {
                break (head.to_owned(), body.to_owned());
            }
        };
        let line = head.lines().next().unwrap().to_owned();
        let (status, extra, reply) = self.reply(Asked { line, head, body });
        let reply = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n{reply}",
            reply.len()
        );
        stream.write_all(reply.as_bytes()).await.unwrap();
    }

    fn reply(&self, asked: Asked) -> (u16, String, String) {
        let own = &self.address;
        let mut script = self.script();
        let path = asked.line.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
        script.asked.push(asked);
        let none = String::new;
        match path.as_str() {
            "/mcp" => {
                let header = format!(
                    "WWW-Authenticate: Bearer resource_metadata=\"{own}/about\", scope=\"read write\"\r\n"
                );
                (401, header, none())
            }
            "/about" => {
                let resource = script.resource.clone().unwrap_or_else(|| format!("{own}/mcp"));
                let issuer = script.issuer.clone().unwrap_or_else(|| own.clone());
                let document = object! { "resource" => resource, "authorization_servers" => vec![Value::from(issuer)] };
                (200, none(), Value::from(document).to_json())
            }
            "/.well-known/oauth-authorization-server" => {
                let mut document = object! {
                    "issuer" => own.as_str(),
                    "authorization_endpoint" => format!("{own}/authorize"),
                    "token_endpoint" => format!("{own}/token"),
                    "registration_endpoint" => format!("{own}/register"),
                    "revocation_endpoint" => format!("{own}/revoke"),
                    "device_authorization_endpoint" => format!("{own}/device"),
                    "code_challenge_methods_supported" => vec![Value::from("S256")],
                };
                for (key, value) in &script.metadata {
                    document.insert(*key, value.clone());
                }
                (200, none(), Value::from(document).to_json())
            }
            "/register" => (201, none(), r#"{"client_id":"registered","client_secret":"made-up","token_endpoint_auth_method":"client_secret_basic"}"#.to_owned()),
            "/device" => {
                let page = format!("{own}/type");
                let document = object! {
                    "device_code" => "d", "user_code" => "WDJB-MJHT", "verification_uri" => page, "expires_in" => 60_u64,
                    "interval" => 1_u64,
                };
                (200, none(), Value::from(document).to_json())
            }
            "/token" => {
                let reply = if script.tokens.len() > 1 { script.tokens.pop_front() } else { script.tokens.front().cloned() };
                let (status, body) = reply.unwrap_or((500, none()));
                (status, none(), body)
            }
            "/revoke" => (200, none(), none()),
            _ => (404, none(), none()),
        }
    }
}

pub(super) fn document(asked: &Asked) -> Value {
    parse_str(&asked.body).unwrap()
}
