//! Clients that take more than their share, or want nothing good.

use std::time::{Duration, Instant};

use portcullis_model::json::Limits;
use portcullis_model::object;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::http::{Incoming, Open};
use super::support::*;
use crate::HttpOptions;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// More than the system keeps for a client that does not read.
const BIG: usize = 24 * 1024 * 1024;

async fn open(options: HttpOptions) -> Open {
    let mut server = Scripted::with_tools(&[&tool("t"), &tool("slow"), &tool("big")]);
    server.on_call = std::sync::Arc::new(|call, _, _| {
        Box::pin(async move {
            match call.name.as_str() {
                "slow" => std::future::pending().await,
                "big" => Ok(Ok(object! { "text" => "w".repeat(BIG) }.into())),
                _ => Ok(Ok(call.params)),
            }
        })
    });
    Open::new(setup().server("s", server).run(), options).await
}

/// Returns true where the other end is closed, well or not, within a while.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut rest)).await.is_ok()
}

async fn works(door: &Open) {
    assert_eq!(door.post(INITIALIZE).whole().await.status, 200);
}

#[tokio::test]
async fn a_head_that_comes_drop_by_drop_is_given_up() {
    let limit = Duration::from_millis(200);
    let door = open(HttpOptions { head_limit: limit, ..HttpOptions::default() }).await;
    let begin = Instant::now();
    let mut drops = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await.unwrap();
        drops.push(stream);
    }
    // Each further drop would start a naive limit anew.
    for stream in &mut drops {
        let _ = stream.write_all(b"l").await;
    }
    works(&door).await;
    for stream in &mut drops {
        assert!(is_closed(stream).await);
    }
    assert!(begin.elapsed() >= limit, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn an_idle_connection_is_kept_longer_than_a_head_may_take() {
    let limit = Duration::from_secs(3);
    let door = open(HttpOptions { head_limit: limit, ..HttpOptions::default() }).await;
    let mut stream = BufReader::new(TcpStream::connect(door.address).await.unwrap());
    for _ in 0..2 {
        stream.get_mut().write_all(&door.post(INITIALIZE).written()).await.unwrap();
        let mut answer = String::new();
        while !answer.contains("Content-Length: ") && !answer.contains("content-length: ") {
            assert!(stream.read_line(&mut answer).await.unwrap() > 0, "the connection is there still");
        }
        let length = answer.rsplit_once(": ").unwrap().1.trim().parse::<usize>().unwrap();
        while !answer.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut answer).await.unwrap() > 0);
        }
        stream.read_exact(&mut vec![0; length]).await.unwrap();
        tokio::time::sleep(limit * 2).await;
    }
    // A head that has begun is due all the same.
    stream.get_mut().write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await.unwrap();
    assert!(is_closed(stream.get_mut()).await);
    let door = open(HttpOptions { head_limit: limit, idle_limit: limit, ..HttpOptions::default() }).await;
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(&door.post(INITIALIZE).written()).await.unwrap();
    assert!(is_closed(&mut stream).await, "but not for ever");
}

