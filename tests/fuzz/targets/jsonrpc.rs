//! A line of the wire: read without a panic whatever it is, and a message that was read is read the same once written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_mcp::jsonrpc::{
    Incoming, Message, Rewrite, read, write_error, write_notification, write_request, write_result,
};

fuzz_target!(|bytes: &[u8]| {
    let Incoming::Message(message) = read(bytes) else { return };
    let mut text = Vec::new();
    match &message {
        Message::Request(request) => {
            write_request(&mut text, &request.id, &request.method, request.params.as_ref(), Rewrite::default());
        }
        Message::Notification(notification) => {
            write_notification(&mut text, &notification.method, notification.params.as_ref());
        }
        Message::Response(response) => match &response.outcome {
            Ok(result) => write_result(&mut text, &response.id, result),
            Err(error) => write_error(&mut text, Some(&response.id), error),
        },
    }
    assert!(!text.contains(&b'\n'), "a message is one line");
    assert_eq!(read(&text), Incoming::Message(message), "{}", String::from_utf8_lossy(&text));
});
