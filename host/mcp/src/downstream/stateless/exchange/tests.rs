use std::sync::Mutex;

use portcullis_model::json::parse_str;

use super::*;

fn json(text: &str) -> Value {
    parse_str(text).unwrap()
}

type Told = Arc<Mutex<Vec<String>>>;

fn present(token: Option<&str>, level: Option<LogLevel>) -> (Present, Told) {
    let told = Told::default();
    let kept = Arc::clone(&told);
    let tell: Tell = Arc::new(move |method, params: Option<&Value>| {
        kept.lock().unwrap().push(format!("{method} {}", params.map(Value::to_json).unwrap_or_default()));
    });
    (Present { tell, token: token.map(Value::from), level }, told)
}

fn exchange(capabilities: &str) -> Arc<Exchange> {
    Arc::new(Exchange::new(json(capabilities), present(None, None).0))
}

fn question<'a>(method: &'a str, key: Option<&'a str>, params: &'a Value, milliseconds: u64) -> Question<'a> {
    Question { method, key, params, limit: Duration::from_millis(milliseconds) }
}

fn ask(
    exchange: &Arc<Exchange>,
    method: &'static str,
    params: &str,
) -> tokio::task::JoinHandle<Result<Value, AskError>> {
    let (exchange, params) = (Arc::clone(exchange), json(params));
    tokio::spawn(async move { exchange.request(None, question(method, None, &params, 60_000)).await })
}

const FORM: &str =
    r#"{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}"#;