#[tokio::test]
async fn a_body_that_comes_drop_by_drop_is_given_up() {
    let door = open(HttpOptions { body_limit: Duration::from_millis(200), ..HttpOptions::default() }).await;
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    let request = door.post(INITIALIZE).with("Content-Length", "1000").body(&b"{"[..]);
    stream.write_all(&request.written()).await.unwrap();
    let answer = Incoming::read(stream).await;
    assert_eq!(answer.status, 408);
    works(&door).await;
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let door = open(HttpOptions::default()).await;
    let long = door.post(INITIALIZE).with("X-Long", &"x".repeat(40 * 1024)).send().await;
    assert_eq!(long.status, 431);
    let mut many = door.post(INITIALIZE);
    for number in 0..200 {
        many = many.with(&format!("X-{number}"), "1");
    }
    assert_eq!(many.send().await.status, 431);
    works(&door).await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_whether_it_says_so_or_not() {
    let door = open(HttpOptions::default()).await;
    let announced = door.post("{").with("Content-Length", &(Limits::WIRE.bytes + 1).to_string());
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(&announced.written()).await.unwrap();
    stream.shutdown().await.unwrap();
    // Its sender may have gone on for as long as it said; here it did not.
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    let whole = door.post(&"x".repeat(Limits::WIRE.bytes + 1)).whole().await;
    assert_eq!((whole.status, whole.code()), (413, Some(-32_600)));
    let mut chunks = Vec::new();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..17 {
        chunks.extend_from_slice(b"100000\r\n");
        chunks.extend_from_slice(&piece);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    let chunked = door.post("").with("Transfer-Encoding", "chunked").body(chunks).whole().await;
    assert_eq!(chunked.status, 413);
    works(&door).await;
}

#[tokio::test]
async fn a_large_body_within_the_limit_is_carried_whole_and_unchanged() {
    let door = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    client.ask(1, "tools/list", "{}").whole().await;
    let text = "y".repeat(8 * 1024 * 1024);
    let params = format!(r#"{{"name":"mcp__s__t","arguments":{{"text":"{text}"}}}}"#);
    let answer = client.ask(2, "tools/call", &params).whole().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().pointer("/result/arguments/text").unwrap().as_str(), Some(text.as_str()));
    // In chunks of odd sizes, too.
    let body = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
    let mut chunks = Vec::new();
    for piece in body.as_bytes().chunks(77_777) {
        chunks.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        chunks.extend_from_slice(piece);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    let answer = client.post("").with("Transfer-Encoding", "chunked").body(chunks).whole().await;
    assert_eq!(answer.json().pointer("/result/arguments/text").unwrap().as_str(), Some(text.as_str()));
}

#[tokio::test]
async fn bodies_take_no_more_memory_than_there_is() {
    let door = open(HttpOptions { body_memory: 1024 * 1024, ..HttpOptions::default() }).await;
    let client = door.introduce("2025-11-25", "{}").await;
    client.ask(1, "tools/list", "{}").whole().await;
    let large = |id, tool: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"text":"{}"}}}}"#, "z".repeat(600 * 1024));
        client.ask(id, "tools/call", &params)
    };
    // The first one runs and holds its memory; a second one finds no room, a small one does not need any.
    let holder = large(2, "mcp__s__slow");
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(&holder.written()).await.unwrap();
    door.running.wait_for("the call runs", |running| running.server("s").calls().len() == 1).await;
    let refused = large(3, "mcp__s__t").whole().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    assert_eq!(client.call(4, "mcp__s__t").whole().await.status, 200);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(client.post(cancelled).whole().await.status, 202);
    assert_eq!(large(5, "mcp__s__t").whole().await.status, 200, "what was taken is given back");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_come_back() {
    let door = open(HttpOptions { requests: 2, ..HttpOptions::default() }).await;
    let client = door.introduce("2025-11-25", "{}").await;
    client.ask(1, "tools/list", "{}").whole().await;
    let mut running = Vec::new();
    for id in [2, 3] {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        stream.write_all(&client.call(id, "mcp__s__slow").written()).await.unwrap();
        running.push(stream);
    }
    door.running.wait_for("both run", |running| running.server("s").calls().len() == 2).await;
    let refused = client.call(4, "mcp__s__t").whole().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    // A client that is gone keeps its place: its call goes on, until the session ends.
    drop(running);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(client.call(5, "mcp__s__t").whole().await.status, 503);
    assert_eq!(client.request("DELETE").whole().await.status, 204);
    works(&door).await;
}

