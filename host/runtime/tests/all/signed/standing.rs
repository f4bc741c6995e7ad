//! Going back to what judged before, and forward again.

use super::*;

#[test]
fn a_rollback_puts_the_former_policy_back_and_a_promotion_undoes_it() {
    let home = Home::new();
    home.drop_signed("acme1.wasm", &named("acme1", "1.0.0"));
    assert!(home.refresh());
    assert_eq!(home.store.rollback(&home.gates, &policy("acme1")), Err(MoveError::NoFormer(policy("acme1"))));
    home.drop_signed("acme1.wasm", &named("acme1", "2.0.0"));
    assert!(home.refresh());
    let before = home.gates.set().generation;
    let moved = home.store.rollback(&home.gates, &policy("acme1")).unwrap();
    assert_eq!((moved.from.as_str(), moved.to.as_str(), moved.signed), ("2.0.0", "1.0.0", true));
    assert_eq!(home.gates.set().generation, before + 1);
    assert_eq!(home.gates.set().policies()[0].description.version, "1.0.0");
    // The file is still there, and is not taken again.
    assert!(!home.refresh());
    assert_eq!(home.version("acme1"), "1.0.0");
    assert!(home.store.refused().iter().any(|(what, why)| what == "acme1" && why.contains("rolled back")));
    assert_eq!(home.store.status()[0].former.as_deref(), Some("2.0.0"));
    assert!(matches!(home.store.rollback(&home.gates, &policy("acme1")), Err(MoveError::RolledBack(_))));
    let moved = home.store.promote(&home.gates, &policy("acme1")).unwrap();
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("1.0.0", "2.0.0"));
    assert!(!home.refresh() && home.store.refused().is_empty(), "{:?}", home.store.refused());
    assert!(matches!(home.store.promote(&home.gates, &policy("acme1")), Err(MoveError::NothingToPromote(_))));
    assert!(matches!(home.store.promote(&home.gates, &policy("other")), Err(MoveError::Unknown(_))));
    // Something newer than what was rolled back is taken.
    home.store.rollback(&home.gates, &policy("acme1")).unwrap();
    home.drop_signed("acme1.wasm", &named("acme1", "3.0.0"));
    assert!(home.refresh(), "{:?}", home.store.refused());
    assert_eq!(home.version("acme1"), "3.0.0");
}

#[test]
fn a_policy_in_shadow_enforces_once_it_is_promoted() {
    let shadow = |config: &mut StoreConfig| {
        let mode = Some(Mode::Shadow);
        config.policies.push(PolicyConfig { mode, ..PolicyConfig::new(policy("guest")) });
    };
    let home = Home::with(|_| {}, shadow, |store| store);
    assert_eq!(home.store.status()[0].loosened, ["mode: shadow"]);
    home.store.promote(&home.gates, &policy("guest")).unwrap();
    assert_eq!(home.gates.set().policies()[0].mode, Mode::Enforce);
    assert!(home.store.status()[0].loosened.is_empty());
    assert!(!home.refresh());
    assert_eq!(home.gates.set().policies()[0].mode, Mode::Enforce);
}