#[tokio::test]
async fn questions_that_come_together_are_asked_in_one_round_and_each_gets_its_answer() {
    let exchange = exchange(r#"{"elicitation":{},"roots":{}}"#);
    let form = ask(&exchange, "elicitation/create", FORM);
    let roots = ask(&exchange, "roots/list", "{}");
    exchange.must_ask().await;
    let (round, requests) = exchange.pause().unwrap();
    assert_eq!(
        requests.to_json(),
        format!(
            r#"{{"input-1":{{"method":"elicitation/create","params":{FORM}}},"input-2":{{"method":"roots/list"}}}}"#
        )
    );
    let responses = json(
        r#"{"input-2":{"roots":[]},"input-1":{"action":"accept","content":{"n":"x"}},"input-9":{"x":1},"other":7}"#,
    );
    exchange.resume(round, &responses, present(None, None).0).unwrap();
    assert_eq!(form.await.unwrap().unwrap().to_json(), r#"{"action":"accept","content":{"n":"x"}}"#);
    assert_eq!(roots.await.unwrap().unwrap().to_json(), r#"{"roots":[]}"#);
}

#[tokio::test]
async fn what_was_not_answered_is_asked_again_and_a_round_counts_once() {
    let exchange = exchange(r#"{"elicitation":{},"roots":{}}"#);
    let form = ask(&exchange, "elicitation/create", FORM);
    let roots = ask(&exchange, "roots/list", "{}");
    exchange.must_ask().await;
    let (first, _) = exchange.pause().unwrap();
    exchange.resume(first, &json(r#"{"input-2":{"roots":[]}}"#), present(None, None).0).unwrap();
    roots.await.unwrap().unwrap();
    exchange.must_ask().await;
    let (second, requests) = exchange.pause().unwrap();
    assert!(requests.get("input-1").is_some() && requests.get("input-2").is_none());
    assert_eq!(
        exchange.resume(first, &json("{}"), present(None, None).0).unwrap_err().code(),
        code::INVALID_PARAMS,
        "an answered round does not begin again"
    );
    exchange.resume(second, &json(r#"{"input-1":{"action":"decline"}}"#), present(None, None).0).unwrap();
    assert!(exchange.resume(second, &json("{}"), present(None, None).0).is_err(), "it is running");
    form.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_answer_that_is_none_leaves_the_round_as_it_was() {
    let exchange = exchange(r#"{"elicitation":{}}"#);
    let form = ask(&exchange, "elicitation/create", FORM);
    exchange.must_ask().await;
    let (round, _) = exchange.pause().unwrap();
    for wrong in [
        r#"{"input-1":7}"#,
        r#"{"input-1":{}}"#,
        r#"{"input-1":{"action":"maybe"}}"#,
        r#"{"input-1":{"action":"accept","content":{}}}"#,
        r#"{"input-1":{"action":"accept","content":{"n":7}}}"#,
    ] {
        let error = exchange.resume(round, &json(wrong), present(None, None).0).unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS, "{wrong}");
    }
    exchange.resume(round, &json(r#"{"input-1":{"action":"cancel"}}"#), present(None, None).0).unwrap();
    assert_eq!(form.await.unwrap().unwrap().to_json(), r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn only_what_the_client_declared_is_asked() {
    let exchange = exchange(r#"{"elicitation":{"form":{}}}"#);
    for (method, params, refusal) in [
        ("sampling/createMessage", "{}", code::METHOD_NOT_FOUND),
        ("elicitation/create", r#"{"mode":"url","url":"https://example.org","message":"m"}"#, code::INVALID_PARAMS),
    ] {
        let outcome = exchange.request(None, question(method, None, &json(params), 1_000)).await;
        assert!(matches!(outcome, Err(AskError::Refused(error)) if error.code() == refusal), "{method}");
    }
    let required = exchange.undeclared().unwrap().to_json();
    assert_eq!(required, r#"{"elicitation":{"url":{}},"sampling":{}}"#);
}

#[tokio::test]
async fn a_question_that_ran_out_is_not_asked_any_more() {
    let exchange = exchange(r#"{"roots":{}}"#);
    let outcome = exchange.request(None, question("roots/list", None, &json("{}"), 1)).await;
    assert!(matches!(outcome, Err(AskError::TimedOut)));
    assert!(tokio::time::timeout(Duration::from_millis(200), exchange.must_ask()).await.is_err());
}

#[tokio::test]
async fn floods_and_endless_rounds_end() {
    let exchange = exchange(r#"{"roots":{}}"#);
    let asked: Vec<_> = (0..=MOST_INPUTS).map(|_| ask(&exchange, "roots/list", "{}")).collect();
    exchange.must_ask().await;
    let refused = asked.into_iter().last().unwrap().await.unwrap();
    assert!(matches!(refused, Err(AskError::Busy)));
    for round in 1..=MOST_ROUNDS {
        assert_eq!(exchange.pause().unwrap().0, round);
        exchange.resume(round, &json("{}"), present(None, None).0).unwrap();
    }
    assert!(exchange.pause().is_none());
}

#[tokio::test]
async fn a_round_hears_of_progress_under_its_own_token_and_of_messages_only_where_it_wants_them() {
    let (first, told) = present(Some("a"), Some(LogLevel::Info));
    let exchange = Exchange::new(json("{}"), first);
    let progress = json(r#"{"progressToken":9,"progress":1}"#);
    exchange.notify(None, "notifications/progress", Some(&progress));
    exchange.notify(None, "notifications/message", Some(&json(r#"{"level":"info"}"#)));
    let (round, _) = exchange.pause().unwrap();
    exchange.notify(None, "notifications/progress", Some(&progress));
    assert_eq!(
        *told.lock().unwrap(),
        [r#"notifications/progress {"progressToken":"a","progress":1}"#, r#"notifications/message {"level":"info"}"#],
        "between two rounds nobody is told"
    );
    let (second, told) = present(Some("b"), None);
    exchange.resume(round, &json("{}"), second).unwrap();
    exchange.notify(None, "notifications/progress", Some(&json(r#"{"progressToken":9,"progress":2}"#)));
    exchange.notify(None, "notifications/message", Some(&json(r#"{"level":"info"}"#)));
    let heard = [1, 2].map(|number| format!(r#"notifications/progress {{"progressToken":"b","progress":{number}}}"#));
    assert_eq!(*told.lock().unwrap(), heard, "what was said between the rounds is told first");
}

#[tokio::test]
async fn between_two_rounds_the_latest_of_what_is_said_is_kept() {
    let exchange = exchange("{}");
    let (round, _) = exchange.pause().unwrap();
    for number in 0..MOST_MISSED + 3 {
        exchange.notify(None, "notifications/message", Some(&Value::from(number as u64)));
    }
    let (next, told) = present(None, Some(LogLevel::Debug));
    exchange.resume(round, &json("{}"), next).unwrap();
    let told = told.lock().unwrap();
    assert_eq!((told.len(), told[0].as_str()), (MOST_MISSED, "notifications/message 3"));
}

#[tokio::test]
async fn a_plain_key_of_the_server_is_kept_and_any_other_replaced() {
    let exchange = exchange(r#"{"roots":{}}"#);
    let long = "x".repeat(65);
    let asked: Vec<_> = [Some("user_name"), Some("user_name"), Some("a b"), Some(long.as_str()), Some("input-6"), None]
        .into_iter()
        .map(|key| {
            let (exchange, key) = (Arc::clone(&exchange), key.map(str::to_owned));
            tokio::spawn(async move {
                let params = json(r#"{"_meta":{"progressToken":3}}"#);
                exchange.request(None, question("roots/list", key.as_deref(), &params, 60_000)).await
            })
        })
        .collect();
    exchange.must_ask().await;
    let (_, requests) = exchange.pause().unwrap();
    let requests = requests.as_object().unwrap();
    let keys: Vec<_> = requests.iter().map(|(key, _)| key).collect();
    assert_eq!(keys[..5], ["user_name", "input-2", "input-3", "input-4", "input-6"]);
    assert!(keys[5].starts_with("input-6-"), "two questions have two keys");
    assert_eq!(requests.get("user_name").unwrap().to_json(), r#"{"method":"roots/list"}"#, "its token means nothing");
    drop(asked);
}

#[tokio::test]
async fn an_answer_that_came_with_the_call_is_taken_once_by_the_question_of_its_key() {
    let Value::Object(early) = json(r#"{"who":{"action":"accept","content":{"n":"x"}},"other":7}"#) else { panic!() };
    let exchange = Exchange::with_answers(json(r#"{"elicitation":{}}"#), present(None, None).0, early);
    let form = json(FORM);
    // A gate's own question has no key of a server, and none is answered before it was seen.
    let own = exchange.request(None, question("elicitation/create", None, &form, 10)).await;
    assert!(matches!(own, Err(AskError::TimedOut)));
    let answer = exchange.request(None, question("elicitation/create", Some("who"), &form, 60_000)).await.unwrap();
    assert_eq!(answer.to_json(), r#"{"action":"accept","content":{"n":"x"}}"#);
    for key in ["who", "other"] {
        let asked = exchange.request(None, question("elicitation/create", Some(key), &form, 10)).await;
        assert!(matches!(asked, Err(AskError::TimedOut)), "{key} is asked");
    }
}