#[tokio::test]
async fn an_id_that_is_running_is_not_taken_again() {
    let door = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    client.ask(1, "tools/list", "{}").whole().await;
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(&client.call(2, "mcp__s__slow").written()).await.unwrap();
    door.running.wait_for("it runs", |running| running.server("s").calls().len() == 1).await;
    let again = client.call(2, "mcp__s__t").whole().await;
    assert_eq!(again.code(), Some(-32_600));
    assert!(again.json().get("id").unwrap().is_null(), "the answer of the one that runs is still to come");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_turned_away() {
    let door = open(HttpOptions { connections: 3, ..HttpOptions::default() }).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(TcpStream::connect(door.address).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut beyond = TcpStream::connect(door.address).await.unwrap();
    let mut text = String::new();
    let _ = beyond.read_to_string(&mut text).await;
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    drop(held);
    tokio::time::sleep(Duration::from_millis(100)).await;
    works(&door).await;
}

#[tokio::test]
async fn of_too_many_sessions_the_one_that_was_idle_for_longest_ends() {
    let door = open(HttpOptions { sessions: 2, ..HttpOptions::default() }).await;
    let first = door.introduce("2025-11-25", "{}").await;
    let second = door.introduce("2025-11-25", "{}").await;
    assert_eq!(first.ask(1, "ping", "{}").whole().await.status, 200);
    let mut listening = first.listen().await;
    listening.event().await.unwrap();
    let third = door.introduce("2025-11-25", "{}").await;
    assert_eq!(second.ask(1, "ping", "{}").whole().await.status, 404);
    assert_eq!(first.ask(2, "ping", "{}").whole().await.status, 200);
    let mut other = third.listen().await;
    other.event().await.unwrap();
    // Both are in use now: nobody is thrown out for a newcomer.
    assert_eq!(door.post(INITIALIZE).whole().await.status, 503);
    assert_eq!(third.ask(2, "ping", "{}").whole().await.status, 200);
    assert_eq!(door.running.gateway.sessions().len(), 2);
}

#[tokio::test]
async fn of_too_many_listening_streams_the_oldest_ends() {
    let door = open(HttpOptions { listeners: 2, ..HttpOptions::default() }).await;
    let client = door.introduce("2025-11-25", "{}").await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = client.listen().await;
        stream.event().await.unwrap();
        streams.push(stream);
    }
    assert!(streams[0].event().await.is_none());
    assert!(streams[1].is_silent().await && streams[2].is_silent().await);
}

#[tokio::test]
async fn an_idle_session_ends_by_itself() {
    let door = open(HttpOptions { session_idle: Duration::from_millis(400), ..HttpOptions::default() }).await;
    let idle = door.introduce("2025-11-25", "{}").await;
    let used = door.introduce("2025-11-25", "{}").await;
    let mut listening = used.listen().await;
    listening.event().await.unwrap();
    door.running.wait_for("the idle one ends", |running| running.gateway.sessions().len() == 1).await;
    assert_eq!(idle.ask(1, "ping", "{}").whole().await.status, 404);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(used.ask(1, "ping", "{}").whole().await.status, 200, "who listens is there");
}

/// Descriptors of this process that are sockets of the door: other tests of the process open and close their own.
#[cfg(target_os = "linux")]
fn descriptors_of(door: &Open) -> usize {
    let port = format!(":{:04X}", door.address.port());
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let mine = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&port).then(|| format!("socket:[{}]", fields[9]))
    });
    let mine: Vec<String> = mine.collect();
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
    targets.filter(|target| mine.iter().any(|socket| target.to_str() == Some(socket))).count()
}

/// Waits until the door has so many descriptors: its own, and those of connections.
#[cfg(target_os = "linux")]
async fn wait_for_descriptors(door: &Open, count: usize) {
    for _ in 0..200 {
        if descriptors_of(door) == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} descriptors instead of {count}", descriptors_of(door));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off() {
    let door = open(HttpOptions { write_limit: Duration::from_millis(300), ..HttpOptions::default() }).await;
    let client = door.introduce("2025-11-25", "{}").await;
    client.ask(1, "tools/list", "{}").whole().await;
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(&client.call(2, "mcp__s__big").written()).await.unwrap();
    door.running.wait_for("the call runs", |running| running.server("s").calls().len() == 1).await;
    wait_for_descriptors(&door, 1).await;
    let mut taken = Vec::new();
    let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut taken)).await.expect("the connection is over");
    assert!(taken.len() < BIG, "what fits into the buffers of the system, and no more");
    works(&door).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_rapid_reconnects_leave_nothing_behind() {
    let door = open(HttpOptions { sessions: 8, ..HttpOptions::default() }).await;
    works(&door).await;
    let client = door.introduce("2025-11-25", "{}").await;
    let mut listening = client.listen().await;
    listening.event().await.unwrap();
    // The door itself, and who listens.
    wait_for_descriptors(&door, 2).await;
    for round in 0..1_000 {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        match round % 5 {
            // Nothing is said.
            0 => {}
            // Half a head.
            1 => stream.write_all(b"POST /mcp HT").await.unwrap(),
            // Half a body.
            2 => stream.write_all(&door.post("{").with("Content-Length", "99").written()).await.unwrap(),
            // A session, whose answer nobody reads.
            3 => stream.write_all(&door.post(INITIALIZE).written()).await.unwrap(),
            // A call that never ends is left alone; or what was said is cut off by a reset.
            _ => {
                stream.write_all(&door.post(INITIALIZE).written()).await.unwrap();
                stream.set_zero_linger().unwrap();
            }
        }
        drop(stream);
    }
    wait_for_descriptors(&door, 2).await;
    assert!(door.running.gateway.sessions().len() <= 8);
    assert_eq!(client.ask(2, "ping", "{}").whole().await.status, 200, "who was there before goes on");
    assert!(listening.is_silent().await);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_closes_its_half_is_gone() {
    let door = open(HttpOptions::default()).await;
    let client = door.introduce("2025-11-25", "{}").await;
    let mut halves = Vec::new();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        stream.write_all(&client.request("GET").written()).await.unwrap();
        stream.shutdown().await.unwrap();
        halves.push(stream);
    }
    for stream in &mut halves {
        assert!(is_closed(stream).await, "the stream that nobody can come back on ends");
    }
    drop(halves);
    wait_for_descriptors(&door, 1).await;
}
