use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{GateName, PolicyName};
use tokio::time::advance;

use super::*;
use crate::testing::{AllowAll, policy};

fn principal(name: &str) -> Principal {
    Principal::parse(name).unwrap()
}

fn pending(key: &str, amount: u64, limit: u64) -> Pending {
    Pending {
        policy: PolicyName::parse("p").unwrap(),
        meter: "meter".to_owned(),
        key: key.to_owned(),
        window: Duration::from_mins(1),
        amount,
        limit,
    }
}

fn label(name: &str, server: &str) -> Marked {
    let fact = LabelFact { name: name.to_owned(), server: server.to_owned(), tool: "tool".to_owned() };
    Marked { fact, pointer: None }
}

#[test]
fn labels_only_grow_and_keep_their_first_source() {
    let session = crate::testing::session("one");
    session.learn(vec![label("a", "first")], &[]);
    session.learn(vec![label("a", "second"), label("b", "second")], &[]);
    assert_eq!(session.labels(), [label("a", "first").fact, label("b", "second").fact]);
}

#[tokio::test(start_paused = true)]
async fn a_charge_beyond_the_limit_is_refused_until_the_window_has_passed() {
    let meters = Meters::default();
    let user = principal("user");
    for _ in 0..10 {
        assert_eq!(meters.admit(&user, &[pending("k", 1, 10)]), Ok(()));
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(meters.admit(&user, &[pending("k", 1, 10)]), Err(0));
    assert_eq!(meters.admit(&principal("other"), &[pending("k", 1, 10)]), Ok(()));
    advance(Duration::from_secs(52)).await;
    assert_eq!(meters.admit(&user, &[pending("k", 1, 10)]), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_charge_never_counts_for_less_than_its_window() {
    let meters = Meters::default();
    let user = principal("user");
    meters.admit(&user, &[pending("k", 1, 1)]).unwrap();
    advance(Duration::from_millis(59_999)).await;
    assert_eq!(meters.admit(&user, &[pending("k", 1, 1)]), Err(0));
    advance(Duration::from_secs(2)).await;
    assert_eq!(meters.admit(&user, &[pending("k", 1, 1)]), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn all_charges_are_applied_or_none() {
    let meters = Meters::default();
    let user = principal("user");
    assert_eq!(meters.admit(&user, &[pending("a", 1, 10), pending("b", 5, 4)]), Err(1));
    let owner = policy("p", &[GateName::Call], AllowAll);
    assert!(meters.readings(&user, &owner).is_empty());
    meters.admit(&user, &[pending("a", 2, 10), pending("b", 4, 4)]).unwrap();
    let sums: Vec<_> =
        meters.readings(&user, &owner).into_iter().map(|reading| (reading.key, reading.amount)).collect();
    assert_eq!(sums, [("a".to_owned(), 2), ("b".to_owned(), 4)]);
    assert!(meters.readings(&user, &policy("q", &[GateName::Call], AllowAll)).is_empty(), "another policy's meters");
}

#[tokio::test(start_paused = true)]
async fn made_up_keys_do_not_make_the_host_forget_and_are_refused_beyond_the_bound() {
    let meters = Meters::default();
    let user = principal("user");
    meters.admit(&user, &[pending("first", 1, 1)]).unwrap();
    let refused = (0..5000).filter(|key| meters.admit(&user, &[pending(&key.to_string(), 1, 9)]).is_err()).count();
    assert_eq!(refused, 5000 - 1023);
    assert_eq!(meters.admit(&user, &[pending("first", 1, 1)]), Err(0));
    advance(Duration::from_mins(2)).await;
    assert_eq!(meters.admit(&user, &[pending("late", 1, 9)]), Ok(()));
}

#[test]
fn a_sum_that_would_overflow_is_beyond_any_limit() {
    let meters = Meters::default();
    let user = principal("user");
    meters.admit(&user, &[pending("k", u64::MAX, u64::MAX)]).unwrap();
    assert_eq!(meters.admit(&user, &[pending("k", 1, u64::MAX)]), Err(0));
}

fn open(sessions: &Sessions, id: &str, era: Era) -> Result<Arc<Session>, TooManySessions> {
    sessions.open(&SessionId::parse(id).unwrap(), &principal("user"), &ClientFacts::default(), era)
}

#[tokio::test(start_paused = true)]
async fn a_stateless_session_ends_after_its_idle_window_and_comes_back_without_labels() {
    let sessions = Sessions::default();
    open(&sessions, "one", Era::Stateless).unwrap().learn(vec![label("a", "s")], &[]);
    advance(Duration::from_mins(29)).await;
    assert_eq!(open(&sessions, "one", Era::Stateless).unwrap().labels().len(), 1);
    advance(Duration::from_mins(30)).await;
    assert!(sessions.get(&SessionId::parse("one").unwrap(), &principal("user")).is_none());
    assert!(open(&sessions, "one", Era::Stateless).unwrap().labels().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_of_the_initialize_era_lives_until_it_is_closed() {
    let sessions = Sessions::default();
    let id = SessionId::parse("one").unwrap();
    open(&sessions, "one", Era::Initialize).unwrap().learn(vec![label("a", "s")], &[]);
    advance(Duration::from_hours(48)).await;
    assert_eq!(sessions.get(&id, &principal("user")).unwrap().labels().len(), 1);
    assert!(sessions.get(&id, &principal("other")).is_none());
    assert!(sessions.close(&id));
    assert!(sessions.get(&id, &principal("user")).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_number_of_sessions_is_bounded_and_live_ones_are_never_dropped_for_new_ones() {
    let sessions = Sessions::default();
    let held = open(&sessions, "held", Era::Initialize).unwrap();
    for index in 1..4096 {
        open(&sessions, &format!("s{index}"), Era::Initialize).unwrap();
    }
    assert!(open(&sessions, "more", Era::Initialize).is_err());
    advance(Duration::from_mins(31)).await;
    assert!(open(&sessions, "more", Era::Initialize).is_ok());
    assert_eq!(sessions.count(), 2);
    assert!(Arc::ptr_eq(&sessions.get(&held.id, &principal("user")).unwrap(), &held));
}
