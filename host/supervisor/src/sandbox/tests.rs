use std::path::{Path, PathBuf};

use super::*;

const WHOLE: Support = Support { landlock: 6, seccomp: true };

fn sandbox() -> Sandbox {
    Sandbox {
        network: Network::None,
        read: Vec::new(),
        write: Vec::new(),
        local_sockets: false,
        strict: true,
        own: PathBuf::from("/nowhere/of/its/own"),
        protected: vec![PathBuf::from("/usr/share")],
    }
}

#[test]
fn a_plan_survives_the_way_to_the_supervisor() {
    for network in [Network::None, Network::All, Network::Ports(vec![443, 5432])] {
        let wanted = Sandbox { network, read: vec!["/etc".into()], local_sockets: true, ..sandbox() };
        let plan = wanted.plan(WHOLE, Path::new("/bin/sh")).unwrap();
        assert_eq!(Plan::decode(&plan.encode()), Some(plan));
    }
}

#[test]
fn a_plan_with_a_rule_that_is_not_known_is_no_plan() {
    let plan = sandbox().plan(WHOLE, Path::new("/bin/sh")).unwrap();
    let mut texts = plan.encode();
    texts.push("forbid /srv".into());
    assert_eq!(Plan::decode(&texts), None);
    assert_eq!(Plan::decode(&["network none".into()]), None);
}

#[test]
fn a_strict_sandbox_is_refused_where_the_kernel_lacks_a_part_and_the_part_is_named() {
    let refusal = |support, network| {
        let wanted = Sandbox { network, ..sandbox() };
        wanted.plan(support, Path::new("/bin/sh")).map_err(|error| error.to_string())
    };
    let none = refusal(Support::default(), Network::None).unwrap_err();
    assert!(none.contains("files are not confined") && none.contains("sockets are not confined"), "{none}");
    let old = refusal(Support { landlock: 3, seccomp: true }, Network::Ports(vec![443])).unwrap_err();
    assert!(old.contains("ports are not confined"), "{old}");
    assert!(refusal(Support { landlock: 3, seccomp: true }, Network::None).is_ok());
}

#[test]
fn what_is_not_confined_is_said() {
    let loose = Sandbox { strict: false, ..sandbox() };
    let told = loose.plan(Support::default(), Path::new("/bin/sh")).unwrap().confinement();
    assert!(told.confined.iter().all(|line| line.starts_with("rights:")), "{told:?}");
    assert!(told.open.iter().any(|line| line.starts_with("files are not confined")), "{told:?}");
    let whole = sandbox().plan(WHOLE, Path::new("/bin/sh")).unwrap().confinement();
    assert!(whole.confined.iter().any(|line| line == "network: no socket can be opened"), "{whole:?}");
    let ports = Sandbox { network: Network::Ports(vec![443]), ..sandbox() };
    let told = ports.plan(WHOLE, Path::new("/bin/sh")).unwrap().confinement();
    assert!(told.open.iter().any(|line| line.contains("every host")), "{told:?}");
}

#[test]
fn no_path_of_the_config_opens_a_protected_folder() {
    for path in ["/usr/share", "/usr", "/", "/usr/share/."] {
        let wanted = Sandbox { read: vec![path.into()], ..sandbox() };
        let refused = wanted.plan(WHOLE, Path::new("/bin/sh"));
        assert!(matches!(refused, Err(SandboxError::Protected { .. })), "{path}");
    }
    let missing = Sandbox { write: vec!["/no/such/folder".into()], ..sandbox() };
    assert!(matches!(missing.plan(WHOLE, Path::new("/bin/sh")), Err(SandboxError::Path { .. })));
}

#[test]
fn a_program_outside_of_the_system_brings_its_own_runtime_and_nothing_beside_it() {
    let home = tempfile::tempdir().unwrap();
    for folder in ["bin", "lib", "share"] {
        std::fs::create_dir(home.path().join(folder)).unwrap();
    }
    let program = home.path().join("bin/server");
    std::fs::write(&program, "").unwrap();
    let given = preset::read(&program);
    assert!(given.contains(&home.path().join("bin")) && given.contains(&home.path().join("lib")), "{given:?}");
    assert!(!given.contains(&home.path().join("share")) && !given.contains(&home.path().to_path_buf()), "{given:?}");
}
