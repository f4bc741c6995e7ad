//! A client that speaks raw lines.

use std::collections::VecDeque;
use std::time::Duration;

use portcullis_model::json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use super::{SOON, json, names};

/// A client that speaks raw lines.
pub(in crate::gateway::tests) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    next: u64,
    /// What came meanwhile and was no answer to what was waited for.
    others: VecDeque<Value>,
}

impl Client {
    /// Speaks over one end of a pair of pipes.
    pub(super) fn new(pipes: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(pipes);
        Self { lines: BufReader::new(reader).lines(), writer, next: 1, others: VecDeque::new() }
    }

    pub(in crate::gateway::tests) async fn send(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    /// Sends no more.
    pub(in crate::gateway::tests) async fn finish(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    async fn read(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(SOON, self.lines.next_line()).await.expect("an answer in time").unwrap();
        line.map(|line| json(&line))
    }

    /// Sends a request and returns its id.
    pub(in crate::gateway::tests) async fn start(&mut self, method: &str, params: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await;
        id
    }

    /// Waits for a message that fulfils the condition.
    pub(in crate::gateway::tests) async fn wait(&mut self, condition: impl Fn(&Value) -> bool) -> Value {
        if let Some(position) = self.others.iter().position(&condition) {
            return self.others.remove(position).unwrap();
        }
        loop {
            let message = self.read().await.expect("the gateway goes on");
            if condition(&message) {
                return message;
            }
            self.others.push_back(message);
        }
    }

    pub(in crate::gateway::tests) async fn answer_to(&mut self, id: u64) -> Value {
        self.wait(|message| message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id))
            .await
    }

    /// Waits for a request or notification of that method.
    pub(in crate::gateway::tests) async fn expect(&mut self, method: &str) -> Value {
        self.wait(|message| message.get("method").and_then(Value::as_str) == Some(method)).await
    }

    /// Returns true where a message of that method came so far or comes within a moment.
    pub(in crate::gateway::tests) async fn hears(&mut self, method: &str) -> bool {
        tokio::time::timeout(Duration::from_millis(300), self.expect(method)).await.is_ok()
    }

    /// Sends a request and returns the whole response.
    pub(in crate::gateway::tests) async fn request(&mut self, method: &str, params: &str) -> Value {
        let id = self.start(method, params).await;
        self.answer_to(id).await
    }

    /// Sends a request and returns its result.
    pub(in crate::gateway::tests) async fn result(&mut self, method: &str, params: &str) -> Value {
        let response = self.request(method, params).await;
        response.get("result").unwrap_or_else(|| panic!("{}", response.to_json())).clone()
    }

    pub(in crate::gateway::tests) async fn call(&mut self, tool: &str, arguments: &str) -> Value {
        self.result("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await
    }

    pub(in crate::gateway::tests) async fn respond(&mut self, request: &Value, result: &str) {
        let id = request.get("id").unwrap().to_json();
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    pub(in crate::gateway::tests) async fn introduce(&mut self, capabilities: &str) -> Value {
        let params = format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"1"}}}}"#
        );
        let result = self.result("initialize", &params).await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        result
    }

    /// Sends a request of the stateless era and returns its id. `params` is what stands before `_meta`.
    pub(in crate::gateway::tests) async fn start_stateless(
        &mut self,
        method: &str,
        capabilities: &str,
        params: &str,
    ) -> u64 {
        self.start(method, &stateless_params(capabilities, params, "")).await
    }

    /// Sends a request of the stateless era and returns the whole response.
    pub(in crate::gateway::tests) async fn stateless(
        &mut self,
        method: &str,
        capabilities: &str,
        params: &str,
    ) -> Value {
        let id = self.start_stateless(method, capabilities, params).await;
        self.answer_to(id).await
    }

    /// Returns the published names of all tools.
    pub(in crate::gateway::tests) async fn tools(&mut self) -> Vec<String> {
        names(&self.result("tools/list", "{}").await, "tools", "name")
    }
}

/// Returns parameters of the stateless era: members, and further members of `_meta`, each list ended by a comma.
pub(in crate::gateway::tests) fn stateless_params(capabilities: &str, members: &str, meta: &str) -> String {
    format!(
        r#"{{{members}"_meta":{{{meta}"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"test","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}"#
    )
}
