use super::*;

fn text<'a>(files: &'a [(String, Cow<'static, str>)], path: &str) -> &'a str {
    files.iter().find(|(place, _)| place == path).map_or_else(|| panic!("no {path}"), |(_, text)| text.as_ref())
}

#[test]
fn every_project_is_whole_and_has_no_placeholder_left() {
    for language in Language::ALL {
        for project in [Project::new("my-policy", language, &GateName::ALL), Project::example(language)] {
            let project = project.unwrap();
            let files = project.files();
            assert!(text(&files, "policy.yaml").contains(language.as_str()));
            assert!(text(&files, language.source()).contains(project.name().as_str()));
            for (path, text) in &files {
                let left = ["{{name}}", "{{crate}}", "{{version}}", "{{rights}}", "PolicyType"]
                    .iter()
                    .find(|one| text.contains(**one));
                assert_eq!(left, None, "{language}: a placeholder is left in {path}");
                assert!(!text.is_empty() && !path.contains(".."), "{language}: {path} is empty or leaves its folder");
            }
            let mut paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), files.len(), "{language}: a file is there twice");
        }
    }
}

#[test]
fn each_gate_has_its_fixtures_and_its_part_of_the_source_in_every_language() {
    for language in Language::ALL {
        for gate in GateName::ALL {
            let alone = Project::new("one", language, &[gate]).unwrap().files();
            let all = Project::new("one", language, &GateName::ALL).unwrap().files();
            assert!(text(&alone, &format!("fixtures/{gate}.yaml")).contains(&format!("gate: {gate}")));
            assert!(text(&alone, language.source()).len() < text(&all, language.source()).len(), "{language}, {gate}");
        }
    }
}

#[test]
fn the_world_names_the_gates_that_were_asked_for_once_each() {
    let project = Project::new("one", Language::C, &[GateName::Result, GateName::Call, GateName::Call]).unwrap();
    let files = project.files();
    let exports: Vec<_> = text(&files, "wit/guest.wit").lines().filter(|line| line.contains("-gate@")).collect();
    assert_eq!(exports.len(), 2);
    assert!(exports.iter().any(|line| line.contains("call-gate@0.1.0")), "{exports:?}");
}

#[test]
fn a_name_that_no_policy_has_and_a_policy_without_a_gate_are_refused() {
    assert!(matches!(Project::new("../up", Language::C, &[GateName::Call]), Err(ProjectError::Name { .. })));
    assert_eq!(Project::new("one", Language::C, &[]), Err(ProjectError::NoGate));
    assert!(Language::parse("cobol").unwrap_err().to_string().contains("`cobol`"));
}

#[test]
fn the_copied_sdk_has_the_dependencies_of_the_sdk() {
    let names = |text: &str| {
        let mut names: Vec<String> = text
            .lines()
            .skip_while(|line| *line != "[dependencies]")
            .take_while(|line| *line != "[dev-dependencies]" && !line.starts_with("[lints"))
            .filter_map(|line| line.split([' ', '.']).next().map(str::to_owned))
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect();
        names.sort();
        names
    };
    let own = include_str!("../../../rust/Cargo.toml");
    assert_eq!(names(file("sdk/templates/rust/sdk-Cargo.toml.in")), names(own));
    assert!(!names(own).is_empty());
}
