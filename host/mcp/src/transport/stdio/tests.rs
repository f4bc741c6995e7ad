use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_model::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;
use crate::jsonrpc::Id;

async fn lines(bytes: &[u8], size: usize) -> Vec<String> {
    let (mut writer, reader) = duplex(64 * 1024);
    let bytes = bytes.to_vec();
    tokio::spawn(async move {
        for piece in bytes.chunks(size) {
            writer.write_all(piece).await.unwrap();
        }
    });
    let mut reader = LineReader::new(reader);
    let mut lines = Vec::new();
    while let Some(line) = reader.next().await.unwrap() {
        lines.push(match line {
            Line::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            Line::Oversize(recovered) => format!("oversize {:?}", recovered.id),
        });
    }
    lines
}

#[tokio::test]
async fn lines_are_read_from_pieces_of_any_size() {
    for size in [1, 2, 3, 1000] {
        assert_eq!(lines(b"one\r\n\n  two \nlast", size).await, ["one", "", "two", "last"]);
    }
    assert_eq!(lines(b"", 1).await, [""; 0]);
}

#[tokio::test]
async fn a_line_at_the_limit_is_kept_and_one_beyond_it_is_skipped() {
    let mut text = vec![b'x'; LINE_LIMIT];
    text.push(b'\n');
    let beyond = format!("{{\"id\":3,\"result\":\"{}\"}}\n", "y".repeat(LINE_LIMIT));
    text.extend_from_slice(beyond.as_bytes());
    text.extend_from_slice(b"next\n");
    let found = lines(&text, 1 << 20).await;
    assert_eq!(found[0].len(), LINE_LIMIT);
    assert_eq!(found[1..], [format!("oversize {:?}", Some(Id::from(3))), "next".to_owned()]);
}

#[tokio::test]
async fn a_line_that_is_too_long_and_cut_off_is_still_reported() {
    let text = format!("{{\"id\":3,\"result\":\"{}", "y".repeat(LINE_LIMIT * 2));
    assert_eq!(lines(text.as_bytes(), 1 << 20).await, [format!("oversize {:?}", Some(Id::from(3)))]);
}

#[tokio::test]
async fn a_reader_that_is_dropped_while_it_waits_loses_nothing() {
    let (mut writer, reader) = duplex(64);
    let mut reader = LineReader::new(reader);
    writer.write_all(b"half ").await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(20), reader.next()).await.is_err());
    writer.write_all(b"whole\n").await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(Line::Text(b"half whole")));
}

#[tokio::test]
async fn a_line_whose_writer_went_away_half_way_is_finished_before_the_next() {
    let (sink, mut reader) = duplex(16);
    let writer = LineWriter::new(sink);
    let long = vec![b'a'; 100];
    assert!(tokio::time::timeout(Duration::from_millis(20), writer.send(long)).await.is_err());
    let read = tokio::spawn(async move {
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        text
    });
    writer.send(b"b".to_vec()).await.unwrap();
    writer.close().await;
    assert_eq!(read.await.unwrap(), format!("{}\nb\n", "a".repeat(100)));
    assert_eq!(writer.send(b"c".to_vec()).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<String>>);

impl StderrSink for Kept {
    fn line(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn dropped(&self, count: u64) {
        self.0.lock().unwrap().push(format!("dropped {count}"));
    }
}

async fn stderr(bytes: &[u8], secrets: Vec<(String, Secret)>) -> (Vec<String>, Tail) {
    let (kept, tail) = (Arc::new(Kept::default()), Tail::default());
    Stderr::new(vec![Arc::<Kept>::clone(&kept)], tail.clone(), secrets).read(bytes).await;
    let lines = kept.0.lock().unwrap().clone();
    (lines, tail)
}

#[tokio::test]
async fn standard_error_is_read_line_by_line_with_long_lines_cut() {
    let text = [b"one\r\ntwo \xff\n".to_vec(), vec![b'x'; 10_000], b"\nlast".to_vec()].concat();
    let (lines, tail) = stderr(&text, Vec::new()).await;
    assert_eq!(lines, ["one", "two \u{fffd}", &"x".repeat(4096), "last"]);
    assert_eq!(tail.lines(), lines);
}

#[tokio::test]
async fn values_of_the_entrys_variables_are_replaced_by_their_names() {
    let token = ["sk-", "live-0123456789"].concat();
    let secrets = vec![
        ("TOKEN".to_owned(), Secret::new(token.clone())),
        ("LONGER".to_owned(), Secret::new(format!("{token}-and-more"))),
        ("SHORT".to_owned(), Secret::new("true")),
    ];
    let text = format!("true: {token} {token}-and-more {token}\n");
    let (lines, tail) = stderr(text.as_bytes(), secrets).await;
    assert_eq!(lines, ["true: [value of TOKEN] [value of LONGER] [value of TOKEN]"]);
    assert_eq!(tail.lines(), lines);
}

#[tokio::test]
async fn a_flood_on_standard_error_is_dropped_with_a_count() {
    let (lines, tail) = stderr("line\n".repeat(2000).as_bytes(), Vec::new()).await;
    assert!(lines.len() < 700, "{}", lines.len());
    assert!(lines.last().unwrap().starts_with("dropped "));
    assert_eq!(tail.lines().len(), 20);
}
