use std::time::Duration;

use portcullis_model::Principal;
use portcullis_model::json::{Value, parse_str};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::conversations::{Conversations, Full};
use super::jobs::{Jobs, State, TooManyJobs};
use super::sampling::sample;
use super::*;

fn json(text: &str) -> Value {
    parse_str(text).unwrap()
}

fn principal(name: &str) -> Principal {
    Principal::parse(name).unwrap()
}

/// Answers one request with that body and returns what was asked.
async fn endpoint(body: &'static str) -> (portcullis_config::ChatEndpoint, tokio::task::JoinHandle<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            length = line.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
        }
        let mut asked = vec![0; length];
        stream.read_exact(&mut asked).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
        stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
        portcullis_model::json::parse(&asked).unwrap()
    });
    let endpoint = portcullis_config::ChatEndpoint {
        url,
        model: "stub".to_owned(),
        api_key: None,
        timeout: None,
        max_tokens: Some(100),
        session_header: None,
    };
    (endpoint, serving)
}

const LIMIT: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_conversation_with_tools_is_asked_as_it_was_and_a_use_of_tools_comes_back() {
    let answer = r#"{"model":"m-2","choices":[{"message":{"content":null,"tool_calls":[
        {"id":"c9","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}},
        {"id":"c10","type":"function","function":{"name":"look","arguments":"no json"}}
        ]},"finish_reason":"tool_calls"}],"usage":{"total_tokens":12}}"#;
    let (endpoint, serving) = endpoint(answer).await;
    let params = json(
        r#"{"systemPrompt":"Be brief.","maxTokens":500,"temperature":0.5,"stopSequences":["."],
        "tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"},
        "messages":[
          {"role":"user","content":[{"type":"text","text":"what"},{"type":"image","mimeType":"image/png","data":"AAAA"}]},
          {"role":"assistant","content":{"type":"tool_use","id":"c8","name":"look","input":{"at":0}}},
          {"role":"user","content":[{"type":"tool_result","toolUseId":"c8","content":[{"type":"text","text":"seen"}]}]}
        ]}"#,
    );
    let sampled = sample(&endpoint, &params, LIMIT).await.unwrap();
    assert_eq!((sampled.tokens, sampled.uses_tools), (12, true));
    assert_eq!(
        sampled.result,
        json(
            r#"{"role":"assistant","content":[
            {"type":"tool_use","id":"c9","name":"look","input":{"at":1}},
            {"type":"tool_use","id":"c10","name":"look","input":{"_raw":"no json"}}
            ],"model":"m-2","stopReason":"toolUse"}"#
        )
    );
    assert_eq!(
        serving.await.unwrap(),
        json(
            r#"{"model":"stub","messages":[
            {"role":"system","content":"Be brief."},
            {"role":"user","content":[{"type":"text","text":"what"},
              {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
            {"role":"assistant","content":null,"tool_calls":[
              {"id":"c8","type":"function","function":{"name":"look","arguments":"{\"at\":0}"}}]},
            {"role":"tool","tool_call_id":"c8","content":"seen"}
            ],"stream":false,"max_tokens":100,"temperature":0.5,"stop":["."],
            "tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],
            "tool_choice":"required"}"#
        )
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_asked_as_it_is_is_not_asked_at_all() {
    let unreachable = portcullis_config::ChatEndpoint {
        url: "http://127.0.0.1:1/v1".to_owned(),
        model: "stub".to_owned(),
        api_key: None,
        timeout: None,
        max_tokens: None,
        session_header: None,
    };
    for params in [
        "{}",
        r#"{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}"#,
        r#"{"messages":[{"role":"user","content":{"type":"audio","data":"AAAA","mimeType":"audio/wav"}}]}"#,
        r#"{"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[{"type":"image"}]}}]}"#,
    ] {
        let error = sample(&unreachable, &json(params), LIMIT).await.unwrap_err();
        assert!(matches!(error, sampling::SampleError::Request(_)), "{params}: {error}");
    }
    let asked = json(r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#);
    let error = sample(&unreachable, &asked, LIMIT).await.unwrap_err();
    assert!(!error.for_server().message().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_completion_is_an_error() {
    for body in ["{}", r#"{"choices":[{"message":{}}]}"#, r#"{"choices":[{"message":{"content":7}}]}"#, "nothing"] {
        let (endpoint, _serving) = endpoint(body).await;
        let client = ChatClient::new(&endpoint).unwrap();
        let error = client.complete(Asking::default(), LIMIT).await.unwrap_err();
        assert!(matches!(error, ChatError::Malformed(_)), "{body}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_are_told_to_their_principal_alone_and_stay_as_they_ended() {
    let (mine, other) = (principal("mine"), principal("other"));
    let mut jobs = Jobs::default();
    let id = jobs.enter(&mine, Some("s"), "prompt").unwrap();
    let status = |jobs: &mut Jobs, who: &Principal, id: &str| {
        jobs.tell(who, id).get("status").and_then(Value::as_str).unwrap().to_owned()
    };
    jobs.start(&id);
    assert_eq!((status(&mut jobs, &mine, &id), status(&mut jobs, &other, &id)), ("running".into(), "unknown".into()));
    jobs.cancel(&other, &id);
    assert!(jobs.forget(&other).is_empty());
    assert_eq!(status(&mut jobs, &mine, &id), "running");
    jobs.cancel(&mine, &id);
    jobs.finish(&id, Ok("too late".to_owned()));
    let told = jobs.tell(&mine, &id);
    assert_eq!(told.get("status").and_then(Value::as_str), Some("cancelled"));
    assert!(told.get("result").is_none() && told.get("finished_at").is_some());
    tokio::time::advance(Duration::from_hours(25)).await;
    assert_eq!(status(&mut jobs, &mine, &id), "unknown");
}

#[tokio::test]
async fn nobody_fills_a_desk_alone_and_answers_have_a_size_together() {
    let (mine, other) = (principal("mine"), principal("other"));
    let mut jobs = Jobs::default();
    let ids: Vec<String> = (0..250).map(|_| jobs.enter(&mine, None, "x").unwrap()).collect();
    assert_eq!(jobs.enter(&mine, None, "x"), Err(TooManyJobs));
    assert!(jobs.enter(&other, None, "x").is_ok());
    for id in &ids {
        jobs.finish(id, Ok("y".repeat(1024 * 1024)));
    }
    let counts = jobs.forget(&mine);
    assert_eq!((counts.get(&State::Completed), counts.get(&State::Failed)), (Some(&64), Some(&186)));
}

#[tokio::test(start_paused = true)]
async fn conversations_have_a_number_a_size_and_an_age() {
    let (mine, other) = (principal("mine"), principal("other"));
    let mut kept = Conversations::default();
    assert_eq!(kept.recall(&mine, "a", 10), Ok(Vec::new()));
    kept.remember(&mine, "a", "question", "answer");
    assert_eq!(kept.recall(&mine, "a", 10).unwrap().len(), 2);
    assert_eq!(kept.recall(&other, "a", 10), Ok(Vec::new()), "of the same name, and another one");
    kept.remember(&mine, "a", "question", &"x".repeat(600 * 1024));
    assert_eq!(kept.recall(&mine, "a", 10), Err(Full::Conversation));
    for number in 1..16 {
        kept.recall(&mine, &number.to_string(), 10).unwrap();
    }
    assert_eq!(kept.recall(&mine, "one too many", 10), Err(Full::Desk));
    for number in 0..62 {
        kept.recall(&principal(&format!("p{}", number / 15)), &number.to_string(), 10).ok();
    }
    assert_eq!(kept.recall(&principal("late"), "a", 10), Err(Full::Desk));
    tokio::time::advance(Duration::from_hours(2)).await;
    assert_eq!(kept.recall(&principal("late"), "a", 10), Ok(Vec::new()), "what rests makes room");
    tokio::time::advance(Duration::from_hours(25)).await;
    assert_eq!(kept.recall(&mine, "one too many", 10), Ok(Vec::new()), "what is old is gone");
}
