//! The environment gate.

use portcullis_model::{Facts, Launch, Origin, Secret, Selection, ServerEntry};

use super::*;
use crate::testing::Broken;
use crate::{Fault, Mode, OnFault};

fn offered(names: &[&str]) -> Environment {
    let entry = ServerEntry {
        name: server(),
        launch: Launch::Stdio {
            command: "server".to_owned(),
            arguments: vec![],
            working_directory: None,
            environment: vec![],
        },
        origin: Origin::ConfigFile,
        document: json(r#"{"command":"server"}"#),
    };
    Environment {
        entry: Arc::new(entry),
        variables: names.iter().map(|name| ((*name).to_owned(), Secret::new("value"))).collect(),
        tagged: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn removes(name: &str, removed: &'static [&'static str]) -> ActivePolicy {
    policy(
        name,
        &[GateName::Environment],
        Judge(move |_: &Facts, _: &Subject| {
            Ok(Answer::Selection(Selection {
                removed: removed.iter().map(|name| (*name).to_owned()).collect(),
                findings: vec![],
                extensions: Object::new(),
            }))
        }),
    )
}

async fn left(policies: Vec<ActivePolicy>, names: &[&str]) -> Result<Vec<String>, Refusal> {
    let (gates, journal) = gates(policies);
    let cleared = is_send(gates.environment(&context(&gates), offered(names))).await;
    assert_eq!(journal.records().len(), 1);
    cleared.map(|cleared| {
        let environment = cleared.get();
        let names: Vec<String> = environment.variables.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(environment.tagged, names);
        names
    })
}

#[tokio::test]
async fn the_union_of_what_policies_remove_is_withheld() {
    let policies = vec![removes("a", &["A", "NEVER_OFFERED"]), removes("b", &["B"])];
    assert_eq!(left(policies, &["A", "B", "C"]).await.unwrap(), ["C"]);
}

#[tokio::test]
async fn an_empty_chain_passes_nothing() {
    assert!(left(vec![], &["PATH", "HOME"]).await.unwrap().is_empty());
}

#[tokio::test]
async fn policies_that_do_not_count_or_gave_no_answer_pass_nothing() {
    let shadow = ActivePolicy { mode: Mode::Shadow, ..removes("shadow", &[]) };
    assert!(left(vec![shadow], &["PATH"]).await.unwrap().is_empty());
    let broken =
        ActivePolicy { on_fault: OnFault::Allow, ..policy("broken", &[GateName::Environment], Broken(Fault::Output)) };
    assert!(left(vec![broken], &["PATH"]).await.unwrap().is_empty());
}

#[tokio::test]
async fn loader_variables_are_withheld_even_where_no_policy_does() {
    let names = ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BASH_ENV", "PYTHONPATH"];
    assert_eq!(left(vec![removes("lax", &[])], &names).await.unwrap(), ["PATH"]);
}

#[tokio::test]
async fn a_fault_keeps_the_server_from_starting() {
    let broken = policy("broken", &[GateName::Environment], Broken(Fault::Output));
    let refusal = left(vec![broken, removes("fine", &[])], &["PATH"]).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::PolicyFault("output".to_owned()));
}

#[tokio::test]
async fn policies_see_names_and_never_values() {
    let seer = policy(
        "seer",
        &[GateName::Environment],
        Judge(|_: &Facts, subject: &Subject| {
            let Subject::Environment(subject) = subject else { panic!("another gate") };
            assert_eq!(subject.offered[0].name, "TOKEN");
            assert!(subject.offered[0].tagged);
            let selection = Selection { removed: vec![], findings: vec![], extensions: Object::new() };
            Ok(Answer::Selection(selection))
        }),
    );
    assert_eq!(left(vec![seer], &["TOKEN"]).await.unwrap(), ["TOKEN"]);
}

#[tokio::test]
async fn the_config_gate_refuses_an_entry_that_a_policy_denies() {
    let (gates, _) = gates(vec![policy("screen", &[GateName::Config], says(deny("campaign")))]);
    let launching = Launching { entry: offered(&[]).entry, occasion: portcullis_model::Occasion::Start };
    let refusal = is_send(gates.config(&context(&gates), launching)).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Denied("campaign".to_owned()));
}
