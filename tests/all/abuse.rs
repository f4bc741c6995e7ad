//! Clients over HTTP that mean no good, or break off: nothing of them stays behind, and others are served meanwhile.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use portcullis_tests::Home;

use crate::PROGRAM;
use crate::serving::{PATIENCE, Serving, call, config, wait_until};

/// Streams and sleepers of the runtime come and go by a few.
const SLACK: usize = 8;

/// What a gateway holds: descriptors, and the processes below it.
#[derive(Clone, Debug)]
struct Holding {
    descriptors: usize,
    processes: Vec<u32>,
}

fn holding(serving: &Serving) -> Holding {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", serving.process())).expect("it runs").count();
    let mut processes = serving.descendants();
    processes.sort_unstable();
    Holding { descriptors, processes }
}

fn open() -> (Home, Serving) {
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--without-token"]);
    call(&serving, &[]);
    (home, serving)
}

/// Waits until the gateway holds no more than before.
fn comes_back_to(before: &Holding, serving: &Serving) {
    wait_until("nothing stays behind", || holding(serving).descriptors <= before.descriptors + SLACK);
    assert_eq!(holding(serving).processes, before.processes);
}

fn connect(serving: &Serving) -> TcpStream {
    let stream = TcpStream::connect(serving.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream
}

fn head(serving: &Serving, length: u64) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        serving.address()
    )
}

/// Returns the status that a request is answered with.
fn status(stream: &mut TcpStream) -> String {
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("it answers");
    String::from_utf8_lossy(start.get(9..).unwrap_or_default()).into_owned()
}

#[test]
fn who_is_slow_or_asks_too_much_or_breaks_off_is_not_remembered() {
    let (home, serving) = open();
    let before = holding(&serving);
    let mut held = Vec::new();
    for round in 0..25 {
        // Heads and bodies that never come to their end.
        let mut slow = connect(&serving);
        slow.write_all(b"POST /mcp HTTP/1.1\r\nHos").expect("it reads");
        held.push(slow);
        let mut slow = connect(&serving);
        slow.write_all(head(&serving, 1_000).as_bytes()).expect("it reads");
        slow.write_all(b"{\"jsonrpc\"").expect("it reads");
        held.push(slow);
        // One end closed, the other one not.
        let mut half = connect(&serving);
        half.write_all(b"POST /mcp HTTP/1.1\r\nHos").expect("it reads");
        half.shutdown(Shutdown::Write).expect("it is open");
        held.push(half);
        // Closed with unread bytes, which resets the connection.
        let mut broken = connect(&serving);
        broken.write_all(head(&serving, 2).as_bytes()).expect("it reads");
        broken.write_all(b"{}").expect("it reads");
        drop(broken);
        // Larger than any message.
        let mut large = connect(&serving);
        large.write_all(head(&serving, 1 << 40).as_bytes()).expect("it reads");
        assert_eq!(status(&mut large), "413", "{}", home.stderr());
        let mut large = connect(&serving);
        let field = format!("GET /mcp HTTP/1.1\r\nHost: x\r\nX-Large: {}\r\n\r\n", "x".repeat(256 * 1024));
        // It may answer and close before all is sent.
        let _ = large.write_all(field.as_bytes());
        if round % 5 == 0 {
            call(&serving, &[]);
        }
    }
    call(&serving, &[]);
    drop(held);
    comes_back_to(&before, &serving);
    call(&serving, &[]);
}

#[test]
fn a_thousand_connections_that_come_and_go_leave_nothing_behind() {
    let (_home, serving) = open();
    let before = holding(&serving);
    for number in 0..1_000 {
        let mut stream = connect(&serving);
        match number % 4 {
            0 => {}
            1 => drop(stream.write_all(b"\0\x16garbage\r\n\r\n")),
            2 => drop(stream.write_all(head(&serving, 100).as_bytes())),
            _ => {
                stream.write_all(head(&serving, 2).as_bytes()).expect("it reads");
                stream.write_all(b"{}").expect("it reads");
                assert_eq!(status(&mut stream), "400");
            }
        }
    }
    call(&serving, &[]);
    comes_back_to(&before, &serving);
}
