//! Where the browser comes back to: a page on this machine that takes one answer.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use portcullis_config::OAuthSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use url::{Host, Url};

/// Longest head of a request: an address with a code, a state, an issuer and what a browser says of itself.
const LONGEST_HEAD: usize = 32 * 1024;
/// A request is read and answered in this time.
const LIMIT: Duration = Duration::from_secs(10);
/// Browsers open some connections ahead of need; more are none of one.
const MOST_CONNECTIONS: usize = 16;

/// Where the browser comes back to. Closed when it is dropped.
#[derive(Debug)]
pub struct Loopback {
    redirect: String,
    came_back: mpsc::Receiver<String>,
    serving: JoinHandle<()>,
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Loopback {
    /// Listens where the settings say. Nothing where they name an address that is not of this machine.
    pub async fn open(settings: &OAuthSettings) -> io::Result<Option<Self>> {
        let (address, path, redirect) = match &settings.redirect_uri {
            Some(redirect) => {
                let Some((address, path)) = own_address(redirect) else { return Ok(None) };
                (address, path, Some(redirect.clone()))
            }
            None => (address_of(&settings.redirect_host, settings.redirect_port), "/callback".to_owned(), None),
        };
        let listener = TcpListener::bind(address).await?;
        let port = listener.local_addr()?.port();
        let redirect = redirect.unwrap_or_else(|| format!("http://{}:{port}{path}", settings.redirect_host));
        let (sender, came_back) = mpsc::channel(4);
        let serving = tokio::spawn(serve(listener, path, sender));
        Ok(Some(Self { redirect, came_back, serving }))
    }

    /// Returns the address that the browser is to come back to.
    pub fn redirect(&self) -> &str {
        &self.redirect
    }

    /// Waits for a browser to come back, and returns with what. Nothing where none can any more.
    pub async fn came_back(&mut self) -> Option<String> {
        self.came_back.recv().await
    }
}

fn address_of(host: &str, port: u16) -> SocketAddr {
    if host == "[::1]" { (Ipv6Addr::LOCALHOST, port).into() } else { (Ipv4Addr::LOCALHOST, port).into() }
}

/// Returns where to listen for an address that is of this machine, and its path.
fn own_address(redirect: &str) -> Option<(SocketAddr, String)> {
    let url = Url::parse(redirect).ok().filter(|url| url.scheme() == "http")?;
    let port = url.port_or_known_default()?;
    let address = match url.host()? {
        Host::Domain("localhost") => (Ipv4Addr::LOCALHOST, port).into(),
        Host::Ipv4(address) if address.is_loopback() => (address, port).into(),
        Host::Ipv6(address) if address.is_loopback() => (address, port).into(),
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => return None,
    };
    Some((address, url.path().to_owned()))
}

async fn serve(listener: TcpListener, path: String, sender: mpsc::Sender<String>) {
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= MOST_CONNECTIONS {
            let _ended = connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else { return };
        let (path, sender) = (path.clone(), sender.clone());
        connections.spawn(async move {
            // A browser that does not finish is no loss: it comes again.
            let _late = timeout(LIMIT, answer(stream, &path, &sender)).await;
        });
    }
}

async fn answer(mut stream: TcpStream, path: &str, sender: &mpsc::Sender<String>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await?;
        if length == 0 || head.len() + length > LONGEST_HEAD {
            return Ok(());
        }
        head.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    let head = String::from_utf8_lossy(&head);
    let mut line = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (line.next().unwrap_or_default(), line.next().unwrap_or_default());
    let is_answer = method == "GET" && target.split_once('?').is_some_and(|(before, _)| before == path);
    let (status, text) = if is_answer {
        ("200 OK", "Back to the terminal: there you see whether the login is good. This page can be closed.")
    } else {
        ("404 Not Found", "There is nothing here.")
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Portcullis</title><p>{text}</p></html>\n"
    );
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await?;
    if is_answer {
        // Whoever waited has what it needs, or listens no more.
        let _unheard = sender.send(target.to_owned()).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(address: &str, request: &str) -> String {
        let authority = address.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let mut stream = TcpStream::connect(authority).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }

    #[tokio::test]
    async fn the_browser_comes_back_to_one_place_and_is_told_nothing_of_what_it_brought() {
        let mut loopback = Loopback::open(&OAuthSettings::default()).await.unwrap().unwrap();
        let redirect = loopback.redirect().to_owned();
        assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback"), "{redirect}");
        // One that was opened ahead of need and says nothing holds nobody up.
        let authority = redirect.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let _silent = TcpStream::connect(&authority).await.unwrap();
        for other in [
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "POST /callback?code=a HTTP/1.1\r\n\r\n",
            "GET /callback HTTP/1.1\r\n\r\n",
        ] {
            assert!(ask(&redirect, other).await.starts_with("HTTP/1.1 404"), "{other}");
        }
        let reply = ask(&redirect, "GET /callback?code=brought&state=s HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(reply.starts_with("HTTP/1.1 200") && !reply.contains("brought"), "{reply}");
        assert_eq!(loopback.came_back().await.as_deref(), Some("/callback?code=brought&state=s"));
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_not_listened_for() {
        for redirect in ["https://app.example/callback", "http://192.0.2.1:1/callback", "https://127.0.0.1:1/callback"]
        {
            let settings = OAuthSettings { redirect_uri: Some(redirect.to_owned()), ..OAuthSettings::default() };
            assert!(Loopback::open(&settings).await.unwrap().is_none(), "{redirect}");
        }
        assert_eq!(
            own_address("http://localhost:8080/a").unwrap(),
            ("127.0.0.1:8080".parse().unwrap(), "/a".to_owned())
        );
    }
}
